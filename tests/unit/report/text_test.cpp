#include "base/text.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <istream>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "base/layout.h"
#include "cases.h"
#include "report/text/explanation_text.h"
#include "report/text/figures.h"
#include "report/text/first_screen.h"
#include "vernier/arithmetic.h"
#include "vernier/report/debug_loss.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/figures.h"
#include "vernier/report/text.h"
#include "vernier/report/verify.h"

namespace vernier {
namespace {

/// Every line fits, but for commands to paste; nothing but printable text and line ends.
void expect_fits(const std::string& text, std::size_t width) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_EQ(printable(line), line);
    EXPECT_TRUE(line.empty() || line.back() != ' ') << "trailing space: '" << line << "'";
    if (line.starts_with("              $ ")) continue;
    EXPECT_LE(display_width(line), width) << line;
  }
}

/// The text with every run of spaces and line ends as one space, to look for sentences that may be wrapped.
std::string unwrapped(const std::string& text) {
  std::istringstream words(text);
  std::string flat;
  for (std::string word; words >> word;) flat += word + " ";
  return flat;
}

TEST(DiagnoseText, TellsOfAMetRequirement) { expect_golden("diagnose_met.txt", report_to_text(requirement_met(), {})); }

TEST(DiagnoseText, ShowsTheCurveWithoutARequirement) {
  expect_golden("diagnose_open.txt", report_to_text(without_requirement(), {}));
}

TEST(DiagnoseText, SaysThatARequirementIsMetWithOneKindOfSumsAlone) {
  DiagnoseReport report = requirement_met();
  report.other_sums = OtherSums{Accumulate::Float16, *report.final_figures};
  report.other_sums->figures.outputs[0].sqnr_db = 23.1;
  report.other_sums->figures.passed = false;
  std::string text = unwrapped(report_to_text(report, {}));
  EXPECT_NE(text.find("the required 24 dB is met with FP32 accumulation. With FP16 accumulation, as measured on "
                      "TensorRT-RTX (--accumulate float16), 23.1 dB: the required 24 dB is missed."),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("Pass --accumulate float16 to keep layers until both meet it"), std::string::npos);
  EXPECT_NE(text.find("FP16 accumulation scores"), std::string::npos);
  report.other_sums->figures.passed = true;
  text = unwrapped(report_to_text(report, {}));
  EXPECT_NE(text.find("the required 24 dB is met. With FP16"), std::string::npos);
  EXPECT_EQ(text.find("until both meet it"), std::string::npos);
}

TEST(DiagnoseText, SaysThatNewSamplesDecideAgainstOtherSums) {
  DiagnoseReport report = requirement_met();
  report.requirement->confidence = 0.9;
  report.other_sums = OtherSums{Accumulate::Float16, *report.final_figures};
  report.other_sums->figures.passed = false;
  for (const double sqnr_db : {24.6, 23.1}) {
    report.other_sums->figures.outputs[0].sqnr_db = sqnr_db;
    const std::string text = unwrapped(report_to_text(report, {}));
    const bool of_new = sqnr_db > 24;
    EXPECT_EQ(text.find("the required 24 dB is met on these samples, but not with 90 % confidence on new ones") !=
                  std::string::npos,
              of_new)
        << text;
    EXPECT_EQ(text.find("the required 24 dB is missed") == std::string::npos, of_new) << text;
  }
}

/// The lines of a terminal of 80 columns that is 24 lines high.
std::vector<std::string> first_screen_of(const DiagnoseReport& report) {
  std::istringstream text(report_to_text(report, {.width = 80}));
  std::vector<std::string> lines;
  for (std::string line; lines.size() < 24 && std::getline(text, line);) lines.push_back(line);
  return lines;
}

std::size_t line_with(const std::vector<std::string>& lines, const std::string& start) {
  const auto found = std::ranges::find_if(lines, [&](const std::string& line) { return line.starts_with(start); });
  return static_cast<std::size_t>(found - lines.begin());
}

TEST(DiagnoseText, AnswersFourQuestionsOnTheFirstScreen) {
  DiagnoseReport report = requirement_met();
  report.explanation.emplace();
  report.explanation->examined = {report.layers.front().name};
  for (const char* id : {"one", "two", "three"}) {
    Cause& cause = report.explanation->causes.emplace_back();
    cause.id = id;
    cause.layer = report.layers.front().name;
    cause.confidence = 0.9;
    cause.sentence = "its input joins 'large', up to 1024, and 'small', below 5.6. One INT8 range cannot hold both.";
  }
  const std::vector<std::string> lines = first_screen_of(report);
  EXPECT_TRUE(lines.front().starts_with("Keep 3 of 12 layers in FP32")) << lines.front();
  const std::size_t damage = line_with(lines, "Damage "), why = line_with(lines, "Why "),
                    next = line_with(lines, "Next ");
  const std::size_t before = line_with(lines, "Before ");
  EXPECT_NE(unwrapped(lines[0] + " " + lines[1]).find(": SQNR 24.3 dB, the required 24 dB is met."), std::string::npos);
  EXPECT_LT(before, damage);
  EXPECT_EQ(lines[before], "Before        SQNR 12.3 dB, all in INT8");
  EXPECT_LT(damage, why);
  EXPECT_LT(why, next);
  ASSERT_LT(next, lines.size());
  EXPECT_EQ(lines[damage], "Damage        41.2 %  features.17.conv.0.0, kept in FP32");
  const auto command =
      std::ranges::find_if(lines, [](const auto& line) { return line.starts_with("              $ "); });
  ASSERT_NE(command, lines.end());
  EXPECT_NE((command - 1)->find("(untested):"), std::string::npos) << "a command stands under its sentence";
}

