#include "plan/saturating_pairs.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "model/graph_edit.h"
#include "model/graph_walk.h"
#include "model/operator_traits.h"
#include "numerics/pair_sums.h"
#include "numerics/tensor_grid.h"
#include "plan/round_node.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// A kernel on codes, and its inputs: the weight, and the zero point of the data (kNoZeroPoint: always uint8).
struct Kernel {
  std::string_view op_type;
  int weight, data_zero;
};
constexpr int kNoZeroPoint = -1;
constexpr std::array kKernels = {
    Kernel{"QLinearConv", 3, 2},
    Kernel{"QLinearMatMul", 3, 2},
    Kernel{"QGemm", 3, 2},
    Kernel{"MatMulIntegerToFloat", 1, 4},
    Kernel{"MatMulInteger", 1, 2},
    Kernel{"DynamicQuantizeMatMul", 1, kNoZeroPoint},
    Kernel{"DynamicQuantizeLSTM", 1, kNoZeroPoint},
    Kernel{"QAttention", 1, 6},
};

bool is_depthwise(const onnx::NodeProto& node, const Shape& weight) {
  const std::int64_t group = attribute_int(node, "group", 1);
  return group > 1 && weight.size() > 1 && weight[1] == 1 && weight[0] == group;
}

/// Two products of codes of 7 bits and of 8 always fit into 16.
bool more_than_seven_bits(const Tensor& codes) {
  return std::ranges::any_of(codes.bytes(), [](std::byte code) {
    const int value = static_cast<std::int8_t>(code);
    return value < -64 || value > 64;
  });
}

/// A weight as [outputs, terms], matrices of a batch one behind the other, in the order in which kernels sum: of
/// convolutions, whose data they lay out with channels last, channel by channel at each place of the kernel.
struct WeightRows {
  std::vector<std::int8_t> codes;
  std::size_t outputs = 0, terms = 0;
};

WeightRows rows_of(const onnx::NodeProto& node, const Shape& shape, const std::vector<std::byte>& codes,
                   Neighbours neighbours) {
  WeightRows rows;
  const bool convolution = node.op_type() == "Conv";
  const bool by_rows = convolution || shape.size() == 1 || attribute_int(node, "transB", 0) != 0;
  const std::size_t width = shape.size() == 1 ? 1 : static_cast<std::size_t>(shape[by_rows ? 0 : shape.size() - 1]);
  const std::size_t length =
      shape.size() > 2 && !convolution ? static_cast<std::size_t>(shape[shape.size() - 2]) : codes.size() / width;
  rows.outputs = codes.size() / length;
  const std::size_t channels = convolution ? static_cast<std::size_t>(shape[1]) : length;
  const std::size_t places = length / channels;
  const bool filled = convolution && neighbours == Neighbours::WithinPlaces;
  const std::size_t of_place = channels + (filled ? channels % 2 : 0);
  rows.terms = places * of_place;
  rows.codes.resize(rows.outputs * rows.terms);
  for (std::size_t output = 0; output < rows.outputs; ++output) {
    const std::size_t matrix = output / width * width * length;
    for (std::size_t place = 0; place < places; ++place) {
      for (std::size_t channel = 0; channel < channels; ++channel) {
        const std::size_t from =
            by_rows ? output * length + channel * places + place : matrix + channel * width + output % width;
        rows.codes[output * rows.terms + place * of_place + channel] = static_cast<std::int8_t>(codes[from]);
      }
    }
  }
  return rows;
}

class Saturation {
 public:
  Saturation(const SimulatedFile& file, const std::set<std::string>& kernels, Neighbours neighbours)
      : file_(file), kernels_(kernels), neighbours_(neighbours), walk_(file.model), left_(kernels) {
    for (const QuantizedTensor& quantized : file.quantized) grids_[quantized.output] = &quantized.params;
  }

  SaturatingFile run() {
    result_.model = file_.model;
    onnx::GraphProto& graph = *result_.model.proto.mutable_graph();
    google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
    nodes.Swap(graph.mutable_node());
    for (onnx::NodeProto& node : nodes) {
      std::vector<onnx::NodeProto> behind;
      if (kernels_.contains(node.name())) behind = pair_sums(node);
      *graph.add_node() = std::move(node);
      for (onnx::NodeProto& step : behind) *graph.add_node() = std::move(step);
    }
    result_.not_simulated.assign(left_.begin(), left_.end());
    return std::move(result_);
  }

