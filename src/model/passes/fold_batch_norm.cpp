#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/text.h"
#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "model/output_channels.h"
#include "model/passes/fold_noise.h"
#include "model/passes/pass.h"
#include "vernier/tensor.h"

namespace vernier::passes {
namespace {

std::string input_of(const onnx::NodeProto& node, int index) {
  return index < node.input_size() ? node.input(index) : std::string();
}

std::optional<Tensor> float_initializer(const Model& model, const std::string& name) {
  if (name.empty()) return std::nullopt;
  std::optional<Tensor> value = initializer(model, name);
  if (value && value->dtype() != Dtype::Float32) return std::nullopt;
  return value;
}

/// Per channel: BatchNormalization(x) = factor * x + offset.
struct Affine {
  std::vector<double> factor;
  std::vector<double> offset;
};

std::optional<Affine> affine_of(const Model& model, const onnx::NodeProto& norm, int opset) {
  if (attribute_int(norm, "training_mode", 0) != 0 || attribute_int(norm, "spatial", 1) != 1) return std::nullopt;
  if (opset < 7 && attribute_int(norm, "is_test", 0) == 0) return std::nullopt;
  for (int i = 1; i < norm.output_size(); ++i) {
    if (!norm.output(i).empty()) return std::nullopt;
  }
  const std::optional<Tensor> scale = float_initializer(model, input_of(norm, 1));
  const std::optional<Tensor> bias = float_initializer(model, input_of(norm, 2));
  const std::optional<Tensor> mean = float_initializer(model, input_of(norm, 3));
  const std::optional<Tensor> variance = float_initializer(model, input_of(norm, 4));
  if (!scale || !bias || !mean || !variance) return std::nullopt;
  if (bias->count() != scale->count() || mean->count() != scale->count() || variance->count() != scale->count()) {
    return std::nullopt;
  }
  const onnx::AttributeProto* epsilon = find_attribute(norm, "epsilon");
  const double eps = epsilon == nullptr ? 1e-5F : epsilon->f();
  Affine affine;
  for (std::size_t c = 0; c < scale->floats().size(); ++c) {
    const double factor = scale->floats()[c] / std::sqrt(static_cast<double>(variance->floats()[c]) + eps);
    affine.factor.push_back(factor);
    affine.offset.push_back(bias->floats()[c] - mean->floats()[c] * factor);
  }
  return affine;
}

/// A fold that raises the noise of the rounded weight by more is left alone: as a whole, and by a bit in one channel,
/// which the layers behind may look at alone.
constexpr double kMostNoiseDb = 1;
constexpr double kMostChannelNoiseDb = 6.1;

/// The bias as the layer adds it, one value a channel; nullopt when it cannot be written so.
std::optional<std::vector<double>> bias_of(const Model& model, const onnx::NodeProto& layer, std::size_t channels) {
  const std::string name = input_of(layer, 2);
  if (name.empty()) return std::vector<double>(channels, 0.0);
  const std::optional<Tensor> bias = float_initializer(model, name);
  if (!bias) return std::nullopt;
  const auto count = static_cast<std::size_t>(bias->count());
  const bool per_channel = count == channels && (bias->shape().empty() || bias->shape().back() == bias->count());
  if (!per_channel && count != 1) return std::nullopt;
  const onnx::AttributeProto* beta = find_attribute(layer, "beta");
  const double factor = beta == nullptr ? 1.0 : beta->f();
  std::vector<double> values(channels);
  for (std::size_t c = 0; c < channels; ++c) values[c] = factor * bias->floats()[count == 1 ? 0 : c];
  return values;
}

enum class Fold { Done, Impossible, TooNoisy };

Fold fold_into(Model& model, onnx::GraphProto& graph, onnx::NodeProto& layer, const onnx::NodeProto& norm,
               const std::map<std::string, int>& readers, const PrepareOptions& options) {
  const std::optional<Affine> affine = affine_of(model, norm, default_opset(model.proto));
  const std::optional<Tensor> weight = float_initializer(model, input_of(layer, 1));
  if (!affine || !weight) return Fold::Impossible;
  const std::optional<OutputChannels> channels = output_channels(layer, weight->shape());
  if (!channels || channels->count != affine->factor.size()) return Fold::Impossible;
  const std::optional<std::vector<double>> bias = bias_of(model, layer, channels->count);
  if (!bias) return Fold::Impossible;
  const FoldNoise noise = fold_noise(layer, *weight, *channels, affine->factor, options);
  if (noise.layer_db > kMostNoiseDb || noise.channel_db > kMostChannelNoiseDb) return Fold::TooNoisy;

  Tensor new_weight(Dtype::Float32, weight->shape());
  const std::span<float> scaled = new_weight.mutable_floats();
  const std::span<const float> old = weight->floats();
  for (std::size_t i = 0; i < scaled.size(); ++i) {
    scaled[i] = static_cast<float>(old[i] * affine->factor[channels->of(i)]);
  }
  Tensor new_bias(Dtype::Float32, {static_cast<std::int64_t>(channels->count)});
  for (std::size_t c = 0; c < channels->count; ++c) {
    new_bias.mutable_floats()[c] = static_cast<float>((*bias)[c] * affine->factor[c] + affine->offset[c]);
  }
  replace_parameter(model, graph, layer, 1, new_weight, readers);
  replace_parameter(model, graph, layer, 2, new_bias, readers);
  if (find_attribute(layer, "beta") != nullptr) set_attribute(layer, "beta", 1.0F);
  layer.set_output(0, norm.output(0));
  return Fold::Done;
}

}  // namespace

Outcome fold_batch_norm(Model& model, const Context& context) {
  int count = 0;
  std::vector<std::string> left;
  for_each_graph(*model.proto.mutable_graph(), [&](onnx::GraphProto& graph) {
    std::set<std::string> gone;
    std::map<std::string, int> producer;
    for (int i = 0; i < graph.node_size(); ++i) {
      const onnx::NodeProto norm = graph.node(i);
      const auto from = is_onnx(norm, "BatchNormalization") ? producer.find(input_of(norm, 0)) : producer.end();
      if (from != producer.end()) {
        onnx::NodeProto& layer = *graph.mutable_node(from->second);
        // Counted anew each time: a fold may have given a weight its own copy.
        const std::map<std::string, int> readers = count_readers(model);
        const Fold done = readers.at(norm.input(0)) == 1
                              ? fold_into(model, graph, layer, norm, readers, context.options)
                              : Fold::Impossible;
        if (done == Fold::TooNoisy) left.push_back(fmt::format("'{}'", printable(layer.name())));
        if (done == Fold::Done) {
          gone.insert(norm.name());
          producer[norm.output(0)] = from->second;
          continue;
        }
      }
      const bool takes = norm.op_type() == "Conv" || norm.op_type() == "ConvTranspose" || norm.op_type() == "Gemm";
      if (takes && of_onnx(norm) && norm.output_size() == 1) producer[norm.output(0)] = i;
    }
    count += static_cast<int>(gone.size());
    remove_nodes(graph, [&](const onnx::NodeProto& node) { return gone.contains(node.name()); });
  });
  Outcome outcome;
  if (!left.empty()) {
    outcome.notes.push_back({"batch-norms-not-folded", {{"nodes", left}}});
  }
  if (count == 0) return outcome;
  remove_leftovers(model);
  outcome.notes.push_back({"batch-norms-folded", {{"count", count}}});
  outcome.changed_arithmetic = true;
  return outcome;
}

}  // namespace vernier::passes
