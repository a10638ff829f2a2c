#include "plan/typed_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/format_definition.h"
#include "model/graph_edit.h"
#include "model/tensorrt_operators.h"
#include "vernier/error.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

bool has_block_scales(const QuantParams& params) {
  return definition_of(params.format).block_scale != BlockScale::Chosen;
}

class GraphLowering {
 public:
  GraphLowering(onnx::GraphProto& graph, TypedContext& context) : graph_(graph), context_(context) {}

  void run() {
    google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
    nodes.Swap(graph_.mutable_node());
    for (const onnx::NodeProto& node : nodes) {
      if (node.op_type() != "Cast" || !context_.choices.is_float32(node.output(0))) continue;
      cast_sources_[node.output(0)] = node.input(0);
    }
    for (onnx::NodeProto& node : nodes) lower_node(node);
    for (const onnx::ValueInfoProto& output : graph_.output()) request(output.name(), Format::Float32);
    drop_dead_casts();
    drop_stale_types();
  }

 private:
  /// How a tensor of the original graph exists in this one: the format it was made in, and a name for each format.
  struct Versions {
    Format made_in = Format::Float32;
    std::map<Format, std::string> names;
  };

  void lower_node(onnx::NodeProto& node) {
    const NodeChoice& choice = context_.choices.of(node.name());
    if (choice.integer_product) return add_integer_product(node);
    for (int i = 0; i < node.input_size(); ++i) node.set_input(i, lowered_input(node, choice, i));
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) lower_body(*attribute.mutable_g());
      for (onnx::GraphProto& body : *attribute.mutable_graphs()) lower_body(body);
    }
    for (std::size_t i = 0; i < choice.low_outputs.size(); ++i) {
      if (choice.low_outputs[i]) make_low(node, static_cast<int>(i), choice.format);
    }
    if (choice.shielded) node.set_input(0, shielded(node));
    if (choice.bias) node.set_input(choice.bias->input, integer_bias(node, *choice.bias));
    std::vector<std::pair<std::string, std::string>> behind;  // what the node writes now, and the tensor that it was
    for (std::size_t i = 0; i < choice.quantized_outputs.size(); ++i) {
      if (!choice.quantized_outputs[i]) continue;
      const std::string tensor = node.output(static_cast<int>(i));
      behind.emplace_back(context_.names.unique(tensor + "_unquantized"), tensor);
      node.set_output(static_cast<int>(i), behind.back().first);
    }
    graph_.add_node()->Swap(&node);
    for (const auto& [made, tensor] : behind) {
      made_in_codes_[tensor] = add_pair(made, tensor, tensor, *context_.plan.grid(tensor, Format::UInt8));
    }
  }

  std::string lowered_input(const onnx::NodeProto& node, const NodeChoice& choice, int index) {
    const std::string& name = node.input(index);
    const auto i = static_cast<std::size_t>(index);
    if (i < choice.quantized.size() && choice.quantized[i]) return quantized(name, choice);
    if (node.op_type() == "Cast") return natural(name);
    if (i < choice.low_inputs.size() && choice.low_inputs[i]) return request(name, choice.format, node.name());
    return request(name, Format::Float32);
  }

  void make_low(onnx::NodeProto& node, int index, Format format) {
    const std::string original = node.output(index);
    const std::string low = context_.names.unique(fmt::format("{}.{}", original, format_name(format)));
    node.set_output(index, low);
    versions_[original] = {format, {{format, low}}};
    if (node.op_type() == "Cast") set_attribute(node, "to", static_cast<std::int64_t>(dtype_of_format(format)));
  }

  void lower_body(onnx::GraphProto& body) {
    // What the body reads from here must exist in float32 under its own name before the node.
    for (const std::string& name : captured_names(body)) request(name, Format::Float32);
    lower_graph(body, context_);
  }

  /// The tensor in whatever format it was made in: a Cast reads any, so that no Cast follows another.
  std::string natural(const std::string& name) const {
    const auto versions = versions_.find(name);
    return versions == versions_.end() ? name : versions->second.names.at(versions->second.made_in);
  }

  std::string request(const std::string& name, Format format, const std::string& layer = {}) {
    if (name.empty()) return name;
    if (context_.weights.holds(name)) {
      return format == Format::Float32 ? name : context_.weights.in_format(name, format, layer);
    }
    if (format == Format::Float32 && !versions_.contains(name)) return name;
    Versions& versions =
        versions_.try_emplace(name, Versions{Format::Float32, {{Format::Float32, name}}}).first->second;
    const auto known = versions.names.find(format);
    if (known != versions.names.end()) return known->second;
    // A float32 tensor that the file's own Cast made is cast from what that Cast reads.
    const auto source = cast_sources_.find(name);
    const bool chained = versions.made_in == Format::Float32 && source != cast_sources_.end();
    const std::string from = chained ? natural(source->second) : versions.names.at(versions.made_in);
    if (chained) bypassed_.insert(name);
    if (chained && made_as(source->second) == dtype_of_format(format)) return versions.names[format] = from;
    const std::string cast =
        format == Format::Float32 ? name : context_.names.unique(fmt::format("{}.{}", name, format_name(format)));
    add_cast(from, cast, name, format);
    return versions.names[format] = cast;
  }

  /// Element type of natural(name).
  Dtype made_as(const std::string& name) const {
    if (const auto versions = versions_.find(name); versions != versions_.end()) {
      return dtype_of_format(versions->second.made_in);
    }
    const auto type = context_.choices.types.find(name);
    return type == context_.choices.types.end() ? Dtype::Undefined : type->second.dtype;
  }

  void add_cast(const std::string& from, const std::string& to, const std::string& tensor, Format format) {
    onnx::NodeProto cast = cast_node(from, to, dtype_of_format(format));
    cast.set_name(context_.names.unique(fmt::format("{}_cast_{}", tensor, format_name(format))));
    *graph_.add_node() = std::move(cast);
    ++context_.counts.casts;
  }

  /// The tensor behind its pair, in the choice's format: float32, or for weights float16 or bfloat16.
  std::string quantized(const std::string& name, const NodeChoice& choice) {
    const auto made = made_in_codes_.find(name);
    if (made != made_in_codes_.end()) return made->second;
    const Format values = choice.format;
    const QuantParams& params = *context_.plan.grid(name, choice.planned);
    const auto known = quantized_.find({name, params.format, values});
    if (known != quantized_.end()) return known->second;
    if (context_.weights.holds(name)) ++context_.counts.stored_weights;
    // A pair in front of a float16 weight would round it twice; no engine takes block scales as codes behind one.
    const bool paired = context_.plan.rules.paired_weights && values == Format::Float32 &&
                        (!context_.weights.holds(name) || !has_block_scales(params));
    if (!context_.weights.holds(name) || paired) {
      const std::string source = request(name, Format::Float32);
      return add_pair(source, name, context_.names.unique(name + "_DequantizeLinear_Output"), params);
    }
    const StoredCodes stored = context_.weights.in_codes(name, params, values);
    const std::string output = context_.names.unique(name + "_DequantizeLinear_Output");
    return add_dequantizer(name, stored, output, params, values);
  }

  /// QuantizeLinear and DequantizeLinear of `tensor`, reading `source` and writing `output`.
  std::string add_pair(const std::string& source, const std::string& tensor, const std::string& output,
                       const QuantParams& params) {
    if (params.dynamic) return add_pair_of_run(source, tensor, output, params);
    StoredCodes stored = context_.weights.add_params(graph_, tensor, params);
    stored.codes = context_.names.unique(tensor + "_QuantizeLinear_Output");
    add_quantizer("QuantizeLinear", tensor + "_quantize", {source, stored.scale, stored.zero_point}, stored.codes,
                  params);
    return add_dequantizer(tensor, stored, output, params);
  }

  /// TensorRT's operator that finds the scales of blocks in each run, and what undoes it.
  std::string add_pair_of_run(const std::string& source, const std::string& tensor, const std::string& output,
                              const QuantParams& params) {
    const bool has_tensor_scale = params.format == Format::NvFp4;
    StoredCodes stored;
    stored.codes = context_.names.unique(tensor + "_QuantizeLinear_Output");
    stored.scale = context_.names.unique(tensor + "_scale");
    std::vector<std::string> inputs{source};
    if (has_tensor_scale) {
      stored.tensor_scale = context_.weights.add_scale(graph_, tensor + "_tensor_scale", params.scale.front());
      inputs.push_back(stored.tensor_scale);
    }
    onnx::NodeProto& quantize = add_quantizer(has_tensor_scale ? kQuantizeNvFp4 : kQuantizeMxFp8, tensor + "_quantize",
                                              inputs, stored.codes, params);
    quantize.add_output(stored.scale);
    quantize.set_domain(kTensorRtDomain);
    const Dtype stated = Dtype::Float8E4M3FN;  // of the scales, or of the codes
    set_attribute(quantize, has_tensor_scale ? "scale_type" : "output_dtype", static_cast<std::int64_t>(stated));
    context_.counts.tensorrt_operators = true;
    return add_dequantizer(tensor, stored, output, params);
  }

  /// Codes whose block scales are codes themselves, to float32.
  void add_block_dequantizer(const std::string& tensor, const StoredCodes& stored, const std::string& output,
                             const QuantParams& params) {
    std::string scale = stored.scale;
    if (!stored.tensor_scale.empty()) {
      scale = context_.names.unique(stored.scale + "_DequantizeLinear_Output");
      add_quantizer("DequantizeLinear", tensor + "_dequantize_scale", {stored.scale, stored.tensor_scale}, scale, {});
    }
    const bool for_tensorrt = written_for_tensorrt(params.format, context_.plan.target);
    onnx::NodeProto& node = add_quantizer(for_tensorrt ? kDequantizeMxFp8 : "DequantizeLinear", tensor + "_dequantize",
                                          {stored.codes, scale}, output, params);
    if (stored.tensor_scale.empty()) {
      set_attribute(node, "output_dtype", static_cast<std::int64_t>(Dtype::Float32));
    }
    if (!for_tensorrt) return;
    node.set_domain(kTensorRtDomain);
    context_.counts.tensorrt_operators = true;
  }

  std::string add_dequantizer(const std::string& tensor, const StoredCodes& stored, const std::string& output,
                              const QuantParams& params, Format values = Format::Float32) {
    if (!has_block_scales(params)) {
      add_quantizer("DequantizeLinear", tensor + "_dequantize", {stored.codes, stored.scale, stored.zero_point}, output,
                    params);
    } else if (values == Format::Float32) {
      add_block_dequantizer(tensor, stored, output, params);
    } else {
      const std::string in_float32 = context_.names.unique(tensor + "_dequantized");
      add_block_dequantizer(tensor, stored, in_float32, params);
      add_cast(in_float32, output, tensor, values);
    }
    ++context_.counts.quantize_pairs;
    quantized_[{tensor, params.format, values}] = output;
    return output;
  }

  std::string shielded(const onnx::NodeProto& reader) {
    onnx::NodeProto& sum = *graph_.add_node();
    sum.set_op_type("Sum");
    sum.set_name(context_.names.unique(reader.name() + "_stays_float"));
    sum.add_input(reader.input(0));
    sum.add_output(context_.names.unique(reader.input(0) + "_float"));
    ++context_.counts.shields;
    return sum.output(0);
  }

  /// A DequantizeLinear of the bias that `node` reads; it belongs to this node alone, whose steps it is made of.
  std::string integer_bias(const onnx::NodeProto& node, const IntegerBias& bias) {
    const std::string& name = node.input(bias.input);
    const StoredCodes stored = context_.weights.bias_in_codes(name, bias.scales);
    const std::string output = context_.names.unique(name + "_DequantizeLinear_Output");
    QuantParams params;
    params.scale = bias.scales;
    params.axis = 0;
    add_quantizer("DequantizeLinear", name + "_dequantize", {stored.codes, stored.scale}, output, params);
    ++context_.counts.quantize_pairs;
    ++context_.counts.stored_biases;
    return output;
  }

  onnx::NodeProto& add_quantizer(const char* op_type, const std::string& name, const std::vector<std::string>& inputs,
                                 const std::string& output, const QuantParams& params) {
    onnx::NodeProto& node = *graph_.add_node();
    node.set_op_type(op_type);
    node.set_name(context_.names.unique(name));
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(output);
    const bool blocked = params.block > 0;
    if (blocked || params.scale.size() > 1) set_attribute(node, "axis", static_cast<std::int64_t>(params.axis));
    if (blocked) set_attribute(node, "block_size", static_cast<std::int64_t>(params.block));
    return node;
  }

  onnx::NodeProto& add_node(const char* op_type, const std::string& name, const std::vector<std::string>& inputs,
                            const std::string& output) {
    onnx::NodeProto& node = *graph_.add_node();
    node.set_op_type(op_type);
    node.set_name(context_.names.unique(name));
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(output);
    return node;
  }

  /// Codes, scale and zero point of a tensor as DynamicQuantizeLinear makes them, shared by its readers.
  const StoredCodes& quantized_in_run(const std::string& name) {
    const auto [place, fresh] = in_run_.try_emplace(name);
    StoredCodes& made = place->second;
    if (!fresh) return made;
    const std::string source = request(name, Format::Float32);
    made.codes = context_.names.unique(name + "_quantized");
    made.scale = context_.names.unique(name + "_scale");
    made.zero_point = context_.names.unique(name + "_zero_point");
    onnx::NodeProto& node = add_node("DynamicQuantizeLinear", name + "_quantize", {source}, made.codes);
    node.add_output(made.scale);
    node.add_output(made.zero_point);
    return made;
  }

  /// A MatMul or Gemm on integers, scaled by what its data were quantized with in this run. Named as ONNX Runtime's
  /// quantizer does.
  void add_integer_product(const onnx::NodeProto& node) {
    const std::string& weight = node.input(1);
    const StoredCodes data = quantized_in_run(node.input(0));
    const StoredCodes stored = context_.weights.in_codes(weight, *context_.plan.grid(weight, Format::DynamicInt8));
    const auto fresh = [&](const char* what) { return context_.names.unique(node.output(0) + what); };
    std::string codes = stored.codes;
    if (attribute_int(node, "transB", 0) != 0) {
      codes = context_.names.unique(stored.codes + "_transposed");
      add_node("Transpose", node.name() + "_transpose", {stored.codes}, codes);
    }
    const std::string sums = fresh("_integers"), in_float = fresh("_float"), scales = fresh("_scales");
    add_node("MatMulInteger", node.name() + "_quant", {data.codes, codes, data.zero_point, stored.zero_point}, sums);
    add_cast(sums, in_float, sums, Format::Float32);
    add_node("Mul", node.name() + "_scales", {data.scale, stored.scale}, scales);
    const bool biased = node.input_size() > 2 && !node.input(2).empty();
    const std::string product = biased ? fresh("_product") : node.output(0);
    add_node("Mul", node.name() + "_scaled", {in_float, scales}, product);
    if (biased)
      add_node("Add", node.name() + "_bias", {product, request(node.input(2), Format::Float32)}, node.output(0));
  }

  /// The file's own Casts whose readers all read past them now.
  void drop_dead_casts() {
    if (bypassed_.empty()) return;
    std::set<std::string> read;
    for (const onnx::ValueInfoProto& output : graph_.output()) read.insert(output.name());
    for (const onnx::NodeProto& node : graph_.node()) {
      read.insert(node.input().begin(), node.input().end());
      for (const onnx::AttributeProto& attribute : node.attribute()) {
        if (!attribute.has_g()) continue;
        const std::vector<std::string> captured = captured_names(attribute.g());
        read.insert(captured.begin(), captured.end());
      }
    }
    auto& nodes = *graph_.mutable_node();
    for (int i = nodes.size() - 1; i >= 0; --i) {
      const std::string& output = nodes.Get(i).output_size() > 0 ? nodes.Get(i).output(0) : std::string();
      if (bypassed_.contains(output) && !read.contains(output)) nodes.DeleteSubrange(i, 1);
    }
  }

  /// Type annotations of tensors that no longer exist under their name.
  void drop_stale_types() {
    if (versions_.empty()) return;
    std::set<std::string> made;
    for (const onnx::NodeProto& node : graph_.node()) made.insert(node.output().begin(), node.output().end());
    for (const onnx::ValueInfoProto& input : graph_.input()) made.insert(input.name());
    auto& infos = *graph_.mutable_value_info();
    infos.erase(std::remove_if(infos.begin(), infos.end(),
                               [&](const onnx::ValueInfoProto& info) { return !made.contains(info.name()); }),
                infos.end());
  }

  onnx::GraphProto& graph_;
  TypedContext& context_;
  std::map<std::string, Versions> versions_;
  std::map<std::tuple<std::string, Format, Format>, std::string> quantized_;  // tensor, grid, values
  std::map<std::string, std::string> made_in_codes_;                          // quantized where they are made
  std::map<std::string, StoredCodes> in_run_;
  std::map<std::string, std::string> cast_sources_;  // tensor made by a Cast of the file -> what that Cast reads
  std::set<std::string> bypassed_;
};

}  // namespace

void lower_graph(onnx::GraphProto& graph, TypedContext& context) { GraphLowering(graph, context).run(); }

}  // namespace vernier
