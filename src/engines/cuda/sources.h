// Texts of the device code, which the compiler for GPUs is given.
#pragma once

#include <string_view>

namespace vernier {

extern const std::string_view k_kernels_cu;
extern const std::string_view k_records_h;
extern const std::string_view k_one_value_h;

}  // namespace vernier
