#include "analysis/output_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "analysis/axis_moves.h"
#include "analysis/class_axis.h"
#include "analysis/run_tensors.h"
#include "base/text.h"
#include "model/graph_walk.h"
#include "model/operator_traits.h"

namespace vernier {
namespace {

constexpr std::size_t kMostParts = 8;         // of channels along one axis
constexpr std::size_t kMostOperands = 32;     // of Concats, an output
constexpr std::int64_t kMostChannels = 1024;  // that are looked at one by one
constexpr double kApart = 10;                 // in rms: 20 dB, more than three bits
constexpr double kNeighbours = 3.16227766;    // 10 dB
constexpr double kNothing = 1e-6;             // of the largest rms: as for relative errors (docs/contract.md, 4)
constexpr std::size_t kMostSamples = 8, kFewestSamples = 2;
constexpr double kEnoughValues = 64;    // of each segment
constexpr std::size_t kNarrowest = 32;  // a part of channels is at least one in so many
constexpr int kMostNodes = 64;          // between an output and its Concat

double rms(const SegmentSums& sums) { return sums.count > 0 ? std::sqrt(sums.energy / sums.count) : 0; }

/// What the graph says of one output.
class PartAxes {
 public:
  explicit PartAxes(const Model& model) : walk_(model), types_(infer_types(model)) {}

  std::vector<PartAxis> of(const std::string& output, const std::map<std::string, ClassAxis>& classes) {
    compared_.clear();
    std::vector<PartAxis> axes = joined(output, kMostNodes);
    for (const onnx::NodeProto* reader : walk_.readers(output)) {
      if (compares(*reader)) compared_.insert(axis_of(*reader, output));
    }
    const auto channels = classes.find(output);
    const Shape* shape = shape_of(output);
    if (channels != classes.end() && shape != nullptr && !channels->second.compared) {
      const int axis =
          channels->second.axis < 0 ? channels->second.axis + static_cast<int>(shape->size()) : channels->second.axis;
      const bool known = axis >= 0 && axis < static_cast<int>(shape->size());
      const std::int64_t length = known ? (*shape)[static_cast<std::size_t>(axis)] : 0;
      const bool many = length < 0 || (length > 1 && length <= kMostChannels);
      if (many && std::ranges::find(axes, axis, &PartAxis::axis) == axes.end()) axes.push_back({axis, {}});
    }
    std::erase_if(axes, [&](const PartAxis& axis) {
      const bool batch = axis.axis == 0 && axis.ends.empty();  // what a Concat joined there is none
      return axis.axis < 0 || batch || compared_.contains(axis.axis) || compared_.contains(std::nullopt);
    });
    return axes;
  }

 private:
  using Compared = std::set<std::optional<int>>;  // nullopt: some axis

  const Shape* shape_of(const std::string& tensor) const {
    const auto type = types_.find(tensor);
    return type == types_.end() || !type->second.rank_known ? nullptr : &type->second.shape;
  }

  static bool compares(const onnx::NodeProto& node) {
    for (const char* op_type : {"Softmax", "LogSoftmax", "Hardmax", "ArgMax", "ArgMin", "TopK"}) {
      if (is_onnx(node, op_type)) return true;
    }
    return false;
  }

  /// Along which the node compares; nullopt where that is not known.
  std::optional<int> axis_of(const onnx::NodeProto& node, const std::string& tensor) const {
    const Shape* shape = shape_of(tensor);
    const bool arg = is_onnx(node, "ArgMax") || is_onnx(node, "ArgMin");
    auto axis = static_cast<int>(attribute_int(node, "axis", arg ? 0 : -1));
    if (find_attribute(node, "axis") == nullptr && !arg && shape != nullptr) axis = static_cast<int>(shape->size()) - 1;
    if (axis < 0 && shape != nullptr) axis += static_cast<int>(shape->size());
    return axis < 0 ? std::nullopt : std::optional(axis);
  }