 private:
  /// Of the values of a tensor, which other nodes may have moved since they were rounded.
  const QuantParams* grid(const std::string& tensor) const {
    const auto found = grids_.find(tensor);
    if (found != grids_.end()) return found->second;
    const onnx::NodeProto* maker = walk_.maker(tensor);
    if (maker == nullptr || maker->input_size() == 0 || !has(*maker, Trait::Moves | Trait::Selects)) return nullptr;
    return grid(maker->input(0));
  }

  /// What dequantizes uint8 data with the scale of each run; null for other tensors.
  const onnx::NodeProto* quantized_in_run(const std::string& tensor) const {
    const onnx::NodeProto* dequantize = walk_.maker(tensor);
    if (dequantize == nullptr || !is_onnx(*dequantize, "DequantizeLinear")) return nullptr;
    const onnx::NodeProto* quantize = walk_.maker(dequantize->input(0));
    return quantize != nullptr && is_onnx(*quantize, "DynamicQuantizeLinear") ? dequantize : nullptr;
  }

  /// Nodes behind `node`, a layer that such a kernel computes; none where no pair saturates or its form is not known.
  std::vector<onnx::NodeProto> pair_sums(onnx::NodeProto& node) {
    const bool convolution = is_onnx(node, "Conv");
    if (!convolution && !is_onnx(node, "Gemm") && !is_onnx(node, "MatMul")) return {};
    static const QuantParams kCodes = {.format = Format::UInt8, .scale = {1}, .zero_point = {0}};
    const onnx::NodeProto* in_run = quantized_in_run(node.input(0));
    const QuantParams* data = in_run != nullptr ? &kCodes : grid(node.input(0));
    const QuantParams* weight = grid(node.input(1));
    const std::optional<Tensor> values = initializer(file_.model, node.input(1));
    if (data == nullptr || weight == nullptr || !values || values->dtype() != Dtype::Float32) return {};
    if (data->scale.size() != 1 || weight->block > 0 || !scales_fit(*weight, values->shape())) return {};
    const Shape& shape = values->shape();
    const WeightRows rows = rows_of(node, shape, encode_tensor(*weight, shape, values->floats()), neighbours_);
    const std::size_t width = convolution || shape.size() < 3 ? rows.outputs : static_cast<std::size_t>(shape.back());
    if (weight->scale.size() != 1 && weight->scale.size() != width) return {};
    left_.erase(node.name());
    if (!PairSums(rows.codes, rows.outputs, rows.terms).may_saturate()) return {};

    std::vector<onnx::NodeProto> nodes;
    std::string read = node.input(0);
    if (attribute_int(node, "transA", 0) != 0) {
      onnx::NodeProto& transpose = nodes.emplace_back();
      transpose.set_op_type("Transpose");
      transpose.set_name(node.name() + "/by rows");
      transpose.add_input(read);
      read = node.output(0) + "/by rows";
      transpose.add_output(read);
    }
    const std::string sum = node.output(0);
    node.set_output(0, sum + "/exact");
    std::vector<onnx::NodeProto> last;
    std::string sums = node.output(0), saturated = sum;
    if (in_run != nullptr) {
      nodes.push_back(made("Sub", {sums, sums}, sum + "/nothing"));
      nodes.push_back(cast_node(in_run->input(0), sum + "/codes", Dtype::Float32));
      last.push_back(made("Mul", {sum + "/excess", in_run->input(1)}, sum + "/scaled"));
      last.push_back(made("Add", {sums, sum + "/scaled"}, sum));
      sums = sum + "/nothing", read = sum + "/codes", saturated = sum + "/excess";
    }
    onnx::NodeProto& behind = nodes.emplace_back(pair_sums_node(sums, read, saturated));
    set_attribute(behind, "codes", std::string(rows.codes.begin(), rows.codes.end()));
    set_attribute(behind, "outputs", static_cast<std::int64_t>(rows.outputs));
    set_attribute(behind, "slot", static_cast<std::int64_t>(result_.layers.size()));
    set_attribute(behind, "data_scale", data->scale.front());
    const std::int64_t zero = data->zero_point.empty() ? 0 : data->zero_point[0];
    set_attribute(behind, "data_zero", zero + (data->format == Format::Int8 ? 128 : 0));
    const float alpha = node.op_type() == "Gemm" ? attribute_float(node, "alpha", 1) : 1;
    std::vector<float> scales(rows.outputs);
    for (std::size_t i = 0; i < scales.size(); ++i) {
      scales[i] = alpha * data->scale.front() * weight->scale[weight->scale.size() == 1 ? 0 : i % width];
    }
    set_attribute(behind, "scales", scales);
    set_attribute(behind, "group", convolution ? attribute_int(node, "group", 1) : std::int64_t{0});
    if (!convolution) {
      const std::size_t batch = std::max<std::size_t>(shape.size(), 2) - 2;
      set_attribute(behind, "batch",
                    std::vector<std::int64_t>(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(batch)));
    } else {
      describe_window(node, shape, behind);
    }
    result_.layers.push_back({node.name(), node.op_type(), data->format});
    nodes.insert(nodes.end(), last.begin(), last.end());
    return nodes;
  }

