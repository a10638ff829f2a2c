#include "analysis/judged_views.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include "base/elements.h"
#include "base/text.h"
#include "model/graph_edit.h"
#include "model/graph_walk.h"
#include "model/operator_traits.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {
namespace {

// Behind the name of an output: its own tensor, the values of its codes, and the nodes that make what is judged.
constexpr const char* kGiven = "/given";
constexpr const char* kValue = "/value";
constexpr const char* kJudged = "/judged";
// A Slice reads where it begins and ends from inputs since this version.
constexpr int kSliceReadsInputs = 10;
constexpr int kWhereExists = 9;

bool other_float(Dtype dtype) { return dtype == Dtype::Float16 || dtype == Dtype::BFloat16 || dtype == Dtype::Float64; }

/// The same elements in the same order, or the order that a Transpose gives all of them.
bool keeps_elements(const onnx::NodeProto& node) {
  for (const char* op_type : {"Identity", "Cast", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose"}) {
    if (is_onnx(node, op_type)) return true;
  }
  return false;
}

/// The ArgMax whose places `tensor` holds; null when they are something else.
const onnx::NodeProto* arg_max_behind(const GraphWalk& walk, std::string tensor) {
  while (const onnx::NodeProto* node = walk.maker(tensor)) {
    if (is_onnx(*node, "ArgMax")) return node;
    if (!keeps_elements(*node)) return nullptr;
    tensor = node->input(0);
  }
  return nullptr;
}

onnx::NodeProto to_float(const std::string& input, const std::string& output) {
  onnx::NodeProto node = cast_node(input, output, Dtype::Float32);
  node.set_name(output + kJudged);
  return node;
}

/// The values of the codes that `quantize` makes, called `codes` now.
onnx::NodeProto to_values(const onnx::NodeProto& quantize, const std::string& codes, const std::string& output) {
  onnx::NodeProto node = quantize;
  node.set_op_type("DequantizeLinear");
  node.set_name(output + kJudged);
  node.set_input(0, codes);
  node.set_output(0, output);
  node.clear_attribute();
  for (const onnx::AttributeProto& attribute : quantize.attribute()) {
    if (attribute.name() == "axis" || attribute.name() == "block_size") *node.add_attribute() = attribute;
  }
  return node;
}

/// What gives `output` its judged values; `given`: what its tensor is called from now on. Empty: nothing float does.
struct View {
  std::vector<onnx::NodeProto> nodes;
  std::string scores;
  std::optional<ClassAxis> axis;
};

View view_of(const Model& model, const InputInfo& output, const std::string& given) {
  if (other_float(output.dtype)) return {{to_float(given, output.name)}, {}, {}};
  const GraphWalk walk(model);
  const onnx::NodeProto* maker = walk.maker(output.name);
  if (maker == nullptr) return {};
  if (is_onnx(*maker, "QuantizeLinear")) {
    const std::string exact = output.name + kValue;
    return {{to_values(*maker, given, exact), to_float(exact, output.name)}, {}, {}};
  }
  if (output.dtype == Dtype::Bool) return {};
  const onnx::NodeProto* picks = arg_max_behind(walk, output.name);
  if (picks == nullptr) return {};
  const auto axis = static_cast<int>(attribute_int(*picks, "axis", 0));
  return {{to_float(picks->input(0), output.name)},
          picks->input(0),
          ClassAxis{axis, "ArgMax", /*picked=*/true, /*given=*/false, /*compared=*/true}};
}

onnx::ValueInfoProto* output_of(Model& model, const std::string& name) {
  for (onnx::ValueInfoProto& output : *model.proto.mutable_graph()->mutable_output()) {
    if (output.name() == name) return &output;
  }
  return nullptr;
}

/// What makes a part: its last node has that name, the others, and the constants, begin with it and a slash.
std::string maker_of(const std::string& part) { return part + kJudged; }
bool helps_to_make(const std::string& name, const std::string& part) { return name.starts_with(maker_of(part) + "/"); }

/// Adds the nodes that make one part.
class PartMaker {
 public:
  PartMaker(Model& model, const OutputPart& part) : model_(model), part_(part) {}

  void add() {
    std::string values = part_.output;
    if (!part_.all_places()) {
      const std::string sliced = part_.mask.exists() ? named("/sliced") : part_.name;
      add_slice(sliced);
      values = sliced;
    }
    if (part_.mask.exists()) leave_out_mask(values);
  }

 private:
  std::string named(const char* what) const { return maker_of(part_.name) + what; }

  std::string constant(const char* what, const Tensor& value) {
    std::string name = named(what);
    set_initializer(model_, *model_.proto.mutable_graph(), name, value);
    return name;
  }

  onnx::NodeProto& node(const char* op_type, const std::vector<std::string>& inputs, const std::string& output) {
    onnx::NodeProto& made = *model_.proto.mutable_graph()->add_node();
    made.set_op_type(op_type);
    made.set_name(output == part_.name ? maker_of(part_.name) : output);
    for (const std::string& input : inputs) made.add_input(input);
    made.add_output(output);
    return made;
  }

  void add_slice(const std::string& output) {
    const auto number = [](std::int64_t value) { return Tensor::of_int64({1}, std::vector<std::int64_t>{value}); };
    if (!part_.places.empty()) {
      const Tensor places = Tensor::of_int64({static_cast<std::int64_t>(part_.places.size())}, part_.places);
      set_attribute(node("Gather", {part_.output, constant("/places", places)}, output), "axis",
                    static_cast<std::int64_t>(part_.axis));
      return;
    }
    constexpr std::int64_t kToTheEnd = std::numeric_limits<std::int64_t>::max();
    const std::int64_t end = part_.end.value_or(kToTheEnd);
    if (default_opset(model_.proto) < kSliceReadsInputs) {
      if (part_.step != 1) {
        throw Error(ErrorKind::Usage, fmt::format("'{}': slices have steps from opset 10 on", printable(part_.name)),
                    "raise the opset of the model, or name a slice without a step");
      }
      onnx::NodeProto& slice = node("Slice", {part_.output}, output);
      set_attribute(slice, "starts", std::vector<std::int64_t>{part_.begin});
      set_attribute(slice, "ends", std::vector<std::int64_t>{end});
      set_attribute(slice, "axes", std::vector<std::int64_t>{part_.axis});
      return;
    }
    std::vector<std::string> inputs{part_.output, constant("/begin", number(part_.begin)),
                                    constant("/end", number(end)), constant("/axis", number(part_.axis))};
    if (part_.step != 1) inputs.push_back(constant("/step", number(part_.step)));
    node("Slice", inputs, output);
  }

  /// Of a NaN no comparison holds: it counts as 0 here, and the whole output tells it.
  void leave_out_mask(const std::string& values) {
    if (default_opset(model_.proto) < kWhereExists) {
      throw Error(ErrorKind::Usage, fmt::format("'{}' needs opset 9 or newer", printable(part_.name)),
                  "raise the opset of the model");
    }
    const std::string sizes = named("/sizes"), kept = named("/kept");
    const auto [size, side] = part_.mask;
    const bool both = side == MaskSide::Both, negative = side == MaskSide::Negative;
    if (both) node("Abs", {values}, sizes);
    const Tensor limit = Tensor::of({}, std::vector<float>{negative ? -size : size});
    node(negative ? "Greater" : "Less", {both ? sizes : values, constant("/limit", limit)}, kept);
    node("Where", {kept, values, constant("/nothing", Tensor::of({}, std::vector<float>{0}))}, part_.name);
  }

  Model& model_;
  const OutputPart& part_;
};

/// Says in the type of the whole output how long the part is.
void set_length(const OutputPart& part, onnx::TypeProto_Tensor& type) {
  if (part.axis >= type.shape().dim_size()) return type.clear_shape();
  onnx::TensorShapeProto_Dimension& dim = *type.mutable_shape()->mutable_dim(part.axis);
  const bool known = dim.has_dim_value();
  const std::int64_t length = dim.dim_value();
  dim.Clear();
  const bool counted = part.begin >= 0 && part.end.value_or(known ? length : -1) >= part.begin;
  if (counted || !part.places.empty()) dim.set_dim_value(places_of(part, length));
}

void give_out(Model& model, const OutputPart& part) {
  PartMaker(model, part).add();
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  onnx::ValueInfoProto info = *output_of(model, part.output);
  info.set_name(part.name);
  if (!part.all_places()) set_length(part, *info.mutable_type()->mutable_tensor_type());
  *graph.add_output() = std::move(info);
}

bool gives_part(const onnx::NodeProto& node) {
  return is_onnx(node, {"Slice", "Gather", "Where", "Cast", "Identity"}) && node.output_size() == 1 &&
         node.name() == maker_of(node.output(0));
}

/// The values that `tensor` stands for in this model, another form of the network, as a tensor that is there or is
/// added for the output `given`. Empty: it holds integers that no QuantizeLinear makes.
std::string values_of(Model& model, const std::string& tensor, const std::string& given) {
  const onnx::NodeProto* const quantizer = GraphWalk(model).maker(tensor);
  if (quantizer == nullptr || !is_onnx(*quantizer, "QuantizeLinear")) {
    const std::map<std::string, ValueType> types = infer_types(model);
    const auto type = types.find(tensor);
    return type == types.end() || !is_integer(type->second.dtype) ? tensor : std::string();
  }
  onnx::NodeProto node = *quantizer;
  node.set_op_type("DequantizeLinear");
  node.set_name(maker_of(given) + "/values");
  node.set_input(0, tensor);
  node.set_output(0, node.name());
  node.clear_attribute();
  for (const onnx::AttributeProto& attribute : quantizer->attribute()) {
    if (attribute.name() == "axis" || attribute.name() == "block_size") *node.add_attribute() = attribute;
  }
  *model.proto.mutable_graph()->add_node() = node;
  return node.output(0);
}

/// As `info` says, what is `tensor` in this model.
void give_out(Model& model, const std::string& tensor, const onnx::ValueInfoProto& info) {
  onnx::NodeProto node = cast_node(tensor, info.name(), static_cast<Dtype>(info.type().tensor_type().elem_type()));
  node.set_name(maker_of(info.name()));
  *model.proto.mutable_graph()->add_node() = std::move(node);
  *model.proto.mutable_graph()->add_output() = info;
}

std::optional<JudgedView> change(Model& model, const InputInfo& output, const std::set<std::string>& judged) {
  const std::string given = output.name + kGiven;
  View view = view_of(model, output, given);
  if (view.nodes.empty() || judged.contains(view.scores)) return std::nullopt;
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  onnx::ValueInfoProto& info = *output_of(model, output.name);
  const JudgedView change{output.name, info, given, view.scores, view.axis};
  rename_tensor(graph, output.name, given);
  for (onnx::NodeProto& node : view.nodes) *graph.add_node() = std::move(node);
  onnx::TypeProto_Tensor& type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx::TensorProto::FLOAT);
  if (!view.scores.empty()) {
    type.clear_shape();
    const std::map<std::string, ValueType> types = infer_types(model);
    const auto scores = types.find(view.scores);
    if (scores != types.end() && scores->second.rank_known) {
      onnx::TensorShapeProto& shape = *type.mutable_shape();
      for (const std::int64_t dim : scores->second.shape) {
        onnx::TensorShapeProto_Dimension& added = *shape.add_dim();
        if (dim >= 0) added.set_dim_value(dim);
      }
    }
  }
  info.set_name(output.name);
  return change;
}

}  // namespace

