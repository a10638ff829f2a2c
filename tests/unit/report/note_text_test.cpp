#include "vernier/report/note_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "json/fields.h"
#include "json/json.h"
#include "report/json/document.h"
#include "report/text/note_catalogue.h"
#include "vernier/note.h"
#include "vernier/report/verify.h"

namespace vernier {
namespace {

using Names = std::vector<std::string>;

TEST(NoteText, PutsFieldsInPlace) {
  EXPECT_EQ(note_text({"values-not-finite", {{"tensor", "x"}, {"count", 1}, {"of", 2}}}),
            "tensor 'x': 1 of 2 values are infinite or NaN and were left out of its range");
  EXPECT_EQ(note_text({"if-inlined", {{"node", "i"}, {"condition", "c"}, {"taken", false}, {"samples", 3}}}),
            "If 'i': 'c' is false for all 3 samples, so its else branch was inlined");
  EXPECT_EQ(note_text({"ranking-poor", {{"tests", 7}, {"ratio", 12.3456}}}).substr(0, 80),
            "the ranking of layers is poor: after 7 guided tests a set did 12 times the predi");
}

TEST(NoteText, WritesLargeCountsLikeTables) {
  EXPECT_EQ(note_text({"values-not-finite", {{"tensor", "x"}, {"count", 78219}, {"of", 96337920}}}),
            "tensor 'x': 78,219 of 96.3 M values are infinite or NaN and were left out of its range");
}

TEST(NoteText, ReduceRangeThatDoesNotHelpIsNoCure) {
  Note note{"pairs-saturate",
            {{"runtime", "ONNX Runtime"},
             {"signed", false},
             {"layer", "a"},
             {"saturated", 3},
             {"pairs", 9},
             {"in_sample", false},
             {"there", "19.7 dB"},
             {"alike", false},
             {"elsewhere", "21.4 dB"},
             {"helps", false},
             {"reduced", "16.6 dB"}}};
  EXPECT_TRUE(note_text(note).ends_with("‹reduce-range› does not help: weights in 7 bits measure 16.6 dB on every CPU"))
      << note_text(note);
}

TEST(NoteText, SaysHowMuchASessionOptionHelps) {
  Note note{"lost-by-default-optimizations",
            {{"version", "1.0"}, {"there", "3 dB"}, {"simulated", "30 dB"}, {"option", "a.b=c"}, {"gone", true}}};
  EXPECT_TRUE(note_text(note).ends_with("The session option a.b=c avoids it")) << note_text(note);
  note.fields.back().value = false;
  EXPECT_TRUE(note_text(note).ends_with("The session option a.b=c reduces it")) << note_text(note);
}

TEST(NoteText, BearsFieldsOfOtherTypesInAFile) {
  EXPECT_EQ(note_text({"everything-costs-no-more", {{"cost", 12}, {"found", "inf"}}}),
            "keeping everything costs no more than the set that was found: 12, not inf");
  EXPECT_EQ(note_text({"lost-limits", {{"layers", "a"}}}).substr(0, 44),
            "TensorRT-RTX 1.6.1 loses a limit of 0 Clips ");
  EXPECT_EQ(note_text({"lost-limits", {}}), "");
}

TEST(NoteText, CountsListsAndNamesSomeOfThem) {
  EXPECT_EQ(note_text({"lost-limits", {{"layers", Names{"a"}}}}).substr(0, 43),
            "TensorRT-RTX 1.6.1 loses a limit of 1 Clip ");
  EXPECT_EQ(note_text({"layers-in-bodies-left", {{"layers", Names{"a", "b"}}, {"format", "float32"}}}),
            "2 layers inside bodies of If, Loop or Scan stay in FP32: 'a', 'b'");
  EXPECT_EQ(note_text({"pairs-added", {{"pairs", Names{"a", "b", "c", "d", "e", "f", "g"}}, {"target", "openvino"}}}),
            "target openvino adds 7 pairs that the file does not have: a, b, c, d, e and 2 more");
}

TEST(NoteText, LeavesOutWhatIsNotThere) {
  EXPECT_EQ(note_text({"no-such-layer", {{"pattern", "fc3"}, {"nearest", Names{"fc1"}}}}),
            "‹layer-precisions›: no layer is named 'fc3'; nearest: fc1");
  EXPECT_EQ(note_text({"no-such-layer", {{"pattern", "fc3"}, {"nearest", Names{}}}}),
            "‹layer-precisions›: no layer is named 'fc3'");
  EXPECT_EQ(note_text({"job-interrupted", {{"journal", ""}}}),
            "interrupted: the report has only the figures measured so far");
}

TEST(NoteText, NamesCanNeitherMoveTheCursorNorPlaceMarks) {
  EXPECT_EQ(note_text({"output-changed", {{"output", "a\n‹int8›"}}}),
            "output 'a\\x0a\\u{2039}int8\\u{203A}' changed its values or its shape");
}

TEST(NoteText, OfAnotherVersionIsWhatItsReportHas) {
  Note note{"of-a-later-version", {{"count", 3}}};
  note.text = "three of them";
  EXPECT_EQ(note_text(note), "three of them");
  EXPECT_EQ(note_text(Note(std::string("a sentence"))), "a sentence");
}

TEST(NoteCatalogue, IsInOrderAndWellFormed) {
  const auto templates = note_templates();
  EXPECT_TRUE(std::ranges::is_sorted(templates, std::ranges::less_equal{}, &NoteTemplate::code)) << "one of each";
  for (const auto& [code, text] : templates) {
    EXPECT_EQ(std::ranges::count(text, '{'), std::ranges::count(text, '}')) << code;
    EXPECT_EQ(std::ranges::count(text, '['), std::ranges::count(text, ']')) << code;
    EXPECT_EQ(code.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), std::string_view::npos) << code;
  }
}

TEST(NoteJson, HasSentencesAndWhatTheyAreMadeOf) {
  VerifyReport report;
  report.warnings = {{"pairs-added", {{"pairs", Names{"a"}}, {"target", "openvino"}}}};
  report.notes = {Note(std::string("of an earlier version"))};
  const std::string text = report_to_json(report);
  const Json json = parse_json(text, "report.json");
  EXPECT_EQ(json.at("warnings").at(0).text(), "target openvino adds 1 pair that the file does not have: a");
  EXPECT_EQ(json_text(json.at("warning_codes")), R"([{"code":"pairs-added","pairs":["a"],"target":"openvino"}])");
  EXPECT_EQ(json.at("notes").at(0).text(), "of an earlier version");
  EXPECT_FALSE(json.contains("note_codes"));

  const VerifyReport again = verify_report_from_json(text, "report.json");
  ASSERT_EQ(again.warnings.size(), 1U);
  EXPECT_EQ(again.warnings[0].code, "pairs-added");
  EXPECT_EQ(again.warnings[0].fields, report.warnings[0].fields);
  EXPECT_EQ(report_to_json(again), text);
}

TEST(NoteJson, IsInWordsOfTheCommand) {
  VerifyReport report;
  report.warnings = {{"not-proven-by-running", {{"error", "‹data› is needed"}}}};
  const Json json = parse_json(report_to_json(report), "report.json");
  EXPECT_EQ(json.at("warnings").at(0).text(), "not proven by running both: --data is needed");
  EXPECT_EQ(json.at("warning_codes").at(0).at("error").text(), "--data is needed");
}

TEST(NoteJson, OfEarlierVersionsHasSentencesAlone) {
  Json json = parse_json(report_to_json(VerifyReport()), "report.json");
  json["warnings"] = Json::Array{"something is odd"};
  const VerifyReport report = verify_report_from_json(json_text(json), "report.json");
  EXPECT_EQ(report.warnings, std::vector{Note(std::string("something is odd"))});
}

TEST(NoteJson, KeepsFieldsOfEveryKind) {
  const Note note{"a", {{"truth", true}, {"count", -3}, {"figure", 0.5}, {"word", "w"}, {"words", Names{"x", "y"}}}};
  EXPECT_EQ(parse_as<Note>(json_text(json_of(note)), "note"), note);
}

}  // namespace
}  // namespace vernier
