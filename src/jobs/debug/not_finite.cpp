#include "jobs/debug/not_finite.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "model/graph_walk.h"

namespace vernier {
namespace {

constexpr std::size_t kMostInFront = 64;

/// A constant with infinities or NaN that `tensor` is computed from by what stands directly in front of it.
std::string constant_not_finite(const Model& model, const std::string& tensor) {
  const GraphWalk walk(model);
  std::vector<std::string> next{tensor};
  std::set<std::string> seen(next.begin(), next.end());
  for (std::size_t i = 0; i < next.size() && i < kMostInFront; ++i) {
    const onnx::NodeProto* maker = walk.maker(next[i]);
    if (maker == nullptr) {
      const std::optional<Tensor> value = initializer(model, next[i]);
      if (!value || value->dtype() != Dtype::Float32) continue;
      RangeStats range;
      accumulate_range(value->floats(), range);
      if (range.nonfinite > 0) return next[i];
      continue;
    }
    for (const std::string& read : maker->input()) {
      if (!read.empty() && seen.insert(read).second) next.push_back(read);
    }
  }
  return {};
}

}  // namespace

std::optional<NotFinite> first_not_finite(const LayerMatches& matches, const std::vector<ErrorStats>& errors,
                                          const Model& simulated) {
  std::map<std::string, int> places;
  int place = 0;
  for (const onnx::NodeProto& node : simulated.proto.graph().node()) {
    for (const std::string& output : node.output()) places[output] = place;
    ++place;
  }
  std::optional<std::size_t> first;
  int earliest = std::numeric_limits<int>::max();
  for (std::size_t i = 0; i < matches.pairs.size(); ++i) {
    const auto at = places.find(matches.pairs[i].low);
    if (errors[i].finite() || matches.layers[i] == nullptr || at == places.end() || at->second >= earliest) continue;
    earliest = at->second;
    first = i;
  }
  if (!first) return std::nullopt;
  const ErrorStats& sums = errors[*first];
  const std::string& layer = matches.layers[*first]->name;
  const std::string constant = constant_not_finite(simulated, matches.pairs[*first].low);
  std::string text = fmt::format("'{}' returns {} NaN or infinite values ({} NaN); the float model's are finite",
                                 printable(layer), sums.got_nan + sums.got_inf, sums.got_nan);
  if (!constant.empty()) text += fmt::format(". Constant '{}', which it reads, is not finite", printable(constant));
  const char* const cure = constant.empty() ? "keep the layer in a higher format"
                                            : "store a constant that the format holds, such as -1e4 for a mask";
  return NotFinite{{"not-finite", layer, text, cure}, matches.pairs[*first].low};
}

bool is_explained(const NotFinite& found, const std::vector<FoundDefect>& defects, const Model& given,
                  const SimulatedFile& file) {
  static const std::set<std::string_view> kRoundMuch = {"lost-layer", "lost-pair", "unused-levels", "starved-channels",
                                                        "hidden-part"};
  std::set<std::string> wrong;  // what the nodes of such defects make
  const auto is_wrong = [&](const std::string& node) {
    return std::ranges::any_of(
        defects, [&](const FoundDefect& defect) { return defect.node == node && !kRoundMuch.contains(defect.kind); });
  };
  for (const Model* model : {&given, &file.model}) {
    for (const onnx::NodeProto& node : model->proto.graph().node()) {
      if (is_wrong(node.name())) wrong.insert(node.output().begin(), node.output().end());
    }
  }
  for (const QuantizedTensor& pair : file.quantized) {
    if (is_wrong(pair.quantizer) || is_wrong(pair.dequantizer)) wrong.insert(pair.output);
  }
  const GraphWalk walk(file.model);
  std::vector<std::string> next{found.tensor};
  std::set<std::string> seen(next.begin(), next.end());
  for (std::size_t i = 0; i < next.size(); ++i) {
    if (wrong.contains(next[i])) return true;
    const onnx::NodeProto* maker = walk.maker(next[i]);
    if (maker == nullptr) continue;
    for (const std::string& read : maker->input()) {
      if (!read.empty() && seen.insert(read).second) next.push_back(read);
    }
  }
  return false;
}

}  // namespace vernier