std::vector<JudgedView> judge_as_floats(Model& model, const std::set<std::string>& leave) {
  std::vector<JudgedView> views;
  std::set<std::string> judged;
  const std::vector<InputInfo> outputs = model_outputs(model);
  for (const InputInfo& output : outputs) {
    if (output.dtype == Dtype::Float32) judged.insert(output.name);
  }
  for (const InputInfo& output : outputs) {
    if (output.dtype == Dtype::Float32 || leave.contains(output.name)) continue;
    std::optional<JudgedView> view = change(model, output, judged);
    if (!view) continue;
    judged.insert(view->scores);
    views.push_back(std::move(*view));
  }
  return views;
}

std::vector<JudgedView> judge_parts(Model& model, const std::vector<OutputPart>& parts) {
  std::vector<JudgedView> views;
  for (const OutputPart& part : parts) {
    give_out(model, part);
    JudgedView& view = views.emplace_back();
    view.output = part.name;
    view.part = part;
  }
  return views;
}

std::vector<JudgedView> judge_picked(Model& model, const PickedOutputs& picked) {
  std::vector<JudgedView> views;
  const std::map<std::string, ValueType> types = infer_types(model);
  const auto add = [&](const TensorBehind& behind, Dtype dtype) {
    onnx::ValueInfoProto info;
    info.set_name(behind.given);
    onnx::TypeProto_Tensor& type = *info.mutable_type()->mutable_tensor_type();
    type.set_elem_type(static_cast<int>(dtype));
    if (const auto known = types.find(behind.tensor); known != types.end() && known->second.rank_known) {
      type.mutable_shape();
      for (const std::int64_t size : known->second.shape) {
        onnx::TensorShapeProto_Dimension& dim = *type.mutable_shape()->add_dim();
        if (size >= 0) dim.set_dim_value(size);
      }
    }
    give_out(model, behind.tensor, info);
    views.push_back({behind.given, info, {}, {}, {}, {}, behind});
  };
  for (const TensorBehind& front : picked.fronts) add(front, Dtype::Float32);
  for (const TensorBehind& pick : picked.picks) add(pick, Dtype::Int64);
  return views;
}

