#include "jobs/search/shared_trials.h"

#include <cstddef>
#include <utility>
#include <vector>

namespace vernier {

void pack(const Trial& trial, Packer& packer) {
  packer.put(trial.verdict);
  packer.put(trial.metric);
  packer.put(trial.damage);
  packer.put(trial.stopped_early);
  packer.put(trial.samples);
  packer.put(trial.also_run);
  packer.put(trial.confidence);
  packer.put(trial.why);
  packer.put(trial.on_samples.has_value());
  packer.put(trial.on_samples.value_or(0));
}

Trial unpack_trial(Unpacker& unpacker) {
  Trial trial;
  trial.verdict = unpacker.get<Verdict>();
  trial.metric = unpacker.get<double>();
  trial.damage = unpacker.get<double>();
  trial.stopped_early = unpacker.get<bool>();
  trial.samples = unpacker.get<std::size_t>();
  trial.also_run = unpacker.get<std::size_t>();
  trial.confidence = unpacker.get<double>();
  trial.why = unpacker.get_text();
  const bool bounded = unpacker.get<bool>();
  const auto on_samples = unpacker.get<double>();
  if (bounded) trial.on_samples = on_samples;
  return trial;
}

Oracle answer_of_first(Ranks& ranks, Oracle oracle, bool first_only) {
  if (ranks.alone()) return oracle;
  return [&ranks, inner = std::move(oracle), first_only](const KeptSet& set) {
    Trial trial;
    if (ranks.first() || !first_only) trial = inner(set);
    Packer packer;
    if (ranks.first()) pack(trial, packer);
    const std::vector<Message> all = ranks.share(packer.take());
    Unpacker answer(all.front());
    return unpack_trial(answer);
  };
}

}  // namespace vernier
