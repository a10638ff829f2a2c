// `vernier inspect model`: what is in the file, for people.

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "model/layers.h"
#include "vernier/error.h"
#include "vernier/jobs.h"

namespace vernier {
namespace {

std::string value_text(const InputInfo& info) {
  return fmt::format("{} [{}, {}]", printable(info.name), dtype_name(info.dtype), shape_text(info.shape));
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
    case onnx::AttributeProto::GRAPH:
      return fmt::format("graph of {} nodes", attribute.g().node_size());
    default:
      return "...";
  }
}

std::string names_text(const google::protobuf::RepeatedPtrField<std::string>& names) {
  std::vector<std::string> shown;
  for (const std::string& name : names) shown.push_back(name.empty() ? "-" : printable(name));
  return fmt::format("{}", fmt::join(shown, ", "));
}

void list_layers(const onnx::GraphProto& graph, const std::map<std::string, const Layer*>& layers, bool attributes,
                 const std::string& indent, std::string& text) {
  for (const onnx::NodeProto& node : graph.node()) {
    const auto layer = layers.find(node.name());
    const char* role = layer == layers.end() ? "" : layer->second->follows ? "  (moves data)" : "  (layer)";
    text += fmt::format("{}{} [{}]{}\n{}    {} -> {}\n", indent, printable(node.name()), printable(node.op_type()),
                        role, indent, names_text(node.input()), names_text(node.output()));
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attributes) {
        text += fmt::format("{}    {} = {}\n", indent, printable(attribute.name()), attribute_text(attribute));
      }
      if (attribute.has_g()) list_layers(attribute.g(), layers, attributes, indent + "    ", text);
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

}  // namespace

std::string inspect_model(const InspectOptions& options) {
  const auto shows = [&](const char* what) {
    return std::find(options.show.begin(), options.show.end(), what) != options.show.end();
  };
  const Model model = read_model(options.model);
  const std::vector<Layer> layers = find_layers(model);
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
  for (const InputInfo& input : model_inputs(model)) text += fmt::format("  input   {}\n", value_text(input));
  for (const InputInfo& output : model_outputs(model)) text += fmt::format("  output  {}\n", value_text(output));
  text += fmt::format(
      "  layers  {} on the float data path: {} weighted (Conv, ConvTranspose, Gemm, MatMul), {} that only "
      "move data\n",
      layers.size(), weighted, moving);
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
    list_layers(model.proto.graph(), by_name, shows("attrs"), "  ", text);
  }
  if (shows("weights")) {
    text += "\nweights\n";
    list_weights(model, text);
  }
  return text;
}

}  // namespace vernier
