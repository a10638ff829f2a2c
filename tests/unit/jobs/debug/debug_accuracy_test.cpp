// Where along the graph a run leaves its reference.
#include "vernier/debug_accuracy.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "job_files.h"
#include "vernier/format.h"
#include "vernier/report/debug_accuracy.h"
#include "vernier/run.h"

namespace vernier::testing {
namespace {

/// With 30 dB asked for.
DebugAccuracyReport in_float16(const NetFiles& files) {
  DebugAccuracyOptions options;
  RunnerOptions runner;
  runner.kind = RunnerKind::Simulated;
  runner.model = files.model_file();
  runner.precision.low = {Format::Float16};
  options.run.runners = {runner};
  options.run.measure = files.measure();
  options.min_sqnr_db = 30;
  return debug_accuracy(options);
}

std::map<std::string, ErrorRole> roles_of(const DebugAccuracyReport& report) {
  std::map<std::string, ErrorRole> roles;
  for (const AccuracyRow& row : report.layers) roles[row.layer] = row.role;
  return roles;
}

TEST(DebugAccuracy, NamesTheLayerWhereTheErrorStarts) {
  // The second product cancels what the first one rounds: float16 has 11 bits.
  const NetFiles files(network(R"(g (float[1,4] x) => (float[1,4] y) <float big = {4096.0}> {
    [fine] a = Mul (x, x)
    [absorb] b = Add (a, big)
    [cancel] c = Sub (b, big)
    [after] y = Abs (c)
  })"),
                       {1, 4});
  const DebugAccuracyReport report = in_float16(files);
  EXPECT_FALSE(report.passed);
  const std::map<std::string, ErrorRole> roles = roles_of(report);
  EXPECT_EQ(roles.at("fine"), ErrorRole::Within);
  EXPECT_EQ(roles.at("absorb"), ErrorRole::Within);
  EXPECT_EQ(roles.at("cancel"), ErrorRole::First);
  EXPECT_EQ(roles.at("after"), ErrorRole::Inherits);
}

TEST(DebugAccuracy, AnErrorThatComesBackIsNotHarmless) {
  // Beside 4096 what the first layers lose is little; once that is taken away it is all there is.
  const NetFiles files(network(R"(g (float[1,4] x) => (float[1,4] y) <float big = {4096.0}, float minus = {-4096.0}> {
    [lost] a = Add (x, big)
    [less] b = Add (a, minus)
    [hidden] c = Add (b, big)
    [back] y = Add (c, minus)
  })"),
                       {1, 4});
  const DebugAccuracyReport report = in_float16(files);
  const std::map<std::string, ErrorRole> roles = roles_of(report);
  EXPECT_EQ(roles.at("less"), ErrorRole::First);
  EXPECT_EQ(roles.at("hidden"), ErrorRole::Within);
  EXPECT_NE(roles.at("back"), ErrorRole::Within);
  EXPECT_FALSE(report.passed);
}

TEST(DebugAccuracy, PassesWhatAMaskLosesBehindItsSoftmax) {
  Tensor mask(Dtype::Float32, {1, 4});
  mask.mutable_floats()[1] = mask.mutable_floats()[3] = -1e9F;
  Tensor two(Dtype::Float32, {1});
  two.mutable_floats()[0] = 2;
  const NetFiles files(network(R"(g (float[1,4] x) => (float[1,4] y) {
    [masked] m = Add (x, mask)
    [scaled] s = Mul (m, two)
    [softmax] y = Softmax <axis = -1> (s)
  })",
                               {{"mask", mask}, {"two", two}}),
                       {1, 4});
  const DebugAccuracyReport report = in_float16(files);
  const std::map<std::string, ErrorRole> roles = roles_of(report);
  EXPECT_EQ(roles.at("masked"), ErrorRole::Harmless) << "-1e9 is no float16";
  EXPECT_EQ(roles.at("scaled"), ErrorRole::Harmless);
  EXPECT_EQ(roles.at("softmax"), ErrorRole::Within);
  EXPECT_TRUE(report.passed);
  const std::string text = report_to_text(report, {});
  EXPECT_NE(text.find("2 are below it"), std::string::npos) << text;
  EXPECT_NE(text.find("(harmless)"), std::string::npos) << text;
}

}  // namespace
}  // namespace vernier::testing
