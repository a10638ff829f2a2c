// Numbers that JSON has no words for, as Vernier's own files write them: "inf", "-inf" and "nan".
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

namespace vernier {

/// A number, or one of the three words.
nlohmann::ordered_json json_of_number(double value);

/// The same read; nullopt for anything else.
std::optional<double> number_of_json(const nlohmann::ordered_json& json);

}  // namespace vernier
