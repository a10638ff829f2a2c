#include "analysis/beside_known.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/run_tensors.h"
#include "analysis/surgery.h"
#include "analysis/trials.h"
#include "engines/onnxruntime/operators.h"
#include "engines/onnxruntime/recorder.h"
#include "vernier/tensor.h"

namespace vernier {

OutputStore outputs_of_float(const Subject& subject) {
  OutputStore outputs;
  run_outputs(subject, subject.model, all_samples(subject), [&](std::size_t sample, const std::vector<Tensor>& got) {
    outputs.put(sample, got);
    return true;
  });
  return outputs;
}

BesideKnown run_beside_known(const Subject& subject, Model low, const OutputStore& known,
                             const std::set<std::string>& looked_at, std::size_t event_slots) {
  std::int64_t slots = 0;
  tap(*low.proto.mutable_graph(), looked_at,
      [&](const std::string& raw, const std::string& tensor) { return observe_node(raw, tensor, slots++); });
  give_tensors(subject, subject.judged, low);
  const Session session = subject.session(low);
  const Digest compare = [&](SampleResult& sample) {
    sample.outcomes = outcomes_of(subject, known.get(sample.index), sample.outputs);
    sample.outputs.clear();
  };
  BesideKnown result;
  result.events.resize(event_slots);
  const auto take = [&](const SampleResult& sample) {
    for (std::size_t i = 0; i < subject.judged.size(); ++i) {
      stats_of(result.outputs, subject, subject.judged[i]).add(sample.index, sample.outcomes[i]);
    }
    for (std::size_t i = 0; i < event_slots; ++i) result.events[i] += sample.recorder.events[i];
    for (const RangeStats& range : sample.recorder.ranges) result.finite = result.finite && range.nonfinite == 0;
    return true;
  };
  run_samples(subject, session, all_samples(subject), Recorder(0, static_cast<std::size_t>(slots), event_slots),
              "low precision", take, {.digest = compare});
  return result;
}

}  // namespace vernier
