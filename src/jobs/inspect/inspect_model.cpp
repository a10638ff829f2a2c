// `vernier inspect model`: what is in the file, for people.

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/text.h"
#include "model/data_dependent.h"
#include "model/layers.h"
#include "model/raw_proto.h"
#include "model/type_protos.h"
#include "vernier/error.h"
#include "vernier/inspect.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using TypeProtos = std::map<std::string, onnx::TypeProto>;

/// "float32, 1x3xheightx?": dimensions with the names that the file gives them.
std::string type_text(const onnx::TypeProto& type) {
  if (!type.has_tensor_type()) return type.has_sequence_type() ? "sequence" : "no tensor";
  std::string text(dtype_name(static_cast<Dtype>(type.tensor_type().elem_type())));
  if (!type.tensor_type().has_shape()) return text + ", any shape";
  std::vector<std::string> dims;
  for (const auto& dim : type.tensor_type().shape().dim()) {
    const bool ours = dim.dim_param().starts_with("unk__");  // a name that inference made up
    dims.push_back(dim.has_dim_value()            ? std::to_string(dim.dim_value())
                   : dim.has_dim_param() && !ours ? printable(dim.dim_param())
                                                  : "?");
  }
  return fmt::format("{}, {}", text, dims.empty() ? "scalar" : fmt::format("{}", fmt::join(dims, "x")));
}

std::string value_text(const onnx::ValueInfoProto& value) {
  return fmt::format("{} [{}]", printable(value.name()), type_text(value.type()));
}

std::string attribute_text(const onnx::AttributeProto& attribute) {
  switch (attribute.type()) {
    case onnx::AttributeProto::INT:
      return std::to_string(attribute.i());
    case onnx::AttributeProto::FLOAT:
      return fmt::format("{}", attribute.f());
    case onnx::AttributeProto::STRING:
      return fmt::format("\"{}\"", printable(attribute.s()));
    case onnx::AttributeProto::INTS:
      return fmt::format("[{}]", fmt::join(attribute.ints(), ", "));
    case onnx::AttributeProto::FLOATS:
      return fmt::format("[{}]", fmt::join(attribute.floats(), ", "));
    case onnx::AttributeProto::TENSOR:
      return fmt::format("tensor {}", shape_text(Shape(attribute.t().dims().begin(), attribute.t().dims().end())));
    case onnx::AttributeProto::STRINGS: {
      std::vector<std::string> texts;
      for (const std::string& item : attribute.strings()) texts.push_back(fmt::format("\"{}\"", printable(item)));
      return fmt::format("[{}]", fmt::join(texts, ", "));
    }
    case onnx::AttributeProto::GRAPHS:
      return fmt::format("{} graphs", attribute.graphs_size());
    case onnx::AttributeProto::GRAPH:
      return fmt::format("graph of {} nodes", attribute.g().node_size());
    default:
      return "...";
  }
}

std::string names_text(const google::protobuf::RepeatedPtrField<std::string>& names, const TypeProtos& types) {
  std::vector<std::string> shown;
  for (const std::string& name : names) {
    const auto type = types.find(name);
    shown.push_back(name.empty()          ? "-"
                    : type == types.end() ? printable(name)
                                          : fmt::format("{} [{}]", printable(name), type_text(type->second)));
  }
  return fmt::format("{}", fmt::join(shown, ", "));
}

void list_layers(const onnx::GraphProto& graph, const std::map<std::string, const Layer*>& layers,
                 const TypeProtos& types, bool attributes, const std::string& indent, std::string& text) {
  if (!indent.empty() && indent.size() > 2) {
    for (const onnx::ValueInfoProto& input : graph.input())
      text += fmt::format("{}input   {}\n", indent, value_text(input));
    for (const onnx::ValueInfoProto& output : graph.output()) {
      text += fmt::format("{}output  {}\n", indent, value_text(output));
    }
  }
  for (const onnx::NodeProto& node : graph.node()) {
    const auto layer = layers.find(node.name());
    const char* role = layer == layers.end() ? "" : layer->second->follows ? "  (moves data)" : "  (layer)";
    text += fmt::format("{}{} [{}]{}\n{}    {} -> {}\n", indent, printable(node.name()), printable(node.op_type()),
                        role, indent, names_text(node.input(), types), names_text(node.output(), types));
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attributes) {
        text += fmt::format("{}    {} = {}\n", indent, printable(attribute.name()), attribute_text(attribute));
      }
      if (attribute.has_g()) list_layers(attribute.g(), layers, types, attributes, indent + "    ", text);
      for (const onnx::GraphProto& body : attribute.graphs()) {
        list_layers(body, layers, types, attributes, indent + "    ", text);
      }
    }
  }
}

