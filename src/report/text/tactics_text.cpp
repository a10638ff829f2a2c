// TensorRT's choices as text, in the layout that users of the peer know.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "vernier/report/tactics.h"

namespace vernier {
namespace {

std::string tensors_text(const std::vector<TacticTensor>& tensors) {
  std::vector<std::string> texts;
  for (const TacticTensor& tensor : tensors) {
    texts.push_back(fmt::format("TensorInfo({}, strides={}, vectorized dim={}, components={})", printable(tensor.dtype),
                                printable(tensor.strides), printable(tensor.vectorized_dim),
                                printable(tensor.components)));
  }
  return fmt::format("({})", fmt::join(texts, ", "));
}

std::string tactic_text(const Tactic& tactic) {
  return fmt::format("(Implementation: {}, Tactic: {}) | Inputs: {} | Outputs: {}", printable(tactic.implementation),
                     printable(tactic.tactic), tensors_text(tactic.inputs), tensors_text(tactic.outputs));
}

}  // namespace

std::string report_to_text(const TacticReplay& report) {
  std::string text = fmt::format("Tactic replay: {}\n", report.file);
  for (const auto& [layer, tactic] : report.layers) {
    text += fmt::format("Layer: {}\n    Algorithm: {}\n", printable(layer), tactic_text(tactic));
  }
  return text;
}

std::string report_to_text(const TacticsDiff& report) {
  std::string text = fmt::format("Loaded {} and {}\n", plural(report.good, "good tactic replay"),
                                 plural(report.bad, "bad tactic replay"));
  if (report.layers.empty()) return text + "No tactic of the bad replays is absent from the good ones.\n";
  text += "Found potentially bad tactics: in bad replays and in no good one\n";
  for (const auto& [layer, suspects] : report.layers) {
    std::vector<std::string> lines;
    for (const TacticsDiff::Suspect& suspect : suspects) {
      lines.push_back(fmt::format("    Algorithm: {} | in {} of {} bad\n", tactic_text(suspect.tactic), suspect.replays,
                                  report.bad));
    }
    std::sort(lines.begin(), lines.end());
    text += fmt::format("Layer: {}\n{}", printable(layer), fmt::join(lines, ""));
  }
  return text;
}

}  // namespace vernier