TEST(DiagnoseText, ACauseOfAHarmlessLayerIsNotOnTheFirstScreen) {
  DiagnoseReport report = nothing_needed();
  report.explanation.emplace();
  Cause& cause = report.explanation->causes.emplace_back();
  cause.layer = report.layers.front().name;
  cause.confidence = 0.9;
  for (LayerRow& row : report.layers) row.own_sqnr_db = 40;
  EXPECT_EQ(line_with(first_screen_of(report), "Why "), first_screen_of(report).size());
}

TEST(DiagnoseText, WhyNamesTheFirstCausesThatDoMoreThanALittle) {
  DiagnoseReport report = requirement_met();
  report.explanation.emplace();
  const auto blame = [&](std::size_t layer, const char* id, double share) {
    Cause& cause = report.explanation->causes.emplace_back();
    cause.id = cause.sentence = id;
    cause.layer = report.layers.at(layer).name;
    cause.confidence = 0.9;
    cause.share = share;
  };
  blame(1, "large-mean", 0.5);
  blame(2, "cancellation", 0.4);
  blame(3, "mask-constant", 0.03);
  std::vector<std::string> ids;
  const auto main_ids = [&] {
    ids.clear();
    for (const CauseGroup& group : main_causes(report)) ids.push_back(group.first->id);
    return ids;
  };
  EXPECT_EQ(main_ids(), (std::vector<std::string>{"large-mean", "cancellation"}));
  blame(0, "overflow", std::numeric_limits<double>::infinity());
  std::ranges::rotate(report.explanation->causes, report.explanation->causes.end() - 1);
  EXPECT_EQ(main_ids(), (std::vector<std::string>{"overflow", "large-mean"}));
  report.explanation->causes.erase(report.explanation->causes.begin() + 1, report.explanation->causes.begin() + 3);
  EXPECT_EQ(main_ids(), (std::vector<std::string>{"overflow"})) << "three percent are not why";
}

TEST(DiagnoseText, HasNoTableOfLayersThatWereNotMeasured) {
  DiagnoseReport report = requirement_met();
  EXPECT_NE(report_to_text(report, {}).find("\nLayers, "), std::string::npos);
  for (LayerRow& row : report.layers) {
    row.own_sqnr_db = row.propagated_db = row.sensitivity_db = row.share = std::nullopt;
  }
  EXPECT_EQ(report_to_text(report, {}).find("\nLayers, "), std::string::npos);
}

TEST(DiagnoseText, ALongCertificateIsFoldedUnlessItIsAskedFor) {
  DiagnoseReport report = requirement_met();
  const CertificateRow row = report.kept->certificate.front();
  report.kept->layers.clear();
  report.kept->certificate.clear();
  for (const LayerRow& layer : report.layers) {
    if (report.kept->layers.size() == 9) break;
    report.kept->layers.push_back(layer.name);
    report.kept->certificate.push_back(row);
    report.kept->certificate.back().layer = layer.name;
  }
  const std::string text = report_to_text(report, {});
  EXPECT_NE(unwrapped(text).find("tested one by one (-v lists each result)"), std::string::npos) << text;
  EXPECT_EQ(text.find("  without "), std::string::npos);
  EXPECT_NE(report_to_text(report, {.verbose = true}).find("  without "), std::string::npos);
}

/// 25 dB where 24 are asked, and 21 on new samples.
DiagnoseReport judged_by_bounds() {
  DiagnoseReport report = requirement_met();
  report.requirement->confidence = 0.9;
  for (RunFigures* run : {&report.all_low, &*report.final_figures}) run->outputs[0].sqnr_above = 21;
  report.all_low.outputs[0].sqnr_db = 25;
  report.all_low.passed = false;
  report.kept->certificate.front().metric = 22.5;
  report.kept->certificate.front().lower_bound = false;
  report.kept->certificate.front().on_samples = 25.1;
  return report;
}

TEST(DiagnoseText, NamesTheBoundBesideEachFigureThatItDecides) {
  const DiagnoseReport report = judged_by_bounds();
  const std::string text = unwrapped(report_to_text(report, {}));
  EXPECT_NE(text.find("SQNR 25.0 dB, above 21.0 dB on new samples (90 % sure), all in INT8"), std::string::npos)
      << text;
  EXPECT_NE(text.find("on these samples bound on new samples (90 %) of the allowed error"), std::string::npos) << text;
  EXPECT_NE(text.find("25.1 dB 22.5 dB"), std::string::npos) << text;
  EXPECT_NE(deploy_markdown(report).find(", above 21.0 dB on new samples (90 % sure)"), std::string::npos);
  const DiagnoseReport again = diagnose_report_from_json(report_to_json(report), "report.json");
  EXPECT_EQ(again.kept->certificate.front().on_samples, 25.1);
}

