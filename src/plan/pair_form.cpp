#include "plan/pair_form.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "plan/cast_decoders.h"
#include "plan/code_layouts.h"
#include "plan/constant_codes.h"
#include "plan/normalized_file.h"
#include "plan/placement.h"
#include "plan/type_variables.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using Node = onnx::NodeProto;
using Nodes = std::vector<Node>;

constexpr int kNoInput = -1;

/// In the doc_string of Q/DQ nodes that no file has.
constexpr const char* kForOperator = "stands for an operator on quantized values";
constexpr const char* kForFactor = "stands for a factor of a sum of quantized values";

/// Where an operator on codes has what: places among its inputs. Codes are followed by their scale and zero point.
struct Form {
  std::string_view op_type, becomes;
  int data = 0, second = kNoInput;
  int result = kNoInput;  // its scale; left out: the result is float
  int bias = kNoInput;    // of int32: its scale is that of the product
  int plain = kNoInput;   // in front of the data, no codes
};

constexpr std::array kForms{
    Form{"QLinearConv", "Conv", 0, 3, 6, 8},
    Form{"QLinearMatMul", "MatMul", 0, 3, 6},
    Form{"QGemm", "Gemm", 0, 3, 7, 6},
    Form{"QLinearAdd", "Add", 0, 3, 6},
    Form{"QLinearMul", "Mul", 0, 3, 6},
    Form{"QLinearWhere", "Where", 1, 4, 7, kNoInput, 0},
    Form{"QLinearAveragePool", "AveragePool", 0, kNoInput, 3},
    Form{"QLinearGlobalAveragePool", "GlobalAveragePool", 0, kNoInput, 3},
    Form{"QLinearLeakyRelu", "LeakyRelu", 0, kNoInput, 3},
    Form{"QLinearReduceMean", "ReduceMean", 0, kNoInput, 3},
    Form{"QLinearSigmoid", "Sigmoid", 0, kNoInput, 3},
    Form{"QLinearSoftmax", "Softmax", 0, kNoInput, 3},
};

std::string input_of(const Node& node, int index) {
  return index >= 0 && index < node.input_size() ? node.input(index) : std::string();
}

std::string without(std::string name, std::string_view ending) {
  if (name.size() > ending.size() && name.ends_with(ending)) name.resize(name.size() - ending.size());
  return name;
}

/// One scale for the tensor: what moves its values leaves no axis behind that a scale for each channel would be along.
bool of_tensor(const Model& model, const std::string& scale) {
  const auto value = initializer(model, scale);
  return value && value->count() == 1;
}

bool is_block_table(const Node& node) {
  return node.op_type() == "GatherBlockQuantized" && has(node, Trait::StoresCodes) && node.input_size() >= 3;
}

class PairForm {
 public:
  explicit PairForm(const Model& file) : model_(file), names_(file), nodes_(file.proto.graph().node()) {
    for (const Node& node : nodes_) {
      for (const std::string& output : node.output()) made_by_[output] = &node;
      node_names_.insert(node.name());
    }
    for (const onnx::ValueInfoProto& input : file.proto.graph().input()) inputs_.insert(input.name());
  }

  Model run() {
    find_scaled_products();
    onnx::GraphProto& graph = *model_.proto.mutable_graph();
    graph.clear_node();
    for (const Node& node : nodes_) {
      if (node.output_size() > 0 && absorbed_.contains(node.output(0))) continue;
      made_.clear();
      if (!rewrite(node)) made_ = {node};
      for (Node& step : made_) graph.add_node()->Swap(&step);
    }
    return std::move(model_);
  }

 private:
  struct Scaled {
    const Node* product = nullptr;
    std::string data_scale, weight_scale;
  };

  const Node* maker(const std::string& tensor) const {
    const auto found = made_by_.find(tensor);
    return found == made_by_.end() ? nullptr : found->second;
  }

  /// Mul(Cast(MatMulInteger), Mul(scale of the data, scale of the weight)), by what the outer Mul makes.
  void find_scaled_products() {
    const std::map<std::string, int> readers = count_readers(model_);
    for (const Node& node : nodes_) {
      if (!is_onnx(node, "Mul") || node.input_size() != 2) continue;
      for (const int side : {0, 1}) {
        const Node* const cast = maker(node.input(side));
        const Node* const scales = maker(node.input(1 - side));
        if (cast == nullptr || scales == nullptr || !is_onnx(*cast, "Cast") || !is_onnx(*scales, "Mul")) continue;
        const Node* const product = maker(cast->input(0));
        if (product == nullptr || (!is_onnx(*product, "MatMulInteger") && !is_onnx(*product, "ConvInteger"))) continue;
        if (readers.at(cast->output(0)) != 1 || readers.at(product->output(0)) != 1) continue;
        const bool weight_last = is_initializer(model_, scales->input(1));
        scaled_[node.output(0)] = {product, scales->input(weight_last ? 0 : 1), scales->input(weight_last ? 1 : 0)};
        absorbed_.insert({cast->output(0), product->output(0)});
      }
    }
  }

