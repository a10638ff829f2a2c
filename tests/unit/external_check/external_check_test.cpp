#include "external_check/external_check.h"

#include <gtest/gtest.h>

#include <csignal>
#include <optional>

#include "vernier/check.h"
#include "vernier/error.h"

namespace vernier {
namespace {

ProcessEnd ended(int code) {
  ProcessEnd end;
  end.exit_code = code;
  return end;
}

CheckOptions other_program() {
  CheckOptions options;
  options.command = {"python", "check.py"};
  return options;
}

Verdict verdict(const CheckOptions& options, int code, const std::string& output = {}, const std::string& errors = {}) {
  return judge(options, ended(code), output, errors).verdict;
}

TEST(Judge, WithoutRulesEveryCodeButZeroIsBad) {
  const CheckOptions options = other_program();
  EXPECT_EQ(verdict(options, 0), Verdict::Good);
  for (const int code : {1, 2, 3, 70, 255}) EXPECT_EQ(verdict(options, code), Verdict::Bad) << code;
}

TEST(Judge, IgnoredCodesAreGood) {
  CheckOptions options = other_program();
  options.ignored_codes = {1, 5};
  EXPECT_EQ(verdict(options, 1), Verdict::Good);
  EXPECT_EQ(verdict(options, 5), Verdict::Good);
  EXPECT_EQ(verdict(options, 2), Verdict::Bad);
}

TEST(Judge, WithFailCodesOnlyThoseAreBad) {
  CheckOptions options = other_program();
  options.fail_codes = {1, -SIGSEGV};
  EXPECT_EQ(verdict(options, 1), Verdict::Bad);
  EXPECT_EQ(verdict(options, 2), Verdict::Good);
  ProcessEnd killed;
  killed.signal = SIGSEGV;
  EXPECT_EQ(judge(options, killed, "", "").verdict, Verdict::Bad);
  killed.signal = SIGABRT;
  EXPECT_EQ(judge(options, killed, "", "").verdict, Verdict::Good);
}

TEST(Judge, WithAnExpressionTheCodeDoesNotMatter) {
  CheckOptions options = other_program();
  options.fail_regexes = {"max error [0-9.]+", "NaN"};
  EXPECT_EQ(verdict(options, 0, "fine\nmax error 0.5\n"), Verdict::Bad);
  EXPECT_EQ(verdict(options, 0, "", "a NaN appeared"), Verdict::Bad);
  EXPECT_EQ(verdict(options, 1, "all equal"), Verdict::Good);
  EXPECT_EQ(judge(options, ended(0), "NaN", "").why, "ended with exit code 0 and 'NaN' was found in its output");
}

TEST(Judge, WithBothBothAreNeeded) {
  CheckOptions options = other_program();
  options.fail_regexes = {"mismatch"};
  options.fail_codes = {1};
  EXPECT_EQ(verdict(options, 1, "mismatch"), Verdict::Bad);
  EXPECT_EQ(verdict(options, 0, "mismatch"), Verdict::Good);
  EXPECT_EQ(verdict(options, 1, "equal"), Verdict::Good);
}

TEST(Judge, IgnoredCodesWinOverExpressions) {
  CheckOptions options = other_program();
  options.fail_regexes = {"mismatch"};
  options.ignored_codes = {4};
  EXPECT_EQ(verdict(options, 4, "mismatch"), Verdict::Good);
  EXPECT_EQ(verdict(options, 0, "mismatch"), Verdict::Bad);
}

TEST(Judge, VernierThatCouldNotJudgeIsNoReproduction) {
  CheckOptions options;
  options.command = {"/usr/local/bin/vernier", "run", "polygraphy_debug.onnx"};
  EXPECT_EQ(verdict(options, 0), Verdict::Good);
  EXPECT_EQ(verdict(options, 1), Verdict::Bad);
  for (const int code : {2, 3, 4, 70}) EXPECT_EQ(verdict(options, code), Verdict::Invalid) << code;
  EXPECT_EQ(verdict(options, 5), Verdict::Good) << "the requirement is met, in FP32";
  options.fail_codes = {3};  // unless they are asked for
  EXPECT_EQ(verdict(options, 3), Verdict::Bad);
  EXPECT_EQ(verdict(options, 4), Verdict::Invalid);
  ProcessEnd killed;
  killed.signal = SIGSEGV;
  EXPECT_EQ(judge(options, killed, "", "").verdict, Verdict::Invalid);
}

TEST(Judge, KnowsVernierByNameOrAsTheRunningProgram) {
  EXPECT_TRUE(is_vernier("vernier"));
  EXPECT_TRUE(is_vernier("build/release/apps/vernier/vernier"));
  EXPECT_TRUE(is_vernier("/proc/self/exe"));
  EXPECT_FALSE(is_vernier("vernier.sh"));
  EXPECT_FALSE(is_vernier("python3"));
}

TEST(Judge, OutOfTimeIsAVerdictOfItsOwn) {
  ProcessEnd end;
  end.timed_out = true;
  end.signal = SIGTERM;
  EXPECT_EQ(judge(other_program(), end, "", "").verdict, Verdict::TimedOut);
}

TEST(Judge, ExpressionsAreSearchedInHugeLinesWithoutHarm) {
  CheckOptions options = other_program();
  options.fail_regexes = {"needle.*here"};
  std::string line(3'000'000, 'x');
  EXPECT_EQ(verdict(options, 0, line), Verdict::Good);
  line.replace(2'000'000, 20, "needle in hay, here!");
  EXPECT_EQ(verdict(options, 0, line), Verdict::Bad);
}

TEST(Validate, ContradictionsAreUsageErrors) {
  CheckOptions options = other_program();
  options.fail_regexes = {"(open"};
  try {
    validate(options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Usage);
    EXPECT_NE(std::string(error.what()).find("'(open' is not a regular expression"), std::string::npos);
  }
  options = other_program();
  options.fail_codes = {1};
  options.ignored_codes = {2};
  EXPECT_THROW(validate(options), Error);
}

TEST(RunCheck, GivesVerdictAndOutput) {
  CheckOptions options;
  options.command = {"sh", "-c", "echo seen; echo heard >&2; exit 9"};
  const CheckAnswer answer = run_check(options, {}, {});
  EXPECT_EQ(answer.verdict, Verdict::Bad);
  EXPECT_EQ(answer.code, 9);
  EXPECT_EQ(answer.output, "seen\n");
  EXPECT_EQ(answer.errors, "heard\n");
  EXPECT_EQ(answer.why, "ended with exit code 9");
}

TEST(RunCheck, EndsWhatTakesTooLong) {
  CheckOptions options;
  options.command = {"sleep", "30"};
  options.timeout_seconds = 0.1;
  const CheckAnswer answer = run_check(options, {}, {});
  EXPECT_EQ(answer.verdict, Verdict::TimedOut);
  EXPECT_LT(answer.seconds, 10);
}

TEST(RunCheck, AsksWhenThereIsNoProgram) {
  std::string asked;
  bool reply = true;
  CheckSinks sinks;
  sinks.ask = [&](const std::string& question) {
    asked = question;
    return std::optional<bool>(reply);
  };
  EXPECT_EQ(run_check({}, sinks, {}).verdict, Verdict::Good);
  EXPECT_EQ(asked, "Did 'polygraphy_debug.onnx'");
  reply = false;
  EXPECT_EQ(run_check({}, sinks, {}).verdict, Verdict::Bad);
  sinks.ask = [](const std::string&) { return std::nullopt; };
  EXPECT_THROW(run_check({}, sinks, {}), Error);
}

TEST(RunCheck, AProgramThatIsNotThereIsAnErrorAndNoVerdict) {
  CheckOptions options;
  options.command = {"./no-such-check"};
  EXPECT_THROW(run_check(options, {}, {}), Error);
}

}  // namespace
}  // namespace vernier
