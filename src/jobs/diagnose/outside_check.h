// The program of the user that judges what a diagnosis proposes, in the place of a requirement.
#pragma once

#include <string>
#include <vector>

#include "external_check/check_loop.h"
#include "jobs/diagnose/typed_result.h"
#include "search/oracle.h"
#include "vernier/diagnose.h"
#include "vernier/report/diagnose.h"
#include "vernier/sinks.h"

namespace vernier {

class OutsideCheck {
 public:
  /// `options.search.check` is there. `objective`: what decides (Objective::key()). `typed` must outlive it.
  OutsideCheck(const DiagnoseOptions& options, const DiagnoseReport& report, const std::string& objective,
               TypedResult& typed, const JobSinks& sinks);

  /// The typed model with these layers kept, as the program sees it.
  Trial judge(const std::vector<std::string>& kept);

 private:
  CheckLoop loop_;
  TypedResult& typed_;
};

}  // namespace vernier
