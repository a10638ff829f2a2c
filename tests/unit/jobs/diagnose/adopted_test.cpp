// Whether the repaired network becomes the answer: not at the price of a figure that nobody asked for.
#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jobs/diagnose/alternatives.h"
#include "vernier/diagnose.h"
#include "vernier/fix.h"
#include "vernier/format.h"
#include "vernier/report/alternatives.h"
#include "vernier/report/causes.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/figures.h"
#include "vernier/report/kept_set.h"
#include "vernier/requirement.h"
#include "vernier/sinks.h"

namespace vernier {
namespace {

OutputFigure output(std::string name, double sqnr_db, std::optional<double> top1 = std::nullopt) {
  OutputFigure figure;
  figure.name = std::move(name);
  figure.sqnr_db = sqnr_db;
  figure.top1_agreement = top1;
  return figure;
}

/// Found first, and repaired with less work; `limit` asks for scores alone.
DiagnoseReport with(OutputFigure scores, OutputFigure boxes, Limit limit = {20, "scores"}) {
  DiagnoseReport report;
  report.requirement = Requirement{Metric::MinSqnrDb, {std::move(limit)}};
  report.kept.emplace();
  for (const char* change : {"keep", "fix"}) {
    Alternative row;
    row.change = change;
    row.low = {Format::Int8};
    row.end = AlternativeEnd::Met;
    row.kept = change == std::string("keep") ? 3 : 1;
    row.cost = static_cast<double>(row.kept);
    row.lowered = 10;
    row.figures = RunFigures{{output("scores", 30, 1.0), output("boxes", 30)}, true, 0.5};
    report.alternatives.push_back(row);
  }
  report.alternatives[1].repairs = 2;
  report.alternatives[1].figures->outputs = {std::move(scores), std::move(boxes)};
  return report;
}

TEST(Adopted, WhatIsAskedForMayBeUsedUp) {
  DiagnoseReport report = with(output("scores", 21, 1.0), output("boxes", 30));
  EXPECT_TRUE(adopt_best({}, report));
  EXPECT_TRUE(report.alternatives[1].adopted && !report.alternatives[1].worse);
}

TEST(Adopted, NoClassThatChanges) {
  DiagnoseReport report = with(output("scores", 32, 0.875), output("boxes", 30));
  EXPECT_FALSE(adopt_best({}, report));
  ASSERT_TRUE(report.alternatives[1].worse);
  EXPECT_TRUE(report.alternatives[1].worse->top1 && report.alternatives[1].worse->output == "scores");
  EXPECT_EQ(report.alternatives[1].worse->before, 1.0);
  EXPECT_EQ(report.alternatives[1].worse->now, 0.875);
}

TEST(Adopted, NoOutputThatNoLimitAsksFor) {
  DiagnoseReport report = with(output("scores", 32, 1.0), output("boxes", 25));
  EXPECT_FALSE(adopt_best({}, report));
  ASSERT_TRUE(report.alternatives[1].worse);
  EXPECT_EQ(report.alternatives[1].worse->output, "boxes");
  report = with(output("scores", 32, 1.0), output("boxes", 25), {20, ""});
  EXPECT_TRUE(adopt_best({}, report)) << "one limit for all";
  report = with(output("scores", 32, 1.0), output("boxes", 29.97));
  EXPECT_TRUE(adopt_best({}, report)) << "not seen in the figures";
}

TEST(Adopted, WhereNothingElseMeetsItNothingIsCompared) {
  DiagnoseReport report = with(output("scores", 32, 0.5), output("boxes", 10));
  report.alternatives[0].end = AlternativeEnd::Missed;
  EXPECT_TRUE(adopt_best({}, report));
}

/// Most evaluations of each option, and the work of GPTQ, as they were asked for.
struct Asked {
  std::vector<std::size_t> repairs, others;
  double rounding_work = 0;
  std::map<std::string, double> damage{};
};

Asked asked_of(std::size_t evaluations, DiagnoseOptions options) {
  DiagnoseReport found = with(output("scores", 30, 1.0), output("boxes", 30));
  found.alternatives.clear();
  found.samples = 4;
  found.kept->layers = {"conv"};
  found.layers.resize(2);
  found.layers[0].name = "conv";
  found.layers[0].share = 0.75;
  found.layers[1].name = "unranked";
  found.kept->evaluations = evaluations;
  found.kept->total_macs = 20'000'000'000;
  options.precision.low = {Format::Int8};
  options.alternatives = 16;
  Asked asked;
  const auto again = [&](const DiagnoseOptions& way, const RepairOptions* repairs, const JobSinks& sinks) {
    EXPECT_FALSE(sinks.is_interrupted());
    (repairs != nullptr ? asked.repairs : asked.others).push_back(way.search.max_evaluations);
    if (repairs != nullptr) asked.rounding_work = repairs->rounding_work, asked.damage = repairs->damage;
    return DiagnoseReport{};
  };
  measure_alternatives(options, found, again, {});
  return asked;
}

/// Certified, and no option was measured yet.
DiagnoseReport keeps_two_layers() {
  DiagnoseReport found = with(output("scores", 30, 1.0), output("boxes", 30));
  found.alternatives.clear();
  found.samples = 4;
  found.kept->layers = {"conv", "fc"};
  found.kept->cost = 2;
  found.kept->end = SearchEnd::Certified;
  found.final_figures = RunFigures{{output("scores", 30, 1.0)}, true, 0.5};
  return found;
}

TEST(Options, AreLeftOutWhereTheRepairedNetworkIsTheAnswer) {
  DiagnoseReport found = keeps_two_layers();
  DiagnoseOptions options;
  options.precision.low = {Format::Int8};
  options.alternatives = 16;
  DiagnoseReport repaired = found;
  repaired.kept->layers = {"fc"};
  repaired.kept->cost = 1;
  repaired.explanation.emplace().repairs.emplace_back().accepted = true;
  std::size_t others = 0;
  const auto again = [&](const DiagnoseOptions&, const RepairOptions* repairs, const JobSinks&) {
    others += repairs == nullptr ? 1 : 0;
    return std::optional(repairs != nullptr ? repaired : found);
  };
  std::vector<Alternative> rows = measure_alternatives(options, found, again, {});
  ASSERT_EQ(rows.size(), 5U);
  EXPECT_EQ(rows[1].end, AlternativeEnd::Met);
  EXPECT_EQ(others, 0U);
  for (std::size_t i = 2; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].end, AlternativeEnd::NotMeasured) << rows[i].change;
    EXPECT_FALSE(rows[i].why.empty()) << rows[i].change;
  }
  repaired.final_figures = RunFigures{{output("scores", 30, 0.5)}, true, 0.5};
  rows = measure_alternatives(options, found, again, {});
  EXPECT_EQ(others, 3U) << "it changes classes, so that it cannot become the answer";
}