  static onnx::NodeProto made(const char* op_type, std::initializer_list<std::string> inputs,
                              const std::string& output) {
    onnx::NodeProto node;
    node.set_op_type(op_type);
    node.set_name(output + "/of pairs");
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(output);
    return node;
  }

  static void describe_window(const onnx::NodeProto& node, const Shape& weight, onnx::NodeProto& behind) {
    const std::size_t places = weight.size() - 2;
    const auto ints = [&](const char* name, std::int64_t fallback) {
      std::vector<std::int64_t> given = attribute_ints(node, name);
      if (given.empty()) given.assign(places, fallback);
      set_attribute(behind, name, given);
    };
    set_attribute(behind, "kernel_shape", std::vector<std::int64_t>(weight.begin() + 2, weight.end()));
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

  const SimulatedFile& file_;
  const std::set<std::string>& kernels_;
  const Neighbours neighbours_;
  const GraphWalk walk_;
  std::map<std::string, const QuantParams*> grids_;
  std::set<std::string> left_;  // kernels without a layer
  SaturatingFile result_;
};

}  // namespace

std::set<std::string> saturating_kernels(const onnx::ModelProto& optimized) {
  constexpr std::string_view kFused = "/MatMulAddFusion";
  std::set<std::string> names;
  for_each_graph(optimized.graph(), [&](const onnx::GraphProto& graph) {
    std::map<std::string, const onnx::TensorProto*> stored;
    for (const onnx::TensorProto& tensor : graph.initializer()) stored[tensor.name()] = &tensor;
    const auto signed_bytes = [&](const onnx::NodeProto& node, int input) -> const onnx::TensorProto* {
      const auto found = input < 0 || input >= node.input_size() ? stored.end() : stored.find(node.input(input));
      const bool bytes = found != stored.end() && found->second->data_type() == onnx::TensorProto::INT8;
      return bytes ? found->second : nullptr;
    };
    for (const onnx::NodeProto& node : graph.node()) {
      const auto* const kernel = std::ranges::find(kKernels, node.op_type(), &Kernel::op_type);
      if (kernel == kKernels.end() || signed_bytes(node, kernel->data_zero) != nullptr) continue;
      const onnx::TensorProto* weight = signed_bytes(node, kernel->weight);
      if (weight == nullptr) continue;
      const Tensor codes = tensor_of(*weight);
      if (is_depthwise(node, codes.shape()) || !more_than_seven_bits(codes)) continue;
      const bool fused = node.name().ends_with(kFused);
      names.insert(node.name().substr(0, node.name().size() - (fused ? kFused.size() : 0)));
    }
  });
  return names;
}

SaturatingFile saturating_pairs(const SimulatedFile& file, const std::set<std::string>& kernels,
                                Neighbours neighbours) {
  return Saturation(file, kernels, neighbours).run();
}

std::set<std::string> kernels_of_openvino(const SimulatedFile& file) {
  const GraphWalk walk(file.model);
  std::map<std::string, Format> grids;
  for (const QuantizedTensor& quantized : file.quantized) {
    const QuantParams& params = quantized.params;
    const onnx::NodeProto* maker = walk.maker(quantized.tensor);
    const bool plain =
        params.scale == std::vector{1.0F} && std::ranges::count(params.zero_point, 0) == std::ssize(params.zero_point);
    if (plain && maker != nullptr && is_onnx(*maker, "Transpose")) continue;
    grids[quantized.output] = params.format;
  }
  const auto is_grid = [&](const std::string& tensor, Format format) {
    const auto found = grids.find(tensor);
    return found != grids.end() && found->second == format;
  };
  std::set<std::string> layers;
  for (const onnx::NodeProto& node : file.model.proto.graph().node()) {
    if (!is_onnx(node, "Conv") && !is_onnx(node, "Gemm") && !is_onnx(node, "MatMul")) continue;
    const auto weight = initializer(file.model, node.input(1));
    if (!weight || !is_grid(node.input(1), Format::Int8) || is_depthwise(node, weight->shape())) continue;
    if (is_grid(node.input(0), Format::UInt8) || is_grid(node.input(0), Format::Int8)) layers.insert(node.name());
  }
  return layers;
}

}  // namespace vernier
