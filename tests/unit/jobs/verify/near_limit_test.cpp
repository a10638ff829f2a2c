#include "jobs/verify/near_limit.h"

#include "job_files.h"
#include "jobs/common/load.h"
#include "jobs/common/sources.h"
#include "vernier/format.h"
#include "vernier/report/figures.h"
#include "vernier/requirement.h"
#include "vernier/sinks.h"
#include "vernier/verify.h"

namespace vernier::testing {
namespace {

TEST(NearLimit, SaysSoWhenAnotherOrderOfSumsGivesAnotherVerdict) {
  const NetFiles files;
  VerifyOptions options = files.verify_options(files.model_file());
  options.measure.requirement = Requirement{Metric::MinSqnrDb, {{20, ""}}};
  const JobSinks sinks;
  Sources sources(options.measure, sinks);
  const Loaded loaded = load_judged(options.float_model, {.formats = {Format::Float32}}, sources);
  const auto doubt = [&](double damage, bool passed) {
    RunFigures figures;
    figures.damage = damage;
    figures.passed = passed;
    // The model against itself: whatever was measured before, this time it is exact.
    return doubt_near_limit(loaded.subject, loaded.subject.model, figures, &*options.measure.requirement);
  };
  EXPECT_NE(doubt(1.1, false).value_or("").find("the required 20 dB is met: an engine may land on either side"),
            std::string::npos);
  EXPECT_FALSE(doubt(0.9, true)) << "the same verdict";
  EXPECT_FALSE(doubt(1.5, false)) << "no engine is that far from another";
  EXPECT_FALSE(doubt_near_limit(loaded.subject, loaded.subject.model, {}, nullptr)) << "nothing is required";
}

}  // namespace
}  // namespace vernier::testing
