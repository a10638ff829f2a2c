// Where along the graph a run leaves its reference.
#include "vernier/debug_accuracy.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "job_files.h"
#include "vernier/format.h"
#include "vernier/report/debug_accuracy.h"
#include "vernier/report/text.h"
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

TEST(DebugAccuracy, LayersBehindAnOverflowInherit) {
  const NetFiles files(network(R"(g (float[1,4] x) => (float[1,4] y) <float big = {60000.0}> {
    [half] a = Add (x, big)
    [beyond] b = Mul (a, big)
    [next] c = Neg (b)
    [last] y = Mul (c, x)
  })"),
                       {1, 4});
  const std::map<std::string, ErrorRole> roles = roles_of(in_float16(files));
  EXPECT_EQ(roles.at("beyond"), ErrorRole::First);
  EXPECT_EQ(roles.at("next"), ErrorRole::Inherits);
  EXPECT_EQ(roles.at("last"), ErrorRole::Inherits);
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
  EXPECT_NE(text.find("3 layer outputs compared with the reference: 1 at 30 dB or better. The other 2 are"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("harmless: the\nlayers after them are at 30 dB or better again."), std::string::npos) << text;
}

TEST(DebugAccuracyText, BeginsWithTheWorstWhereRowsAreCut) {
  DebugAccuracyReport report;
  report.min_sqnr_db = 20;
  report.passed = true;
  for (const double db : {19.0, 12.0, 7.6, 15.0}) {
    report.layers.push_back({fmt::format("at{:g}", db), "Add", "t", db, {}, ErrorRole::Harmless});
  }
  TextOptions options;
  options.top = 2;
  const std::string cut = report_to_text(report, options);
  EXPECT_NE(cut.find("Layers that fall below it or add error, the worst first\n"), std::string::npos) << cut;
  EXPECT_LT(cut.find("at7.6"), cut.find("at12")) << cut;
  EXPECT_NE(cut.find("at12"), std::string::npos) << cut;
  EXPECT_EQ(cut.find("at15"), std::string::npos) << cut;
  EXPECT_NE(cut.find("... and 2 more layers"), std::string::npos) << cut;
  options.top = 4;
  const std::string whole = report_to_text(report, options);
  EXPECT_NE(whole.find("in the order of the graph\n"), std::string::npos) << whole;
  EXPECT_LT(whole.find("at19"), whole.find("at7.6")) << whole;
}

}  // namespace
}  // namespace vernier::testing
