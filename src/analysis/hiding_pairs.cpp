#include "analysis/hiding_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "analysis/axis_moves.h"
#include "base/text.h"
#include "model/graph_walk.h"
#include "model/operator_traits.h"
#include "numerics/grid.h"
#include "plan/round_node.h"
#include "vernier/format.h"

namespace vernier {
namespace {

constexpr double kBad = 20;       // dB: an error a tenth as large as the values
constexpr double kExplained = 6;  // dB: more than half of the error's amplitude

/// A slice of a tensor inside the graph.
struct Place {
  std::string tensor;
  int axis = 0;
  std::int64_t begin = 0;
  std::optional<std::int64_t> end;
  std::int64_t step = 1;
};

class WayBack {
 public:
  explicit WayBack(const SimulatedFile& file)
      : file_(file), walk_(file.model), types_(infer_simulated_types(file.model)) {
    for (const QuantizedTensor& pair : file.quantized) pairs_[pair.output] = &pair;
  }

  std::vector<HidingPair> from(const OutputPart& part) {
    Place place{part.output, part.axis, part.begin, part.end, part.step};
    if (!part.places.empty()) place = {part.output, part.axis, part.places.front(), part.places.back() + 1};
    follow(place);
    return found_;
  }

 private:
  const Shape* shape_of(const std::string& tensor) const {
    const auto type = types_.find(tensor);
    return type == types_.end() || !type->second.rank_known ? nullptr : &type->second.shape;
  }

  void follow(Place place) {
    while (seen_.insert(place.tensor).second) {
      const onnx::NodeProto* node = walk_.maker(place.tensor);
      if (const auto pair = pairs_.find(place.tensor); pair != pairs_.end()) found_.push_back({pair->second});
      if (node == nullptr || node->input_size() == 0) return;
      if (const auto* operands = walk_.concatenated(*node)) return follow_operands(*node, *operands, place);
      if (is_onnx(*node, "Transpose")) {
        const std::vector<std::int64_t> order = attribute_ints(*node, "perm");
        if (place.axis >= static_cast<int>(order.size())) return;
        place.axis = static_cast<int>(order[static_cast<std::size_t>(place.axis)]);
      } else if (reshapes(*node)) {
        const Shape* from = shape_of(node->input(0));
        const Shape* to = shape_of(place.tensor);
        if (from == nullptr || to == nullptr) return;
        const std::optional<Place> before = before_reshape(place, *from, *to);
        if (!before) return;
        place = *before;
      } else if (!is_onnx(*node, "Identity") && pairs_.find(place.tensor) == pairs_.end() &&
                 !keeps_places(*node, place)) {
        return;
      }
      place.tensor = node->input(0);
    }
  }

  static std::optional<Place> before_reshape(const Place& place, const Shape& from, const Shape& to) {
    if (const std::optional<MergedAxis> axis = axis_before(from, to, place.axis); axis && place.step == 1) {
      Place before{place.tensor, axis->axis, place.begin / axis->inner, place.end};
      if (before.end) *before.end = (*before.end + axis->inner - 1) / axis->inner;
      return before;
    }
    // One place of an axis that repeats, in all rounds or in one.
    for (int i = 0; i < static_cast<int>(from.size()); ++i) {
      const std::optional<InnerAxis> inside = inner_axis(from, to, i);
      if (!inside || inside->axis != place.axis) continue;
      const std::int64_t length = from[static_cast<std::size_t>(i)], round = length * inside->inner;
      const std::int64_t begin = place.begin % round;
      const std::int64_t places =
          place.step == round ? 1 : place.end.value_or(place.begin - begin + round) - place.begin;
      if ((place.step != 1 && place.step != round) || begin + places > round) continue;
      return Place{place.tensor, i, begin / inside->inner, (begin + places + inside->inner - 1) / inside->inner};
    }
    return std::nullopt;
  }