void list_weights(const Model& model, std::string& text) {
  for_each_graph(model.proto.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::TensorProto& tensor : graph.initializer()) {
      text +=
          fmt::format("  {} [{}, {}]\n", printable(tensor.name()), dtype_name(static_cast<Dtype>(tensor.data_type())),
                      shape_text(Shape(tensor.dims().begin(), tensor.dims().end())));
    }
  });
}

Model read_for_inspection(const std::filesystem::path& path) {
  onnx::ModelProto proto = read_raw_proto(path);
  try {
    Model model = adopt_model(std::move(proto), path.parent_path());
    model.path = path;
    return model;
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{}: {}", path.string(), error.what()), error.hint());
  }
}

/// The model with every size of its inputs that is left open set to 1; nullopt when there is none.
std::optional<Model> with_open_sizes_of_one(const Model& model) {
  bool any = false;
  for (const InputInfo& input : model_inputs(model)) {
    any = any || std::any_of(input.shape.begin(), input.shape.end(), [](std::int64_t dim) { return dim < 0; });
  }
  if (!any) return std::nullopt;
  Model closed = model;
  closed.proto.mutable_graph()->clear_value_info();  // it may say again what was left open
  for (onnx::ValueInfoProto& input : *closed.proto.mutable_graph()->mutable_input()) {
    for (auto& dim : *input.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim()) {
      if (!dim.has_dim_value() || dim.dim_value() < 0) dim.set_dim_value(1);
    }
  }
  for (onnx::ValueInfoProto& output : *closed.proto.mutable_graph()->mutable_output()) {
    if (output.type().has_tensor_type()) output.mutable_type()->mutable_tensor_type()->clear_shape();
  }
  return closed;
}

/// Float parameters, and multiply-accumulates where the shapes are fixed.
std::string cost_text(const Model& model, const std::vector<Layer>& layers,
                      const std::map<std::string, ValueType>& types) {
  std::int64_t parameters = 0;
  std::unordered_map<std::string, const onnx::NodeProto*> nodes;
  for_each_graph(model.proto.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::TensorProto& tensor : graph.initializer()) {
      const auto dtype = static_cast<Dtype>(tensor.data_type());
      const bool is_float =
          dtype == Dtype::Float32 || dtype == Dtype::Float16 || dtype == Dtype::BFloat16 || dtype == Dtype::Float64;
      if (is_float) parameters += element_count(Shape(tensor.dims().begin(), tensor.dims().end()));
    }
    for (const onnx::NodeProto& node : graph.node()) nodes[node.name()] = &node;
  });
  std::optional<Model> closed = with_open_sizes_of_one(model);
  const std::map<std::string, ValueType> closed_types =
      closed ? infer_types_in_place(*closed) : std::map<std::string, ValueType>();
  const std::map<std::string, ValueType>& known_types = closed ? closed_types : types;
  const auto known = [&](const std::string& name) {
    const auto type = known_types.find(name);
    return type != known_types.end() && type->second.rank_known &&
           std::none_of(type->second.shape.begin(), type->second.shape.end(), [](std::int64_t dim) { return dim < 0; });
  };
  std::int64_t macs = 0;
  std::size_t unknown = 0;
  for (const Layer& layer : layers) {
    if (!layer.weighted) continue;
    const onnx::NodeProto& node = *nodes.at(layer.name);
    if (known(node.input(0)) && known(node.input(1)) && known(node.output(0))) {
      macs += multiply_accumulates(layer, node, [&](const std::string& name) { return known_types.at(name).shape; });
    } else {
      ++unknown;
    }
  }
  std::string text = fmt::format("  parameters  {:.3f} M float values\n", static_cast<double>(parameters) / 1e6);
  text += fmt::format("  multiply-accumulates  {:.3f} M", static_cast<double>(macs) / 1e6);
  if (closed) text += ", open sizes of the inputs counted as 1";
  if (unknown > 0) text += fmt::format(", without {} of unknown shape", plural(unknown, "layer"));
  return text + "\n";
}

}  // namespace