std::vector<Layer> measured_layers(const Model& model, std::vector<std::string>* others) {
  std::set<std::string> parts;
  for (const onnx::NodeProto& node : model.proto.graph().node()) {
    if (gives_part(node)) parts.insert(node.output(0));
  }
  std::vector<Layer> layers = find_float32_layers(model, others);
  std::erase_if(layers, [&](const Layer& layer) {
    return std::ranges::any_of(parts, [&](const std::string& part) {
      return layer.name == maker_of(part) || helps_to_make(layer.name, part);
    });
  });
  return layers;
}

void judge_alike(Model& model, const std::vector<JudgedView>& views) {
  const std::vector<InputInfo> outputs = model_outputs(model);
  for (const JudgedView& view : views) {
    if (view.part) {
      if (output_of(model, view.part->output) != nullptr) give_out(model, *view.part);
      continue;
    }
    if (view.behind) {
      std::string tensor = tensor_of(model, *view.behind);
      const bool integers = is_integer(static_cast<Dtype>(view.given.type().tensor_type().elem_type()));
      if (!tensor.empty() && !integers) tensor = values_of(model, tensor, view.output);
      if (!tensor.empty()) {
        give_out(model, tensor, view.given);
        continue;
      }
      throw Error(
          ErrorCode::NotMeasurable,
          fmt::format("{}: output '{}' cannot be measured: the graph in front of it differs, and '{}' of the "
                      "float model is not found",
                      printable(model.path.string()), printable(view.behind->output), printable(view.behind->tensor)),
          "cut both models in front of what picks: ‹vernier surgeon extract› with ‹outputs› NAME:auto");
    }
    const auto output = std::ranges::find(outputs, view.output, &InputInfo::name);
    if (output == outputs.end()) continue;  // told where the outputs of both are compared
    if (output->dtype == Dtype::Float32 && view.scores.empty()) continue;
    if (!change(model, *output, {})) {
      throw Error(ErrorCode::NotMeasurable,
                  fmt::format("{}: output '{}' cannot be measured: it is {}", printable(model.path.string()),
                              printable(view.output), not_judged_text(model, *output)));
    }
  }
}