  /// Values from elsewhere, or sums of neighbours, along other axes: their size stays what it was.
  bool keeps_places(const onnx::NodeProto& node, const Place& place) const {
    const Shape* from = shape_of(node.input(0));
    const Shape* to = shape_of(place.tensor);
    const auto axis = static_cast<std::size_t>(place.axis);
    const bool keeper = is_onnx(
        node, {"MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "Resize", "Upsample", "Pad", "Tile",
               "Expand", "Slice", "Gather", "GatherND", "GatherElements", "ScatterND", "ScatterElements"});
    return keeper && from != nullptr && to != nullptr && from->size() == to->size() && axis < to->size() &&
           (*from)[axis] == (*to)[axis] && (*to)[axis] > 0;
  }

  void follow_operands(const onnx::NodeProto& concat, const google::protobuf::RepeatedPtrField<std::string>& operands,
                       const Place& place) {
    for (HidingPair& behind : found_) behind.joined = true;
    const Shape* shape = shape_of(place.tensor);
    auto axis = static_cast<int>(attribute_int(concat, "axis", 1));
    if (axis < 0 && shape != nullptr) axis += static_cast<int>(shape->size());
    std::int64_t start = 0;
    for (const std::string& operand : operands) {
      Place inside = place;
      inside.tensor = operand;
      if (axis == place.axis) {
        const Shape* own = shape_of(operand);
        if (own == nullptr || axis >= static_cast<int>(own->size())) return;
        const std::int64_t length = (*own)[static_cast<std::size_t>(axis)];
        if (length < 0) return;
        const std::int64_t behind = start + length;
        const bool meets = place.begin < behind && (!place.end || *place.end > start);
        inside.begin = place.begin - start;
        if (inside.begin < 0) inside.begin = (inside.begin % place.step + place.step) % place.step;
        inside.end = place.end && *place.end < behind ? std::optional(*place.end - start) : std::nullopt;
        start = behind;
        if (!meets) continue;
      }
      follow(inside);
    }
  }

  const SimulatedFile& file_;
  const GraphWalk walk_;
  const std::map<std::string, ValueType> types_;
  std::map<std::string, const QuantizedTensor*> pairs_;
  std::set<std::string> seen_;
  std::vector<HidingPair> found_;
};

}  // namespace

std::vector<HidingPair> pairs_hiding(const SimulatedFile& file, const OutputPart& part, const ErrorStats& sums) {
  std::vector<HidingPair> hiding;
  const auto pairs = static_cast<double>(sums.finite_pairs());
  if (pairs <= 0 || sums.ref_energy <= 0 || !(sqnr_db(sums) < kBad)) return hiding;
  const double energy = sums.ref_energy / pairs;
  for (HidingPair& found : WayBack(file).from(part)) {
    const QuantizedTensor* pair = found.pair;
    if (pair->params.scale.size() != 1 || !is_integer(pair->params.format)) continue;
    const auto step = static_cast<double>(pair->params.scale.front());
    // Rounding is an error of step / sqrt(12), and no more than the values where all of them become zero.
    const double left_db = 10 * std::log10(energy / std::min(step * step / 12, energy));
    if (left_db >= kBad || left_db > sqnr_db(sums) + kExplained) continue;
    found.step = step;
    found.rms = std::sqrt(energy);
    found.levels = std::floor(sums.max_abs_ref / step + 0.5) + 1;
    hiding.push_back(found);
  }
  return hiding;
}

std::string hiding_text(const HidingPair& hiding, const OutputPart& part) {
  const bool masked = part.mask.exists() && hiding.step > part.mask.size / 1024;
  const char* const cure = masked          ? "Quantize in front of the mask"
                           : hiding.joined ? "Quantize its parts in front of the Concat, each with a scale of its own"
                                           : "Make its parts tensors of their own, each with its own scale";
  return fmt::format(
      "'{}' has one scale, {:.4g}, for values of different size: '{}' (rms {:.3g}) has about {:.0f} of {} levels left. "
      "{}, or leave it in float",
      printable(hiding.pair->tensor), hiding.step, printable(part.name), hiding.rms, hiding.levels,
      1 << bits_of(hiding.pair->params.format), cure);
}

}  // namespace vernier
