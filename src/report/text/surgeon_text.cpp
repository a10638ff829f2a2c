// What was done to a graph, as text.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/text.h"
#include "report/told.h"
#include "vernier/report/note_text.h"
#include "vernier/report/surgeon.h"

namespace vernier {
namespace {

std::vector<std::string> lines_of(const EditedWeights& weights) {
  switch (weights.edit) {
    case EditedWeights::Edit::Stripped:
      return {fmt::format("{} without values, {} less", plural(weights.count, "initializer"),
                          plural(weights.bytes, "byte"))};
    case EditedWeights::Edit::Filled:
      return {fmt::format("{} filled with arbitrary values, {} of them 2:4 sparse",
                          plural(weights.count, "initializer"), weights.sparse)};
    case EditedWeights::Edit::Pruned:
      break;
  }
  std::vector<std::string> lines{fmt::format("{} pruned to 2:4 sparsity", plural(weights.count, "weight"))};
  for (const EditedWeights::Left& left : weights.left) {
    lines.push_back(
        fmt::format("unchanged: {} of {}: {}", printable(left.weight), printable(left.node), told(left.why)));
  }
  return lines;
}

std::vector<std::string> lines_of(const ModelsCompared& compared) {
  if (compared.identical) {
    return {
        fmt::format("outputs are bit-identical{}, on {}",
                    compared.optimized ? " as the engine runs models by default" : ", the engine's optimizations off",
                    compared.data)};
  }
  std::vector<std::string> lines;
  for (const ModelsCompared::Difference& each : compared.differences) {
    lines.push_back(fmt::format("output {}: at most {:.3g} off, {:.1f} dB, on {}", printable(each.output),
                                each.max_abs_error, each.sqnr_db, compared.data));
  }
  return lines;
}

std::vector<std::string> lines_of(const PartSamples& samples) {
  return {fmt::format("{}: inputs of the part on {}", samples.inputs.string(), plural(samples.samples, "sample")),
          fmt::format("{}: its outputs, as the whole model computes them", samples.outputs.string())};
}

}  // namespace

std::string result_to_text(const SurgeonResult& result) {
  std::string text = fmt::format("{}: {}", result.output.string(), plural(result.nodes_after, "node"));
  if (result.nodes_before > result.nodes_after) text += fmt::format(", of {}", result.nodes_before);
  if (result.nodes_before < result.nodes_after) text += fmt::format(", before {}", result.nodes_before);
  text += "\n";
  const auto say = [&](const std::vector<std::string>& lines) {
    for (const std::string& line : lines) text += fmt::format("  {}\n", line);
  };
  for (const auto& [tensor, bound] : result.bounded) {
    say({fmt::format("size '{}' bounded by {}", printable(tensor), bound)});
  }
  if (result.inserted) {
    say({fmt::format("inserted {} ({})", printable(result.inserted->name), printable(result.inserted->op_type))});
  }
  if (result.weights) say(lines_of(*result.weights));
  say(note_texts(result.notes));
  if (result.samples) say(lines_of(*result.samples));
  if (result.compared) say(lines_of(*result.compared));
  return text;
}

}  // namespace vernier