TEST(DiagnoseText, HasABoundForEachOption) {
  DiagnoseReport report = judged_by_bounds();
  Alternative row;
  row.change = "keep";
  row.end = AlternativeEnd::Met;
  row.figures = report.final_figures;
  report.alternatives = {row};
  const std::string text = unwrapped(report_to_text(report, {}));
  EXPECT_NE(text.find("result bound on new samples"), std::string::npos) << text;
  EXPECT_NE(text.find("24.3 dB 21.0 dB"), std::string::npos) << text;
}

TEST(DiagnoseText, WarnsWhereSqnrAndTaskDisagree) {
  DiagnoseReport report = requirement_met();
  EXPECT_EQ(report_to_text(report, {}).find("disagree"), std::string::npos);
  report.all_low.outputs[0].top1_agreement = 0.99;
  report.final_figures->outputs[0].top1_agreement = 0.95;
  report.top1_change = AgreementChange{1, 0, 0.5};  // one sample, as chance does every second time
  EXPECT_EQ(report_to_text(report, {}).find("disagree"), std::string::npos);
  report.top1_change = AgreementChange{5, 0, 1.0 / 32};
  const std::string text = unwrapped(report_to_text(report, {}));
  EXPECT_NE(text.find("is met. Top-1 agreement with the float model: 95.0 %."), std::string::npos) << text;
  EXPECT_NE(
      text.find("SQNR and task disagree: compared with everything in INT8, SQNR rose, but top-1 agreement fell from "
                "99.0 % to 95.0 %. It was lost in 5 of 20 samples and won in 0, more than chance."),
      std::string::npos)
      << text;
  report.all_low.outputs[0].top1_agreement = report.final_figures->outputs[0].top1_agreement = std::nullopt;
  EXPECT_EQ(unwrapped(report_to_text(report, {})).find("Top-1 agreement"), std::string::npos);
}

TEST(DiagnoseText, FiguresOfOneSentenceAreOfOneNetwork) {
  DiagnoseReport report = requirement_met();
  report.requirement.reset();
  report.kept.reset();
  report.files.clear();
  const auto run = [&](double db, double top1) {
    RunFigures figures = *requirement_met().final_figures;
    figures.outputs[0].sqnr_db = db;
    figures.outputs[0].sqnr_interval = SamplingInterval{db - 1, db + 1};
    figures.outputs[0].top1_agreement = top1;
    return figures;
  };
  report.final_figures.reset();
  report.all_low = run(33.4, 0.99);
  report.repaired = run(39.5, 0.98);
  std::string text = unwrapped(report_to_text(report, {}));
  EXPECT_NE(
      text.find("with all accepted repairs: SQNR 39.5 dB. 95 % confidence over these 20 samples: 38.5 to 40.5 dB. "
                "Top-1 agreement with the float model: 98.0 %."),
      std::string::npos)
      << text;
  report.final_figures = run(38.9, 0.97);
  text = unwrapped(report_to_text(report, {}));
  EXPECT_NE(
      text.find("with all accepted repairs: SQNR 38.9 dB. 95 % confidence over these 20 samples: 37.9 to 39.9 dB. "
                "Top-1 agreement with the float model: 97.0 %."),
      std::string::npos)
      << "those of the output model: " << text;
}

TEST(DiagnoseText, CountsNoLayerThatItExcludes) {
  DiagnoseReport report = nothing_needed();
  report.excluded = 1;
  const std::string text = unwrapped(report_to_text(report, {}));
  EXPECT_NE(text.find("No layer needs FP32: everything in INT8 except 1 excluded layer gives "), std::string::npos)
      << text;
}

TEST(DiagnoseText, SaysHowSureAFigureIsAndHowManySamplesWouldDecide) {
  DiagnoseReport report = requirement_met();  // 24.3 dB of 24, 20 samples
  report.final_figures->outputs[0].sqnr_db = 24.3;
  report.final_figures->outputs[0].sqnr_interval = SamplingInterval{23.7, 24.9};  // 0.6 to either side
  std::string text = unwrapped(report_to_text(report, {}));
  EXPECT_NE(text.find("95 % confidence over these 20 samples: 23.7 to 24.9 dB."), std::string::npos) << text;
  EXPECT_NE(text.find("These samples do not decide 24 dB: about 80 would"), std::string::npos) << text;
  report.final_figures->outputs[0].sqnr_interval = SamplingInterval{24.1, 24.9};
  EXPECT_EQ(unwrapped(report_to_text(report, {})).find("do not decide"), std::string::npos);
  report.final_figures->outputs[0].sqnr_interval.reset();
  EXPECT_EQ(unwrapped(report_to_text(report, {})).find("confidence over"), std::string::npos);
}

