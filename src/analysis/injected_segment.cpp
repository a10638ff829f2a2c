#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/own_error.h"
#include "analysis/segment.h"
#include "analysis/surgery.h"
#include "engines/onnxruntime/operators.h"
#include "engines/onnxruntime/recorder.h"
#include "engines/onnxruntime/session.h"
#include "vernier/samples.h"

namespace vernier {
namespace {

std::map<std::string, Dtype> types_of(const Boundary& boundary) {
  std::map<std::string, Dtype> types;
  for (const auto& [name, tensor] : boundary) types[name] = tensor.dtype();
  return types;
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.byte_size() == b.byte_size() && std::memcmp(a.bytes().data(), b.bytes().data(), a.byte_size()) == 0;
}

class InjectedSegment final : public Segment {
 public:
  InjectedSegment(const Subject& subject, const Plan& plan, const std::vector<std::string>& layers, int first, int last,
                  const Boundary& example, RoundedWeights& weights, const ReachedOutputs& reached)
      : subject_(subject) {
    const std::map<std::string, Dtype> inputs = types_of(example);
    Subject part = subject;
    part.model = slice_with_everything(first, last, inputs);
    part.model.proto.mutable_graph()->clear_output();
    shadows_ = add_shadows(part.model, subject, plan, layers, weights, nullptr);
    if (shadows_.empty()) return;
    for (const Shadow& shadow : shadows_) {
      for (std::size_t o = 0; o < shadow.outputs.size(); ++o) {
        add_output(part.model, shadow.outputs[o], Dtype::Float32);
        slots_[shadow.tensors[o]] = static_cast<std::int64_t>(slots_.size());
      }
    }
    for (const auto& [tensor, slot] : slots_) add_output(part.model, tensor, Dtype::Float32);
    drop_unread_inputs(part.model);
    shadow_session_.emplace(subject.session(part.model));

    std::map<std::string, Dtype> judged;
    for (const std::string& name : subject.judged) judged[name] = Dtype::Float32;
    Model suffix = slice(subject.model, first, subject.model.proto.graph().node_size(), inputs, judged);
    std::set<std::string> injected;
    for (const auto& [tensor, slot] : slots_) injected.insert(tensor);
    tap(*suffix.proto.mutable_graph(), injected,
        [&](const std::string& raw, const std::string& tensor) { return inject_node(raw, tensor, slots_.at(tensor)); });
    std::vector<std::pair<std::string, Dtype>> ordered;
    for (const std::string& name : subject.judged) ordered.emplace_back(name, Dtype::Float32);
    set_outputs(suffix, ordered);
    suffix_session_.emplace(subject.session(suffix));
    for (const Shadow& shadow : shadows_) layers_.push_back({shadow.layer->name, reached.from_any(shadow.tensors)});
  }

  void begin(const Boundary& boundary) override {
    boundary_ = &boundary;
    const std::vector<Tensor> outputs = shadow_session_->run(boundary);
    for (std::size_t i = 0; i < outputs.size(); ++i) lows_[shadow_session_->output_names()[i]] = outputs[i];
  }

  std::vector<Tensor> run(const std::vector<std::size_t>& group) const override {
    Recorder recorder;
    bool differs = false;
    for (const std::size_t i : group) {
      const Shadow& shadow = shadows_[i];
      for (std::size_t o = 0; o < shadow.outputs.size(); ++o) {
        const Tensor& low = lows_.at(shadow.outputs[o]);
        const std::string& tensor = shadow.tensors[o];
        differs = differs || !same_bytes(low, lows_.at(tensor));
        recorder.injections[slots_.at(tensor)] = low;
      }
    }
    if (!differs) return {};
    return suffix_session_->run(*boundary_, &recorder);
  }

 private:
  Model slice_with_everything(int first, int last, const std::map<std::string, Dtype>& inputs) const {
    std::map<std::string, Dtype> outputs;
    for (int n = first; n < last; ++n) {
      for (const std::string& name : subject_.model.proto.graph().node(n).output()) {
        if (!name.empty()) outputs[name] = Dtype::Float32;
      }
    }
    return slice(subject_.model, first, last, inputs, outputs);
  }

  static void drop_unread_inputs(Model& model) {
    std::set<std::string> read;
    for (const onnx::NodeProto& node : model.proto.graph().node()) read.merge(tensors_read(node));
    auto& inputs = *model.proto.mutable_graph()->mutable_input();
    inputs.erase(std::remove_if(inputs.begin(), inputs.end(),
                                [&](const onnx::ValueInfoProto& value) { return !read.contains(value.name()); }),
                 inputs.end());
  }

  const Subject& subject_;
  std::vector<Shadow> shadows_;
  std::map<std::string, std::int64_t> slots_;  // layer output -> Inject slot
  std::optional<Session> shadow_session_;
  std::optional<Session> suffix_session_;
  const Boundary* boundary_ = nullptr;
  Boundary lows_;  // low and reference outputs of all layers of the segment
};

}  // namespace

std::vector<std::vector<std::size_t>> Segment::groups(std::size_t outputs) const {
  std::vector<OutputSet> sets;
  for (const Member& member : layers_) sets.push_back(member.reached);
  return groups_that_never_meet(sets, outputs);
}

std::unique_ptr<Segment> injected_segment(const Subject& subject, const Plan& plan,
                                          const std::vector<std::string>& layers, int first, int last,
                                          const Boundary& example, RoundedWeights& weights,
                                          const ReachedOutputs& reached) {
  return std::make_unique<InjectedSegment>(subject, plan, layers, first, last, example, weights, reached);
}

}  // namespace vernier
