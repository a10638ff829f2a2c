#include "jobs/run/unmarked_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <utility>

#include "base/elements.h"
#include "base/text.h"
#include "numerics/metrics.h"

namespace vernier {
namespace {

/// The nodes of each kernel that computes more than one of the file's. Engines name parts of their own, too.
std::set<std::set<std::string>> fusions_of(const EngineReport& report, const std::set<std::string>& known) {
  std::set<std::set<std::string>> fusions;
  for (const EngineKernel& kernel : report.kernels) {
    std::set<std::string> nodes;
    std::ranges::copy_if(kernel.nodes, std::inserter(nodes, nodes.end()),
                         [&](const std::string& node) { return known.contains(node); });
    if (nodes.size() > 1) fusions.insert(std::move(nodes));
  }
  return fusions;
}

bool holds(const std::set<std::set<std::string>>& fusions, const std::set<std::string>& nodes) {
  return std::ranges::any_of(fusions, [&](const auto& fusion) { return std::ranges::includes(fusion, nodes); });
}

ErrorStats difference(const Tensor& before, const Tensor& after) {
  ErrorStats stats;
  std::vector<float> room, other_room;
  for (std::int64_t first = 0; first < before.count(); first += kBlock) {
    const auto n = static_cast<std::size_t>(std::min(kBlock, before.count() - first));
    accumulate_error(read_block<float>(before, first, n, room), read_block<float>(after, first, n, other_room), stats);
  }
  return stats;
}

}  // namespace

UnmarkedEngine::UnmarkedEngine(EngineRunner& engine, const Model& file, const SampleSource& samples)
    : report_(engine.open(file, samples)) {
  for (const onnx::NodeProto& node : file.proto.graph().node()) nodes_.insert(node.name());
  double seconds = 0;
  outputs_ = engine.run(samples.at(0), seconds);
}

UnmarkedEngine::Changes UnmarkedEngine::changes(const EngineReport& marked,
                                                const std::vector<NamedTensor>& outputs) const {
  std::vector<std::string> parts;
  if (marked.kernels.size() != report_.kernels.size()) {
    parts.push_back(fmt::format("{} instead of {}", plural(marked.kernels.size(), "kernel"), report_.kernels.size()));
  }
  const auto fusions = fusions_of(marked, nodes_);
  std::vector<std::string> split;
  for (const std::set<std::string>& nodes : fusions_of(report_, nodes_)) {
    if (holds(fusions, nodes)) continue;
    std::vector<std::string> names;
    for (const std::string& node : nodes) names.push_back(printable(node));
    split.push_back(list_some(names, 3));
  }
  if (!split.empty()) {
    const std::string more = split.size() > 1 ? fmt::format(", and {} more", split.size() - 1) : "";
    parts.push_back(fmt::format("nodes no longer fused: {}{}", split.front(), more));
  }
  bool differ = false;
  for (const NamedTensor& before : outputs_) {
    const auto after = std::ranges::find(outputs, before.name, &NamedTensor::name);
    if (after == outputs.end() || after->tensor.shape() != before.tensor.shape()) continue;
    const ErrorStats stats = difference(before.tensor, after->tensor);
    if (noise_to_signal(stats) == 0) continue;
    differ = true;
    parts.push_back(fmt::format("output '{}' differs by up to {:.3g} ({:.1f} dB) on the first sample",
                                printable(before.name), max_abs_error(stats), sqnr_db(stats)));
  }
  if (parts.empty()) return {"marking tensors as outputs changes neither its kernels nor its outputs", false};
  return {fmt::format("marking tensors as outputs changes it: {}", fmt::join(parts, "; ")), differ};
}

}  // namespace vernier