std::string list_unbounded_sizes(const std::filesystem::path& path) {
  const std::vector<std::string> found = unbounded_sizes(read_for_inspection(path));
  if (found.empty()) return fmt::format("{}: no size comes from data without a bound\n", path.string());
  std::string text = fmt::format("{}: {} from data without a bound\n", path.string(), plural(found.size(), "size"));
  for (const std::string& name : found) text += fmt::format("  {}\n", printable(name));
  return text + "hint: vernier surgeon sanitize --set-unbounded-dds-upper-bound NAME:N bounds them\n";
}

std::string inspect_model(const InspectOptions& options) {
  const auto shows = [&](const char* what) {
    return std::find(options.show.begin(), options.show.end(), what) != options.show.end();
  };
  // Without the hash of weights beside the file: nothing here names the model, and they may be gigabytes.
  Model model = read_for_inspection(options.model);
  const std::map<std::string, ValueType> types = infer_types_in_place(model);
  const std::vector<Layer> layers = find_layers(model, types);
  std::map<std::string, std::size_t> operators;
  std::size_t nodes = 0;
  for_each_graph(model.proto.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) {
      ++operators[node.op_type()];
      ++nodes;
    }
  });
  std::size_t initializers = 0;
  std::int64_t bytes = 0;
  for_each_graph(model.proto.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::TensorProto& tensor : graph.initializer()) {
      ++initializers;
      bytes += element_count(Shape(tensor.dims().begin(), tensor.dims().end())) *
               dtype_bits(static_cast<Dtype>(tensor.data_type())) / 8;
    }
  });
  const auto weighted = std::count_if(layers.begin(), layers.end(), [](const Layer& layer) { return layer.weighted; });
  const auto moving = std::count_if(layers.begin(), layers.end(), [](const Layer& layer) { return layer.follows; });

  std::string text =
      fmt::format("{}\n  graph {} | opset {} | IR {} | {} nodes | {} initializers, {:.2f} MB\n", options.model.string(),
                  printable(model.proto.graph().name()), default_opset(model.proto), model.proto.ir_version(), nodes,
                  initializers, static_cast<double>(bytes) / 1e6);
  for (const onnx::OperatorSetIdProto& opset : model.proto.opset_import()) {
    if (!opset.domain().empty()) text += fmt::format("  domain {} {}\n", printable(opset.domain()), opset.version());
  }
  for (const onnx::ValueInfoProto& input : model.proto.graph().input()) {
    text += fmt::format("  input   {}\n", value_text(input));
  }
  for (const onnx::ValueInfoProto& output : model.proto.graph().output()) {
    text += fmt::format("  output  {}\n", value_text(output));
  }
  text += fmt::format(
      "  layers  {} on the float data path: {} weighted (Conv, ConvTranspose, Gemm, MatMul), {} that only "
      "move data\n",
      layers.size(), weighted, moving);
  text += cost_text(model, layers, types);
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (const auto& [name, count] : operators) ranked.emplace_back(count, name);
  std::sort(ranked.rbegin(), ranked.rend());
  std::vector<std::string> shown;
  for (const auto& [count, name] : ranked) shown.push_back(fmt::format("{} {}", printable(name), count));
  text += fmt::format("  operators  {}\n", fmt::join(shown, ", "));

  std::map<std::string, const Layer*> by_name;
  for (const Layer& layer : layers) by_name[layer.name] = &layer;
  if (shows("layers") || shows("attrs")) {
    text += "\nnodes\n";
    list_layers(model.proto.graph(), by_name, infer_type_protos(model), shows("attrs"), "  ", text);
  }
  if (shows("weights")) {
    text += "\nweights\n";
    list_weights(model, text);
  }
  return text;
}

}  // namespace vernier
