#include "jobs/diagnose/network_variant.h"

#include <utility>

namespace vernier {

NetworkVariant variant_of(const Subject& subject, const Experiment& experiment, const Evidence& evidence,
                          std::shared_ptr<CrossFit> halves) {
  return {subject.model,
          subject.layers,
          experiment.all_low_plan(),
          experiment.candidate_names(),
          experiment.reference.shapes,
          evidence,
          std::move(halves)};
}

void exchange(NetworkVariant& waiting, Subject& subject, Experiment& experiment, Evidence& evidence,
              std::shared_ptr<CrossFit>& halves) {
  NetworkVariant here{std::move(subject.model),
                      std::move(subject.layers),
                      experiment.all_low_plan(),
                      experiment.candidate_names(),
                      std::move(experiment.reference.shapes),
                      std::move(evidence),
                      std::move(halves)};
  subject.model = std::move(waiting.model);
  subject.layers = std::move(waiting.layers);
  experiment.reference.shapes = std::move(waiting.shapes);
  experiment.adopt(std::move(waiting.plan), waiting.candidates);
  evidence = std::move(waiting.evidence);
  halves = std::move(waiting.halves);
  waiting = std::move(here);
}

}  // namespace vernier
