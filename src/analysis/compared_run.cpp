#include "analysis/compared_run.h"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace vernier {

void ComparedRun::add(const Subject& subject, std::size_t sample, const std::vector<SampleOutcome>& outcomes) {
  double noise = 0;
  for (std::size_t i = 0; i < subject.judged.size(); ++i) {
    OutputStats& stats = stats_of(outputs, subject, subject.judged[i]);
    const ErrorStats before = stats.pooled;
    stats.add(sample, outcomes[i]);
    const bool overflowed = stats.pooled.got_nan > before.got_nan || stats.pooled.got_inf > before.got_inf;
    noise = std::max(
        noise, overflowed ? std::numeric_limits<double>::infinity() : stats.pooled.error_energy - before.error_energy);
  }
  sample_noise.push_back(noise);
}

ComparedRun run_compared(const Subject& subject, const Session& session, const Recorder& recorder,
                         const std::string& phase, const Digest& compare) {
  ComparedRun result;
  result.seen = recorder;
  const auto take = [&](const SampleResult& sample) {
    result.add(subject, sample.index, sample.outcomes);
    result.seen += sample.recorder;
    return true;
  };
  run_samples(subject, session, all_samples(subject), recorder, phase, take, {.digest = compare});
  return result;
}

}  // namespace vernier
