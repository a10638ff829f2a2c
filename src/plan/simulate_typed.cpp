#include "plan/simulate_typed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/format_definition.h"
#include "base/text.h"
#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "model/output_channels.h"
#include "model/tensorrt_operators.h"
#include "model/type_protos.h"
#include "numerics/grid.h"
#include "plan/clamp_nodes.h"
#include "plan/constant_codes.h"
#include "plan/engine_limits.h"
#include "plan/engine_sums.h"
#include "plan/half_steps.h"
#include "plan/nbits_weight.h"
#include "plan/round_node.h"
#include "plan/rounding_pairs.h"
#include "plan/typed_weights.h"
#include "vernier/arithmetic.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// What a node with such an operator makes of values on a float grid lies on it again.
constexpr Traits kOnGrid = kFollows | Trait::StaysOnGrid;

/// Rewrites one graph after the other; types are those of the file, before any change.
class TypedSimulation {
 public:
  /// `rounds` false: values stay as float32 has them, and inputs and outputs of the types that the file gives them.
  TypedSimulation(const Model& typed, bool rounds, const Arithmetic& arithmetic, std::size_t most_decoded,
                  const Clamps& clamps = {}, WidenedWeights* weights = nullptr)
      : rounds_(rounds),
        clamps_(clamps),
        weights_(weights),
        source_(normalized_file(typed)),
        types_(infer_types(source_)),
        sums_(arithmetic) {
    result_.model = source_;
    for_each_graph(source_.proto.graph(), [&](const onnx::GraphProto& graph) { count_readers(graph); });
    decodes_in_runs_ = rounds && decoded_bytes() > most_decoded;
    for (const onnx::NodeProto& node : source_.proto.graph().node()) main_nodes_.insert(&node);
  }

  SimulatedFile run() {
    rewrite(*result_.model.proto.mutable_graph());
    if (!rounds_) narrow_outputs();
    return std::move(result_);
  }

 private:
  struct Pair {
    std::string input;
    std::string quantizer;
    QuantParams params;
  };

