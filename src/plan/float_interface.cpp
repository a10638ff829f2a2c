#include "plan/float_interface.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "model/graph_edit.h"
#include "model/graph_walk.h"
#include "plan/constant_codes.h"
#include "plan/normalized_file.h"
#include "plan/pair_form.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

bool holds_floats(Dtype type) {
  return type == Dtype::Float32 || type == Dtype::Float16 || type == Dtype::BFloat16 || type == Dtype::Float64;
}

/// What turns values into quantized values and back, with constants of its own.
struct Quantization {
  onnx::NodeProto node;  // the one of the file, or of its pair form
  Tensor scale, zero;

  bool operator==(const Quantization& other) const {
    const auto same = [](const Tensor& a, const Tensor& b) {
      return a.dtype() == b.dtype() && a.shape() == b.shape() && std::ranges::equal(a.bytes(), b.bytes());
    };
    const auto attribute = [](const Quantization& of, const char* name) { return attribute_int(of.node, name, 1); };
    const bool one = scale.count() == 1;
    return same(scale, other.scale) && same(zero, other.zero) &&
           (one || (attribute(*this, "axis") == attribute(other, "axis") &&
                    attribute_int(node, "block_size", 0) == attribute_int(other.node, "block_size", 0)));
  }
};

class FloatInterface {
 public:
  FloatInterface(Model& typed, const Model& float_model)
      : typed_(typed), float_model_(float_model), pairs_(in_pair_form(normalized_file(typed))), walk_(pairs_) {}

  std::vector<Note> run() {
    // Names of the walk stay those of the file until all is found.
    const std::vector<std::pair<InputInfo, Quantization>> inputs = to_change(
        model_inputs(typed_), model_inputs(float_model_), [&](const InputInfo& input) { return read(input); });
    const std::vector<std::pair<InputInfo, Quantization>> outputs = to_change(
        model_outputs(typed_), model_outputs(float_model_), [&](const InputInfo& output) { return returned(output); });
    names_.emplace(typed_);
    for (const auto& [input, found] : inputs) quantize(input, found);
    for (const auto& [output, found] : outputs) dequantize(output, found);
    return std::move(notes_);
  }

 private:
  template <class Find>
  std::vector<std::pair<InputInfo, Quantization>> to_change(const std::vector<InputInfo>& given,
                                                            const std::vector<InputInfo>& wanted, Find find) const {
    std::vector<std::pair<InputInfo, Quantization>> changes;
    for (const InputInfo& info : given) {
      const auto twin = std::ranges::find(wanted, info.name, &InputInfo::name);
      if (twin == wanted.end() || !holds_floats(twin->dtype) || holds_floats(info.dtype)) continue;
      if (std::optional<Quantization> found = find(info)) changes.emplace_back(info, std::move(*found));
    }
    return changes;
  }

  /// Absent where its scale or zero point is not constant.
  std::optional<Quantization> constants_of(const onnx::NodeProto& node, Dtype codes) const {
    if (node.input_size() < 2) return std::nullopt;
    const std::optional<Tensor> scale = initializer(pairs_, node.input(1));
    if (!scale) return std::nullopt;
    Quantization found{node, Tensor::of(scale->shape(), scales_of(*scale)), Tensor(codes, scale->shape())};
    if (node.input_size() < 3 || node.input(2).empty()) return found;
    const std::optional<Tensor> zero = initializer(pairs_, node.input(2));
    if (!zero) return std::nullopt;
    found.zero = *zero;
    return found;
  }

  /// By what the samples of `input` are quantized.
  std::optional<Quantization> read(const InputInfo& input) const {
    std::optional<Quantization> found;
    bool otherwise = false;
    for (const GraphWalk::Use& use : walk_.uses(input.name)) {
      if (has(*use.node, Trait::ReadsShape)) continue;
      if (!is_quantization(*use.node, "DequantizeLinear") || use.node->input(0) != use.tensor) {
        otherwise = true;
        continue;
      }
      std::optional<Quantization> other = constants_of(*use.node, input.dtype);
      if (!other) refuse(input, "its scale is not constant");
      if (other->scale.count() != 1 && use.tensor != input.name) refuse(input, "its scales follow moved values");
      if (found && !(*found == *other)) refuse(input, "several scales dequantize it");
      found = std::move(other);
    }
    if (found && otherwise) refuse(input, "nodes other than DequantizeLinear read it as well");
    return found;
  }

  [[noreturn]] void refuse(const InputInfo& input, const char* why) const {
    throw Error(ErrorCode::NotFloat,
                fmt::format("{}: input '{}' is {}, and float samples cannot be quantized for it: {}",
                            printable(typed_.path.string()), printable(input.name), dtype_name(input.dtype), why),
                "give a file with a float input and a QuantizeLinear behind it");
  }