TEST(Options, OfRepairsThatEndedEarlyAreTheAnswerWithoutThem) {
  DiagnoseReport found = keeps_two_layers();
  DiagnoseOptions options;
  options.precision.low = {Format::Int8};
  options.alternatives = 1;
  const auto again = [](const DiagnoseOptions&, const RepairOptions*, const JobSinks&) {
    return std::optional<DiagnoseReport>();
  };
  const std::vector<Alternative> rows = measure_alternatives(options, found, again, {});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1].change, "fix");
  EXPECT_EQ(rows[1].end, AlternativeEnd::Met);
  EXPECT_EQ(rows[1].kept, 2U);
  EXPECT_EQ(rows[1].repairs, 0U);
}

TEST(Options, TakeAtMostThreeTimesTheEvaluationsOfTheSearch) {
  const Asked many = asked_of(300, {});
  EXPECT_EQ(many.repairs, std::vector<std::size_t>{600});
  EXPECT_EQ(many.others, (std::vector<std::size_t>{100, 100, 100}));
  EXPECT_EQ(many.rounding_work, 40e9) << "half a pass over four samples";
  EXPECT_EQ(many.damage, (std::map<std::string, double>{{"conv", 0.75}})) << "what it begins with";
  const Asked few = asked_of(3, {});
  EXPECT_EQ(few.repairs, std::vector<std::size_t>{30}) << "a certificate of few layers takes as many";
  EXPECT_EQ(few.others, (std::vector<std::size_t>{30, 30, 30}));
  DiagnoseOptions limited;
  limited.search.max_evaluations = 10;
  EXPECT_EQ(asked_of(300, limited).repairs, std::vector<std::size_t>{10});
}

}  // namespace
}  // namespace vernier
