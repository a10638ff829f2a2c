// `vernier inspect model --display-as polygraphy`: the text that scripts for Polygraphy read, from the file as it is
// written. Names of nodes are not fixed and shapes are not inferred unless that is asked for.

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/elements.h"
#include "base/text.h"
#include "io/array_text.h"
#include "jobs/common/missing_weights.h"
#include "model/model.h"
#include "model/raw_proto.h"
#include "model/stripped_weights.h"
#include "model/type_protos.h"
#include "vernier/error.h"
#include "vernier/inspect.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

std::string indented(const std::string& block, std::size_t width) {
  const std::string space(width, ' ');
  std::string text = space;
  for (const char c : block) {
    text += c;
    if (c == '\n') text += space;
  }
  return text;
}

/// "(2, 'n', -1)"
std::string tuple_text(const std::vector<std::string>& items) {
  return fmt::format("({}{})", fmt::join(items, ", "), items.size() == 1 ? "," : "");
}

std::string shape_tuple(const Shape& shape) {
  std::vector<std::string> dims;
  for (const std::int64_t dim : shape) dims.push_back(std::to_string(dim));
  return tuple_text(dims);
}

Shape shape_of(const onnx::TensorProto& tensor) { return {tensor.dims().begin(), tensor.dims().end()}; }

std::string dtype_of(const onnx::TensorProto& tensor) {
  return std::string(dtype_name(static_cast<Dtype>(tensor.data_type())));
}

/// " [dtype=float32, shape=(2, 'n', -1)]"; empty for values of other kinds than tensors.
std::string type_text(const onnx::TypeProto& type) {
  if (!type.has_tensor_type()) return "";
  std::vector<std::string> dims;
  for (const auto& dim : type.tensor_type().shape().dim()) {
    dims.push_back(dim.has_dim_param()   ? fmt::format("'{}'", printable(dim.dim_param()))
                   : dim.has_dim_value() ? std::to_string(dim.dim_value())
                                         : "-1");
  }
  return fmt::format(" [dtype={}, shape={}]", dtype_name(static_cast<Dtype>(type.tensor_type().elem_type())),
                     tuple_text(dims));
}

std::string list_text(const std::vector<std::string>& items) { return fmt::format("{{{}}}", fmt::join(items, ",\n ")); }

/// As Python prints it: 1.0, 1e-05.
std::string python_text(float value) {
  const std::string text = fmt::format("{}", static_cast<double>(value));
  return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;
}

/// As NumPy prints them. Formats that it lacks are shown as float32 or int64.
std::string values_text(const Tensor& values) {
  const auto count = static_cast<std::size_t>(values.count());
  if (values.dtype() == Dtype::Int4 || values.dtype() == Dtype::UInt4) {
    std::vector<std::int64_t> room;
    return array_text(Tensor::of_int64(values.shape(), read_block(values, 0, count, room)), {});
  }
  if (!fits_float32(values.dtype()) || values.dtype() == Dtype::Float16) return array_text(values, {});
  std::vector<float> room;
  return array_text(Tensor::of(values.shape(), read_block(values, 0, count, room)), {});
}

/// As NumPy prints an array of strings, but on lines of any length: ['a' 'b'].
std::string strings_text(const onnx::TensorProto& tensor) {
  constexpr std::int64_t kShown = 1000, kEdge = 3;  // NumPy's threshold and edgeitems
  const Shape shape = shape_of(tensor);
  const bool whole = tensor.string_data_size() <= kShown;
  int next = 0;
  const std::function<std::string(std::size_t)> text_of = [&](std::size_t axis) {
    if (axis == shape.size()) {
      return next < tensor.string_data_size() ? fmt::format("'{}'", printable(tensor.string_data(next++))) : "''";
    }
    const std::string between = axis + 1 == shape.size() ? " " : "\n" + std::string(axis + 1, ' ');
    std::string text = "[";
    for (std::int64_t i = 0; i < shape[axis]; ++i) {
      const std::string item = text_of(axis + 1);
      if (!whole && i >= kEdge && i < shape[axis] - kEdge) {
        if (i == kEdge) text += between + "...";
        continue;
      }
      text += (i == 0 ? "" : between) + item;
    }
    return text + "]";
  };
  return text_of(0);
}

