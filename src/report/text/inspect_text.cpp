// What is in a model file, as text.
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/layout.h"
#include "base/text.h"
#include "report/told.h"
#include "vernier/report/inspect.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// "float32, 1x3xheightx?": dimensions with the names that the file gives them.
std::string type_text(const InspectedTensor& tensor) {
  if (tensor.kind == InspectedTensor::Kind::Sequence) return "sequence";
  if (tensor.kind != InspectedTensor::Kind::Tensor) return "no tensor";
  std::string text(dtype_name(tensor.dtype));
  if (!tensor.dims) return text + ", any shape";
  std::vector<std::string> dims;
  for (const std::string& dim : *tensor.dims) dims.push_back(printable(dim));
  return fmt::format("{}, {}", text, dims.empty() ? "scalar" : fmt::format("{}", fmt::join(dims, "x")));
}

std::string tensor_text(const InspectedTensor& tensor) {
  return fmt::format("{} [{}]", printable(tensor.name), type_text(tensor));
}

std::string names_text(const std::vector<InspectedTensor>& tensors) {
  std::vector<std::string> shown;
  for (const InspectedTensor& tensor : tensors) {
    shown.push_back(tensor.name.empty()                             ? "-"
                    : tensor.kind == InspectedTensor::Kind::Unknown ? printable(tensor.name)
                                                                    : tensor_text(tensor));
  }
  return fmt::format("{}", fmt::join(shown, ", "));
}

struct ValueText {
  std::string operator()(std::monostate) const { return "..."; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(float value) const { return fmt::format("{}", value); }
  std::string operator()(const std::string& value) const { return fmt::format("\"{}\"", printable(value)); }
  template <class Number>
  std::string operator()(const std::vector<Number>& values) const {
    return fmt::format("[{}]", fmt::join(values, ", "));
  }
  std::string operator()(const std::vector<std::string>& values) const {
    std::vector<std::string> texts;
    for (const std::string& value : values) texts.push_back((*this)(value));
    return fmt::format("[{}]", fmt::join(texts, ", "));
  }
  std::string operator()(const InspectedAttribute::OfTensor& value) const {
    return fmt::format("tensor {}", shape_text(value.shape));
  }
  std::string operator()(const InspectedAttribute::OfGraphs& value) const {
    return value.listed ? plural(value.bodies.size(), "graph")
                        : "graph of " + plural(value.bodies.front().nodes.size(), "node");
  }
};

std::string nodes_text(const InspectedGraph& graph, bool attributes, const std::string& indent) {
  std::string text;
  for (const InspectedNode& node : graph.nodes) {
    const char* role = node.role == InspectedNode::Role::None    ? ""
                       : node.role == InspectedNode::Role::Layer ? "  (layer)"
                                                                 : "  (moves data)";
    text += fmt::format("{}{} [Op: {}]{}{}\n{}    {} -> {}\n", indent, printable(node.name), printable(node.op_type),
                        role, node.module.empty() ? "" : "  in " + printable(node.module), indent,
                        names_text(node.inputs), names_text(node.outputs));
    for (const InspectedAttribute& attribute : node.attributes) {
      if (attributes) {
        text +=
            fmt::format("{}    {} = {}\n", indent, printable(attribute.name), std::visit(ValueText{}, attribute.value));
      }
      const auto* graphs = std::get_if<InspectedAttribute::OfGraphs>(&attribute.value);
      if (graphs == nullptr) continue;
      const std::string inner = indent + "    ";
      for (const InspectedGraph& body : graphs->bodies) {
        for (const InspectedTensor& input : body.inputs)
          text += fmt::format("{}input   {}\n", inner, tensor_text(input));
        for (const InspectedTensor& output : body.outputs) {
          text += fmt::format("{}output  {}\n", inner, tensor_text(output));
        }
        text += nodes_text(body, attributes, inner);
      }
    }
  }
  return text;
}

}  // namespace