  bool rewrite(const Node& node) {
    if (node.output_size() == 0) return false;
    if (const auto scaled = scaled_.find(node.output(0)); scaled != scaled_.end()) {
      scaled_product(node, scaled->second);
      return true;
    }
    if (is_quantization(node, "QuantizeLinear") && node.input_size() > 1) {
      remember(node.output(0), node.input(1), input_of(node, 2));
    } else if (is_onnx(node, "DynamicQuantizeLinear") && node.output_size() == 3) {
      remember(node.output(0), node.output(1), node.output(2));
    }
    if (has(node, Trait::ComputesOnCodes)) return on_codes(node);
    if (node.op_type() == "DynamicQuantizeMatMul" && node.input_size() >= 3) {
      dynamic_product(node);
      return true;
    }
    if (node.op_type() == "DynamicQuantizeLSTM" && node.input_size() >= 12) return lstm(node);
    return is_block_table(node) ? rows_of_table(node) : runs_on_codes(node);
  }

  void remember(const std::string& codes, const std::string& scale, const std::string& zero) {
    grids_[codes] = {scale, zero};
  }

  bool on_codes(const Node& node) {
    if (attribute_int(node, "channels_last", 0) != 0 || node.domain() == "com.ms.internal.nhwc") return false;
    if (node.op_type() == "MatMulIntegerToFloat" && node.input_size() >= 4) {
      const std::string data = dequantized(node.input(0), node.input(2), input_of(node, 4), kNoInput);
      const std::string weight = dequantized(node.input(1), node.input(3), input_of(node, 5), kNoInput);
      product(node, data, weight, input_of(node, 6));
      return true;
    }
    if (node.op_type() == "QAttention" && node.input_size() >= 5) return attention(node);
    if (node.op_type() == "QLinearConcat") return concat(node);
    const auto* const form = std::ranges::find(kForms, node.op_type(), &Form::op_type);
    if (form == kForms.end()) return false;
    std::optional<std::string> bias;
    if (!input_of(node, form->bias).empty() && !(bias = dequantized_bias(node, *form))) return false;
    Node becomes = float_node(node, form->becomes);
    if (form->plain != kNoInput) becomes.add_input(node.input(form->plain));
    for (const int place : {form->data, form->second}) {
      if (place == kNoInput) continue;
      const bool by_rows = form->becomes == "Conv" || attribute_int(node, "transB", 0) != 0;
      becomes.add_input(dequantized(input_of(node, place), input_of(node, place + 1), input_of(node, place + 2),
                                    place == form->second && by_rows ? 0 : kNoInput));
    }
    if (bias) {
      becomes.add_input(*bias);
      // QGemm scales the sum of product and bias.
      if (form->becomes == "Gemm") set_attribute(becomes, "beta", attribute_float(node, "alpha", 1));
    }
    finish(std::move(becomes), node.output(0), input_of(node, form->result), input_of(node, form->result + 1));
    return true;
  }

  bool concat(const Node& node) {
    Node becomes = float_node(node, "Concat");
    for (int i = 2; i + 2 < node.input_size(); i += 3) {
      becomes.add_input(dequantized(node.input(i), node.input(i + 1), node.input(i + 2), kNoInput));
    }
    finish(std::move(becomes), node.output(0), node.input(0), node.input(1));
    return true;
  }

  bool attention(const Node& node) {
    Node becomes = float_node(node, "Attention");
    becomes.set_domain(node.domain());
    becomes.add_input(dequantized(node.input(0), node.input(3), input_of(node, 6), kNoInput));
    becomes.add_input(dequantized(node.input(1), node.input(4), input_of(node, 7), kNoInput));
    for (const int place : {2, 5, 8}) becomes.add_input(input_of(node, place));  // bias, mask, past
    *becomes.mutable_output() = node.output();
    made_.push_back(std::move(becomes));
    return true;
  }

