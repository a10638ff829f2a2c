#include "plan/saturating_pairs.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "model/graph_edit.h"
#include "model/graph_walk.h"
#include "model/operator_traits.h"
#include "numerics/pair_sums.h"
#include "numerics/tensor_grid.h"
#include "plan/round_node.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// A weight as [outputs, terms] in the order in which kernels sum: of convolutions, whose data they lay out with
/// channels last, channel by channel at each place of the kernel.
struct WeightRows {
  std::vector<std::int8_t> codes;
  std::size_t outputs = 0, terms = 0;
};

WeightRows rows_of(const onnx::NodeProto& node, const Shape& shape, const std::vector<std::byte>& codes) {
  WeightRows rows;
  rows.codes.resize(codes.size());
  const bool convolution = node.op_type() == "Conv";
  const bool by_rows = convolution || attribute_int(node, "transB", 0) != 0;
  rows.outputs = static_cast<std::size_t>(shape[by_rows ? 0 : 1]);
  rows.terms = codes.size() / rows.outputs;
  const std::size_t channels = convolution ? static_cast<std::size_t>(shape[1]) : rows.terms;
  const std::size_t places = rows.terms / channels;
  for (std::size_t output = 0; output < rows.outputs; ++output) {
    for (std::size_t place = 0; place < places; ++place) {
      for (std::size_t channel = 0; channel < channels; ++channel) {
        const std::size_t from =
            by_rows ? output * rows.terms + channel * places + place : channel * rows.outputs + output;
        rows.codes[output * rows.terms + place * channels + channel] = static_cast<std::int8_t>(codes[from]);
      }
    }
  }
  return rows;
}

class Saturation {
 public:
  explicit Saturation(const SimulatedFile& file) : file_(file), walk_(file.model) {
    for (const QuantizedTensor& quantized : file.quantized) grids_[quantized.output] = &quantized.params;
    for (const onnx::ValueInfoProto& output : file.model.proto.graph().output()) outputs_.insert(output.name());
  }

  SaturatingFile run() {
    SaturatingFile result;
    result.model = file_.model;
    onnx::GraphProto& graph = *result.model.proto.mutable_graph();
    google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
    nodes.Swap(graph.mutable_node());
    for (onnx::NodeProto& node : nodes) {
      if (has(node, Trait::ComputesOnCodes)) ++result.not_simulated;
      std::optional<onnx::NodeProto> behind = pair_sums(node, result);
      *graph.add_node() = std::move(node);
      if (behind) *graph.add_node() = std::move(*behind);
    }
    return result;
  }

 private:
  const QuantParams* grid(const std::string& tensor) const {
    const auto found = grids_.find(tensor);
    return found == grids_.end() ? nullptr : found->second;
  }

  /// The kernel gives codes alone, so that something has to quantize its result, behind a Relu or Clip perhaps.
  bool gives_codes(const onnx::NodeProto& node) const {
    std::string result = node.output(0);
    const auto* readers = &walk_.readers(result);
    if (readers->size() == 1 && !outputs_.contains(result) && has(*readers->front(), Trait::Clips)) {
      result = readers->front()->output(0);
      readers = &walk_.readers(result);
    }
    return !outputs_.contains(result) && readers->size() == 1 && readers->front()->domain() == kDomain &&
           readers->front()->op_type() == "Round";
  }

  bool has_kernel(const onnx::NodeProto& node) const {
    if (is_onnx(node, "MatMul")) return true;
    if (is_onnx(node, "Conv")) return gives_codes(node);
    if (!is_onnx(node, "Gemm") || attribute_int(node, "transA", 0) != 0) return false;
    const bool float_bias = node.input_size() > 2 && !node.input(2).empty() && grid(node.input(2)) == nullptr;
    return !float_bias || gives_codes(node);
  }

  std::optional<onnx::NodeProto> pair_sums(onnx::NodeProto& node, SaturatingFile& result) const {
    if (node.input_size() < 2 || !has_kernel(node)) return {};
    const QuantParams* data = grid(node.input(0));
    const QuantParams* weight = grid(node.input(1));
    if (data == nullptr || weight == nullptr || data->format != Format::UInt8 || weight->format != Format::Int8)
      return {};
    if (data->scale.size() != 1 || weight->block > 0) return {};
    const std::optional<Tensor> values = initializer(file_.model, node.input(1));
    if (!values || values->dtype() != Dtype::Float32 || values->count() == 0 || !scales_fit(*weight, values->shape())) {
      return {};
    }
    const bool convolution = node.op_type() == "Conv";
    if (!convolution && values->shape().size() != 2) {
      ++result.not_simulated;
      return {};
    }
    const std::int64_t group = attribute_int(node, "group", 1);
    if (convolution && group > 1 && values->shape()[1] == 1 && values->shape()[0] == group) return {};  // depthwise
    const WeightRows rows = rows_of(node, values->shape(), encode_tensor(*weight, values->shape(), values->floats()));
    if (!PairSums(rows.codes, rows.outputs, rows.terms).may_saturate()) return {};
    const std::string sum = node.output(0);
    node.set_output(0, sum + "/exact");
    onnx::NodeProto behind = pair_sums_node(node.output(0), node.input(0), sum);
    set_attribute(behind, "codes", std::string(rows.codes.begin(), rows.codes.end()));
    set_attribute(behind, "outputs", static_cast<std::int64_t>(rows.outputs));
    set_attribute(behind, "slot", static_cast<std::int64_t>(result.layers.size()));
    set_attribute(behind, "data_scale", data->scale.front());
    set_attribute(behind, "data_zero", static_cast<std::int64_t>(data->zero_point.empty() ? 0 : data->zero_point[0]));
    const float alpha = node.op_type() == "Gemm" ? attribute_float(node, "alpha", 1) : 1;
    std::vector<float> scales(rows.outputs);
    for (std::size_t i = 0; i < scales.size(); ++i) {
      scales[i] = alpha * data->scale.front() * weight->scale[weight->scale.size() == scales.size() ? i : 0];
    }
    set_attribute(behind, "scales", scales);
    set_attribute(behind, "group", convolution ? group : std::int64_t{0});
    if (convolution) {
      const std::size_t places = values->shape().size() - 2;
      const auto ints = [&](const char* name, std::int64_t fallback) {
        std::vector<std::int64_t> given = attribute_ints(node, name);
        if (given.empty()) given.assign(places, fallback);
        set_attribute(behind, name, given);
      };
      set_attribute(behind, "kernel_shape",
                    std::vector<std::int64_t>(values->shape().begin() + 2, values->shape().end()));
      ints("strides", 1);
      ints("dilations", 1);
      std::vector<std::int64_t> pads = attribute_ints(node, "pads");
      const onnx::AttributeProto* automatic = find_attribute(node, "auto_pad");
      const std::string how = automatic == nullptr ? std::string() : automatic->s();
      const std::int64_t rule = how == "SAME_UPPER" ? 1 : how == "SAME_LOWER" ? 2 : 0;
      if (pads.empty() || how == "VALID") pads.assign(2 * places, 0);
      set_attribute(behind, "pads", pads);
      set_attribute(behind, "same", rule);
    }
    result.layers.push_back({node.name(), node.op_type()});
    return behind;
  }

  const SimulatedFile& file_;
  const GraphWalk walk_;
  std::map<std::string, const QuantParams*> grids_;
  std::set<std::string> outputs_;
};

}  // namespace

SaturatingFile saturating_pairs(const SimulatedFile& file) { return Saturation(file).run(); }

}  // namespace vernier
