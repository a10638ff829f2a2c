// Files that earlier versions of the program wrote (tests/golden/former) are read as they were meant.
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "external_check/replay.h"
#include "json/json.h"
#include "plan/calibration_cache.h"
#include "plan/plan.h"
#include "search/journal.h"
#include "temp_files.h"
#include "vernier/accuracy_record.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/outcome.h"

namespace vernier {
namespace {

constexpr const char* kModelSha = "50dc1b49269cd490ebf08f7ae0cddd562e551cec901cc987a9c83f32c0f76aa3";

std::filesystem::path former(const char* name) { return std::filesystem::path(VERNIER_GOLDEN_DIR) / "former" / name; }

/// In the names of today.
std::string renamed_fields(std::string text) {
  for (const auto& [before, now] :
       {std::pair("effect_db", "sensitivity_db"), std::pair("propagated_sqnr_db", "sqnr_db"),
        std::pair("inherited_sqnr_db", "propagated_db")}) {
    text = std::regex_replace(text, std::regex(before), now);
  }
  return text;
}

TEST(FormerFiles, AReportHoldsTheSameWhenItIsWrittenAgain) {
  const std::string text = read_text(former("report.json"));
  const DiagnoseReport report = diagnose_report_from_json(text, "report.json");
  EXPECT_EQ(report.kept.value().end, SearchEnd::Certified);
  EXPECT_EQ(report.kept->tests.at(1).verdict, Verdict::Bad);
  EXPECT_EQ(outcome_of(report), Outcome::NothingLeft) << "both of its layers are kept";
  const std::string renamed = renamed_fields(text);
  Json again = parse_json(report_to_json(report), "again");
  EXPECT_EQ(again.at("outcome"), "nothing-left");
  again.erase("outcome");  // reports of that time had none
  EXPECT_EQ(again.at("kept").at("decided_by"), "requirement");
  again["kept"].erase("decided_by");
  again.erase("job");
  EXPECT_EQ(json_text(again, kPrettyJson), json_text(parse_json(renamed, "former"), kPrettyJson));
}

TEST(FormerFiles, APlanIsWrittenAgainByteByByte) {
  // Journals know a search by the hash of its plan.
  const std::string text = read_text(former("plan.json"));
  EXPECT_EQ(plan_to_json(plan_from_json(text, "plan.json")), text);
}

TEST(FormerFiles, RangesAreWrittenAgainByteByByte) {
  const std::string text = read_text(former("ranges.json"));
  const CachedRanges cache = calibration_cache_from_text(text, "ranges.json");
  EXPECT_EQ(cache.model_sha256, kModelSha);
  EXPECT_EQ(to_ranges_json(cache.ranges, parse_json(text, "ranges.json").at("method").text(), "net.onnx", kModelSha),
            text);
}

TEST(FormerFiles, AJournalGoesOn) {
  const TempFolder folder;
  std::filesystem::copy_file(former("journal.jsonl"), folder / "journal.jsonl");
  const std::string text = read_text(former("journal.jsonl"));
  const Json header = parse_json(text.substr(0, text.find('\n')), "journal.jsonl");
  Journal::Identity identity;
  for (const Json::Member& member : header.at("search").members()) identity[member.key] = member.value.text();
  Journal journal(folder / "journal.jsonl", identity, {"MatMul_0", "MatMul_1"}, /*resume=*/true);
  ASSERT_EQ(journal.trials().size(), 4U);
  EXPECT_EQ(journal.trials()[2].kept, KeptSet{0});
  EXPECT_EQ(journal.trials()[2].trial.verdict, Verdict::Bad);
  EXPECT_TRUE(journal.trials()[2].trial.stopped_early);
  const Oracle never = [](const KeptSet&) -> Trial { throw std::logic_error("was asked"); };
  EXPECT_EQ(journal.recorded(never)({1}).metric, 54.778832132105315);
  EXPECT_EQ(journal.recorded_estimate({})({0, 1}), 0);
}

TEST(FormerFiles, AReplayIsBelieved) {
  Replay replay({"debug reduce", "net.onnx", kModelSha, "mode=bisect outputs=true inputs=true", "false"});
  std::vector<Note> warnings;
  replay.load(former("replay.json"), [&](const Note& note) { warnings.push_back(note); });
  EXPECT_TRUE(warnings.empty());
  EXPECT_EQ(replay.find("_N0_whole", Json::Object{{"num_nodes", 4}, {"graph", "0d56e86cf86a6524"}}), Verdict::Bad);
}

TEST(FormerFiles, AccuracyResultsAreWrittenAgainByteByByte) {
  const std::string text = read_text(former("accuracy.json"));
  EXPECT_EQ(AccuracyRecord::from_json(text, "accuracy.json").to_json({}), text);
}

}  // namespace
}  // namespace vernier