  /// GatherBlockQuantized: a Gather of the table that its codes stand for.
  bool rows_of_table(const Node& node) {
    std::string codes = node.input(0), zero = input_of(node, 3);
    const auto table = initializer(model_, codes), scales = initializer(model_, node.input(2));
    if (!table || !scales || table->shape().empty()) return false;
    const std::int64_t bits = attribute_int(node, "bits", 4), rank = static_cast<std::int64_t>(table->shape().size());
    const std::int64_t axis = (attribute_int(node, "quantize_axis", 1) + rank) % rank;
    if (table->dtype() == Dtype::UInt8) {
      const auto zeros = initializer(model_, zero);
      if ((bits != 4 && bits != 8) || (!zeros && !zero.empty())) return false;
      if (bits == 4) {
        if (zeros && 2 * zeros->count() != scales->count()) return false;
        codes = constant(codes + "/nibbles", nibbles_of(*table));
        if (zeros) zero = constant(zero + "/nibbles", nibbles_of(*zeros));
      }
      if (!zeros)
        zero = constant(codes + "/zero", middle_codes(bits == 4 ? Dtype::UInt4 : Dtype::UInt8, scales->shape()));
    }
    Node becomes = float_node(node, "Gather");
    becomes.clear_attribute();
    set_attribute(becomes, "axis", attribute_int(node, "gather_axis", 0));
    becomes.add_input(dequantized(codes, node.input(2), zero, static_cast<int>(axis)));
    set_attribute(made_.back(), "axis", axis);
    set_attribute(made_.back(), "block_size", attribute_int(node, "block_size", 128));
    becomes.add_input(node.input(1));
    becomes.add_output(node.output(0));
    made_.push_back(std::move(becomes));
    return true;
  }

  /// The name of a new constant, made of `name`.
  std::string constant(const std::string& name, const Tensor& value) {
    std::string made = names_.unique(name);
    add_initializer(model_, *model_.proto.mutable_graph(), made, value);
    return made;
  }

  /// An operator that ONNX defines for integers as for floats, on codes: by its type variables, whichever it is.
  bool runs_on_codes(const Node& node) {
    if (has(node, Trait::Quantizes) || has_body(node)) return false;
    const auto reads =
        std::ranges::find_if(node.input(), [&](const std::string& read) { return grids_.contains(read); });
    if (reads == node.input().end()) return false;
    const auto place = static_cast<int>(reads - node.input().begin());
    const std::vector<int> results = results_like(node, place);
    if (results.empty()) return false;
    const auto [scale, zero] = grids_.at(*reads);
    if (!of_tensor(model_, scale)) return false;
    // A cache: what comes from the step before has the scale of what is new.
    const bool joins =
        has(node, Trait::Joins) && std::ranges::all_of(node.input(), [&](const std::string& read) {
          return inputs_.contains(read) || (grids_.contains(read) && grids_.at(read) == grids_.at(*reads));
        });
    const bool moves = place == 0 && (has(node, Trait::Moves | Trait::Selects) || picks_nearest(node));
    Node becomes = node;
    for (int i = 0; (joins || moves) && i < (joins ? node.input_size() : 1); ++i) {
      becomes.set_input(i, dequantized(node.input(i), scale, zero, kNoInput));
    }
    std::vector<std::pair<std::string, std::string>> values;  // that stand for each result, and the result
    for (const int i : results) {
      values.emplace_back(names_.unique(without(node.output(i), "_quantized")), node.output(i));
      becomes.set_output(i, joins || moves ? values.back().first : names_.unique(node.output(i) + "/codes"));
    }
    const Node made = becomes;
    made_.push_back(std::move(becomes));
    for (std::size_t i = 0; i < values.size(); ++i) {
      // What computes on the integers themselves (a linear Resize) rounds in its own way: it keeps them, and gives the
      // values that they stand for.
      if (!joins && !moves) add_dequantizer(made.output(results[i]), scale, zero, kNoInput, values[i].first);
      add_quantizer(values[i].first, scale, zero, values[i].second);
    }
    return true;
  }

  /// The results of `node` that have the type of its input `place`.
  std::vector<int> results_like(const Node& node, int place) const {
    const NodeTypes types = node_types(node, default_opset(model_.proto));
    std::vector<int> results;
    for (int i = 0; i < node.output_size(); ++i) {
      if (node.output(i).empty()) continue;
      const bool same = types.has_schema ? !types.inputs[static_cast<std::size_t>(place)].variable.empty() &&
                                               types.inputs[static_cast<std::size_t>(place)].variable ==
                                                   types.outputs[static_cast<std::size_t>(i)].variable
                                         : node.output_size() == 1 && has(node, kFollows);
      if (same) results.push_back(i);
    }
    return results;
  }