TEST(DiagnoseText, SaysWhatFewSamplesCannotExclude) {
  DiagnoseReport report = requirement_met();  // 24 dB, 20 samples
  report.requirement->confidence = 0.9;
  report.samples = 10;
  report.cross_fit = true;
  OutputFigure& figure = report.final_figures->outputs[0];
  figure.sqnr_db = 30.3;
  figure.sqnr_above = 29.9;
  std::string text = unwrapped(report_to_text(report, {}));  // (1 - 0.206)^10 = 0.1
  EXPECT_NE(
      text.find("On as many new samples: above 29.9 dB, 90 % sure; up to 1 new sample in 4 may be worse than all 10. "),
      std::string::npos)
      << text;
  report.samples = 30;
  text = unwrapped(report_to_text(report, {}));
  EXPECT_NE(text.find("On as many new samples: above 29.9 dB, 90 % sure. "), std::string::npos) << text;
  report.cross_fit = false;  // --no-split
  text = unwrapped(report_to_text(report, {}));
  EXPECT_EQ(text.find("90 % sure"), std::string::npos) << text;
  EXPECT_NE(text.find("These samples calibrated the ranges too, so they cannot show what new ones get."),
            std::string::npos)
      << text;
}

TEST(DiagnoseText, AddsUpTheTimeOfAStepThatWasTakenTwice) {
  DiagnoseReport report = requirement_met();
  report.phases = {{"reference", 1}, {"search", 2}, {"verify", 0.5}, {"search", 1.5}};
  EXPECT_NE(report_to_text(report, {.verbose = true}).find("5.0 s: reference 1.0, search 3.5, verify 0.5"),
            std::string::npos);
  EXPECT_NE(report_to_text(report, {}).find("Time          5.0 s; 9 evaluations"), std::string::npos);
}

TEST(DiagnoseText, SaysWhatThereIsOfADiagnosisThatWasInterrupted) {
  DiagnoseReport report = requirement_met();
  report.interrupted = true;
  report.kept->end = SearchEnd::Stopped;
  std::string text = unwrapped(report_to_text(report, {}));
  EXPECT_EQ(text.rfind("Stopped early, so fewer layers may be enough", 0), 0U) << text;
  EXPECT_NE(text.find("Run the same command again to get a certified set."), std::string::npos);
  report.kept->journal = "j.jsonl";
  text = unwrapped(report_to_text(report, {}));
  EXPECT_NE(text.find("Run the same command with --resume to get a certified set."), std::string::npos);
  report.kept.reset();
  text = unwrapped(report_to_text(report, {}));
  EXPECT_EQ(text.rfind("Interrupted before the search: everything in INT8 measures ", 0), 0U) << text;
  report.all_low.outputs.clear();
  text = unwrapped(report_to_text(report, {}));
  EXPECT_EQ(text.rfind("Interrupted before the network was measured with everything in INT8. The report has "
                       "the errors of single layers.",
                       0),
            0U)
      << text;
  EXPECT_NE(text.find("Layers, most damaging first"), std::string::npos);
  for (LayerRow& row : report.layers) row.sensitivity_db.reset();
  text = unwrapped(report_to_text(report, {}));
  EXPECT_NE(text.find("Layers, largest local error first"), std::string::npos);
  EXPECT_EQ(text.find("sensitivity dB"), std::string::npos) << "no column of dashes";
  report.layers.clear();
  text = unwrapped(report_to_text(report, {}));
  EXPECT_EQ(text.rfind("Interrupted before the network was measured with everything in INT8.", 0), 0U) << text;
}

TEST(DiagnoseText, SaysWhatProveMinimumFoundOrWhyItFoundNothing) {
  DiagnoseReport report = requirement_met();
  EXPECT_EQ(unwrapped(report_to_text(report, {})).find("cheaper"), std::string::npos) << "nobody asked";
  report.kept->minimum_asked = true;
  report.kept->cost = 9;
  const auto said = [&] { return unwrapped(report_to_text(report, {})); };
  EXPECT_NE(said().find("--prove-minimum found no bound: a set failed although a part of it passed"),
            std::string::npos);
  report.kept->end = SearchEnd::Stopped;
  EXPECT_NE(said().find("--prove-minimum found no bound: the search ended first"), std::string::npos);
  report.kept->end = SearchEnd::Certified;
  report.kept->lower_bound = 7;
  EXPECT_NE(said().find("no set that passes costs less than 7 of its 9 layers, if keeping more"), std::string::npos);
  report.kept->lower_bound = 9;
  EXPECT_NE(said().find("no set that passes costs less than 9 layers, if keeping more"), std::string::npos);
}

TEST(DiagnoseText, CallsWhatItFindsHarmlessWhereNothingIsKept) {
  DiagnoseReport report = requirement_met();
  report.explanation.emplace();
  report.explanation->examined = {"a"};
  EXPECT_NE(report_to_text(report, {}).find("\nCauses\n"), std::string::npos);
  report.kept->layers.clear();
  report.kept->end = SearchEnd::NothingNeeded;
  EXPECT_NE(report_to_text(report, {}).find("\nFound, but harmless in this model\n"), std::string::npos);
}

