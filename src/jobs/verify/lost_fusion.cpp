#include "jobs/verify/lost_fusion.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/some_samples.h"
#include "analysis/surgery.h"
#include "engines/onnxruntime/runtime.h"
#include "engines/onnxruntime/session.h"
#include "jobs/verify/default_optimizations.h"
#include "jobs/verify/on_engine.h"
#include "model/graph_walk.h"
#include "model/operator_traits.h"
#include "vernier/error.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr std::size_t kSamples = 4;
constexpr std::size_t kMostTensors = 256;
constexpr double kHealed = 0.25;   // of the noise: 6 dB
constexpr double kMatters = 1e-5;  // 50 dB: above that another order of sums shows
constexpr double kGone = 1e-4;     // codes of other kernels still round the other way now and then

/// Optimizers that change numbers, those that changed most files first: they quantize float biases, fuse pairs into
/// kernels on integers, drop or move pairs, and take a Relu for the clamp of a quantizer.
constexpr std::array<std::string_view, 5> kOptimizers{"WeightBiasQuantization", "QDQSelectorActionTransformer",
                                                      "DoubleQDQPairsRemover", "QDQPropagationTransformer",
                                                      "ConstantFolding"};

/// Sums over the samples: the difference of two runs, and what they are about their mean. Other sizes, and a NaN in one
/// of them alone, are infinite noise.
struct Difference {
  double error = 0, sum = 0, squares = 0;
  std::size_t count = 0;
  void add(std::span<const float> values, std::span<const float> others) {
    if (values.size() != others.size()) error = std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < std::min(values.size(), others.size()); ++k) {
      const double value = values[k], other = others[k];
      const bool same = value == other || (std::isnan(value) && std::isnan(other));
      if (!same) error += (value - other) * (value - other);
      if (!std::isfinite(value)) continue;
      sum += value;
      squares += value * value;
      ++count;
    }
  }
  double noise() const {
    if (!std::isfinite(error)) return std::numeric_limits<double>::infinity();
    const double mean = count == 0 ? 0 : sum / static_cast<double>(count);
    const double spread = squares - mean * sum;
    return spread > 0 ? error / spread : (error > 0 ? 1 : 0);
  }
};

class FusionSearch {
 public:
  FusionSearch(const Model& typed, const Loaded& loaded, DefaultPlace place)
      : loaded_(loaded),
        place_(place),
        few_(loaded.subject, kSamples),
        judged_(marked_beside(typed, loaded)),
        plain_(session(judged_, {.optimize = false})) {}

  LostFusion find() {
    LostFusion found;
    const double noise = worst(differences(judged_, plain_, {}));
    if (!(noise > kMatters)) return found;
    name_first(noise, found);
    const auto try_option = [&](const Choice& choice, const std::string& option) {
      const double left = worst(differences(judged_, plain_, choice));
      if (!(left < kHealed * noise)) return false;
      found.option = option;
      found.gone = left < kGone;
      return true;
    };
    for (const std::string_view optimizer : kOptimizers) {
      const std::string option = fmt::format("optimization.disable_specified_optimizers={}", optimizer);
      if (try_option({.left_out = std::string(optimizer)}, option)) return found;
    }
    try_option({.without_pairs = true}, "session.disable_quant_qdq=1");
    return found;
  }

 private:
  struct Choice {
    bool optimize = true;
    bool without_pairs = false;
    std::string left_out = {};
  };

  Session session(const Model& model, const Choice& choice) const {
    return {loaded_.subject.runtime,
            model,
            {.optimize = choice.optimize,
             .integer_kernels = !choice.without_pairs,
             .keeps_no_memory = true,
             .ir_as_given = true,
             .left_out = choice.left_out,
             .providers = providers_at(place_, *loaded_.subject.runtime)}};
  }

  /// Of each output of `model`, which `plain` runs without optimizations. A sample at a time: there may be many marks.
  std::vector<Difference> differences(const Model& model, const Session& plain, const Choice& choice) const {
    const Session other = session(model, choice);
    std::vector<Difference> found(static_cast<std::size_t>(model.proto.graph().output_size()));
    for (std::size_t index = 0; index < few_.size(); ++index) {
      const Sample sample = few_.at(index);
      const std::vector<Tensor> values = plain.run(sample), others = other.run(sample);
      for (std::size_t i = 0; i < found.size(); ++i) {
        const Tensor one = as_float32(values[i]), two = as_float32(others[i]);
        found[i].add(one.floats(), two.floats());
      }
    }
    return found;
  }

  /// Of the judged outputs, which are the first ones.
  double worst(const std::vector<Difference>& found) const {
    double most = 0;
    for (int i = 0; i < judged_.proto.graph().output_size(); ++i) {
      most = std::max(most, found[static_cast<std::size_t>(i)].noise());
    }
    return most;
  }

  /// The layer of the first quantized tensor that differs, if the file loses as much with these given out: that may
  /// keep a fusion away.
  void name_first(double noise, LostFusion& found) const {
    constexpr double kAsMuch = 0.5;
    const Model marked = with_marks();
    const std::vector<Difference> lost = differences(marked, session(marked, {.optimize = false}), {});
    if (!(worst(lost) >= kAsMuch * noise)) return;
    for (std::size_t i = static_cast<std::size_t>(judged_.proto.graph().output_size()); i < lost.size(); ++i) {
      if (!(lost[i].noise() >= std::max(kMatters, kHealed * noise))) continue;
      return name_layer(marked, marked.proto.graph().output(static_cast<int>(i)).name(), found);
    }
  }

  Model with_marks() const {
    Model marked = judged_;
    const std::map<std::string, ValueType> types = infer_types(marked);
    std::vector<std::pair<std::string, Dtype>> outputs;
    std::set<std::string> given;
    for (const auto& output : marked.proto.graph().output()) {
      outputs.emplace_back(output.name(), static_cast<Dtype>(output.type().tensor_type().elem_type()));
      given.insert(output.name());
    }
    for (const onnx::NodeProto& node : marked.proto.graph().node()) {
      const auto type = types.find(node.output_size() > 0 ? node.output(0) : std::string());
      if (!is_onnx(node, "QuantizeLinear") || type == types.end() || outputs.size() >= kMostTensors) continue;
      if (given.insert(node.output(0)).second) outputs.emplace_back(node.output(0), type->second.dtype);
    }
    set_outputs(marked, outputs);
    return marked;
  }

  /// What makes the values of that quantized tensor, behind what moves, clips or passes them on.
  static void name_layer(const Model& marked, const std::string& tensor, LostFusion& found) {
    const GraphWalk walk(marked);
    for (const onnx::NodeProto* node = walk.maker(tensor); node != nullptr; node = walk.maker(node->input(0))) {
      const bool passes =
          is_onnx(*node, {"QuantizeLinear", "DequantizeLinear", "Relu", "Clip"}) || has(*node, Trait::Moves);
      found.layer = node->name();
      found.op_type = node->op_type();
      if (!passes || node->input_size() == 0) return;
    }
  }

  const Loaded& loaded_;
  const DefaultPlace place_;
  const FewSamples few_;
  const Model judged_;   // its outputs are those that are judged
  const Session plain_;  // of judged_, without optimizations
};

}  // namespace

LostFusion find_lost_fusion(const Model& typed, const Loaded& loaded, DefaultPlace place) {
  if (!loaded.subject.carries.empty()) return {};
  try {
    return FusionSearch(typed, loaded, place).find();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Backend) throw;
    return {};
  }
}

}  // namespace vernier