  void scaled_product(const Node& node, const Scaled& scaled) {
    const Node& product = *scaled.product;
    const bool convolves = is_onnx(product, "ConvInteger");
    Node becomes = float_node(product, convolves ? "Conv" : "MatMul");
    becomes.add_input(dequantized(product.input(0), scaled.data_scale, input_of(product, 2), kNoInput));
    becomes.add_input(
        dequantized(product.input(1), scaled.weight_scale, input_of(product, 3), convolves ? 0 : kNoInput));
    for (Node& step : made_) step.set_doc_string(kForFactor);
    becomes.add_output(node.output(0));
    made_.push_back(std::move(becomes));
  }

  void dynamic_product(const Node& node) {
    const std::string data = rounded_in_run(node);
    product(node, data, dequantized(node.input(1), node.input(2), input_of(node, 3), kNoInput), input_of(node, 4));
  }

  /// The data of `node`, with the scale of each run.
  std::string rounded_in_run(const Node& node) {
    Node quantize;
    quantize.set_op_type("DynamicQuantizeLinear");
    quantize.set_name(names_.unique(node.name() + "/quantize"));
    quantize.add_input(node.input(0));
    for (const char* part : {"/codes", "/scale", "/zero"}) quantize.add_output(names_.unique(node.input(0) + part));
    made_.push_back(quantize);
    return dequantized(quantize.output(0), quantize.output(1), quantize.output(2), kNoInput);
  }

  /// Its state, which the kernel rounds in every step, stays float.
  bool lstm(const Node& node) {
    for (const int place : {1, 2}) {
      const auto codes = initializer(model_, node.input(place));
      const auto scales = initializer(model_, node.input(place == 1 ? 8 : 10));
      if (!codes || codes->shape().size() != 3 || !scales) return false;
      const bool one = scales->count() == 1, of_directions = scales->count() == codes->shape()[0];
      if (!one && !of_directions && codes->shape()[0] != 1) return false;  // each channel of two directions
    }
    Node becomes = float_node(node, "LSTM");
    becomes.add_input(rounded_in_run(node));
    for (const int place : {1, 2}) {
      const int scale = place == 1 ? 8 : 10;
      const Tensor codes = *initializer(model_, node.input(place));
      const bool of_channels = codes.shape()[0] == 1;
      const std::string turned = constant(node.input(place) + "/transposed", transposed_codes(codes));
      becomes.add_input(
          dequantized(turned, as_vector(node.input(scale)), as_vector(node.input(scale + 1)), of_channels ? 1 : 0));
    }
    for (int place = 3; place < 8; ++place) becomes.add_input(node.input(place));
    *becomes.mutable_output() = node.output();
    made_.push_back(std::move(becomes));
    return true;
  }

  /// Parameters without the dimensions that a DequantizeLinear has not.
  std::string as_vector(const std::string& parameters) {
    const auto values = initializer(model_, parameters);
    return values && values->shape().size() > 1 ? constant(parameters + "/flat", flattened(*values)) : parameters;
  }

  /// A MatMul of what is dequantized, with its bias.
  void product(const Node& node, const std::string& data, const std::string& weight, const std::string& bias) {
    Node becomes = float_node(node, "MatMul");
    becomes.add_input(data);
    becomes.add_input(weight);
    becomes.add_output(bias.empty() ? node.output(0) : names_.unique(node.output(0) + "/product"));
    const std::string result = becomes.output(0);
    made_.push_back(std::move(becomes));
    if (bias.empty()) return;
    Node add;
    add.set_op_type("Add");
    add.set_name(names_.unique(node.name() + "/bias"));
    add.add_input(result);
    add.add_input(bias);
    add.add_output(node.output(0));
    made_.push_back(std::move(add));
  }

