// A run as text, while it goes on.
#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "vernier/comparison.h"
#include "vernier/report/comparison.h"
#include "vernier/report/run.h"
#include "vernier/runs.h"

namespace vernier {
namespace {

/// What is printed, part by part.
struct Printed {
  std::vector<std::string> parts;
  RunText text(const ComparisonTextOptions& options = {}) {
    return {options, [this](const std::string& part) { parts.push_back(part); }};
  }
};

PairDone done(std::size_t pair, const std::string& run, const std::string& reference) {
  PairDone event;
  event.pair = pair;
  event.summary.run = run;
  event.summary.reference = reference;
  event.summary.iterations = event.summary.passed_iterations = 1;
  event.summary.passed = true;
  return event;
}

// Iterations of the pairs come interleaved; the second pair waits until the first has its summary.
TEST(RunText, PrintsOnePairBehindTheOther) {
  Printed printed;
  RunText tell = printed.text();
  const IterationComparison comparison;
  const Iteration got, ref;
  tell(ComparisonBegins{"a", "b"});
  tell(IterationCompared{0, "a", "b", &comparison, &got, &ref});
  const std::size_t first = printed.parts.size();
  tell(IterationCompared{1, "b", "c", &comparison, &got, &ref});
  EXPECT_EQ(printed.parts.size(), first) << "nothing of the second pair yet";
  tell(done(0, "a", "b"));
  tell(done(1, "b", "c"));
  ASSERT_EQ(printed.parts.size(), 5U);
  EXPECT_NE(printed.parts[2].find("a vs. b | Passed: 1/1"), std::string::npos) << printed.parts[2];
  EXPECT_NE(printed.parts[3].find("Accuracy Comparison | b vs. c"), std::string::npos) << printed.parts[3];
  EXPECT_NE(printed.parts[4].find("b vs. c | Passed: 1/1"), std::string::npos) << printed.parts[4];
}

TEST(RunText, PrintsVerdictsAloneWhenAsked) {
  Printed printed;
  ComparisonTextOptions options;
  options.verdicts_only = true;
  RunText tell = printed.text(options);
  const IterationComparison nothing;
  const Iteration got, ref;
  tell(IterationCompared{0, "a", "b", &nothing, &got, &ref});
  ASSERT_EQ(printed.parts.size(), 1U);
  EXPECT_EQ(printed.parts[0].find("Iteration: 0"), std::string::npos);
  EXPECT_NE(printed.parts[0].find("[E]     FAILED | Nothing was compared"), std::string::npos) << printed.parts[0];
}

TEST(RunText, SaysWhereValuesThatAreNotFiniteBegin) {
  const auto line = [](const std::optional<NonFiniteOrigin>& origin) {
    Printed printed;
    printed.text()(NonFiniteOutput{"sim", "y", 2, 1, 3, 8, origin});
    return printed.parts.at(0);
  };
  const std::string found = "[E] sim, iteration 2: output 'y': 1 of 8 values is NaN, 3 infinite";
  EXPECT_EQ(line(std::nullopt), found + "\n");
  EXPECT_EQ(line(NonFiniteOrigin{}), found + "; with every tensor as output all are finite, so a fusion makes them\n");
  EXPECT_EQ(line(NonFiniteOrigin{"x", "", "", 1, 0, 8}), found + "; the input 'x' is not finite\n");
  EXPECT_EQ(line(NonFiniteOrigin{"t", "log", "Log", 4, 0, 8}),
            found + "; it begins in tensor 't' (4 NaN, 0 infinite of 8), made by layer 'log' (Log)\n");
}

}  // namespace
}  // namespace vernier