/// What stands for tensors in one graph, by name: "x [dtype=...]", "Initializer | w [dtype=...]".
using Shown = std::map<std::string, std::string>;

class Listing {
 public:
  Listing(const onnx::ModelProto& proto, const InspectOptions& options) : proto_(proto), options_(options) {
    if (!options.infer_shapes && (!options.weights || options.skip_external_data)) return;
    try {
      model_ = MissingWeights().read_unhashed(options.model, options.external_data_dir);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::Input) throw;  // its weights are missing, which is shown where they would be
      return;
    }
    if (!options.infer_shapes) return;
    for (const auto& [name, type] : infer_type_protos(*model_)) inferred_[name] = printable(name) + type_text(type);
  }

  std::string text() {
    std::string head =
        fmt::format("Name: {} | ONNX Opset: {}", printable(proto_.graph().name()), default_opset(proto_));
    std::vector<std::string> others;
    for (const onnx::OperatorSetIdProto& opset : proto_.opset_import()) {
      if (opset.domain().empty() || opset.domain() == "ai.onnx") continue;
      others.push_back(fmt::format("'{}': {}", printable(opset.domain()), opset.version()));
    }
    if (!others.empty()) head += fmt::format(" | Other Opsets: {{{}}}", fmt::join(others, ", "));
    head += "\n\n" + graph_text(proto_.graph(), "Graph", inferred_);
    std::string text = fmt::format("[I] Loading model: {}\n", printable(options_.model.name()));
    for (const std::string& why : missing_) {
      text += fmt::format("[E] Failed to load weights.\n    Note: Error was: {}\n", why);
    }
    return text + "[I] ==== ONNX Model ====\n" + indented(head, 4) + '\n';
  }

 private:
  std::string graph_text(const onnx::GraphProto& graph, const char* kind, Shown shown) {
    const auto learn = [&](const auto& values) {
      for (const onnx::ValueInfoProto& value : values) {
        shown[value.name()] = printable(value.name()) + type_text(value.type());
      }
    };
    learn(graph.value_info());
    learn(graph.output());
    learn(graph.input());
    std::vector<std::string> constants, inputs, outputs;
    std::set<std::string> constant_names;
    for (const onnx::TensorProto& tensor : graph.initializer()) {
      constant_names.insert(tensor.name());
      const std::string entry = fmt::format("{} [dtype={}, shape={}]", printable(tensor.name()), dtype_of(tensor),
                                            shape_tuple(shape_of(tensor)));
      constants.push_back(entry);
      shown[tensor.name()] = "Initializer | " + entry;
    }
    for (const onnx::ValueInfoProto& input : graph.input()) {
      if (!constant_names.contains(input.name())) inputs.push_back(shown.at(input.name()));
    }
    for (const onnx::ValueInfoProto& output : graph.output()) outputs.push_back(shown.at(output.name()));
    std::string text = fmt::format("---- {} {} Input(s) ----\n{}\n\n---- {} {} Output(s) ----\n{}\n\n", inputs.size(),
                                   kind, list_text(inputs), outputs.size(), kind, list_text(outputs));
    text += fmt::format("---- {} Initializer(s) ----\n", graph.initializer_size());
    if (options_.weights && graph.initializer_size() > 0) {
      for (const onnx::TensorProto& tensor : graph.initializer()) {
        text += fmt::format("Initializer | {} [dtype={}, shape=[{}]] | Values:\n{}\n\n", printable(tensor.name()),
                            dtype_of(tensor), fmt::join(shape_of(tensor), ", "), indented(weight_text(tensor), 4));
      }
    } else {
      text += options_.nodes || options_.weights ? list_text(constants) + "\n\n" : "\n";
    }
    text += fmt::format("---- {} Node(s) ----", graph.node_size());
    if (!options_.nodes) return text;
    for (int i = 0; i < graph.node_size(); ++i) text += (i == 0 ? "\n" : "\n\n") + node_text(graph.node(i), i, shown);
    return text;
  }

  std::string weight_text(const onnx::TensorProto& tensor) {
    if (tensor.data_type() == onnx::TensorProto::STRING) return strings_text(tensor);
    const bool stripped = is_stripped(tensor);
    if (!stripped && tensor.data_location() != onnx::TensorProto::EXTERNAL) return values_text(tensor_of(tensor));
    const std::optional<Tensor> value = model_ ? initializer(*model_, tensor.name()) : std::nullopt;
    if (value) return values_text(*value);
    missing_.push_back(fmt::format("the values of '{}' {}", printable(tensor.name()),
                                   stripped ? "are stripped" : "lie in another file"));
    return "<error: failed to load weights>";
  }

  std::string node_text(const onnx::NodeProto& node, int place, const Shown& shown) {
    const auto names = [&](const auto& tensors) {
      std::vector<std::string> texts;
      for (const std::string& name : tensors) {
        const auto known = shown.find(name);
        texts.push_back(known == shown.end() ? printable(name) : known->second);
      }
      return list_text(texts);
    };
    const std::string inputs = names(node.input());
    std::string text = fmt::format("Node {:<4} | {} [Op: {}]\n{}", place, printable(node.name()),
                                   printable(node.op_type()), indented(inputs, 4));
    const std::string outputs = "-> " + names(node.output());
    std::string indented_outputs;
    for (const char c : outputs) {
      indented_outputs += c;
      if (c == '\n') indented_outputs += "        ";
    }
    text += (node.input().empty() ? " " : "\n     ") + indented_outputs;
    if (!options_.attributes || node.attribute().empty()) return text;
    text += "\n    ---- Attributes ----";
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      text += fmt::format("\n    {}{} = {}", node.name().empty() ? "" : printable(node.name()) + ".",
                          printable(attribute.name()), value_text(node, attribute, shown));
    }
    return text;
  }

  std::string value_text(const onnx::NodeProto& node, const onnx::AttributeProto& attribute, const Shown& shown) {
    const auto each = [](const auto& values, const auto& text_of) {
      std::vector<std::string> texts;
      for (const auto& value : values) texts.push_back(text_of(value));
      return fmt::format("[{}]", fmt::join(texts, ", "));
    };
    switch (attribute.type()) {
      case onnx::AttributeProto::INT:
        return node.op_type() == "Cast" && attribute.name() == "to"
                   ? std::string(dtype_name(static_cast<Dtype>(attribute.i())))
                   : std::to_string(attribute.i());
      case onnx::AttributeProto::FLOAT:
        return python_text(attribute.f());
      case onnx::AttributeProto::STRING:
        return printable(attribute.s());
      case onnx::AttributeProto::INTS:
        return each(attribute.ints(), [](std::int64_t value) { return std::to_string(value); });
      case onnx::AttributeProto::FLOATS:
        return each(attribute.floats(), python_text);
      case onnx::AttributeProto::STRINGS:
        return each(attribute.strings(),
                    [](const std::string& value) { return fmt::format("'{}'", printable(value)); });
      case onnx::AttributeProto::TENSOR: {
        std::string text = fmt::format("Tensor: [dtype={}, shape=[{}]]", dtype_of(attribute.t()),
                                       fmt::join(shape_of(attribute.t()), ", "));
        if (options_.weights) text += " | Values:\n" + indented(weight_text(attribute.t()), 8);
        return text;
      }
      case onnx::AttributeProto::GRAPH:
        return "\n" + indented(graph_text(attribute.g(), "Subgraph", shown), 12) + "\n            ";
      default:
        return "...";
    }
  }

  const onnx::ModelProto& proto_;
  const InspectOptions& options_;
  std::optional<Model> model_;  // with its weights, where they are shown and lie in other files
  Shown inferred_;
  std::vector<std::string> missing_;  // weights whose values were not found
};

}  // namespace

std::string list_like_polygraphy(const InspectOptions& options) {
  const onnx::ModelProto proto = read_raw_proto(options.model);
  return Listing(proto, options).text();
}

}  // namespace vernier
