#include "analysis/lockstep.h"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace vernier {

Lockstep lockstep(const Subject& subject, const Model& low, const std::vector<Match>& matches) {
  Lockstep result;
  const Recorder empty(matches.size(), 0, 0);
  Recorder total = empty;
  const Model twin = join(subject.model, low, matches, subject.judged, subject.carries);
  const Session session = subject.session(twin);
  const std::size_t half = session.output_names().size() / 2;
  const Digest compare = [&](SampleResult& sample) {
    for (std::size_t i = 0; i < subject.judged.size(); ++i) {
      sample.outcomes.push_back(
          outcome_of(sample.outputs[i], sample.outputs[half + i], class_axis_of(subject, subject.judged[i])));
    }
    sample.outputs.clear();
  };
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
  run_samples(subject, session, all_samples(subject), empty, "lock-step comparison", take, {}, compare);
  result.errors = total.errors;
  return result;
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