void give_back_outputs(Model& model, const std::vector<JudgedView>& views) {
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  for (const JudgedView& view : views) {
    if (view.added()) {
      std::set<std::string> constants;
      for (const onnx::TensorProto& constant : graph.initializer()) {
        if (helps_to_make(constant.name(), view.output)) constants.insert(constant.name());
      }
      remove_nodes(graph, [&](const onnx::NodeProto& node) {
        return (gives_part(node) && node.output(0) == view.output) || helps_to_make(node.name(), view.output);
      });
      remove_initializers(model, constants);
      google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>& outputs = *graph.mutable_output();
      outputs.erase(std::remove_if(outputs.begin(), outputs.end(),
                                   [&](const onnx::ValueInfoProto& output) { return output.name() == view.output; }),
                    outputs.end());
    }
  }
  for (const JudgedView& view : views) {
    if (view.added()) continue;
    remove_nodes(graph, [&](const onnx::NodeProto& node) {
      return node.output_size() == 1 && (node.output(0) == view.output || node.output(0) == view.output + kValue) &&
             node.name().ends_with(kJudged);
    });
    onnx::ValueInfoProto& info = *output_of(model, view.output);
    rename_tensor(graph, view.given_tensor, view.output);
    info = view.given;
  }
}

std::optional<Note> note_of(const JudgedView& view) {
  if (view.added()) return std::nullopt;
  if (view.axis) {
    return Note{"output-measured-by-scores",
                {{"output", view.output}, {"scores", view.scores}, {"axis", view.axis->axis}}};
  }
  const auto type = static_cast<Dtype>(view.given.type().tensor_type().elem_type());
  if (other_float(type)) return std::nullopt;
  return Note{"output-measured-dequantized", {{"output", view.output}}};
}

