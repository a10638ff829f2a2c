#include "report/export/trtexec_shapes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/quote.h"
#include "vernier/tensor.h"

namespace vernier {

std::string trtexec_shapes(const DiagnoseReport& report, const std::string& before) {
  const auto unsayable = [](const OpenInput& input) { return input.name.find('\'') != std::string::npos; };
  if (report.open_inputs.empty() || std::ranges::any_of(report.open_inputs, unsayable)) return {};
  std::string text;
  for (const auto& [option, shape] : {std::pair{"--minShapes=", &OpenInput::least},
                                      {"--optShapes=", &OpenInput::first},
                                      {"--maxShapes=", &OpenInput::most}}) {
    std::string list;
    for (const OpenInput& input : report.open_inputs) {
      const bool plain = input.name.find_first_of(":,") == std::string::npos;
      list += fmt::format("{}{}:{}", list.empty() ? "" : ",", plain ? input.name : "'" + input.name + "'",
                          fmt::join(input.*shape, "x"));
    }
    text += before + shell_quote(option + list);
  }
  return text;
}

}  // namespace vernier
