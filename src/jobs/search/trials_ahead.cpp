#include "jobs/search/trials_ahead.h"

#include <cstddef>

#include "jobs/search/shared_trials.h"

namespace vernier {

TrialsAhead::TrialsAhead(Experiment& experiment, Judge& judge, Candidates candidates, bool side_by_side, Ran ran)
    : trials(job_ranks(), experiment.subject().threads,
             {[&judge, candidates](const KeptSet& set) { return judge(candidates(set)); },
              side_by_side ? [this, candidates](const KeptSet& set) { return lone_judge_(candidates(set)); }
                           : std::function<Trial(const KeptSet&)>(),
              &spare_,
              [&judge, candidates](const KeptSet& set, const Trial& trial, Packer& packer) {
                pack(trial, packer);
                judge.pack_known(candidates(set), packer);
              },
              [&judge, candidates](const KeptSet& set, Unpacker& unpacker) {
                const Trial trial = unpack_trial(unpacker);
                judge.unpack_known(candidates(set), unpacker);
                return trial;
              },
              [ran](const Trial& trial) { ran(trial.samples + trial.also_run); }}),
      estimates(job_ranks(), experiment.subject().threads,
                {[&judge, candidates](const KeptSet& set) { return judge.estimate(candidates(set)); },
                 side_by_side ? [this, candidates](const KeptSet& set) { return lone_judge_.estimate(candidates(set)); }
                              : std::function<double(const KeptSet&)>(),
                 &spare_,
                 [&judge, candidates](const KeptSet& set, double damage, Packer& packer) {
                   packer.put(damage);
                   judge.pack_known(candidates(set), packer);
                 },
                 [&judge, candidates](const KeptSet& set, Unpacker& unpacker) {
                   const auto damage = unpacker.get<double>();
                   judge.unpack_known(candidates(set), unpacker);
                   return damage;
                 },
                 [ran, &experiment](double) { ran(experiment.few_hard_samples().size()); }}),
      alone_(on_one_thread_helped(experiment.subject(), progress_, spare_)),
      lone_judge_(judge) {
  if (side_by_side) lone_judge_.run_with(alone_);
}

bool sessions_are_small(const Subject& subject) {
  return bytes_beside(subject.model) * subject.threads <= std::size_t{256} << 20;
}

}  // namespace vernier