  /// The axes of `tensor` that Concats joined, the last Concat's first. Axes that a Softmax compares go to `compared_`,
  /// as axes of `tensor`.
  std::vector<PartAxis> joined(const std::string& tensor, int steps) {
    const onnx::NodeProto* node = walk_.maker(tensor);
    if (steps == 0 || node == nullptr || node->input_size() == 0) return {};
    if (compares(*node)) {
      compared_.insert(axis_of(*node, tensor));
      return {};
    }
    if (walk_.concatenated(*node)) return of_concat(*node, tensor, steps - 1);
    const Shape* to = shape_of(tensor);
    const std::string& first = node->input(0);
    if (is_onnx(*node, "Transpose")) {
      return moved(first, steps - 1, [&](int axis) -> std::optional<MergedAxis> {
        const std::optional<int> to_axis = transposed_axis(*node, axis);
        return to_axis ? std::optional(MergedAxis{*to_axis}) : std::nullopt;
      });
    }
    const Shape* from = shape_of(first);
    if (reshapes(*node)) {
      if (from == nullptr || to == nullptr) return {};
      const auto repeated = [&](int axis) { return inner_axis(*from, *to, axis); };
      return moved(
          first, steps - 1, [&](int axis) { return merged_axis(*from, *to, axis); }, repeated);
    }
    if (!has(*node, Traits(Trait::Elementwise) | Trait::ChangesType | Trait::Quantizes)) return {};
    for (const std::string& input : node->input()) {
      if (walk_.maker(input) == nullptr || to == nullptr || shape_of(input) == nullptr) continue;
      if (shape_of(input)->size() == to->size()) return joined(input, steps - 1);
    }
    return {};
  }

  /// `repeated`: where an axis comes to lie that repeats behind the node.
  template <class Move>
  std::vector<PartAxis> moved(const std::string& tensor, int steps, const Move& move,
                              const std::function<std::optional<InnerAxis>(int)>& repeated = {}) {
    const Compared before = std::exchange(compared_, {});
    std::vector<PartAxis> found;
    for (PartAxis& axis : joined(tensor, steps)) {
      std::int64_t inner = 1;
      if (const std::optional<MergedAxis> to = move(axis.axis)) {
        axis.axis = to->axis;
        inner = to->inner;
      } else if (const auto round = repeated && axis.rounds == 0 ? repeated(axis.axis) : std::nullopt) {
        axis.axis = round->axis;
        inner = round->inner;
        axis.rounds = round->outer;
        axis.last = axis.ends.back() * axis.rounds;
      } else {
        continue;
      }
      for (std::int64_t& end : axis.ends) end *= inner;
      axis.first *= inner;
      axis.last *= inner;
      found.push_back(std::move(axis));
    }
    Compared here = before;
    for (const std::optional<int>& axis : compared_) {
      const std::optional<MergedAxis> to = axis ? move(*axis) : std::nullopt;
      here.insert(to ? std::optional(to->axis) : std::nullopt);
    }
    compared_ = std::move(here);
    return found;
  }

  std::vector<PartAxis> of_concat(const onnx::NodeProto& node, const std::string& tensor, int steps) {
    std::vector<PartAxis> found;
    const Shape* shape = shape_of(tensor);
    auto axis = static_cast<int>(attribute_int(node, "axis", 1));
    if (axis < 0 && shape != nullptr) axis += static_cast<int>(shape->size());
    std::vector<std::int64_t> ends;
    std::vector<std::int64_t> operands;
    if (shape != nullptr && axis >= 0 && !is_state(node) && add_ends(node, axis, ends, operands, steps)) {
      found.push_back({axis, std::move(ends)});
      add_rounds(node, axis, operands, found, steps);
    }
    const auto* joins = walk_.concatenated(node);
    if (joins->empty()) return found;
    for (PartAxis& inner : joined(joins->Get(0), steps)) {
      if (std::ranges::find(found, inner.axis, &PartAxis::axis) == found.end()) found.push_back(std::move(inner));
    }
    return found;
  }

  /// Segments that repeat inside single operands of `node`, whose ends are `operands`.
  void add_rounds(const onnx::NodeProto& node, int axis, const std::vector<std::int64_t>& operands,
                  std::vector<PartAxis>& found, int steps) {
    const Compared before = compared_;
    std::int64_t start = 0;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      for (PartAxis& inner : joined(walk_.concatenated(node)->Get(static_cast<int>(i)), steps)) {
        if (inner.axis != axis || inner.rounds == 0) continue;
        inner.first += start;
        inner.last += start;
        found.push_back(std::move(inner));
      }
      start = operands[i];
    }
    compared_ = before;
  }

