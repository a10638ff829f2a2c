#include "analysis/beside_known.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "analysis/compared_run.h"
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
                             const std::set<std::string>& looked_at, std::size_t event_slots, OutputStore* given) {
  std::int64_t slots = 0;
  tap(*low.proto.mutable_graph(), looked_at,
      [&](const std::string& raw, const std::string& tensor) { return observe_node(raw, tensor, slots++); });
  give_tensors(subject, subject.judged, low);
  const Session session = subject.session(low);
  std::mutex storing;
  ComparedRun run = run_compared(subject, session, Recorder(0, static_cast<std::size_t>(slots), event_slots),
                                 "low precision", [&](SampleResult& sample) {
                                   sample.outcomes = outcomes_of(subject, known.get(sample.index), sample.outputs);
                                   if (given != nullptr) {
                                     sample.outputs.resize(subject.judged.size());  // without the carried ones
                                     const std::lock_guard lock(storing);
                                     given->put(sample.index, sample.outputs);
                                   }
                                   sample.outputs.clear();
                                 });
  const bool finite = std::ranges::all_of(run.seen.ranges, [](const RangeStats& seen) { return seen.nonfinite == 0; });
  return {std::move(run.outputs), std::move(run.sample_noise), finite, std::move(run.seen.events)};
}

}  // namespace vernier
