#include "external_check/check_loop.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "temp_files.h"
#include "vernier/check.h"
#include "vernier/error.h"
#include "vernier/sinks.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

const CheckIdentity kIdentity{"debug reduce", "net.onnx", "abc", "mode=bisect", "sh"};

class Loops : public ::testing::Test {
 protected:
  Loops() {
    options_.candidate = folder_ / "candidate";
    options_.save_replay = folder_ / "replay.json";
    // Good while the candidate says so.
    options_.command = {"grep", "-q", "good", options_.candidate};
    sinks_.warning = [this](const Note& note) { warnings_.push_back(note); };
    console_.say = [this](const std::string& text) { said_ += text; };
  }
  static std::function<void(const fs::path&)> writes(const std::string& text) {
    return [text](const fs::path& path) { write_file(path, text); };
  }
  CheckLoop loop() { return {options_, kIdentity, sinks_, console_}; }

  const TempFolder folder_;
  CheckOptions options_;
  JobSinks sinks_;
  CheckSinks console_;
  std::vector<Note> warnings_;
  std::string said_;
};

TEST_F(Loops, JudgesCandidateByCandidate) {
  CheckLoop loop(options_, kIdentity, sinks_, console_);
  EXPECT_EQ(loop.check(Json::Object{{"n", 1}}, "outputs", writes("good")).verdict, Verdict::Good);
  EXPECT_FALSE(fs::exists(options_.candidate));
  EXPECT_EQ(loop.check(Json::Object{{"n", 2}}, "outputs", writes("evil")).verdict, Verdict::Bad);
  EXPECT_EQ(loop.iterations(), 2U);
  EXPECT_EQ(loop.checks_run(), 2U);
  EXPECT_EQ(loop.summary(), "Finished 2 iteration(s) | Passed: 1/2 | Pass Rate: 50.0%");
  EXPECT_NE(said_.find("iteration 1 | bad | ended with exit code 1"), std::string::npos);
}

TEST_F(Loops, ACandidateThatCannotBeMadeIsInvalidAndNotChecked) {
  CheckLoop loop(options_, kIdentity, sinks_, console_);
  const CheckLoop::Result result =
      loop.check({}, "", [](const fs::path&) { throw Error(ErrorKind::Backend, "does not load"); });
  EXPECT_EQ(result.verdict, Verdict::Invalid);
  EXPECT_EQ(result.why, "does not load");
  EXPECT_EQ(loop.checks_run(), 0U);
  EXPECT_THROW(loop.check({}, "", [](const fs::path&) { throw Error(ErrorKind::Internal, "our fault"); }), Error);
}

TEST_F(Loops, AReplaySavesTheChecks) {
  {
    CheckLoop loop(options_, kIdentity, sinks_, console_);
    loop.check(Json::Object{{"n", 1}}, "outputs", writes("evil"));
  }
  options_.load_replay = options_.save_replay;
  options_.command = {"./never-started"};
  CheckLoop loop(options_, kIdentity, sinks_, console_);
  const CheckLoop::Result result = loop.check(Json::Object{{"n", 1}}, "outputs", writes("good"));
  EXPECT_EQ(result.verdict, Verdict::Bad);
  EXPECT_TRUE(result.replayed);
  EXPECT_EQ(loop.checks_run(), 0U);
  EXPECT_FALSE(fs::exists(options_.candidate));
}

TEST_F(Loops, TheIterationsNumberAndTheCrashReplayAreThereDuringACheckOnly) {
  options_.iteration_info = folder_ / "iteration.json";
  options_.command = {"sh", "-c",
                      "cd '" + folder_.path().string() + "' && cat iteration.json && cat replay_skip_current.json"};
  options_.show = CheckOutput::Always;
  {
    CheckLoop loop(options_, kIdentity, sinks_, console_);
    EXPECT_EQ(loop.check({}, "", writes("x")).verdict, Verdict::Good);
    EXPECT_NE(said_.find("========== CAPTURED STDOUT ==========\n{\n    \"iteration\": 0\n}"), std::string::npos);
    EXPECT_NE(said_.find("\"success\": false"), std::string::npos);
  }
  EXPECT_FALSE(fs::exists(options_.iteration_info));
  EXPECT_FALSE(fs::exists(folder_ / "replay_skip_current.json"));
  EXPECT_TRUE(fs::exists(folder_ / "replay.json"));
}

TEST_F(Loops, ACandidateCanBeAnArtifact) {
  options_.artifacts = {options_.candidate};
  options_.artifacts_dir = folder_ / "art";
  CheckLoop loop(options_, kIdentity, sinks_, console_);
  loop.check({}, "inputs", writes("evil"));
  EXPECT_FALSE(fs::exists(options_.candidate));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "art/bad"), {}), 1);
}

TEST_F(Loops, MissingArtifactsAreSaidOnce) {
  options_.artifacts = {folder_ / "none"};
  CheckLoop loop(options_, kIdentity, sinks_, console_);
  loop.check({}, "", writes("good"));
  loop.check({}, "", writes("good"));
  EXPECT_EQ(warnings_, (std::vector<Note>{{"artifact-missing", {{"file", (folder_ / "none").string()}}}}));
}

TEST_F(Loops, AFileThatIsThereIsNotOverwritten) {
  write_file(options_.candidate, "mine");
  EXPECT_THROW(loop(), Error);
  EXPECT_EQ(read_text(options_.candidate), "mine");
}

TEST_F(Loops, TheLastCandidateStaysWhenAskedTo) {
  options_.keep_candidate = true;
  {
    CheckLoop loop(options_, kIdentity, sinks_, console_);
    loop.check({}, "", writes("good"));
    loop.check({}, "", writes("evil"));
  }
  EXPECT_EQ(read_text(options_.candidate), "evil");
}

TEST_F(Loops, AnInterruptedLoopKeepsItsReplay) {
  bool interrupted = false;
  sinks_.interrupted = [&] { return interrupted; };
  {
    CheckLoop loop(options_, kIdentity, sinks_, console_);
    loop.check({}, "", writes("good"));
    interrupted = true;
    EXPECT_THROW(loop.check({}, "", writes("good")), Error);
  }
  EXPECT_TRUE(parse_json(read_text(options_.save_replay), "replay").contains("_N0"));
  EXPECT_FALSE(fs::exists(options_.candidate));
}

TEST_F(Loops, AMistypedCommandInAShellIsSaid) {
  options_.command = {"sh", "-c", "no-such-command-here 2>/dev/null"};
  CheckLoop loop(options_, kIdentity, sinks_, console_);
  EXPECT_EQ(loop.check({}, "", writes("x")).verdict, Verdict::Bad);
  EXPECT_EQ(warnings_, (std::vector<Note>{{"check-like-missing-program", {}}}));
}

}  // namespace
}  // namespace vernier
