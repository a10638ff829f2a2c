#include "report/export/trtexec_shapes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/quote.h"
#include "vernier/tensor.h"

namespace vernier {

std::string trtexec_shapes(const DiagnoseReport& report, const std::string& before) {
  const auto unsayable = [](const OpenInput& input) { return input.name.find('\'') != std::string::npos; };
  if (report.open_inputs.empty() || std::ranges::any_of(report.open_inputs, unsayable)) return {};
  std::string text;
  const auto add = [&](const char* option, const auto& shape_of) {
    std::string list;
    for (const OpenInput& input : report.open_inputs) {
      const bool plain = input.name.find_first_of(":,") == std::string::npos;
      list += fmt::format("{}{}:{}", list.empty() ? "" : ",", plain ? input.name : "'" + input.name + "'",
                          fmt::join(shape_of(input), "x"));
    }
    text += before + shell_quote(option + list);
  };
  add("--minShapes=", [](const OpenInput& input) { return input.least; });
  add("--optShapes=", [](const OpenInput& input) { return input.usual.value_or(input.first); });
  add("--maxShapes=", [](const OpenInput& input) { return input.most; });
  return text;
}

}  // namespace vernier
