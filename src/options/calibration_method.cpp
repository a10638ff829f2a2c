#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "vernier/calibration.h"

namespace vernier {
namespace {

constexpr std::array<std::pair<std::string_view, CalibrationMethod>, 6> kNames{{
    {"minmax", CalibrationMethod::MinMax},
    {"percentile", CalibrationMethod::Percentile},
    {"entropy", CalibrationMethod::Entropy},
    {"mse", CalibrationMethod::Mse},
    {"aciq", CalibrationMethod::Aciq},
    {"auto", CalibrationMethod::Automatic},
}};

}  // namespace

std::string_view method_name(CalibrationMethod method) {
  for (const auto& [name, known] : kNames) {
    if (known == method) return name;
  }
  return "own";
}

std::string_view choice_name(const CalibrationChoice& choice) {
  return choice.own ? std::string_view(choice.own->name) : method_name(choice.method);
}

std::optional<CalibrationChoice> parse_calibration_method(std::string_view text) {
  CalibrationChoice choice;
  const std::size_t colon = text.find(':');
  const std::string_view word = text.substr(0, colon);
  if (colon != std::string_view::npos) {
    if (word != "percentile") return std::nullopt;
    const char* const end = text.data() + text.size();
    const auto [stop, failure] = std::from_chars(text.data() + colon + 1, end, choice.percentile);
    if (failure != std::errc() || stop != end) return std::nullopt;
    if (!(choice.percentile > 50 && choice.percentile <= 100)) return std::nullopt;
  }
  if (word == "max") return choice;
  for (const auto& [name, method] : kNames) {
    if (name != word) continue;
    choice.method = method;
    return choice;
  }
  return std::nullopt;
}

std::string method_text(const CalibrationChoice& choice, bool symmetric) {
  switch (choice.method) {
    case CalibrationMethod::MinMax:
      return symmetric ? "absolute maximum" : "minimum and maximum";
    case CalibrationMethod::Percentile:
      return fmt::format("{} percentile", choice.percentile);
    case CalibrationMethod::Entropy:
      return "least divergence";
    case CalibrationMethod::Mse:
      return "least squared error";
    case CalibrationMethod::Aciq:
      return "closed form for a bell or Laplace curve";
    case CalibrationMethod::Own:
      return choice.own->name;
    case CalibrationMethod::Automatic:
      break;
  }
  return "the method with the least error of the layers that read it";
}

CalibrationChoice calibration_by(RangeMethod method) {
  CalibrationChoice choice;
  choice.method = CalibrationMethod::Own;
  choice.own = std::make_shared<const RangeMethod>(std::move(method));
  return choice;
}

}  // namespace vernier
