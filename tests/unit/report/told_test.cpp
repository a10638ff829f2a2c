// Every form of a report is in words of the command; its fields are not (vernier/marks.h).
#include "report/told.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cases.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/gate.h"
#include "vernier/report/kept_set.h"
#include "vernier/report/text.h"
#include "vernier/report/verify.h"

namespace vernier {
namespace {

bool has_text(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Told, IsInWordsOfTheCommandAndPrintable) {
  EXPECT_EQ(told("‹int8›: \x1b"), "--int8: \\x1b");
  EXPECT_EQ(told("'" + std::string("\\u{2039}") + "'"), "'\\u{2039}'") << "what was made printable stays so";
}

DiagnoseReport marked() {
  DiagnoseReport report = requirement_met();
  const std::vector<std::string> texts{"‹int8› of ‹vernier fix›"};
  const std::vector<Note> notes(texts.begin(), texts.end());
  report.warnings = notes;
  report.notes = notes;
  report.kept->notes = notes;
  report.kept->assumed = texts;
  report.kept->proven = texts;
  report.kept->decided_by = DecidedBy::Labels;
  report.kept->objective = "‹min-top1› 0.9 by the labels of l.npy";
  return report;
}

TEST(Told, AreAllFormsOfAReport) {
  const DiagnoseReport report = marked();
  const Gate gate = gate_of(report);
  for (const std::string& text :
       {report_to_text(report, {}), debug_precision_to_text(report, {}), report_to_json(report), report_to_html(report),
        deploy_markdown(report), gate_to_junit(gate), gate_to_github(gate), gate_to_markdown(gate)}) {
    EXPECT_FALSE(has_text(text, "‹") || has_text(text, "›") || has_text(text, "u2039") || has_text(text, "u{2039"))
        << text;
  }
  EXPECT_TRUE(has_text(report_to_text(report, {}), "--int8 of vernier fix"));
  EXPECT_TRUE(has_text(report_to_json(report), "\"--min-top1 0.9 by the labels of l.npy\""));
  EXPECT_TRUE(has_text(gate_to_github(gate), "--int8 of vernier fix"));
  VerifyReport verify = verified();
  verify.warnings = report.warnings;
  EXPECT_TRUE(has_text(report_to_text(verify, {}), "--int8 of vernier fix"));
  EXPECT_TRUE(has_text(report_to_json(verify), "\"--int8 of vernier fix\""));
}

TEST(Told, AreReportsThatWereReadAgain) {
  const DiagnoseReport again = diagnose_report_from_json(report_to_json(marked()), "report.json");
  EXPECT_EQ(again.warnings.front().text, "--int8 of vernier fix") << "as it stands in the file";
  EXPECT_EQ(report_to_text(again, {}), report_to_text(marked(), {}));
}

TEST(Told, AreNoNames) {
  DiagnoseReport report = requirement_met();
  report.layers[0].name = "‹int8›";
  EXPECT_TRUE(has_text(report_to_json(report), "\"‹int8›\"")) << "data";
  EXPECT_TRUE(has_text(report_to_text(report, {}), "\\u{2039}int8\\u{203A}"));
}

}  // namespace
}  // namespace vernier
