// The two networks of `vernier fix`: as it was, and with the repairs. One of them is worked on, the other waits.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "analysis/subject.h"
#include "jobs/diagnose/cross_fit.h"
#include "jobs/search/evidence.h"
#include "jobs/search/experiment.h"
#include "model/layers.h"
#include "model/model.h"
#include "plan/plan.h"
#include "vernier/tensor.h"

namespace vernier {

/// A network that layers are kept in, how it is lowered, and what was measured of it.
struct NetworkVariant {
  Model model;
  std::vector<Layer> layers;
  Plan plan;  // everything low
  std::vector<std::string> candidates;
  std::map<std::string, Shape> shapes;
  Evidence evidence;
  std::shared_ptr<CrossFit> halves;
};

/// A copy of the network that is worked on.
NetworkVariant variant_of(const Subject& subject, const Experiment& experiment, const Evidence& evidence,
                          std::shared_ptr<CrossFit> halves);

/// The one that waits is worked on from here on, and the other way round. All-low has to be run anew.
void exchange(NetworkVariant& waiting, Subject& subject, Experiment& experiment, Evidence& evidence,
              std::shared_ptr<CrossFit>& halves);

}  // namespace vernier
