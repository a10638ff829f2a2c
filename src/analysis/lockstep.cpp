#include "analysis/lockstep.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>

namespace vernier {

LockstepRun::LockstepRun(const Subject& subject, const Model& low, const std::vector<Match>& matches)
    : subject_(subject),
      matches_(matches.size()),
      session_(subject.session(join(subject.model, low, matches, subject.judged, subject.carries))) {}

namespace {

/// `compare` makes outcomes of what the session gives.
Lockstep run_compared(const Subject& subject, const Session& session, std::size_t matches, const Digest& compare) {
  Lockstep result;
  const Recorder empty(matches, 0, 0);
  Recorder total = empty;
  const auto take = [&](const SampleResult& sample) {
    double noise = 0;
    for (std::size_t i = 0; i < subject.judged.size(); ++i) {
      OutputStats& stats = stats_of(result.outputs, subject, subject.judged[i]);
      const ErrorStats before = stats.pooled;
      stats.add(sample.index, sample.outcomes[i]);
      const bool overflowed = stats.pooled.got_nan > before.got_nan || stats.pooled.got_inf > before.got_inf;
      noise = std::max(noise, overflowed ? std::numeric_limits<double>::infinity()
                                         : stats.pooled.error_energy - before.error_energy);
    }
    result.sample_noise.push_back(noise);
    total += sample.recorder;
    return true;
  };
  run_samples(subject, session, all_samples(subject), empty, "lock-step comparison", take, {.digest = compare});
  result.errors = total.errors;
  return result;
}

}  // namespace

Lockstep LockstepRun::run() const {
  const std::size_t half = session_.output_names().size() / 2;
  return run_compared(subject_, session_, matches_, [&](SampleResult& sample) {
    const std::span<const Tensor> outputs(sample.outputs);
    sample.outcomes = outcomes_of(subject_, outputs.first(half), outputs.subspan(half));
    sample.outputs.clear();
  });
}

Lockstep beside_known_outputs(const Subject& subject, Model low, const OutputStore& known) {
  give_tensors(subject, subject.judged, low);
  return run_compared(subject, subject.session(low), 0, [&](SampleResult& sample) {
    sample.outcomes = outcomes_of(subject, known.get(sample.index), sample.outputs);
    sample.outputs.clear();
  });
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
