#include "external_check/replay.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/file.h"
#include "temp_files.h"
#include "vernier/error.h"

namespace vernier {
namespace {

const CheckIdentity kReplayIdentity{"debug reduce", "net.onnx", "abc", "mode=bisect", "python check.py"};

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Input);
    return error.what();
  }
  return {};
}

class ReplayFiles : public ::testing::Test {
 protected:
  std::filesystem::path saved(const CheckIdentity& identity = kReplayIdentity) {
    Replay replay(identity);
    replay.record("_N0_outputs", 0, Verdict::Bad, Json::Object{{"num_nodes", 3}});
    replay.record("_N1_outputs", 1, Verdict::Invalid, Json::Object{{"num_nodes", 2}});
    replay.save(folder_ / "replay.json");
    return folder_ / "replay.json";
  }
  std::string loading(const CheckIdentity& identity) {
    Replay replay(identity);
    return error_of([&] { replay.load(folder_ / "replay.json", [&](const Note& note) { warned_ = note; }); });
  }
  const TempFolder folder_;
  Note warned_;
};

TEST_F(ReplayFiles, VerdictsComeBack) {
  Replay replay(kReplayIdentity);
  replay.load(saved(), {});
  EXPECT_EQ(replay.find("_N0_outputs", Json::Object{{"num_nodes", 3}}), Verdict::Bad);
  EXPECT_EQ(replay.find("_N1_outputs", Json::Object{{"num_nodes", 2}, {"new_member", 1}}), Verdict::Invalid);
  EXPECT_EQ(replay.find("_N2_outputs", {}), std::nullopt);
}

TEST_F(ReplayFiles, HoldThePeersMembers) {
  const Json json = parse_json(read_text(saved()), "replay");
  const Json& entry = json.at("_N0_outputs");
  EXPECT_EQ(entry.at("success"), false);
  EXPECT_EQ(entry.at("state"), Json(Json::Object{{"num_nodes", 3}}));
  EXPECT_EQ(entry.at("iteration_info"), Json(Json::Object{{"iteration", 0}}));
  EXPECT_EQ(entry.at("polygraphy_class"), "IterationContext");
}

TEST_F(ReplayFiles, AnotherModelIsRefused) {
  saved();
  CheckIdentity other = kReplayIdentity;
  other.model_sha256 = "def";
  EXPECT_NE(loading(other).find("a replay of another model: net.onnx (SHA-256 abc)"), std::string::npos);
  other = kReplayIdentity;
  other.options = "mode=linear";
  EXPECT_NE(loading(other).find("recorded with other options: mode=bisect; now: mode=linear"), std::string::npos);
  other = kReplayIdentity;
  other.command = "debug precision";
  EXPECT_NE(loading(other).find("a replay of 'vernier debug reduce'"), std::string::npos);
}

TEST_F(ReplayFiles, AnotherCheckIsAWarning) {
  saved();
  CheckIdentity other = kReplayIdentity;
  other.check = "true";
  EXPECT_EQ(loading(other), "");
  EXPECT_EQ(warned_.code, "replay-of-another-check");
  EXPECT_EQ(*warned_.find("check"), NoteValue("python check.py"));
}

TEST_F(ReplayFiles, AnotherCandidateIsRefused) {
  Replay replay(kReplayIdentity);
  replay.load(saved(), {});
  EXPECT_NE(error_of([&] {
              replay.find("_N0_outputs", Json::Object{{"num_nodes", 5}});
            }).find("num_nodes 3, now 5"),
            std::string::npos);
}

TEST_F(ReplayFiles, ThePeersFileIsBelievedWithAWarning) {
  write_file(folder_ / "replay.json",
             R"({"_N0_outputs": {"state": {"num_nodes": 3}, "iteration_info": {"iteration": 0}, "success": true,
                 "polygraphy_class": "IterationContext"}})");
  CheckIdentity repeated = kReplayIdentity;
  repeated.command = "debug repeat";
  Replay replay(repeated);
  replay.load(folder_ / "replay.json", [&](const Note& note) { warned_ = note; });
  EXPECT_EQ(replay.find("_N0_outputs", Json::Object{{"num_nodes", 3}}), Verdict::Good);
  EXPECT_EQ(warned_.code, "replay-of-unknown-model");
  // Its search of a smaller model asks about other parts.
  Replay reduced(kReplayIdentity);
  reduced.load(folder_ / "replay.json", [&](const Note& note) { warned_ = note; });
  EXPECT_EQ(reduced.find("_N0_outputs", Json::Object{{"num_nodes", 3}}), std::nullopt);
  EXPECT_EQ(warned_.code, "replay-of-polygraphy");
}

TEST_F(ReplayFiles, BrokenFilesAreRefused) {
  for (const char* text : {"[]", "{", R"({"_N0": 3})", R"({"_N0": {"success": "yes", "state": {}}})"}) {
    write_file(folder_ / "replay.json", text);
    EXPECT_NE(loading(kReplayIdentity), "") << text;
  }
}

TEST_F(ReplayFiles, ForeignFilesAreNotOverwritten) {
  const auto warn = [this](const Note& note) { warned_ = note; };
  const std::filesystem::path path = saved();
  keep_foreign_replay(path, kReplayIdentity, warn);
  CheckIdentity other = kReplayIdentity;
  other.model_sha256 = "def";
  keep_foreign_replay(path, other, warn);
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "replay.json.1"));
  EXPECT_EQ(warned_.code, "replay-moved");
  write_file(path, "my notes");
  EXPECT_NE(error_of([&] { keep_foreign_replay(path, kReplayIdentity, warn); }).find("is not a debug replay"),
            std::string::npos);
  keep_foreign_replay(folder_ / "none.json", kReplayIdentity, warn);
}

}  // namespace
}  // namespace vernier
