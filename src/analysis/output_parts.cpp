#include "analysis/output_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "analysis/axis_moves.h"
#include "analysis/class_axis.h"
#include "analysis/output_masks.h"
#include "analysis/part_groups.h"
#include "analysis/part_profile.h"
#include "analysis/run_tensors.h"
#include "model/graph_walk.h"
#include "model/operator_traits.h"

namespace vernier {
namespace {

constexpr std::size_t kMostSamples = 8, kFewestSamples = 2;
constexpr int kMostNodes = 64;               // between an output and its Concat
constexpr int kSliceSteps = 10, kWhere = 9;  // opsets that have them

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
      const bool many = length < 0 || (length > 1 && length <= kMostPartChannels);
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
    if (is_onnx(*node, "ScatterND") || is_onnx(*node, "ScatterElements")) return of_scatter(*node, tensor, steps - 1);
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
      } else if (axis.ends.empty()) {
        continue;
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

  /// The axis along which `node` writes some places of its data (y[..., :4] *= stride), and those of the data.
  std::vector<PartAxis> of_scatter(const onnx::NodeProto& node, const std::string& tensor, int steps) {
    std::vector<PartAxis> found = joined(node.input(0), steps);
    const Shape *whole = shape_of(tensor), *written = shape_of(node.input(2));
    if (whole == nullptr || written == nullptr || whole->size() != written->size()) return found;
    const auto [place, other] = std::ranges::mismatch(*whole, *written);
    if (place == whole->end() || !std::equal(place + 1, whole->end(), other + 1)) return found;
    const auto axis = static_cast<int>(place - whole->begin());
    if (std::ranges::find(found, axis, &PartAxis::axis) == found.end()) found.push_back({axis, {}});
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

/// An output that may have parts, and where they may be.
struct Candidate {
  std::string output;
  std::vector<PartProfile> profiles;
  MaskSearch masks;
  std::optional<OutputMask> mask = {};
};

class PartSearch {
 public:
  explicit PartSearch(const Subject& subject) : subject_(subject) {
    PartAxes axes(subject.model);
    for (const std::string& output : subject.judged) {
      const Picked picked = picked_of(subject, output);
      if (picked == Picked::ByOthers || picked == Picked::Layered) continue;
      const std::vector<PartAxis> found = axes.of(output, subject.class_axes);
      MaskSuspect suspect = mask_suspect(subject.model, output);
      if (found.empty() && !suspect.suspected()) continue;
      Candidate& candidate = candidates_.emplace_back(Candidate{output, {}, MaskSearch(std::move(suspect))});
      for (const PartAxis& axis : found) candidate.profiles.push_back({axis});
    }
  }

  FoundParts run() {
    if (candidates_.empty() || subject_.samples->size() == 0) return {};
    look_for_masks();
    // What a mask hides may be small where the mask itself is large.
    const bool again = std::ranges::any_of(
        candidates_, [](const Candidate& candidate) { return candidate.mask && !candidate.profiles.empty(); });
    if (again) profile_beside_masks();
    FoundParts result;
    for (const Candidate& candidate : candidates_) add_parts(candidate, result);
    return result;
  }

 private:
  void look_for_masks() {
    std::size_t seen = 0;
    run_over(all_samples(subject_).size(), [&](const std::vector<Tensor>& got) {
      bool go_on = false;
      for (std::size_t i = 0; i < candidates_.size(); ++i) {
        Candidate& candidate = candidates_[i];
        const MaskSuspect& suspect = candidate.masks.suspect();
        if (seen < kMostSamples) {
          for (PartProfile& profile : candidate.profiles) profile.add(got[i]);
        }
        if (suspect.suspected() && (!candidate.mask || seen < kMostSamples)) {
          candidate.masks.add(got[i]);
          candidate.mask = candidate.masks.found();
        }
        const bool few = seen + 1 < kMostSamples && !std::ranges::all_of(candidate.profiles, &PartProfile::has_enough);
        // Later samples may hold larger values than the first.
        const bool grows = candidate.mask && seen + 1 < kMostSamples;
        go_on = go_on || few || grows || (suspect.varies && !candidate.mask);
      }
      return ++seen < kFewestSamples || go_on;
    });
  }

  void profile_beside_masks() {
    for (Candidate& candidate : candidates_) {
      for (PartProfile& profile : candidate.profiles) {
        if (candidate.mask) profile = {profile.axis, {}, true, candidate.mask->limit};
      }
    }
    run_over(kMostSamples, [&](const std::vector<Tensor>& got) {
      bool enough = true;
      for (std::size_t i = 0; i < candidates_.size(); ++i) {
        if (!candidates_[i].mask) continue;
        for (PartProfile& profile : candidates_[i].profiles) {
          profile.add(got[i]);
          enough = enough && profile.has_enough();
        }
      }
      return !enough;
    });
  }

  void run_over(std::size_t most, const std::function<bool(const std::vector<Tensor>& got)>& visit) {
    Subject own = subject_;
    own.ranks = nullptr;
    set_batch(own, 1);
    own.progress = {};
    std::vector<std::size_t> order = all_samples(subject_);
    order.resize(std::min(order.size(), most));
    std::vector<std::string> outputs;
    for (const Candidate& candidate : candidates_) outputs.push_back(candidate.output);
    run_tensors(own, own.model, outputs, order,
                [&](std::size_t, const std::vector<Tensor>& got) { return visit(got); });
  }

  void add_parts(const Candidate& candidate, FoundParts& result) const {
    const int opset = default_opset(subject_.model.proto);
    const std::size_t first = result.parts.size();
    for (const PartProfile& profile : candidate.profiles) {
      for (OutputPart& part : profile.parts(candidate.output)) {
        const bool can = (part.step == 1 || opset >= kSliceSteps) && (!part.mask.exists() || opset >= kWhere);
        if (can && result.parts.size() - first < kMostOutputParts) result.parts.push_back(std::move(part));
      }
    }
    if (result.parts.size() > first) {
      std::vector<std::string> names;
      for (std::size_t k = first; k < result.parts.size(); ++k) names.push_back(result.parts[k].name);
      result.notes.push_back({"output-measured-in-parts", {{"output", candidate.output}, {"parts", names}}});
    }
    if (!candidate.mask || opset < kWhere) return;
    OutputPart rest{{}, candidate.output, 0, 0, std::nullopt, 1, {}, candidate.mask->limit};
    rest.name = part_name(rest);
    result.notes.push_back({"output-holds-mask",
                            {{"output", candidate.output},
                             {"percent", 100 * candidate.mask->share},
                             {"low", candidate.mask->low},
                             {"high", candidate.mask->high},
                             {"part", rest.name}}});
    result.parts.push_back(std::move(rest));
  }

  const Subject& subject_;
  std::vector<Candidate> candidates_;
};

}  // namespace

FoundParts find_output_parts(const Subject& subject) { return PartSearch(subject).run(); }

}  // namespace vernier
