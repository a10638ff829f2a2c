// What a plan asks of the layers that run low, as one short text: plans of equal texts compute the same, whatever else
// they say of layers that run high.
#pragma once

#include <map>
#include <string>

#include "analysis/subject.h"
#include "plan/plan.h"
#include "vernier/format.h"

namespace vernier {

class PlanDigest {
 public:
  /// Of plans for the layers of `subject` with the scales of `plan`.
  PlanDigest(const Subject& subject, const Plan& plan);

  /// Safe from several threads.
  std::string of(const Plan& plan) const;

 private:
  std::map<std::string, std::string> scales_;  // by layer: digest of those of the tensors that it reads and makes
  std::string others_;                         // of tensors that no layer reads or makes
};

}  // namespace vernier
