#include "external_check/artifacts.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "temp_files.h"
#include "vernier/check.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

TEST(Artifacts, AreMovedByVerdictAndNeverOverwritten) {
  const TempFolder folder;
  CheckOptions options;
  options.artifacts = {folder / "replay.json", folder / "none.json"};
  options.artifacts_dir = folder / "art";
  for (int i = 0; i < 2; ++i) {
    write_file(folder / "replay.json", std::to_string(i));
    EXPECT_EQ(sort_artifacts(options, Verdict::Bad, "N3_outputs", 0), std::vector<fs::path>{folder / "none.json"});
    EXPECT_FALSE(fs::exists(folder / "replay.json"));
  }
  const std::vector<std::string> names = names_in(folder / "art/bad");
  ASSERT_EQ(names.size(), 2U);
  EXPECT_TRUE(names[0].starts_with("replay_") && names[0].ends_with("_N3_outputs-2.json")) << names[0];
  EXPECT_TRUE(names[1].starts_with("replay_") && names[1].ends_with("_N3_outputs.json")) << names[1];
  EXPECT_EQ(read_text(folder / "art/bad" / names[0]), "1");
}

TEST(Artifacts, WhatCouldNotBeJudgedIsNeitherGoodNorBad) {
  const TempFolder folder;
  CheckOptions options;
  options.artifacts = {folder / "dump"};
  options.artifacts_dir = folder / "art";
  for (const Verdict verdict : {Verdict::Invalid, Verdict::TimedOut, Verdict::Good}) {
    fs::create_directories(folder / "dump");
    write_file(folder / "dump/x", "1");
    sort_artifacts(options, verdict, "N0", 0);
  }
  EXPECT_EQ(names_in(folder / "art"), (std::vector<std::string>{"good", "invalid"}));
  EXPECT_EQ(names_in(folder / "art/invalid").size(), 2U);
}

}  // namespace
}  // namespace vernier
