#include "jobs/verify/lost_fusion.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
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
constexpr double kHealed = 0.25;  // of the noise: 6 dB

/// Optimizers that change numbers, those that changed most files first: they quantize float biases, fuse pairs into
/// kernels on integers, drop or move pairs, and take a Relu for the clamp of a quantizer.
constexpr std::array<std::string_view, 5> kOptimizers{"WeightBiasQuantization", "QDQSelectorActionTransformer",
                                                      "DoubleQDQPairsRemover", "QDQPropagationTransformer",
                                                      "ConstantFolding"};

/// Sums over the samples: the difference of two runs, and what they are about their mean.
struct Difference {
  double error = 0, sum = 0, squares = 0;
  std::size_t count = 0;
  double noise() const {
    const double mean = count == 0 ? 0 : sum / static_cast<double>(count);
    const double spread = squares - mean * sum;
    return spread > 0 ? error / spread : (error > 0 ? 1 : 0);
  }
};

class FusionSearch {
 public:
  FusionSearch(const Model& typed, const Loaded& loaded, DefaultPlace place)
      : loaded_(loaded), place_(place), few_(loaded.subject, kSamples), marked_(marked_beside(typed, loaded)) {
    outputs_ = static_cast<std::size_t>(marked_.proto.graph().output_size());
    const std::map<std::string, ValueType> types = infer_types(marked_);
    std::vector<std::pair<std::string, Dtype>> outputs;
    for (const auto& output : marked_.proto.graph().output()) {
      outputs.emplace_back(output.name(), static_cast<Dtype>(output.type().tensor_type().elem_type()));
    }
    for (const onnx::NodeProto& node : marked_.proto.graph().node()) {
      const auto type = types.find(node.output_size() > 0 ? node.output(0) : std::string());
      if (!is_onnx(node, "QuantizeLinear") || type == types.end() || outputs.size() >= kMostTensors) continue;
      outputs.emplace_back(node.output(0), type->second.dtype);
    }
    set_outputs(marked_, outputs);
    for (std::size_t sample = 0; sample < few_.size(); ++sample) samples_.push_back(few_.at(sample));
    plain_ = run({.optimize = false});
  }

  LostFusion find() {
    LostFusion found;
    const std::vector<Difference> lost = differences({});
    const double noise = worst(lost);
    if (!(noise > 0)) return found;
    for (std::size_t i = outputs_; i < lost.size(); ++i) {
      if (lost[i].noise() < kHealed * noise) continue;
      name_layer(marked_.proto.graph().output(static_cast<int>(i)).name(), found);
      break;
    }
    for (const std::string_view optimizer : kOptimizers) {
      if (worst(differences({.left_out = std::string(optimizer)})) > kHealed * noise) continue;
      found.option = fmt::format("optimization.disable_specified_optimizers={}", optimizer);
      return found;
    }
    if (worst(differences({.without_pairs = true})) <= kHealed * noise) found.option = "session.disable_quant_qdq=1";
    return found;
  }

 private:
  struct Choice {
    bool optimize = true;
    bool without_pairs = false;
    std::string left_out = {};
  };

  std::vector<std::vector<Tensor>> run(const Choice& choice) const {
    const Session session(loaded_.subject.runtime, marked_,
                          {.optimize = choice.optimize,
                           .integer_kernels = !choice.without_pairs,
                           .keeps_no_memory = true,
                           .ir_as_given = true,
                           .left_out = choice.left_out,
                           .providers = providers_at(place_, *loaded_.subject.runtime)});
    std::vector<std::vector<Tensor>> results;
    for (const Sample& sample : samples_) {
      std::vector<Tensor>& values = results.emplace_back();
      for (const Tensor& output : session.run(sample)) values.push_back(as_float32(output));
    }
    return results;
  }

  std::vector<Difference> differences(const Choice& choice) const {
    const std::vector<std::vector<Tensor>> other = run(choice);
    std::vector<Difference> found(static_cast<std::size_t>(marked_.proto.graph().output_size()));
    for (std::size_t sample = 0; sample < plain_.size(); ++sample) {
      for (std::size_t i = 0; i < found.size(); ++i) {
        const auto &left = plain_[sample][i].floats(), &right = other[sample][i].floats();
        if (left.size() != right.size()) continue;
        for (std::size_t k = 0; k < left.size(); ++k) {
          const double value = left[k], error = value - static_cast<double>(right[k]);
          found[i].error += error * error;
          found[i].sum += value;
          found[i].squares += value * value;
        }
        found[i].count += left.size();
      }
    }
    return found;
  }

  /// Of the outputs.
  double worst(const std::vector<Difference>& found) const {
    double most = 0;
    for (std::size_t i = 0; i < outputs_; ++i) most = std::max(most, found[i].noise());
    return most;
  }

  /// What makes the values of that quantized tensor, behind what moves, clips or passes them on.
  void name_layer(const std::string& tensor, LostFusion& found) const {
    const GraphWalk walk(marked_);
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
  Model marked_;
  std::size_t outputs_ = 0;  // the first of the marked tensors
  std::vector<Sample> samples_;
  std::vector<std::vector<Tensor>> plain_;
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
