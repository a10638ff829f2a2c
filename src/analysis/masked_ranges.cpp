#include "analysis/masked_ranges.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "model/graph_walk.h"
#include "model/operator_traits.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr float kReach = 12;
constexpr float kMask = -9900;  // what reaches below it from 0 is a mask and nothing else (numerics/distribution.h)

class MaskedRanges {
 public:
  MaskedRanges(ChosenRanges& chosen, const Model& model) : chosen_(chosen), model_(model), walk_(model) {}

  void run() {
    const auto& nodes = model_.proto.graph().node();
    for (int i = nodes.size() - 1; i >= 0; --i) visit(nodes.Get(i));  // every reader of a tensor before its maker
    for (const auto& [tensor, need] : needs_) {
      RangeStats& range = chosen_.ranges.at(tensor);
      if (!mask_alone(range)) {
        range.min = std::min(range.min, need.low);
      } else if (need.readers == walk_.readers(tensor).size()) {
        range.min = std::max(range.min, need.low);
      }
    }
  }

 private:
  struct Need {
    float low = 0;
    std::size_t readers = 0;  // that let a softmax have it
  };

  void visit(const onnx::NodeProto& node) {
    if (node.op_type() == "Softmax") {
      const std::string scores = before_casts(node.input(0));
      const auto high = high_of(scores);
      if (high && chosen_.ranges.contains(scores) && left_out(scores)) ask(scores, *high - kReach);
      return;
    }
    for (const std::string& output : node.output()) {
      if (const auto result = needs_.find(output); result != needs_.end()) pass_on(node, result->second.low);
    }
  }

  /// To what `node` reads: values down to `low` are needed of what it makes.
  void pass_on(const onnx::NodeProto& node, float low) {
    const std::string& op = node.op_type();
    if (op == "Add") {
      for (const int addend : {0, 1}) {
        if (const auto high = high_of(node.input(1 - addend))) ask(node.input(addend), low - *high);
      }
    } else if (op == "Where") {
      for (const int chosen : {1, 2}) ask(node.input(chosen), low);
    } else if (has(node, Trait::Joins)) {
      for (const std::string& part : node.input()) ask(part, low);
    } else if (has(node, Trait::Moves | Trait::Fills)) {
      ask(node.input(0), low);
    }
  }

  /// Some softmaxes compute in another type than what feeds them.
  std::string before_casts(std::string tensor) const {
    for (const onnx::NodeProto* maker = walk_.maker(tensor); maker != nullptr && is_onnx(*maker, "Cast");
         maker = walk_.maker(tensor)) {
      tensor = maker->input(0);
    }
    return tensor;
  }

  static bool mask_alone(const RangeStats& range) { return range.min < kMask && range.max == 0; }

  /// The range is that of the data beside a mask.
  bool left_out(const std::string& tensor) const {
    const auto mask = chosen_.masks.find(tensor);
    return (mask != chosen_.masks.end() && mask->second.low < 0) || chosen_.ranges.at(tensor).nonfinite > 0;
  }

  void ask(const std::string& read, float low) {
    const std::string tensor = before_casts(read);
    const auto range = chosen_.ranges.find(tensor);
    if (range == chosen_.ranges.end() || range->second.empty()) return;
    if (!left_out(tensor) && !mask_alone(range->second)) return;
    Need& need = needs_.emplace(tensor, Need{low, 0}).first->second;
    need.low = std::min(need.low, low);
    ++need.readers;
  }

  /// Of data without its mask.
  std::optional<float> high_of(const std::string& tensor) const {
    if (const auto range = chosen_.ranges.find(tensor); range != chosen_.ranges.end()) {
      return range->second.empty() ? std::nullopt : std::optional(range->second.max);
    }
    const std::optional<Tensor> constant = initializer(model_, tensor);
    if (!constant || constant->dtype() != Dtype::Float32) return std::nullopt;
    RangeStats range;
    accumulate_range(constant->floats(), range);
    return range.empty() ? 0 : range.max;
  }

  ChosenRanges& chosen_;
  const Model& model_;
  const GraphWalk walk_;
  std::map<std::string, Need> needs_;
};

}  // namespace

void reach_below_masks(ChosenRanges& chosen, const Model& model) { MaskedRanges(chosen, model).run(); }

}  // namespace vernier
