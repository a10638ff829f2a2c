// What `vernier check lint` says of a model, each thing once.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/model.h"
#include "vernier/report/lint.h"

namespace vernier {

// Who says it.
inline constexpr const char* kChecker = "onnx_checker";
inline constexpr const char* kLoader = "onnx_loader";
inline constexpr const char* kRuntime = "onnxruntime";
inline constexpr const char* kGraph = "onnx_graphsurgeon";
inline constexpr const char* kPairs = "vernier";  // Q/DQ pairs: the peer looks at none

class LintLog {
 public:
  /// Before nodes are named. `graph` must outlive this.
  void begin(const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) places_.emplace(&node, std::ssize(places_));
  }

  void add(bool error, const char* source, std::string message, std::vector<std::string> nodes = {},
           bool inferred = false) {
    if (!said_.emplace(message, nodes).second) return;
    report_.entries.push_back({error, source, std::move(message), std::move(nodes), false, inferred});
  }

  bool is_refused(const std::string& node) const {
    return std::ranges::any_of(report_.entries, [&](const LintEntry& entry) {
      return entry.error && std::ranges::find(entry.nodes, node) != entry.nodes.end();
    });
  }

  /// ONNX refuses the node, too.
  void forbid(const std::string& node) {
    for (LintEntry& entry : report_.entries) {
      if (entry.error && std::ranges::find(entry.nodes, node) != entry.nodes.end()) entry.forbidden = true;
    }
  }

  bool broken() const {
    return std::ranges::any_of(report_.entries, [](const LintEntry& entry) { return entry.error; });
  }

  /// The node's name, or where it is.
  std::string name_of(const onnx::NodeProto& node) const {
    if (!node.name().empty()) return node.name();
    return fmt::format("{}_{}", node.op_type(), index_of(node));
  }
  /// Its place in the main graph; 0 for nodes of bodies.
  std::ptrdiff_t index_of(const onnx::NodeProto& node) const {
    const auto found = places_.find(&node);
    return found == places_.end() ? 0 : found->second;
  }

  /// All that was said of the graph, with its nodes as failing and passing; `reached`: those that were tried one by
  /// one, absent where the whole was enough.
  LintReport report(const onnx::GraphProto& graph, const std::optional<std::set<std::string>>& reached) &&;

 private:
  std::unordered_map<const onnx::NodeProto*, std::ptrdiff_t> places_;  // of the main graph's nodes
  std::set<std::pair<std::string, std::vector<std::string>>> said_;
  LintReport report_;
};

}  // namespace vernier
