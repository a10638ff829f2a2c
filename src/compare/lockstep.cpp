#include "compare/lockstep.h"

namespace vernier {

Lockstep lockstep(const Subject& subject, const Model& low, const std::vector<Match>& matches) {
  Lockstep result;
  Recorder total(matches.size(), 0, 0);
  const Model twin = join(subject.model, low, matches, subject.judged, subject.carries);
  const Session session = subject.session(twin);
  const std::size_t half = session.output_names().size() / 2;
  run_samples(subject, session, all_samples(subject), total, "lock-step comparison", [&](SampleResult sample) {
    for (std::size_t i = 0; i < subject.judged.size(); ++i) {
      result.outputs[subject.judged[i]].add_sample(sample.index, sample.outputs[i], sample.outputs[half + i]);
    }
    total += sample.recorder;
    return true;
  });
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