TEST(VerifyText, SaysThatARequirementIsMetWithOneKindOfSumsAlone) {
  VerifyReport report = verified();
  report.other_sums = OtherSums{Accumulate::Float16, report.figures};
  report.figures.passed = true;
  EXPECT_NE(unwrapped(report_to_text(report, {})).find("is met with FP32 accumulation. With FP16 accumulation, as"),
            std::string::npos);
  report.figures.passed = false;
  report.other_sums->accumulate = Accumulate::Float32;
  EXPECT_NE(unwrapped(report_to_text(report, {})).find("is missed. With FP32 accumulation, "), std::string::npos);
}

TEST(DiagnoseText, DoesNotCallOutOneLayerOfOne) {
  DiagnoseReport report = without_requirement();
  report.layers.resize(1);
  EXPECT_EQ(report_to_text(report, {}).find("One of 1 layer"), std::string::npos);
}

TEST(DiagnoseText, AdvisesByWhatWasMeasuredNotByWhatWasPredicted) {
  DiagnoseReport report = without_requirement();
  report.all_low.outputs[0].sqnr_db = 20.5;
  report.curve = {{0, 20.5, 20.5}, {1, 23.9, 20.6}, {2, 27.4, 25.2}, {3, 30.9, {}}};
  EXPECT_NE(unwrapped(report_to_text(report, {})).find("25 dB would keep about 2 layers (measured"), std::string::npos);
}

TEST(DiagnoseText, AdvisesTheFirstPointThatReachesTheFigure) {
  DiagnoseReport report = without_requirement();
  report.layers.resize(report.layers.size(), report.layers.front());
  while (report.layers.size() < 60) report.layers.push_back(report.layers.front());
  report.all_low.outputs[0].sqnr_db = 20.5;
  report.curve = {{0, 20.5, 20.5}, {2, 23.9, 22.2}, {6, 27.4, 22.9}};
  EXPECT_NE(unwrapped(report_to_text(report, {})).find("22 dB would keep about 2 layers (measured"), std::string::npos);
}

TEST(DiagnoseText, SaysWhenNothingIsLeftInTheLowFormat) {
  DiagnoseReport report = requirement_met();
  for (const LayerRow& row : report.layers) report.kept->layers.push_back(row.name);
  report.kept->layers.erase(report.kept->layers.begin(), report.kept->layers.end() - 12);
  ASSERT_EQ(report.layers.size(), 12U);
  const std::string text = unwrapped(report_to_text(report, {}));
  EXPECT_NE(text.find("Nothing is left in INT8."), std::string::npos);
  EXPECT_NE(text.find("Require less (everything in INT8 measures 12.3 dB)"), std::string::npos) << text;
  EXPECT_EQ(text.find("--qat"), std::string::npos) << "no command that would refuse: " << text;
  report.trainable = true;
  EXPECT_NE(unwrapped(report_to_text(report, {})).find("vernier fix --qat DIR writes the configuration"),
            std::string::npos);
  report.files["qat"] = "qat/qat.py";
  EXPECT_NE(unwrapped(report_to_text(report, {})).find("Train the network in ModelOpt with qat/qat.py."),
            std::string::npos);
  report.repaired = report.all_low;
  report.repaired->outputs[0].sqnr_db = 19.5;
  EXPECT_NE(unwrapped(report_to_text(report, {}))
                .find("Require less (everything in INT8 with all accepted repairs measures 19.5 dB)"),
            std::string::npos);
  // Only the bound on new samples needs the last layer.
  report.kept->certificate = {{.layer = report.layers[0].name, .metric = 18, .on_samples = 45.7}};
  const std::string by_bound = unwrapped(report_to_text(report, {}));
  EXPECT_NE(by_bound.find("On these samples the other layers are enough without"), std::string::npos) << by_bound;
  EXPECT_EQ(by_bound.find("Every layer is needed"), std::string::npos);
}

TEST(DiagnoseText, ALadderRaisesLayersToFormats) {
  DiagnoseReport report = requirement_met();
  report.layers[0].kept = report.layers[1].kept = true;
  report.kept->ladder =
      LadderReport{{{Format::Int8, 10, 0}, {Format::Float16, 1, 0}, {Format::Float32, 1, 0}},
                   {{report.layers[0].name, Format::Float16}, {report.layers[1].name, Format::Float32}}};
  const std::string text = unwrapped(report_to_text(report, {}));
  EXPECT_EQ(text.find("Raise 1 of 12 layers to FP16 and 1 to FP32 ("), 0U) << text;
  EXPECT_NE(text.find(report.layers[0].name + ", kept in FP16"), std::string::npos) << text;
  EXPECT_NE(text.find(report.layers[1].name + ", kept in FP32"), std::string::npos) << text;
  report.kept->end = SearchEnd::Stopped;
  EXPECT_NE(unwrapped(report_to_text(report, {})).find("may be enough: raise 1 of 12 layers to FP16"),
            std::string::npos);
}

TEST(DiagnoseText, SharesBesideTheCauseOfAnEngineAreThoseOfTheSimulation) {
  DiagnoseReport report = requirement_met();
  Cause& cause = report.explanation.emplace().causes.emplace_back();
  cause.id = "engine-loss";
  cause.layer = report.layers.front().name;
  cause.confidence = 0.9;
  cause.share = 0.9;
  const std::string text = unwrapped(report_to_text(report, {}));
  EXPECT_NE(text.find("Damage In the simulation: 41.2 %"), std::string::npos) << text;
}