std::string not_judged_text(const Model& model, const InputInfo& output) {
  const GraphWalk walk(model);
  const onnx::NodeProto* maker = walk.maker(output.name);
  while (maker != nullptr && is_onnx(*maker, "Cast")) maker = walk.maker(maker->input(0));
  const std::string_view type =
      output.dtype == Dtype::Undefined ? "no tensor, but the result" : dtype_name(output.dtype);
  return fmt::format("{} of {}", type, maker == nullptr ? "an input" : printable(maker->op_type()));
}

std::vector<Note> notes_of_unjudged(const Model& model, const std::set<std::string>& leave) {
  std::vector<Note> notes;
  for (const InputInfo& output : model_outputs(model)) {
    if (output.dtype == Dtype::Float32 || leave.contains(output.name)) continue;
    if (!view_of(model, output, output.name + kGiven).nodes.empty()) continue;
    notes.push_back({"output-not-measured", {{"output", output.name}, {"what", not_judged_text(model, output)}}});
  }
  return notes;
}

Tensor as_given(const JudgedView& view, const Tensor& judged) {
  if (!view.axis) return judged;
  const Shape& from = judged.shape();
  const int axis = view.axis->axis < 0 ? view.axis->axis + static_cast<int>(from.size()) : view.axis->axis;
  Shape shape = from;
  shape.erase(shape.begin() + axis);
  std::int64_t inner = 1;
  for (std::size_t i = static_cast<std::size_t>(axis) + 1; i < from.size(); ++i) inner *= from[i];
  const std::int64_t length = from[static_cast<std::size_t>(axis)];
  std::vector<std::int64_t> places(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t row = 0; row < places.size(); ++row) {
    const auto i = static_cast<std::int64_t>(row);
    const float* first = judged.floats().data() + i / inner * inner * length + i % inner;
    for (std::int64_t k = 1; k < length; ++k) {
      if (first[places[row] * inner] < first[k * inner]) places[row] = k;
    }
  }
  // The file's own shape, where it says one that holds as many.
  const auto& dims = view.given.type().tensor_type().shape().dim();
  Shape said;
  for (const auto& dim : dims) said.push_back(dim.dim_value());
  if (element_count(said) == element_count(shape)) shape = said;
  return Tensor::of_int64(shape, places);
}

}  // namespace vernier
