#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "analysis/segment.h"
#include "engines/onnxruntime/recorder.h"
#include "engines/onnxruntime/session.h"
#include "plan/switchable.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

class SwitchedSegment final : public Segment {
 public:
  SwitchedSegment(const Subject& subject, const SwitchedRuns& switched, const std::vector<std::string>& layers,
                  std::size_t part, const ReachedOutputs& reached)
      : switched_(switched), start_{part, {}}, outputs_(subject.judged.size()) {
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
  }

  void begin(const Boundary& boundary) override { start_.tensors = boundary; }

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
    inputs.insert(start_.tensors.begin(), start_.tensors.end());
    std::vector<Tensor> outputs = switched_.session().run_from(&start_, inputs, &recorder, {});
    outputs.resize(outputs_);
    return outputs;
  }

 private:
  const SwitchedRuns& switched_;
  Standing start_;  // of the sample that runs are about
  const std::size_t outputs_;
};

}  // namespace

std::unique_ptr<Segment> switched_segment(const Subject& subject, const SwitchedRuns& switched,
                                          const std::vector<std::string>& layers, std::size_t part,
                                          const ReachedOutputs& reached) {
  return std::make_unique<SwitchedSegment>(subject, switched, layers, part, reached);
}

}  // namespace vernier