TEST(DiagnoseText, SharesOfARepairedNetworkSaySo) {
  DiagnoseReport report = requirement_met();
  EXPECT_EQ(report_to_text(report, {}).find("after the repairs"), std::string::npos);
  report.repaired = report.all_low;
  const std::string text = unwrapped(report_to_text(report, {}));
  EXPECT_NE(text.find("Damage After the repairs: 41.2 %"), std::string::npos) << text;
  EXPECT_NE(text.find("Layers after the repairs, most damaging first"), std::string::npos) << text;
  report.kept->layers.clear();
  report.kept->end = SearchEnd::NothingNeeded;
  EXPECT_EQ(report_to_text(report, {}).find("\nDamage"), std::string::npos) << "what is left is allowed";
}

TEST(DiagnoseText, TellsTheFigureOnNewSamplesFromThatOfVerify) {
  DiagnoseReport report = requirement_met();
  report.in_sample = report.final_figures;
  report.in_sample->outputs[0].sqnr_db = 26.1;
  const std::string text = unwrapped(report_to_text(report, {}));
  EXPECT_NE(text.find(": 26.1 dB on these samples, 24.3 dB on held-out ones, the required 24 dB is met"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("the output model, on held-out samples"), std::string::npos) << text;
  EXPECT_NE(text.find("the output model, on these samples"), std::string::npos) << text;
}

TEST(DiagnoseText, TheGivenFileIsVerifiedOnTheSameSamples) {
  DiagnoseReport report = requirement_met();
  report.command = "vernier fix mobilenetv2.onnx --from theirs.onnx --int8 --data photos.npy --min-sqnr 24 -o out";
  report.given_file = "theirs.onnx";
  report.given = report.all_low;
  EXPECT_NE(report_to_text(report, {})
                .find("$ vernier verify mobilenetv2.onnx theirs.onnx --data photos.npy --min-sqnr 24\n"),
            std::string::npos)
      << report_to_text(report, {});
}

TEST(DiagnoseText, KeepsNamesWholeWhereNoTerminalLimitsTheLine) {
  DiagnoseReport report = requirement_met();
  report.layers[0].name = std::string(32, 'a') + std::string(32, 'b');
  TextOptions options;
  options.width = 60;
  EXPECT_EQ(report_to_text(report, options).find(report.layers[0].name), std::string::npos);
  options.whole_names = true;
  EXPECT_NE(report_to_text(report, options).find(report.layers[0].name), std::string::npos);
  report.layers[0].name += std::string(60, 'c');  // of a fused layer: no reader follows such a line
  EXPECT_EQ(report_to_text(report, options).find(report.layers[0].name), std::string::npos);
}

TEST(DiagnoseText, SaysWhatToDoWhenNothingHelps) {
  expect_golden("diagnose_impossible.txt", report_to_text(impossible(), {}));
}

TEST(DiagnoseText, SaysThatNothingIsNeeded) {
  expect_golden("diagnose_nothing.txt", report_to_text(nothing_needed(), {}));
}

TEST(DiagnoseText, SurvivesHostileNames) { expect_golden("diagnose_hostile.txt", report_to_text(hostile(), {})); }

TEST(VerifyText, TellsOfAMissedRequirement) { expect_golden("verify.txt", report_to_text(verified(), {})); }

TEST(VerifyText, RanksByTheErrorAtTheOutputsWhenOwnErrorsWereNotMeasured) {
  VerifyReport report = verified();
  for (LayerRow& row : report.layers) {
    row.own_sqnr_db.reset();
    row.propagated_db.reset();
  }
  const std::string text = report_to_text(report, {});
  EXPECT_NE(text.find("Layers, largest error at their outputs first"), std::string::npos);
  EXPECT_NE(text.find("Conv_110"), std::string::npos);
  EXPECT_EQ(text.find("local dB"), std::string::npos);
}

// What to do has the samples of the command, on one line that can be copied.
TEST(VerifyText, TheRepairReadsTheSameSamples) {
  VerifyReport report = verified();
  report.command =
      "vernier verify a.onnx b.onnx --data 'my photos' --image letterbox:416 --image-mean 0 -1 --min-sqnr 24 -o out";
  report.float_file = "a.onnx";
  report.typed_file = "b.onnx";
  report.figures.passed = false;
  report.placements = {{Target::TensorRt, 0, 0, "", ""}, {Target::OpenVino, 4, 0, "", ""}};
  const std::string text = report_to_text(report, {.width = 60});
  EXPECT_NE(
      text.find("$ vernier fix a.onnx --from b.onnx --int8 --data 'my photos' --image letterbox:416 --image-mean 0 -1"),
      std::string::npos)
      << text;
  EXPECT_EQ(text.find("DATA"), std::string::npos) << text;
  EXPECT_EQ(text.find("0 pairs"), std::string::npos) << text;
  EXPECT_NE(text.find("can fuse all 4 pairs"), std::string::npos) << text;
  report.random_data = true;
  EXPECT_NE(report_to_text(report, {}).find("--data DATA"), std::string::npos);
}

TEST(VerifyText, AFileThatKeepsAllLayersInFloatIsNotTakenOver) {
  VerifyReport report = verified();
  report.placements = {{Target::TensorRt, 1, 0, "", ""}};
  for (LayerRow& row : report.layers) row.format = Format::Float32;
  const std::string text = report_to_text(report, {});
  EXPECT_EQ(text.find("--from"), std::string::npos) << text;
  EXPECT_NE(text.find("$ vernier fix mobilenetv2.onnx --int8"), std::string::npos) << text;
}

TEST(VerifyText, WhatOnnxRuntimeLosesByDefaultStandsInTheAnswer) {
  VerifyReport report = verified();
  report.figures.passed = true;
  report.notes = {{"lost-by-default-optimizations",
                   {{"version", "1.31.1"}, {"missed", true}, {"there", "1.8 dB"}, {"simulated", "40.9 dB"}}}};
  EXPECT_NE(report_to_text(report, {}).find("but 1.8 dB in ONNX Runtime"), std::string::npos)
      << report_to_text(report, {});
  EXPECT_EQ(reservation_of(report).badge, "Met, except with ONNX Runtime's defaults");
}

TEST(DebugLossText, NamesNoOutputWhereNoneWasMeasured) {
  DebugLossReport report;
  report.defects.push_back({"wrong-axis", "w", "the scales run along axis 0", "quantize again"});
  EXPECT_EQ(report_to_text(report, {}).find("Output"), std::string::npos) << report_to_text(report, {});
}

TEST(VerifyText, TheRepairIsForAnEngineThatFusesAllPairs) {
  VerifyReport report = verified();
  report.placements = {
      {Target::TensorRt, 4, 65, "", ""}, {Target::OnnxRuntime, 4, 0, "", ""}, {Target::OpenVino, 4, 2, "", ""}};
  EXPECT_NE(report_to_text(report, {}).find(" --target onnxruntime -o fixed"), std::string::npos);
  report.placements[0].not_fused = 0;
  EXPECT_EQ(report_to_text(report, {}).find("--target"), std::string::npos) << "the default does as well";
  report.placements[0].not_fused = 65;
  report.placements[1].not_fused = 1;
  EXPECT_EQ(report_to_text(report, {}).find("--target"), std::string::npos) << "nobody knows which is meant";
  report.placements[1].not_fused = 0;
  report.command += " --target tensorrt";
  EXPECT_EQ(report_to_text(report, {}).find("onnxruntime -o"), std::string::npos) << "the user chose";
}

TEST(Text, FitsTheWidth) {
  for (const std::size_t width : {80U, 100U, 140U}) {
    const TextOptions options{width, 15, false};
    for (const DiagnoseReport& report : {requirement_met(), without_requirement(), impossible(), nothing_needed()}) {
      expect_fits(report_to_text(report, options), width);
    }
    expect_fits(report_to_text(verified(), options), width);
  }
  expect_fits(report_to_text(hostile(), {}), 100);  // five event columns do not fit into 80
}

TEST(Text, OfARunThatFailedOnItsFirstStepsIsStillText) {
  EXPECT_FALSE(report_to_text(DiagnoseReport{}, {}).empty());
  EXPECT_FALSE(report_to_text(VerifyReport{}, {}).empty());
}

TEST(Text, ShowsAllRowsWhenTopIsZero) {
  const std::string text = report_to_text(requirement_met(), {100, 0, false});
  EXPECT_NE(text.find("Conv_110"), std::string::npos);
  EXPECT_EQ(text.find("more layer"), std::string::npos);
  EXPECT_NE(report_to_text(requirement_met(), {100, 4, false}).find("... and 8 more layers"), std::string::npos);
}

TEST(Text, ColorAddsNothingButColor) {
  std::string colored = report_to_text(requirement_met(), {100, 15, true});
  EXPECT_NE(colored.find("\x1b[1;32m"), std::string::npos);
  for (std::size_t at; (at = colored.find('\x1b')) != std::string::npos;) {
    colored.erase(at, colored.find('m', at) - at + 1);
  }
  EXPECT_EQ(colored, report_to_text(requirement_met(), {100, 15, false}));
}

TEST(DiagnoseText, SaysWhenTheWrittenFileMissesWhatTheSearchPassed) {
  DiagnoseReport report = requirement_met();
  report.final_figures->outputs[0].sqnr_db = 23.96;
  report.final_figures->passed = false;
  const std::string text = unwrapped(report_to_text(report, {}));
  EXPECT_EQ(text.find("The requirement is missed"), 0U);
  EXPECT_NE(text.find("measures an SQNR of 23.96 dB"), std::string::npos) << "24.0 dB against 24 dB would read as met";
  EXPECT_EQ(text.find("trtexec"), std::string::npos);
}

TEST(DiagnoseText, DoesNotCallAStoppedSearchMinimal) {
  DiagnoseReport report = requirement_met();
  report.kept->end = SearchEnd::Stopped;
  report.kept->certified = false;
  report.kept->certificate.clear();
  const std::string text = unwrapped(report_to_text(report, {}));
  EXPECT_EQ(text.find("Stopped early"), 0U);
  EXPECT_EQ(text.find("certified 1-minimal"), std::string::npos);
}

TEST(DiagnoseText, ClaimsNoTestOfLayersThatAreKeptForTheirCost) {
  DiagnoseReport report = requirement_met();
  report.kept->cost_unit = CostUnit::Bytes;
  report.kept->certificate.clear();
  report.kept->not_cheaper = report.kept->layers.size();
  std::string text = unwrapped(report_to_text(report, {}));
  EXPECT_EQ(text.find("certified 1-minimal"), std::string::npos);
  EXPECT_NE(text.find("saves nothing (--cost bytes)"), std::string::npos) << text;
  EXPECT_NE(text.find("none was dropped for a test"), std::string::npos);
  EXPECT_EQ(deploy_markdown(report).find("certified 1-minimal"), std::string::npos);
  report.kept->certificate = {{report.kept->layers[0], 19, 3}};
  report.kept->not_cheaper -= 1;
  text = unwrapped(report_to_text(report, {}));
  EXPECT_NE(text.find("dropping a layer either saves nothing or fails"), std::string::npos) << text;
}

TEST(DiagnoseText, ClaimsNoFigureThatWasNotMeasured) {
  DiagnoseReport report = requirement_met();
  report.final_figures.reset();
  report.typed.reset();
  report.files.clear();
  const std::string text = unwrapped(report_to_text(report, {}));
  EXPECT_EQ(text.find("Keep 3 of 12 layers"), 0U);
  EXPECT_NE(text.find("met in simulation"), std::string::npos);
  EXPECT_EQ(text.find("verify of"), std::string::npos);
  EXPECT_NE(text.find("Pass -o FOLDER"), std::string::npos);
}

TEST(DiagnoseText, HoldsACertificateOfAnEarlierVersionToTheLimitOfItsSearch) {
  DiagnoseReport report = requirement_met();
  report.kept->room = 1.05;
  const double limit = report.requirement->limits.front().value;
  report.kept->certificate[0] = {report.kept->layers[0], limit + 0.05, 0.989};
  const std::string text = unwrapped(report_to_text(report, {}));
  EXPECT_NE(text.find("certified 1-minimal for 95 % of the allowed error: dropping"), std::string::npos) << text;
  EXPECT_NE(text.find("1.04x"), std::string::npos) << "0.989 of the whole allowance misses the stricter limit";
  EXPECT_EQ(text.find("0.99x"), std::string::npos);
}

TEST(DiagnoseText, AsksForMoreSamplesThanThereAre) {
  const SamplingInterval interval{19, 21};
  const std::string text = undecided_text(interval, 20.3, 20, "20 dB", 80);
  EXPECT_NE(text.find("about 1,503 would"), std::string::npos) << text;
  EXPECT_EQ(undecided_text(interval, 19.01, 20.99, "20.99 dB", 80).find("about 7"), std::string::npos)
      << "fewer than there are cannot decide more";
}

TEST(DiagnoseText, WritesHugeFactorsOfTheAllowanceShort) {
  DiagnoseReport report = requirement_met();
  report.kept->certificate[0].damage = 1.5371e45;
  EXPECT_NE(report_to_text(report, {}).find(" > 1e+09x\n"), std::string::npos);
}

TEST(DiagnoseText, SaysThatAnUnstableSetIsNotProven) {
  DiagnoseReport report = requirement_met();
  report.kept->end = SearchEnd::Unstable;
  report.kept->certified = false;
  report.kept->certificate.pop_back();
  const std::string text = unwrapped(report_to_text(report, {}));
  EXPECT_NE(text.find("not certified"), std::string::npos);
  EXPECT_NE(text.find("--threads 1"), std::string::npos);
}

TEST(DiagnoseText, NamesTheOutputThatDecides) {
  const std::string text = unwrapped(report_to_text(hostile(), {}));
  EXPECT_NE(text.find("30.0 dB at output 'boxes\\x09tab', the required 30 dB is met"), std::string::npos) << text;
}

TEST(DiagnoseText, SaysOnWhichGpuTheNetworksRan) {
  DiagnoseReport report = requirement_met();
  report.runner = "trt-sim";
  report.onnxruntime_version = "1.31.1 on NVIDIA H200 (cuda:0)";
  report.on_gpu = true;
  const std::string text = report_to_text(report, {});
  EXPECT_NE(text.find("trt-sim: simulated on a GPU, by documented TensorRT rules"), std::string::npos) << text;
  EXPECT_NE(text.find("ONNX Runtime  1.31.1 on NVIDIA H200 (cuda:0)"), std::string::npos) << text;
  EXPECT_TRUE(diagnose_report_from_json(report_to_json(report), "report.json").on_gpu);
  report.on_gpu = false;
  EXPECT_EQ(report_to_text(report, {}).find("H200"), std::string::npos) << "the version alone decides nothing";
}

}  // namespace
}  // namespace vernier
