#include "analysis/segment_starts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <string_view>
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

// Of the work of runs of the whole graph, one for each place: what sparing less would gain, a start costs by itself.
constexpr double kLeastSpared = 0.004;

// A run on one thread of a server of 2024 (AMD EPYC with AVX-512), by the times of MobileNetV2's and YOLOX-nano's
// parts. Only what they are to each other counts.
constexpr double kSecondsANode = 3e-6;
constexpr double kSecondsAByte = 1.2e-10;
constexpr double kSecondsAMultiply = 2.0e-11;

/// Of weights, whether they are constants or handed in.
class WeightShapes {
 public:
  explicit WeightShapes(const onnx::GraphProto& graph) {
    for (const onnx::TensorProto& tensor : graph.initializer()) {
      shapes_[tensor.name()] = {tensor.dims().begin(), tensor.dims().end()};
    }
    for (const onnx::ValueInfoProto& input : graph.input()) {
      Shape& shape = shapes_[input.name()];
      for (const auto& dim : input.type().tensor_type().shape().dim()) shape.push_back(dim.dim_value());
    }
  }

  /// Products that each result of `node` sums; 0 where no weight tells.
  double terms_of(const onnx::NodeProto& node) const {
    const std::string_view op = node.op_type();  // FusedConv and the like too
    const bool convolves = op.ends_with("Conv");
    const bool multiplies = convolves || op.ends_with("MatMul") || op.ends_with("Gemm");
    if (!multiplies || node.input_size() < 2) return 0;
    const auto weight = shapes_.find(node.input(1));
    if (weight == shapes_.end() || weight->second.size() < 2) return 0;
    const bool results_first = convolves || attribute_int(node, "transB", 0) != 0;
    const std::int64_t results = results_first ? weight->second.front() : weight->second.back();
    const std::int64_t elements = std::max<std::int64_t>(element_count(weight->second), 0);
    return static_cast<double>(elements) / static_cast<double>(std::max<std::int64_t>(results, 1));
  }

 private:
  std::map<std::string, Shape> shapes_;
};

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

std::size_t most_live_bytes(const onnx::GraphProto& graph, const TensorBytes& bytes_of) {
  std::vector<std::size_t> live = live_bytes(graph, bytes_of);
  return live.empty() ? 0 : std::ranges::max(live);
}

std::vector<double> work_from(const onnx::GraphProto& graph, const TensorBytes& bytes_of) {
  const auto nodes = static_cast<std::size_t>(graph.node_size());
  const WeightShapes weights(graph);
  std::vector<double> seconds(nodes + 1, 0);  // of this node and those behind it
  for (std::size_t n = nodes; n-- > 0;) {
    const onnx::NodeProto& node = graph.node(static_cast<int>(n));
    double bytes = 0;
    for (const std::string& output : node.output()) {
      if (const auto known = bytes_of.find(output); known != bytes_of.end())
        bytes += static_cast<double>(known->second);
    }
    const double multiplies = bytes / sizeof(float) * weights.terms_of(node);
    seconds[n] = seconds[n + 1] + kSecondsANode + bytes * kSecondsAByte + multiplies * kSecondsAMultiply;
  }
  std::vector<double> work;
  for (std::size_t n = 0; n < nodes; ++n) work.push_back(seconds[n] / seconds.front());
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

std::vector<int> sparing_starts(const onnx::GraphProto& graph, const TensorBytes& bytes_of,
                                const std::vector<int>& places, std::size_t most, std::size_t most_bytes) {
  const std::vector<std::size_t> live = live_bytes(graph, bytes_of);
  const std::vector<double> work = work_from(graph, bytes_of);
  std::vector<double> places_before(work.size() + 1, 0);
  for (const int place : places) ++places_before.at(static_cast<std::size_t>(place) + 1);
  std::partial_sum(places_before.begin(), places_before.end(), places_before.begin());
  const double worth_a_start = kLeastSpared * static_cast<double>(places.size());
  std::set<std::size_t> starts{0};
  std::size_t kept = 0;
  while (starts.size() < most) {
    std::size_t best = 0;
    double best_rate = 0;
    for (auto start = starts.begin(); start != starts.end(); ++start) {
      const auto next = std::next(start);
      const std::size_t end = next == starts.end() ? work.size() : *next;
      for (std::size_t at = *start + 1; at < end; ++at) {
        if (kept + live[at] > most_bytes) continue;
        const double spared = (places_before[end] - places_before[at]) * (work[*start] - work[at]);
        // A start costs something by itself: as much as its share of what may be kept.
        const double rate = spared / static_cast<double>(live[at] + most_bytes / most);
        if (spared < worth_a_start || rate <= best_rate) continue;
        best = at;
        best_rate = rate;
      }
    }
    if (best == 0) break;
    starts.insert(best);
    kept += live[best];
  }
  return {starts.begin(), starts.end()};
}

}  // namespace vernier