  /// The ends of the operands of `node`, those of a Concat along the same axis among them in the place of that one.
  /// `operands`: the ends of its own.
  bool add_ends(const onnx::NodeProto& node, int axis, std::vector<std::int64_t>& ends,
                std::vector<std::int64_t>& operands, int steps) {
    for (const std::string& input : *walk_.concatenated(node)) {
      const Shape* shape = shape_of(input);
      if (shape == nullptr || axis >= static_cast<int>(shape->size())) return false;
      const std::int64_t length = (*shape)[static_cast<std::size_t>(axis)];
      if (length < 0) return false;
      const std::int64_t start = ends.empty() ? 0 : ends.back();
      const onnx::NodeProto* inner = steps > 0 ? joint_behind(input) : nullptr;
      std::vector<std::int64_t> within, of_inner;
      if (inner != nullptr && attribute_int(*inner, "axis", 1) == axis &&
          add_ends(*inner, axis, within, of_inner, steps - 1) && !within.empty() && within.back() == length) {
        for (const std::int64_t end : within) ends.push_back(start + end);
      } else {
        ends.push_back(start + length);
      }
      operands.push_back(start + length);
    }
    return true;
  }

  /// The Concat that made `tensor`, behind what computes in place.
  const onnx::NodeProto* joint_behind(std::string tensor) const {
    for (int i = 0; i < kMostNodes; ++i) {
      const onnx::NodeProto* node = walk_.maker(tensor);
      if (node == nullptr || node->input_size() == 0) return nullptr;
      if (is_onnx(*node, "Concat")) return node;
      if (!has(*node, Traits(Trait::Elementwise) | Trait::ChangesType | Trait::Quantizes)) return nullptr;
      tensor = node->input(0);
    }
    return nullptr;
  }

  /// States of a recurrent layer, stacked to be carried.
  bool is_state(const onnx::NodeProto& concat) const {
    return std::ranges::any_of(concat.input(), [&](std::string tensor) {
      for (int i = 0; i < kMostNodes; ++i) {
        const onnx::NodeProto* node = walk_.maker(tensor);
        if (node == nullptr || node->input_size() == 0) return false;
        if (has(*node, Trait::Recurrent)) return node->output(0) != tensor;
        if (!has(*node, Traits(Trait::Moves) | Trait::ChangesType)) return false;
        tensor = node->input(0);
      }
      return false;
    });
  }

  Compared compared_;
  const GraphWalk walk_;
  const std::map<std::string, ValueType> types_;
};

/// One axis of one output, and the sums of what lies at each place along it.
struct Profile {
  std::size_t output = 0;
  PartAxis axis;
  std::vector<SegmentSums> places;
  bool usable = true;

  void add(const Tensor& tensor) {
    const Shape& shape = tensor.shape();
    const auto at = static_cast<std::size_t>(axis.axis);
    usable = usable && at < shape.size();
    if (!usable) return;
    const std::int64_t length = shape[at];
    if (places.empty()) places.resize(static_cast<std::size_t>(length));
    usable = length > 1 && static_cast<std::size_t>(length) == places.size() &&
             (axis.ends.empty()  ? length <= kMostChannels
              : axis.rounds == 0 ? axis.ends.back() == length
                                 : axis.last - axis.first == axis.rounds * axis.ends.back() && axis.last <= length);
    if (!usable) return;
    std::size_t outer = 1, inner = 1;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (i < at) outer *= static_cast<std::size_t>(shape[i]);
      if (i > at) inner *= static_cast<std::size_t>(shape[i]);
    }
    const float* value = tensor.floats().data();
    for (std::size_t o = 0; o < outer; ++o) {
      for (SegmentSums& place : places) {
        for (std::size_t i = 0; i < inner; ++i, ++value) {
          if (!std::isfinite(*value)) continue;
          place.energy += static_cast<double>(*value) * *value;
          place.count += 1;
        }
      }
    }
  }

