// Whether the repaired network becomes the answer: not at the price of a figure that nobody asked for.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

#include "jobs/diagnose/alternatives.h"
#include "vernier/diagnose.h"
#include "vernier/format.h"
#include "vernier/report/alternatives.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/figures.h"
#include "vernier/report/kept_set.h"
#include "vernier/requirement.h"

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

}  // namespace
}  // namespace vernier