  /// By what the values of `output` were quantized.
  std::optional<Quantization> returned(const InputInfo& output) const {
    const onnx::NodeProto* const maker = walk_.maker(output.name);
    if (maker == nullptr || !is_quantization(*maker, "QuantizeLinear")) return std::nullopt;
    return constants_of(*maker, output.dtype);
  }

  onnx::NodeProto node_of(const Quantization& found, const char* op_type, const std::string& name,
                          const std::string& from, const std::string& to) {
    onnx::NodeProto node;
    node.set_op_type(op_type);
    node.set_domain(found.node.domain());
    node.set_name(names_->unique(name));
    node.add_input(from);
    onnx::GraphProto& graph = *typed_.proto.mutable_graph();
    for (const auto& [value, suffix] : {std::pair(&found.scale, "_scale"), std::pair(&found.zero, "_zero_point")}) {
      node.add_input(names_->unique(node.name() + suffix));
      add_initializer(typed_, graph, node.input(node.input_size() - 1), *value);
    }
    node.add_output(to);
    for (const onnx::AttributeProto& attribute : found.node.attribute()) {
      if (attribute.name() == "axis" || attribute.name() == "block_size") *node.add_attribute() = attribute;
    }
    return node;
  }

  static void make_float(google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>& infos, const std::string& name) {
    const auto info =
        std::ranges::find_if(infos, [&](const onnx::ValueInfoProto& each) { return each.name() == name; });
    info->mutable_type()->mutable_tensor_type()->set_elem_type(static_cast<int>(Dtype::Float32));
  }

  void quantize(const InputInfo& input, const Quantization& found) {
    onnx::GraphProto& graph = *typed_.proto.mutable_graph();
    const std::string codes = names_->unique(input.name + "_quantized");
    rename_reads(graph, input.name, codes);
    // An output that is the input itself keeps its name, and is float now.
    put_first(graph, node_of(found, "QuantizeLinear", input.name + "_QuantizeLinear", input.name, codes));
    make_float(*graph.mutable_input(), input.name);
    notes_.push_back({"input-quantized", {{"input", input.name}, {"type", std::string(dtype_name(input.dtype))}}});
  }

  void dequantize(const InputInfo& output, const Quantization& found) {
    onnx::GraphProto& graph = *typed_.proto.mutable_graph();
    const std::string codes = names_->unique(output.name + "_quantized");
    rename_tensor(graph, output.name, codes);
    *graph.add_node() = node_of(found, "DequantizeLinear", output.name + "_DequantizeLinear", codes, output.name);
    make_float(*graph.mutable_output(), output.name);
    notes_.push_back({"output-measured-dequantized", {{"output", output.name}}});
  }

  Model& typed_;
  const Model& float_model_;
  const Model pairs_;
  const GraphWalk walk_;
  std::optional<NamePool> names_;
  std::vector<Note> notes_;
};

/// Whether `float_model` has a float where `given` of the file does not.
bool any_other(const std::vector<InputInfo>& given, const std::vector<InputInfo>& wanted) {
  return std::ranges::any_of(given, [&](const InputInfo& info) {
    const auto twin = std::ranges::find(wanted, info.name, &InputInfo::name);
    return twin != wanted.end() && holds_floats(twin->dtype) && !holds_floats(info.dtype);
  });
}

}  // namespace

std::vector<Note> give_float_interface(Model& typed, const Model& float_model) {
  if (!any_other(model_inputs(typed), model_inputs(float_model)) &&
      !any_other(model_outputs(typed), model_outputs(float_model))) {
    return {};
  }
  return FloatInterface(typed, float_model).run();
}

void cast_inputs(Model& model, const Model& wanted) {
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  for (const InputInfo& one : model_inputs(wanted)) {
    for (onnx::ValueInfoProto& input : *graph.mutable_input()) {
      onnx::TypeProto_Tensor& type = *input.mutable_type()->mutable_tensor_type();
      if (input.name() != one.name || type.elem_type() == static_cast<int>(one.dtype)) continue;
      const std::string fitted = one.name + "/fitted";
      rename_reads(graph, one.name, fitted);
      put_first(graph, cast_node(one.name, fitted, static_cast<Dtype>(type.elem_type())));
      type.set_elem_type(static_cast<int>(one.dtype));
    }
  }
}

Model fed_with_floats(const Model& typed, const Model& float_model) {
  Model fed = typed;
  give_float_interface(fed, float_model);
  cast_inputs(fed, float_model);
  return fed;
}

}  // namespace vernier