  std::vector<SegmentSums> segments() const {
    if (axis.ends.empty()) return places;
    std::vector<SegmentSums> sums(axis.ends.size());
    for (std::int64_t round = 0; round < std::max<std::int64_t>(axis.rounds, 1); ++round) {
      auto place = static_cast<std::size_t>(axis.first + round * axis.ends.back());
      for (std::size_t i = 0; i < sums.size(); ++i) {
        const std::int64_t length = axis.ends[i] - (i == 0 ? 0 : axis.ends[i - 1]);
        for (std::int64_t k = 0; k < length; ++k, ++place) {
          sums[i].energy += places[place].energy;
          sums[i].count += places[place].count;
        }
      }
    }
    return sums;
  }

  bool has_enough() const {
    const std::vector<SegmentSums> sums = segments();
    return !usable || std::ranges::all_of(sums, [](const SegmentSums& sum) { return sum.count >= kEnoughValues; });
  }

  std::vector<OutputPart> parts(const std::string& name) const {
    if (!usable || places.empty()) return {};
    std::vector<OutputPart> found;
    std::int64_t begin = 0;
    for (const std::size_t start : part_starts(segments(), !axis.ends.empty())) {
      const auto end = axis.ends.empty() ? static_cast<std::int64_t>(start) : axis.ends[start - 1];
      found.push_back({{}, name, axis.axis, begin, end, 1});
      begin = end;
    }
    if (!found.empty()) found.push_back({{}, name, axis.axis, begin, std::nullopt, 1});
    if (axis.rounds > 0 && !found.empty()) found = repeated(std::move(found));
    for (OutputPart& part : found) part.name = part_name(part);
    return found;
  }

  /// The parts of one round in all rounds: each place of a round by its own with a step, or each run of places of each
  /// round, whichever are fewer.
  std::vector<OutputPart> repeated(std::vector<OutputPart> of_round) const {
    const std::int64_t length = axis.ends.back();
    const auto to_end = [&](std::int64_t end) {
      return end == static_cast<std::int64_t>(places.size()) ? std::nullopt : std::optional(end);
    };
    std::vector<OutputPart> found;
    if (length <= axis.rounds * static_cast<std::int64_t>(of_round.size())) {
      for (std::int64_t place = 0; place < length; ++place) {
        OutputPart& part = found.emplace_back(of_round.front());
        part.begin = axis.first + place;
        part.end = to_end(axis.last);
        part.step = length;
      }
      return found;
    }
    for (std::int64_t round = 0; round < axis.rounds; ++round) {
      const std::int64_t start = axis.first + round * length;
      for (const OutputPart& run : of_round) {
        OutputPart& part = found.emplace_back(run);
        part.begin = start + run.begin;
        part.end = to_end(start + run.end.value_or(length));
      }
    }
    return found;
  }
};

/// Neighbouring segments that belong together.
struct Group {
  std::size_t first = 0;
  SegmentSums sums;
};

/// How far two neighbours are apart, as a ratio; 0: one of them is nothing.
double apart(const Group& a, const Group& b, double nothing) {
  const double left = rms(a.sums), right = rms(b.sums);
  if (left <= nothing || right <= nothing) return 0;
  return std::max(left / right, right / left);
}

/// Operands of a Concat: the nearest neighbours become one while they are near, or too many.
std::vector<std::size_t> starts_of_operands(std::span<const SegmentSums> segments, double nothing) {
  std::vector<Group> groups;
  for (std::size_t i = 0; i < segments.size(); ++i) groups.push_back({i, segments[i]});
  while (groups.size() > 1) {
    std::size_t nearest = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i + 1 < groups.size(); ++i) {
      const double ratio = apart(groups[i], groups[i + 1], nothing);
      if (ratio >= least) continue;
      least = ratio;
      nearest = i;
    }
    if (least >= kNeighbours && groups.size() <= kMostOperands) break;
    groups[nearest].sums.energy += groups[nearest + 1].sums.energy;
    groups[nearest].sums.count += groups[nearest + 1].sums.count;
    groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(nearest) + 1);
  }
  std::vector<std::size_t> starts;
  for (std::size_t i = 1; i < groups.size(); ++i) starts.push_back(groups[i].first);
  return starts;
}

