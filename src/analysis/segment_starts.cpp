#include "analysis/segment_starts.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "engines/onnxruntime/blocked_layout.h"
#include "model/graph_edit.h"
#include "plan/round_node.h"
#include "plan/switchable.h"

namespace vernier {
namespace {

/// Bytes of tensors that only pass through operators that change no size, from those on either side.
void add_sizes_of_moved(const onnx::GraphProto& graph, TensorBytes& bytes_of) {
  const auto keeps_size = [](const onnx::NodeProto& node) {
    return node.domain() == kDomain || node.op_type().starts_with("Reorder") || node.op_type() == "QuickGelu" ||
           node.op_type() == "Relu" || node.op_type() == "Clip" || node.op_type() == "Sigmoid";
  };
  for (auto node = graph.node().rbegin(); node != graph.node().rend(); ++node) {
    const auto known = bytes_of.find(node->output(0));
    if (keeps_size(*node) && known != bytes_of.end()) bytes_of.emplace(node->input(0), known->second);
  }
  for (const onnx::NodeProto& node : graph.node()) {
    if (!keeps_size(node)) continue;
    const auto known = bytes_of.find(node.input(0));
    if (known != bytes_of.end()) bytes_of.emplace(node.output(0), known->second);
  }
}

/// Tensors in the blocked layout, or that a Switch makes, from the one that they are named after.
void add_sizes_of_namesakes(const onnx::GraphProto& graph, TensorBytes& bytes_of) {
  for (const onnx::NodeProto& node : graph.node()) {
    for (const std::string& output : node.output()) {
      const std::size_t end = std::min(output.find(kSwitched), output.find(kBlocked));
      if (end == std::string::npos) continue;
      const auto known = bytes_of.find(output.substr(0, end));
      if (known != bytes_of.end()) bytes_of.emplace(output, known->second);
    }
  }
}

/// The sizes of live_at() in front of each node, all in one pass.
std::vector<std::size_t> live_bytes(const onnx::GraphProto& graph, const TensorBytes& bytes_of) {
  struct Life {
    std::ptrdiff_t first = 0;  // in front of this node
    std::ptrdiff_t last = -1;  // to in front of this one
  };
  std::map<std::string, Life> lives;
  for (const onnx::ValueInfoProto& input : graph.input()) lives[input.name()];
  for (int n = 0; n < graph.node_size(); ++n) {
    for (const std::string& name : tensors_read(graph.node(n))) {
      if (const auto life = lives.find(name); life != lives.end()) life->second.last = n;
    }
    for (const std::string& output : graph.node(n).output()) {
      if (!output.empty()) lives[output].first = n + 1;
    }
  }
  for (const onnx::ValueInfoProto& output : graph.output()) {
    if (const auto life = lives.find(output.name()); life != lives.end()) life->second.last = graph.node_size();
  }
  std::vector<std::size_t> more(static_cast<std::size_t>(graph.node_size()) + 2, 0);
  std::vector<std::size_t> less = more;
  for (const auto& [name, life] : lives) {
    if (life.last < life.first) continue;
    const auto known = bytes_of.find(name);
    const std::size_t bytes = known == bytes_of.end() ? 64 : known->second;
    more[static_cast<std::size_t>(life.first)] += bytes;
    less[static_cast<std::size_t>(life.last) + 1] += bytes;
  }
  std::vector<std::size_t> sizes;
  std::size_t size = 0;
  for (std::size_t at = 0; at < static_cast<std::size_t>(graph.node_size()); ++at) {
    size += more[at];
    size -= less[at];
    sizes.push_back(size);
  }
  return sizes;
}

}  // namespace

TensorBytes bytes_of_tensors(const onnx::GraphProto& graph, const std::map<std::string, Shape>& shapes) {
  TensorBytes bytes_of;
  for (const auto& [name, shape] : shapes) {
    bytes_of[name] = static_cast<std::size_t>(element_count(shape)) * sizeof(float);
  }
  add_sizes_of_namesakes(graph, bytes_of);
  add_sizes_of_moved(graph, bytes_of);
  return bytes_of;
}

std::set<std::string> live_at(const onnx::GraphProto& graph, int at) {
  std::set<std::string> before;
  for (const onnx::ValueInfoProto& input : graph.input()) before.insert(input.name());
  for (int n = 0; n < at; ++n) before.insert(graph.node(n).output().begin(), graph.node(n).output().end());
  std::set<std::string> live;
  for (int n = at; n < graph.node_size(); ++n) {
    for (const std::string& name : tensors_read(graph.node(n))) {
      if (before.contains(name)) live.insert(name);
    }
  }
  for (const onnx::ValueInfoProto& output : graph.output()) {
    if (before.contains(output.name())) live.insert(output.name());
  }
  live.erase("");
  return live;
}

std::vector<double> work_from(const onnx::GraphProto& graph, const TensorBytes& bytes_of) {
  const auto nodes = static_cast<std::size_t>(graph.node_size());
  std::vector<double> written(nodes + 1, 0);  // by this node and those behind it
  for (std::size_t n = nodes; n-- > 0;) {
    double bytes = 1;
    for (const std::string& output : graph.node(static_cast<int>(n)).output()) {
      if (const auto known = bytes_of.find(output); known != bytes_of.end())
        bytes += static_cast<double>(known->second);
    }
    written[n] = written[n + 1] + bytes;
  }
  std::vector<double> work;
  for (std::size_t n = 0; n < nodes; ++n) {
    work.push_back((static_cast<double>(nodes - n) / static_cast<double>(nodes) + written[n] / written.front()) / 2);
  }
  return work;
}

std::vector<int> segment_starts(const onnx::GraphProto& graph, const TensorBytes& bytes_of, std::size_t segments) {
  std::vector<int> starts{0};
  const std::vector<std::size_t> live = live_bytes(graph, bytes_of);
  const std::vector<double> work = work_from(graph, bytes_of);
  const double each = 1 / static_cast<double>(std::max<std::size_t>(1, segments));
  std::size_t at = 1;
  for (double target = each; at < work.size() && target < 1 - each / 2; target += each) {
    std::size_t best = 0;
    for (; at < work.size() && 1 - work[at] <= target + each / 2; ++at) {
      if (1 - work[at] >= target - each / 2 && (best == 0 || live[at] < live[best])) best = at;
    }
    if (best > 0) starts.push_back(static_cast<int>(best));
  }
  return starts;
}

}  // namespace vernier
