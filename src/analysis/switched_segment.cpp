#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/segment.h"
#include "analysis/surgery.h"
#include "engines/onnxruntime/blocked_layout.h"
#include "engines/onnxruntime/recorder.h"
#include "engines/onnxruntime/session.h"
#include "model/graph_edit.h"
#include "plan/round_node.h"
#include "plan/switchable.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

class SwitchedSegment final : public Segment {
 public:
  SwitchedSegment(const Subject& subject, const SwitchedRuns& switched, const std::vector<std::string>& layers,
                  std::size_t part, const Boundary& example, const ReachedOutputs& reached)
      : switched_(switched), part_(part), outputs_(subject.judged.size()) {
    const std::vector<int>& starts = switched.part_starts();
    const int nodes = switched.model().proto.graph().node_size();
    const int first = starts[part];
    const int last = part + 1 < starts.size() ? starts[part + 1] : nodes;
    std::map<std::string, const Layer*> by_name;
    for (const Layer& layer : subject.layers) by_name[layer.name] = &layer;
    for (const std::string& name : layers) {
      const int place = switched.place_of(name);
      if (place < first || place >= last) continue;
      layers_.push_back({name, reached.from_any(by_name.at(name)->outputs)});
    }
    if (layers_.empty() || switched.hands_on_little()) return;
    std::map<std::string, Dtype> inputs;
    for (const auto& [name, tensor] : example) inputs[name] = tensor.dtype();
    for (const auto& [name, tensor] : switched.constants({})) inputs[name] = tensor.dtype();
    std::map<std::string, Dtype> judged;
    std::vector<std::pair<std::string, Dtype>> ordered;
    for (const std::string& name : subject.judged) {
      judged[name] = Dtype::Float32;
      ordered.emplace_back(name, Dtype::Float32);
    }
    Model suffix = slice(switched.model(), first, nodes, inputs, judged);
    set_outputs(suffix, ordered);
    drop_idle_switches(suffix);
    session_.emplace(subject.runtime, suffix, SessionOptions{.optimize = false});
  }

  void begin(const Boundary& boundary) override { boundary_ = &boundary; }

  std::vector<Tensor> run(const std::vector<std::size_t>& group) const override {
    SwitchableModel::Setting setting = switched_.graph().alone(layers_.at(group.front()).name).value();
    for (const std::size_t i : std::span(group).subspan(1)) {
      const SwitchableModel::Setting other = switched_.graph().alone(layers_.at(i).name).value();
      setting.variants.insert(other.variants.begin(), other.variants.end());
      for (std::size_t slot = 0; slot < other.roundings.size(); ++slot) {
        if (!other.roundings[slot].empty()) setting.roundings[slot] = other.roundings[slot];
      }
    }
    Recorder recorder;
    recorder.roundings = &setting.roundings;
    Sample inputs = switched_.constants(setting);
    inputs.insert(boundary_->begin(), boundary_->end());
    if (session_) return session_->run(inputs, &recorder);
    const Standing standing{part_, *boundary_};
    std::vector<Tensor> outputs = switched_.session().run_from(&standing, inputs, &recorder, {});
    outputs.resize(outputs_);
    return outputs;
  }

 private:
  /// Those that stay as they are whichever layer of the segment is low; reorderings then meet.
  void drop_idle_switches(Model& suffix) const {
    std::set<std::int64_t> used;
    for (const Member& layer : layers_) {
      for (const auto& [slot, chain] : switched_.graph().slots_alone().at(layer.name)) {
        used.insert(static_cast<std::int64_t>(slot));
      }
    }
    onnx::GraphProto& graph = *suffix.proto.mutable_graph();
    const auto idle = [&](const onnx::NodeProto& node) {
      return node.domain() == kDomain && node.op_type() == "Switch" && !used.contains(attribute_int(node, "slot", -1));
    };
    std::set<std::string> named;  // read by name elsewhere: outputs, and what bodies capture
    for (const onnx::ValueInfoProto& output : graph.output()) named.insert(output.name());
    for (const onnx::NodeProto& node : graph.node()) {
      if (has_body(node)) named.merge(tensors_read(node));
    }
    std::map<std::string, std::string> passed;  // what an idle one makes -> what it reads
    remove_nodes(graph, [&](const onnx::NodeProto& node) {
      if (!idle(node) || named.contains(node.output(0))) return false;
      const auto before = passed.find(node.input(0));
      passed[node.output(0)] = before == passed.end() ? node.input(0) : before->second;
      return true;
    });
    for (onnx::NodeProto& node : *graph.mutable_node()) {
      for (std::string& input : *node.mutable_input()) {
        if (const auto known = passed.find(input); known != passed.end()) input = known->second;
      }
    }
    if (switched_.graph().one_scale_each()) move_reorderings(suffix);
  }

  const SwitchedRuns& switched_;
  const std::size_t part_;
  const std::size_t outputs_;
  std::optional<Session> session_;  // absent: the session of `switched_` runs from its part on
  const Boundary* boundary_ = nullptr;
};

}  // namespace

std::unique_ptr<Segment> switched_segment(const Subject& subject, const SwitchedRuns& switched,
                                          const std::vector<std::string>& layers, std::size_t part,
                                          const Boundary& example, const ReachedOutputs& reached) {
  return std::make_unique<SwitchedSegment>(subject, switched, layers, part, example, reached);
}

}  // namespace vernier
