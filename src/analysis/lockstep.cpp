#include "analysis/lockstep.h"

#include <cstddef>
#include <span>
#include <utility>

#include "analysis/compared_run.h"
#include "engines/onnxruntime/recorder.h"
#include "vernier/tensor.h"

namespace vernier {

LockstepRun::LockstepRun(const Subject& subject, const Model& low, const std::vector<Match>& matches,
                         const OutputStore* known)
    : subject_(subject),
      known_(known),
      matches_(matches.size()),
      session_(subject.session(join(subject.model, low, matches, subject.judged, subject.carries))) {}

Lockstep LockstepRun::run() const {
  const std::size_t half = session_.output_names().size() / 2;
  ComparedRun run =
      run_compared(subject_, session_, Recorder(matches_, 0, 0), "lock-step comparison", [&](SampleResult& sample) {
        const std::span<const Tensor> outputs(sample.outputs);
        const std::vector<Tensor> known = known_ == nullptr ? std::vector<Tensor>() : known_->get(sample.index);
        sample.outcomes = outcomes_of(subject_, known_ == nullptr ? outputs.first(half) : known, outputs.subspan(half));
        sample.outputs.clear();
      });
  return {std::move(run.seen.errors), std::move(run.outputs), std::move(run.sample_noise)};
}

Lockstep lockstep(const Subject& subject, const Model& low, const std::vector<Match>& matches) {
  return LockstepRun(subject, low, matches).run();
}

std::vector<Match> match_layer_outputs(const Subject& subject) {
  std::vector<Match> matches;
  for (const Layer& layer : subject.layers) {
    if (layer.follows || !layer.graph.empty()) continue;
    for (const std::string& output : layer.outputs) matches.push_back({output, output});
  }
  return matches;
}

}  // namespace vernier