std::string report_to_text(const ModelInspection& report, const TextOptions& options) {
  std::string text =
      report.file + "\n" +
      wrap(fmt::format("{} | opset {} | IR {} | {} | {}, {:.2f} MB", printable(report.graph), report.opset,
                       report.ir_version, plural(report.nodes, "node"), plural(report.initializers, "initializer"),
                       static_cast<double>(report.initializer_bytes) / 1e6),
           options.width, "  graph ");
  for (const auto& [domain, version] : report.domains) {
    text += fmt::format("  domain {} {}\n", printable(domain), version);
  }
  for (const InspectedTensor& input : report.inputs) text += fmt::format("  input   {}\n", tensor_text(input));
  for (const InspectedTensor& output : report.outputs) text += fmt::format("  output  {}\n", tensor_text(output));
  text += wrap(fmt::format("{} on the float data path: {} weighted (Conv, ConvTranspose, Gemm, MatMul), {} that only "
                           "move data",
                           report.layers, report.weighted_layers, report.moving_layers),
               options.width, "  layers  ");
  text += fmt::format("  parameters  {:.3f} M float values", static_cast<double>(report.parameters) / 1e6);
  if (report.coded_parameters > 0) {
    text += fmt::format(" and {:.3f} M quantized values, {:.2f} MB together",
                        static_cast<double>(report.coded_parameters) / 1e6,
                        static_cast<double>(report.parameter_bytes) / 1e6);
  }
  text += '\n';
  std::string work = fmt::format("{:.3f} M", static_cast<double>(report.multiply_accumulates) / 1e6);
  if (report.open_sizes_as_one) work += ", open sizes of the inputs counted as 1";
  if (report.layers_of_unknown_shape > 0) {
    work += fmt::format(", without {} of unknown shape", plural(report.layers_of_unknown_shape, "layer"));
  }
  if (report.layers_counted_once > 0) {
    work += fmt::format(", {} in loops of unknown length counted once", plural(report.layers_counted_once, "layer"));
  }
  text += wrap(work, options.width, "  multiply-accumulates  ");
  std::vector<std::string> operators;
  for (const auto& [name, count] : report.operators) operators.push_back(fmt::format("{} {}", printable(name), count));
  text += wrap(fmt::format("{}", fmt::join(operators, ", ")), options.width, "  operators  ");
  if (report.main) text += "\nnodes\n" + nodes_text(*report.main, report.with_attributes, "  ");
  if (report.weights) {
    text += "\nweights\n";
    for (const InspectedWeight& weight : *report.weights) {
      text +=
          fmt::format("  {} [{}, {}]\n", printable(weight.name), dtype_name(weight.dtype), shape_text(weight.shape));
    }
  }
  return text;
}

std::string report_to_text(const UnboundedSizes& report) {
  if (report.tensors.empty()) return fmt::format("{}: no size comes from data without a bound\n", report.file);
  std::string text =
      fmt::format("{}: {} from data without a bound\n", report.file, plural(report.tensors.size(), "size"));
  for (const std::string& name : report.tensors) text += fmt::format("  {}\n", printable(name));
  return text + "hint: vernier surgeon sanitize --set-unbounded-dds-upper-bound NAME:N bounds them\n";
}

std::string report_to_text(const SparsityReport& report) {
  std::string text;
  std::size_t sparse = 0;
  for (const WeightSparsity& row : report.weights) {
    if (row.sparse) ++sparse;
    text += fmt::format("  {} [{}] of {}: {}\n", printable(row.weight), shape_text(row.shape), printable(row.node),
                        row.sparse                     ? "2:4 sparse"
                        : row.why_not_prunable.empty() ? std::string("not sparse")
                                                       : "not possible: " + told(row.why_not_prunable));
  }
  return fmt::format("{}: {} of {} 2:4 sparse\n", report.file, sparse, plural(report.weights.size(), "weight")) + text;
}

std::string result_to_text(const DrawnModel& result) {
  return fmt::format("{}: {}, colour: {}\n", result.file.string(), plural(result.nodes, "node"),
                     result.by_error ? "local error, green from 40 dB, yellow from 25, orange from 15, red below"
                                     : "green int8 and fp8, blue 16 bits, white float32");
}

}  // namespace vernier
