#include "live_set.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "analysis/reference.h"
#include "analysis/segment_starts.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier::bench {
namespace {

class FirstSample final : public SampleSource {
 public:
  explicit FirstSample(const SampleSource& source) : source_(source) {}
  std::size_t size() const override { return 1; }
  Sample at(std::size_t) const override { return source_.at(0); }
  std::string description() const override { return source_.description(); }

 private:
  const SampleSource& source_;
};

/// Sizes by tensor name: float tensors as one run shows them, the others where shape inference knows them.
std::map<std::string, std::size_t> tensor_bytes(const Subject& subject) {
  std::map<std::string, std::size_t> bytes;
  for (const auto& [name, type] : infer_types(subject.model)) {
    const bool known =
        type.rank_known && std::all_of(type.shape.begin(), type.shape.end(), [](auto d) { return d >= 0; });
    if (known) bytes[name] = static_cast<std::size_t>(element_count(type.shape) * dtype_bits(type.dtype) / 8);
  }
  std::set<std::string> floats;
  for (const Layer& layer : subject.layers) {
    if (layer.graph.empty()) floats.insert(layer.outputs.begin(), layer.outputs.end());
  }
  const FirstSample first(*subject.samples);
  Subject one = subject;
  one.samples = &first;
  for (const auto& [name, shape] : run_reference(one, floats).shapes) {
    bytes[name] = static_cast<std::size_t>(element_count(shape)) * sizeof(float);
  }
  return bytes;
}

}  // namespace

std::size_t largest_live_set(const Subject& subject) {
  const std::map<std::string, std::size_t> bytes = tensor_bytes(subject);
  const onnx::GraphProto& graph = subject.model.proto.graph();
  std::size_t largest = 0;
  for (int n = 0; n < graph.node_size(); ++n) {
    std::set<std::string> live = live_at(graph, n);  // before the node: what it and later ones read
    live.insert(graph.node(n).output().begin(), graph.node(n).output().end());
    std::size_t sum = 0;
    for (const std::string& name : live) {
      if (const auto size = bytes.find(name); size != bytes.end()) sum += size->second;
    }
    largest = std::max(largest, sum);
  }
  return largest;
}

std::size_t weight_bytes(const Model& model) {
  std::size_t bytes = 0;
  for_each_graph(model.proto.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::TensorProto& tensor : graph.initializer()) {
      const Shape shape(tensor.dims().begin(), tensor.dims().end());
      bytes += static_cast<std::size_t>(element_count(shape) * dtype_bits(static_cast<Dtype>(tensor.data_type())) / 8);
    }
  });
  return bytes;
}

}  // namespace vernier::bench