/// Channels are cut in two where all of one side are ten times as large as all of the other, and so each side again. In
/// a wide output a part is no narrow one: the rarest of 1000 classes at its end is no part.
void add_starts_of_channels(std::span<const double> sizes, std::size_t first, std::size_t narrowest,
                            std::vector<std::size_t>& starts) {
  std::size_t best = 0;
  double widest = kApart;
  for (std::size_t cut = narrowest; cut + narrowest <= sizes.size() && cut > 0; ++cut) {
    double least[2] = {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
    double most[2] = {0, 0};
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] <= 0) continue;
      const std::size_t side = i < cut ? 0 : 1;
      least[side] = std::min(least[side], sizes[i]);
      most[side] = std::max(most[side], sizes[i]);
    }
    if (most[0] <= 0 || most[1] <= 0) continue;
    const double ratio = std::max(least[0] / most[1], least[1] / most[0]);
    if (ratio < widest) continue;
    widest = ratio;
    best = cut;
  }
  if (best == 0) return;
  add_starts_of_channels(sizes.first(best), first, narrowest, starts);
  starts.push_back(first + best);
  add_starts_of_channels(sizes.subspan(best), first + best, narrowest, starts);
}

}  // namespace

std::vector<std::size_t> part_starts(std::span<const SegmentSums> segments, bool joined) {
  double largest = 0;
  for (const SegmentSums& segment : segments) largest = std::max(largest, rms(segment));
  // What a Concat joins is there on purpose, however small; of channels some are never used.
  const double nothing = joined ? 0 : kNothing * largest;
  std::vector<double> sizes;
  double smallest = largest;
  for (const SegmentSums& segment : segments) {
    sizes.push_back(rms(segment) > nothing ? rms(segment) : 0);
    if (sizes.back() > 0) smallest = std::min(smallest, sizes.back());
  }
  if (!(largest >= kApart * smallest)) return {};
  if (joined) return starts_of_operands(segments, nothing);
  std::vector<std::size_t> starts;
  add_starts_of_channels(sizes, 0, std::max<std::size_t>(1, sizes.size() / kNarrowest), starts);
  return starts.size() < kMostParts ? starts : std::vector<std::size_t>{};
}

FoundParts find_output_parts(const Subject& subject) {
  PartAxes axes(subject.model);
  std::vector<Profile> profiles;
  std::vector<std::string> outputs;
  for (const std::string& output : subject.judged) {
    const std::vector<PartAxis> found = axes.of(output, subject.class_axes);
    if (found.empty()) continue;
    for (const PartAxis& axis : found) profiles.push_back({outputs.size(), axis, {}, true});
    outputs.push_back(output);
  }
  FoundParts result;
  if (profiles.empty() || subject.samples->size() == 0) return result;

  Subject own = subject;
  own.ranks = nullptr;
  set_batch(own, 1);
  own.progress = {};
  std::vector<std::size_t> order = all_samples(subject);
  order.resize(std::min(order.size(), kMostSamples));
  std::size_t seen = 0;
  run_tensors(own, own.model, outputs, order, [&](std::size_t, const std::vector<Tensor>& got) {
    for (Profile& profile : profiles) profile.add(got[profile.output]);
    return ++seen < kFewestSamples || !std::ranges::all_of(profiles, &Profile::has_enough);
  });
  const bool has_steps = default_opset(subject.model.proto) >= 10;  // of Slice
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::size_t first = result.parts.size();
    for (const Profile& profile : profiles) {
      if (profile.output != i) continue;
      for (OutputPart& part : profile.parts(outputs[i])) {
        const bool can = part.step == 1 || has_steps;
        if (can && result.parts.size() - first < kMostOperands) result.parts.push_back(std::move(part));
      }
    }
    if (result.parts.size() == first) continue;
    std::vector<std::string> names;
    for (std::size_t k = first; k < result.parts.size(); ++k) names.push_back(result.parts[k].name);
    result.notes.push_back({"output-measured-in-parts", {{"output", outputs[i]}, {"parts", names}}});
  }
  return result;
}

}  // namespace vernier
