// What a report says it was made with.
#pragma once

#include <string_view>

namespace vernier {

/// This project's version: "0.2.0".
std::string_view vernier_version();

/// Of the ONNX library that is built in: "1.23.2".
std::string_view onnx_version();

}  // namespace vernier
