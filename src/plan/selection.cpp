#include "plan/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>

#include "base/text.h"
#include "model/graph_edit.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {
namespace {

std::regex compiled(const std::string& text, const std::string& option) {
  try {
    return std::regex(text.substr(1, text.size() - 2));
  } catch (const std::regex_error&) {
    throw Error(ErrorCode::BadValue, fmt::format("{} {}: not a regular expression", option, printable(text)),
                "between the slashes stands ECMAScript: /block[0-9]+\\.conv/");
  }
}

std::vector<std::string> split_commas(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// What makes and reads each tensor of the main graph. Bodies count as part of the node that holds them.
class Flow {
 public:
  explicit Flow(const Model& model) : graph_(model.proto.graph()) {
    for (const onnx::ValueInfoProto& input : graph_.input()) tensors_.insert(input.name());
    for (const onnx::NodeProto& node : graph_.node()) tensors_.insert(node.output().begin(), node.output().end());
  }

  bool has(const std::string& tensor) const { return tensors_.contains(tensor); }
  std::vector<std::string> names() const { return {tensors_.begin(), tensors_.end()}; }

  /// Nodes between tensors of `from` and tensors of `to`.
  std::set<std::string> between(std::set<std::string> from, std::set<std::string> to) const {
    if (from.empty()) {
      for (const onnx::ValueInfoProto& input : graph_.input()) from.insert(input.name());
    }
    if (to.empty()) {
      for (const onnx::ValueInfoProto& output : graph_.output()) to.insert(output.name());
    }
    std::set<std::string> forward;
    for (const onnx::NodeProto& node : graph_.node()) {
      const std::set<std::string> read = tensors_read(node);
      if (std::ranges::none_of(read, [&](const std::string& input) { return from.contains(input); })) continue;
      forward.insert(node.name());
      from.insert(node.output().begin(), node.output().end());
    }
    std::set<std::string> inside;
    for (int n = graph_.node_size() - 1; n >= 0; --n) {
      const onnx::NodeProto& node = graph_.node(n);
      if (std::ranges::none_of(node.output(), [&](const std::string& output) { return to.contains(output); })) continue;
      const std::set<std::string> read = tensors_read(node);
      to.insert(read.begin(), read.end());
      if (forward.contains(node.name())) inside.insert(node.name());
    }
    return inside;
  }

 private:
  const onnx::GraphProto& graph_;
  std::set<std::string> tensors_;
};

/// Nodes of one INPUTS:OUTPUTS. Names may hold colons themselves: the first one between known tensors separates.
std::set<std::string> nodes_of(const std::string& text, const Flow& flow) {
  const auto all_known = [&](const std::vector<std::string>& names) {
    return std::ranges::all_of(names, [&](const std::string& name) { return flow.has(name); });
  };
  std::optional<std::string> unknown;
  for (std::size_t colon = text.find(':'); colon != std::string::npos; colon = text.find(':', colon + 1)) {
    const std::vector<std::string> from = split_commas(text.substr(0, colon));
    const std::vector<std::string> to = split_commas(text.substr(colon + 1));
    if (all_known(from) && all_known(to)) return flow.between({from.begin(), from.end()}, {to.begin(), to.end()});
    for (const std::vector<std::string>* names : {&from, &to}) {
      for (const std::string& name : *names) {
        if (!unknown && !flow.has(name)) unknown = name;
      }
    }
  }
  if (!unknown) {
    throw Error(ErrorCode::BadValue, fmt::format("‹subgraph› {}: no ':' between inputs and outputs", printable(text)),
                "‹subgraph› input1,input2:output; an empty side stands for those of the graph");
  }
  const std::vector<std::string> near = nearest_names(*unknown, flow.names());
  throw Error(ErrorCode::UnknownName,
              fmt::format("‹subgraph› {}: the graph has no tensor '{}'", printable(text), printable(*unknown)),
              near.empty() ? "list the tensors with: ‹vernier inspect model MODEL --show layers›"
                           : "nearest: " + list_some(near));
}

}  // namespace

NamePatterns::NamePatterns(const std::vector<std::string>& texts, const std::string& option) : option_(option) {
  for (const std::string& text : texts) {
    const bool is_regex = text.size() > 2 && text.front() == '/' && text.back() == '/';
    patterns_.push_back({text, is_regex, is_regex ? compiled(text, option) : std::regex()});
  }
}

bool NamePatterns::Pattern::match(const std::string& name) const {
  if (name == text) return true;  // also of a name between slashes
  return is_regex ? std::regex_search(name, regex) : wildcard_match(text, name);
}

bool NamePatterns::match(const std::string& name) const {
  return std::ranges::any_of(patterns_, [&](const Pattern& pattern) { return pattern.match(name); });
}

void NamePatterns::require_matches(const std::vector<std::string>& names, const std::string& what,
                                   bool (*may_be_absent)(const std::string&)) const {
  for (const Pattern& pattern : patterns_) {
    if (std::ranges::any_of(names, [&](const std::string& name) { return pattern.match(name); })) continue;
    if (may_be_absent != nullptr && may_be_absent(pattern.text)) continue;
    const std::vector<std::string> near = nearest_names(pattern.text, names);
    throw Error(ErrorCode::UnknownName, fmt::format("{}: no {} is named '{}'", option_, what, printable(pattern.text)),
                near.empty() ? "list the layers with: ‹vernier inspect model MODEL --show layers›"
                             : "nearest: " + list_some(near));
  }
}

Selection::Selection(const Model& model, const std::vector<Layer>& layers, const LayerSelection& selection)
    : selection_(selection),
      op_types_(selection.op_types, "‹op-types-to-quantize›"),
      excluded_op_types_(selection.excluded_op_types, "‹op-types-to-exclude›"),
      nodes_(selection.nodes, "‹nodes-to-quantize›"),
      excluded_nodes_(selection.excluded_nodes, "‹nodes-to-exclude›") {
  if (selection.all()) return;
  std::vector<std::string> names;
  std::vector<std::string> op_types;
  for (const Layer& layer : layers) {
    names.push_back(layer.name);
    op_types.push_back(layer.op_type);
  }
  nodes_.require_matches(names, "layer");
  excluded_nodes_.require_matches(names, "layer");
  // As --quantize-residuals says it: all operators, and Add.
  const auto& wanted = selection.op_types;
  if (std::ranges::find(wanted, "*") != wanted.end() && std::ranges::find(wanted, "Add") != wanted.end() &&
      std::ranges::find(op_types, "Add") == op_types.end()) {
    throw Error(ErrorCode::LayerCannot, "‹quantize-residuals›: the network has no Add, and so no residual branch",
                "leave it out");
  }
  // Lists of operators are written for many networks: one that this one lacks is passed over.
  const bool any = std::ranges::any_of(op_types, [&](const std::string& name) { return op_types_.match(name); });
  op_types_.require_matches(op_types, "layer's operator", any ? is_known_operator : nullptr);
  excluded_op_types_.require_matches(op_types, "layer's operator", is_known_operator);
  const Flow flow(model);
  for (const std::string& text : selection.subgraphs) inside_.merge(nodes_of(text, flow));
}

std::string Selection::why_not(const Layer& layer) const {
  if (excluded_op_types_.match(layer.op_type)) {
    return fmt::format("{} is excluded (‹op-types-to-exclude›)", printable(layer.op_type));
  }
  if (!op_types_.empty() && !op_types_.match(layer.op_type)) {
    return fmt::format("{} is not among ‹op-types-to-quantize›", printable(layer.op_type));
  }
  if (excluded_nodes_.match(layer.name)) return "it is excluded (‹nodes-to-exclude›)";
  if (!nodes_.empty() && !nodes_.match(layer.name)) return "it is not among ‹nodes-to-quantize›";
  const std::string& place = layer.graph.empty() ? layer.name : layer.graph;
  if (!selection_.subgraphs.empty() && !inside_.contains(place)) return "it is outside ‹subgraph›";
  return {};
}

}  // namespace vernier