  /// The float operator in the place of `node`, without inputs and outputs.
  Node float_node(const Node& node, std::string_view op_type) {
    Node becomes;
    becomes.set_op_type(std::string(op_type));
    const std::string name = name_in_pair_form(node.name());
    becomes.set_name(node_names_.insert(name).second || name == node.name() ? name : names_.unique(name));
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.name() != "channels_last" && attribute.name() != "opset") *becomes.add_attribute() = attribute;
    }
    return becomes;
  }

  /// What `codes` stand for. `axis`: that several scales run along; kNoInput: the last one.
  std::string dequantized(const std::string& codes, const std::string& scale, const std::string& zero, int axis) {
    std::string values = names_.unique(without(codes, "_quantized") + "/dequantized");
    add_dequantizer(codes, scale, zero, axis, values);
    return values;
  }

  void add_dequantizer(const std::string& codes, const std::string& scale, const std::string& zero, int axis,
                       const std::string& values) {
    Node node;
    node.set_op_type("DequantizeLinear");
    node.set_doc_string(kForOperator);
    node.set_name(names_.unique(codes + "_DequantizeLinear"));
    for (const std::string& input : {codes, scale, zero}) {
      if (!input.empty()) node.add_input(input);
    }
    node.add_output(values);
    const auto scales = initializer(model_, scale);
    if (scales && scales->count() > 1) set_attribute(node, "axis", std::int64_t{axis});
    made_.push_back(std::move(node));
  }

  /// An int32 bias has the scale of what it is added to. Absent where no constants say that.
  std::optional<std::string> dequantized_bias(const Node& node, const Form& form) {
    const auto data = initializer(model_, input_of(node, form.data + 1));
    const auto weight = initializer(model_, input_of(node, form.second + 1));
    if (!data || !weight || data->count() != 1) return std::nullopt;
    std::vector<float> scales = scales_of(*weight);
    for (float& scale : scales) scale *= scales_of(*data).front();
    const std::string& bias = node.input(form.bias);
    const Shape shape = scales.size() == 1 ? Shape{} : Shape{static_cast<std::int64_t>(scales.size())};
    return dequantized(bias, constant(bias + "_scale", Tensor::of(shape, scales)), "", 0);
  }

  /// `node` makes values, and these become `codes` unless they are the result.
  void finish(Node node, const std::string& codes, const std::string& scale, const std::string& zero) {
    if (scale.empty()) {
      node.clear_output();
      node.add_output(codes);
      made_.push_back(std::move(node));
      return;
    }
    const std::string values = names_.unique(without(codes, "_quantized"));
    node.clear_output();
    node.add_output(values);
    made_.push_back(std::move(node));
    add_quantizer(values, scale, zero, codes);
  }

  void add_quantizer(const std::string& values, const std::string& scale, const std::string& zero,
                     const std::string& codes) {
    Node node;
    node.set_op_type("QuantizeLinear");
    node.set_doc_string(kForOperator);
    node.set_name(names_.unique(values + "_QuantizeLinear"));
    for (const std::string& input : {values, scale, zero}) {
      if (!input.empty()) node.add_input(input);
    }
    node.add_output(codes);
    remember(codes, scale, zero);
    made_.push_back(std::move(node));
  }

  Model model_;
  NamePool names_;
  const google::protobuf::RepeatedPtrField<Node>& nodes_;  // of the file
  std::map<std::string, const Node*> made_by_;
  std::set<std::string> inputs_;
  std::set<std::string> node_names_;                                  // a tensor may have the name of a node
  std::map<std::string, Scaled> scaled_;                              // by what the outer Mul makes
  std::set<std::string> absorbed_;                                    // what nodes make whose work a product does
  std::map<std::string, std::pair<std::string, std::string>> grids_;  // of codes: scale and zero point
  Nodes made_;                                                        // in the place of one node
};

}  // namespace

Model in_pair_form(const Model& file) { return PairForm(file).run(); }

bool computes_on_codes(const Model& file) {
  std::set<std::string> codes;
  for (const Node& node : file.proto.graph().node()) {
    if (is_quantization(node, "QuantizeLinear") && of_tensor(file, node.input(1))) codes.insert(node.output(0));
  }
  return std::ranges::any_of(file.proto.graph().node(), [&](const Node& node) {
    if (has(node, Trait::ComputesOnCodes) || is_block_table(node)) return true;
    if (node.op_type() == "DynamicQuantizeMatMul" || node.op_type() == "DynamicQuantizeLSTM") return true;
    const auto reads =
        std::ranges::find_if(node.input(), [&](const std::string& read) { return codes.contains(read); });
    return reads != node.input().end() && !has(node, Trait::Quantizes | Trait::ReadsShape);
  });
}

Model normalized_pairs(const Model& typed) {
  Model file = normalized_file(typed);
  dequantize_casts(file);
  return computes_on_codes(file) ? in_pair_form(file) : file;
}

bool lacks_pairs(const Model& typed) {
  if (computes_on_codes(typed)) return true;
  Model file = normalized_file(typed);
  return dequantize_casts(file);
}

bool stands_for_operator(const onnx::NodeProto& node) {
  return node.doc_string() == kForOperator || stands_for_factor(node);
}

bool stands_for_factor(const onnx::NodeProto& node) { return node.doc_string() == kForFactor; }

std::string name_in_pair_form(const std::string& name) { return without(name, "_quant"); }

}  // namespace vernier