  void count_readers(const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) {
      for (const std::string& input : node.input()) readers_[input].push_back(&node);
    }
    for (const onnx::ValueInfoProto& output : graph.output()) returned_.insert(output.name());
  }

  /// Codes in E2M1 have no kernel there.
  bool is_decoded_by_onnxruntime(const std::string& codes) const {
    return is_initializer(source_, codes) && type_of(codes) != Dtype::Float4E2M1;
  }

  /// What stored codes of the main graph take as float32.
  std::size_t decoded_bytes() const {
    std::size_t bytes = 0;
    for (const onnx::NodeProto& node : source_.proto.graph().node()) {
      if (!is_quantization(node, "DequantizeLinear")) continue;
      const auto codes = initializer(source_, node.input(0));
      if (codes) bytes += static_cast<std::size_t>(codes->count()) * sizeof(float);
    }
    return bytes;
  }

  Dtype type_of(const std::string& tensor) const {
    const auto found = types_.find(tensor);
    return found == types_.end() ? Dtype::Undefined : found->second.dtype;
  }

  void rewrite(onnx::GraphProto& graph) {
    keep_custom_types(graph);
    widen_initializers(graph);
    google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
    nodes.Swap(graph.mutable_node());
    tf32_.push_back({graphs_ == 0 ? "" : fmt::format("/body{}", graphs_), {}});
    ++graphs_;
    widen_interface(graph);
    for (onnx::NodeProto& node : nodes) {
      for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
        if (attribute.has_g()) rewrite(*attribute.mutable_g());
      }
      for (std::string& input : *node.mutable_input()) {
        if (const auto renamed = rounded_inputs_.find(input); renamed != rounded_inputs_.end()) input = renamed->second;
      }
      rewrite_node(graph, std::move(node));
    }
    tf32_.pop_back();
  }

  /// float16 and bfloat16 constants, exactly.
  void widen_initializers(onnx::GraphProto& graph) {
    for (const std::string& name : low_initializers(graph)) {
      // Bodies are no part of result_ while their nodes are rewritten.
      const Tensor low = initializer(source_, name).value();
      const bool large = source_.weights.contains(name);
      set_initializer(result_.model, graph, name, large && weights_ != nullptr ? weights_->of(low) : widened(low));
    }
  }

  /// Inputs and outputs become float32, and so does what the file says of inner tensors; an input of a low type holds
  /// only values of that type.
  void widen_interface(onnx::GraphProto& graph) {
    for (onnx::ValueInfoProto& input : *graph.mutable_input()) {
      const auto format = low_float(type_of(input.name()));
      if (!format) continue;
      const std::string rounded = input.name() + (rounds_ ? "/rounded" : "/float32");
      if (rounds_) {
        input.mutable_type()->mutable_tensor_type()->set_elem_type(static_cast<int>(Dtype::Float32));
        *graph.add_node() = round_node(input.name(), rounded, grid_of(*format));
      } else {
        *graph.add_node() = cast_node(input.name(), rounded, Dtype::Float32);
      }
      rounded_inputs_[input.name()] = rounded;
    }
    for (auto* values : {graph.mutable_output(), graph.mutable_value_info()}) {
      for (onnx::ValueInfoProto& value : *values) {
        if (low_float(static_cast<Dtype>(value.type().tensor_type().elem_type()))) {
          value.mutable_type()->mutable_tensor_type()->set_elem_type(static_cast<int>(Dtype::Float32));
        }
      }
    }
  }

  void rewrite_node(onnx::GraphProto& graph, onnx::NodeProto node) {
    if (node.op_type() == "Cast") return rewrite_cast(graph, std::move(node));
    if (quantizes_in_run(node)) return;
    if (is_tensorrt(node, kDequantizeMxFp8)) return rewrite_dequantize(graph, std::move(node));
    if (is_quantization(node, "QuantizeLinear") && is_pair(node)) return;
    if (is_quantization(node, "DequantizeLinear")) return rewrite_dequantize(graph, std::move(node));
    for (const std::string& input : node.input()) {
      if (auto decoding = decoding_.extract(input)) {
        for (onnx::NodeProto& step : decoding.mapped()) *graph.add_node() = std::move(step);
      }
    }
    widen_attributes(node);
    note_layer(node);
    note_unknown_types(node);
    for (std::string& tensor : sums_.unrounded(
             node,
             [&](const std::string& read) {
               return TensorReaders{readers_[read], /*float_output=*/false, /*low_output=*/returned_.contains(read)};
             },
             [](const onnx::NodeProto& reader) {
               return reader.op_type() == "Cast" && attribute_int(reader, "to", 0) == static_cast<int>(Dtype::Float32);
             })) {
      unrounded_.insert(std::move(tensor));
    }
    std::vector<onnx::NodeProto> rounds;
    for (std::string& output : *node.mutable_output()) {
      const auto format = output.empty() ? std::nullopt : low_float(type_of(output));
      if (!rounds_ || !format || has(node, kOnGrid) || has_body(node) || unrounded_.contains(output)) continue;
      const std::string name = output;
      output = name + "/unrounded";
      if (!reads_codes(node)) {
        const std::string layer = node.name();
        sums_.round_norm(result_.model, graph, node, *format);
        SumShapes shapes = sum_shapes(source_, node);
        if (has(node, Trait::Convolves)) shapes.weight = value_type(node.input(1)).shape;
        if (auto sum = sums_.behind(node, *format, layer, shapes)) rounds.push_back(std::move(*sum));
      }
      rounds.push_back(round_node(name + "/unrounded", name, grid_of(*format)));
    }
    if (computes_in_float32(node)) sums_.read_tf32(result_.model, source_, graph, node, tf32_.back());
    *graph.add_node() = std::move(node);
    for (onnx::NodeProto& round : rounds) *graph.add_node() = std::move(round);
  }

  /// A kernel on codes, which sums integers.
  bool reads_codes(const onnx::NodeProto& node) const {
    return node.input_size() > 0 && grids_.contains(node.input(0));
  }

  bool computes_in_float32(const onnx::NodeProto& node) const {
    return has_weight_axis(node) && type_of(node.output(0)) == Dtype::Float32 && !reads_codes(node);
  }

  void rewrite_cast(onnx::GraphProto& graph, onnx::NodeProto node) {
    const auto to = static_cast<Dtype>(attribute_int(node, "to", 0));
    const Dtype from = type_of(source_name(node.input(0)));
    const bool from_float = from == Dtype::Float32 || low_float(from).has_value();
    const auto format = low_float(to);
    if (!format) {
      if (to == Dtype::Float32 && low_float(from)) {
        node.set_op_type("Identity");
        node.clear_attribute();
      }
      *graph.add_node() = std::move(node);
      return;
    }
    const std::string output = node.output(0);
    std::string input = node.input(0);
    if (!from_float) {  // integers and booleans: through float32, exact below 2^24
      set_attribute(node, "to", static_cast<std::int64_t>(Dtype::Float32));
      input = output + "/unrounded";
      node.set_output(0, input);
      const std::string name = node.name();
      *graph.add_node() = std::move(node);
      add_round(graph, output + "_round", input, output, grid_of(*format));
      return;
    }
    add_round(graph, node.name(), input, output, grid_of(*format));
  }

  /// A Round under the name of the node that it stands for; of a constant its value, so that it stays constant.
  void add_round(onnx::GraphProto& graph, const std::string& name, const std::string& input, const std::string& output,
                 const QuantParams& params) {
    const auto constant = initializer(result_.model, input);
    if (!rounds_) {
      onnx::NodeProto node;
      node.set_op_type("Identity");
      node.set_name(name);
      node.add_input(input);
      node.add_output(output);
      *graph.add_node() = std::move(node);
      return;
    }
    if (constant && constant->dtype() == Dtype::Float32) {
      Tensor rounded(Dtype::Float32, constant->shape());
      round_tensor(params, constant->shape(), constant->floats(), rounded.mutable_floats());
      add_initializer(result_.model, graph, output, rounded);
      return;
    }
    onnx::NodeProto round = round_node(input, output, params);
    round.set_name(name);
    *graph.add_node() = std::move(round);
  }

  /// Outputs get the low types back that they have in the file.
  void narrow_outputs() {
    onnx::GraphProto& graph = *result_.model.proto.mutable_graph();
    for (int i = 0; i < graph.output_size(); ++i) {
      const onnx::ValueInfoProto& given = source_.proto.graph().output(i);
      const auto type = static_cast<Dtype>(given.type().tensor_type().elem_type());
      if (!low_float(type)) continue;
      const std::string exact = given.name() + "/float32";
      rename_tensor(graph, given.name(), exact);
      onnx::NodeProto cast = cast_node(exact, given.name(), type);
      cast.set_name(given.name() + "/cast");
      *graph.add_node() = std::move(cast);
      *graph.mutable_output(i) = given;
    }
  }

  /// The file's own name of a tensor whose reading was redirected.
  std::string source_name(const std::string& tensor) const {
    for (const auto& [name, rounded] : rounded_inputs_) {
      if (rounded == tensor) return name;
    }
    return tensor;
  }

  ValueType value_type(const std::string& tensor) const {
    const auto found = types_.find(tensor);
    return found == types_.end() ? ValueType{} : found->second;
  }

  int rank_of(const std::string& tensor) const {
    const ValueType type = value_type(tensor);
    return type.rank_known ? static_cast<int>(type.shape.size()) : -1;
  }

  bool is_pair(const onnx::NodeProto& quantize) {
    const std::string& codes = quantize.output(0);
    if (returned_.contains(codes)) return false;
    const auto params = grid_of_pair(source_, quantize, value_type(codes), readers_[codes]);
    if (params) pairs_[codes] = {quantize.input(0), quantize.name(), *params};
    return params.has_value();
  }

  bool quantizes_in_run(const onnx::NodeProto& node) {
    const int rank = node.input_size() > 0 ? rank_of(source_name(node.input(0))) : -1;
    const auto params = grid_in_run(source_, node, rank);
    if (!params) return false;
    pairs_[node.output(0)] = {node.input(0), node.name(), *params};
    scales_of_runs_.insert(node.output(1));
    return true;
  }

  /// What a DequantizeLinear makes: as inferred, else the type of its scale.
  Dtype dequantized_type(const onnx::NodeProto& node) const {
    const Dtype inferred = type_of(node.output(0));
    if (inferred != Dtype::Undefined || node.input_size() < 2) return inferred;
    const auto scale = initializer(source_, node.input(1));
    return scale ? scale->dtype() : Dtype::Undefined;
  }

  void rewrite_dequantize(onnx::GraphProto& graph, onnx::NodeProto node) {
    const std::string output = node.output(0);
    if (scales_of_runs_.contains(node.input(0))) return;
    const auto low = low_float(dequantized_type(node));
    if (decodes_in_runs_ && is_decoded_by_onnxruntime(node.input(0))) {
      if (const std::string after = data_beside(output); !after.empty()) {
        return decode_in_runs(std::move(node), after);
      }
    }
    if (const auto constant = dequantized_constant(source_, node)) {
      Tensor value = *constant;
      if (low && rounds_) {
        Tensor rounded(Dtype::Float32, value.shape());
        round_to(grid_of(*low), value.floats(), rounded.mutable_floats());
        value = rounded;
      }
      remember_stored(output, node);
      add_initializer(result_.model, graph, output, value);
      return;
    }
    const std::string unrounded = low ? output + "/unrounded" : output;
    if (const auto pair = pairs_.find(node.input(0)); pair != pairs_.end()) {
      const auto clamp = rounds_ ? clamps_.end() : clamps_.find(unrounded);
      if (clamp != clamps_.end() && (clamp->second.low || clamp->second.high)) {
        const QuantizedTensor clamped{pair->second.input, unrounded,           pair->second.quantizer,
                                      node.name(),        pair->second.params, rank_of(output)};
        for (onnx::NodeProto& step : clamp_nodes(clamped, clamp->second, default_opset(source_.proto),
                                                 [&](const std::string&name, const Tensor&value) {
                                                   add_initializer(result_.model, graph, name, value);
                                                 })) {
          *graph.add_node() = std::move(step);
        }
      } else {
        add_round(graph, node.name(), pair->second.input, unrounded, pair->second.params);
      }
      result_.quantized.push_back(
          {pair->second.input, unrounded, pair->second.quantizer, node.name(), pair->second.params, rank_of(output)});
      grids_[output] = pair->second.params.format;
    } else {
      remember_grid(output, node);
      node.set_output(0, unrounded);
      if (find_attribute(node, "output_dtype") != nullptr && low) {
        set_attribute(node, "output_dtype", static_cast<std::int64_t>(Dtype::Float32));
      }
      *graph.add_node() = std::move(node);
    }
    if (low) add_round(graph, output + "_round", unrounded, output, grid_of(*low));
  }

  /// The floats that the only reader of a stored weight, in the main graph, takes beside it; empty when there are none.
  std::string data_beside(const std::string& weight) {
    const auto& readers = readers_[weight];
    if (readers.size() != 1 || !has_weight_axis(*readers.front()) || returned_.contains(weight)) return "";
    if (!main_nodes_.contains(readers.front())) return "";
    const std::string& data = readers.front()->input(readers.front()->input(0) == weight ? 1 : 0);
    const Dtype type = type_of(data);
    if (data == weight || (type != Dtype::Float32 && !low_float(type)) || initializer(source_, data)) return "";
    const auto renamed = rounded_inputs_.find(data);
    return renamed == rounded_inputs_.end() ? data : renamed->second;
  }

  /// A weight that stays codes, and becomes floats in each run, in front of its reader: its scale waits for `after`.
  void decode_in_runs(onnx::NodeProto node, const std::string& after) {
    const std::string output = node.output(0);
    const auto low = low_float(dequantized_type(node));
    remember_stored(output, node);
    const std::string scale = output + "/scale";
    onnx::NodeProto waits = round_node(node.input(1), scale, grid_of(Format::Float32));
    waits.add_input(after);
    std::vector<onnx::NodeProto>& decoding = decoding_[output];
    decoding.push_back(std::move(waits));
    node.set_input(1, scale);
    node.set_output(0, low ? output + "/unrounded" : output);
    if (low && find_attribute(node, "output_dtype") != nullptr) {
      set_attribute(node, "output_dtype", static_cast<std::int64_t>(Dtype::Float32));
    }
    decoding.push_back(std::move(node));
    if (low) decoding.push_back(round_node(output + "/unrounded", output, grid_of(*low)));
  }

  void remember_stored(const std::string& output, const onnx::NodeProto& dequantize) {
    remember_grid(output, dequantize);
    const auto params = quantization_of(source_, dequantize, value_type(dequantize.input(0)));
    if (params) result_.quantized.push_back({output, output, "", dequantize.name(), *params, rank_of(output)});
  }

  void remember_grid(const std::string& output, const onnx::NodeProto& dequantize) {
    const auto params = quantization_of(source_, dequantize, value_type(dequantize.input(0)));
    const Dtype codes = type_of(dequantize.input(0));
    if (params) {
      grids_[output] = params->format;
    } else if (codes == Dtype::UInt8 || codes == Dtype::Int8) {  // with the scale of each run
      grids_[output] = codes == Dtype::UInt8 ? Format::UInt8 : Format::Int8;
    }
  }

  /// Operators that ONNX does not know have outputs of unknown type: behind low-precision inputs that is worth saying.
  void note_unknown_types(const onnx::NodeProto& node) {
    const bool reads_low = std::any_of(node.input().begin(), node.input().end(), [&](const std::string& input) {
      return low_float(type_of(source_name(input))).has_value();
    });
    if (!reads_low || node.output_size() == 0 || types_.contains(node.output(0)) || has_body(node)) return;
    const std::string domain = node.domain().empty() ? "" : node.domain() + ".";
    result_.notes.push_back({"type-not-known", {{"operator", domain + node.op_type()}, {"node", node.name()}}});
  }

  /// What a node computes in: the grid of its quantized data input, else the type of its first float output.
  void note_layer(const onnx::NodeProto& node) {
    if (has_body(node) || node.op_type() == "Constant" || node.output_size() == 0) return;
    if (has(node, Trait::ComputesOnCodes)) {
      const bool is_signed = node.input_size() > 0 && type_of(node.input(0)) == Dtype::Int8;
      result_.layers.push_back({node.name(), is_signed ? Format::Int8 : Format::UInt8});
      return;
    }
    if (has(node, Trait::StoresCodes)) {
      const auto grid = grids_.find(node.input(0));
      result_.layers.push_back({node.name(), grid == grids_.end() ? stored_format(node) : grid->second});
      return;
    }
    // Recurrent layers may leave out their first output.
    const auto made = std::ranges::find_if(node.output(), [](const std::string& name) { return !name.empty(); });
    const Dtype type = made == node.output().end() ? Dtype::Undefined : type_of(*made);
    const auto low = low_float(type);
    if (type != Dtype::Float32 && !low) return;
    Format format = low.value_or(Format::Float32);
    const bool shield = node.op_type() == "Sum" && node.input_size() == 1;
    if (node.input_size() > 0 && !has(node, kOnGrid) && !shield) {
      // A layer whose weight alone is quantized shows what its weight is stored in.
      auto grid = grids_.find(node.input(0));
      if (grid == grids_.end() && has_weight_axis(node)) grid = grids_.find(node.input(1));
      if (grid != grids_.end()) format = grid->second;
    }
    result_.layers.push_back({node.name(), format});
    if (format != Format::Float32 && traits_of(node.op_type()).any(Trait::Recurrent)) {
      result_.notes.push_back(recurrence_note(node.op_type(), node.name()));
    }
  }

  const bool rounds_;
  const Clamps& clamps_;
  WidenedWeights* const weights_;
  bool decodes_in_runs_ = false;
  Model source_;
  std::map<std::string, ValueType> types_;
  SimulatedFile result_;
  std::map<std::string, std::vector<const onnx::NodeProto*>> readers_;
  std::set<const onnx::NodeProto*> main_nodes_;  // of source_, bodies' aside
  std::set<std::string> returned_;
  std::map<std::string, std::string> rounded_inputs_;
  std::set<std::string> scales_of_runs_;                          // what TensorRT's quantizers give with the codes
  std::map<std::string, Pair> pairs_;                             // QuantizeLinear output -> what it rounds
  std::map<std::string, std::vector<onnx::NodeProto>> decoding_;  // of weights whose reader is still to come
  std::map<std::string, Format> grids_;                           // DequantizeLinear output -> grid of its values
  EngineSums sums_;
  std::set<std::string> unrounded_;
  int graphs_ = 0;
  std::vector<EngineSums::Tf32Names> tf32_;  // of the graph that is rewritten, and of those around it
};

}  // namespace

SimulatedFile simulate_typed(const Model& typed, const Arithmetic& arithmetic, std::size_t most_decoded,
                             WidenedWeights* weights) {
  Model in_engine;
  std::vector<std::string> lost, steps;
  if (may_lose_limits(typed) || may_take_half_steps(typed)) {
    in_engine = normalized_file(typed);
    lost = lose_limits(in_engine);
    steps = spell_out_half_steps(in_engine);
  }
  const bool as_engine = arithmetic.accumulate == Accumulate::Float16 && !(lost.empty() && steps.empty());
  SimulatedFile simulated =
      TypedSimulation(as_engine ? in_engine : typed, /*rounds=*/true, arithmetic, most_decoded, {}, weights).run();
  simulated.lost_limits = std::move(lost);
  simulated.half_steps = std::move(steps);
  return simulated;
}

SimulatedFile without_roundings(const Model& typed, const Clamps& clamps) {
  return TypedSimulation(typed, /*rounds=*/false, {}, kOneCopyAbove, clamps).run();
}

}  // namespace vernier
