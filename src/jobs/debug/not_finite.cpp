#include "jobs/debug/not_finite.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>

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

std::optional<FoundDefect> first_not_finite(const LayerMatches& matches, const std::vector<ErrorStats>& errors,
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
  return FoundDefect{"not-finite", layer, text,
                     constant.empty() ? "keep the layer in a higher format"
                                      : "store a constant that the format holds, such as -1e4 for a mask"};
}

}  // namespace vernier
