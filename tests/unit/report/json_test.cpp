#include "json/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cases.h"
#include "vernier/error.h"
#include "vernier/report/diagnose.h"
#include "vernier/requirement.h"

namespace vernier {
namespace {

DiagnoseReport again(const DiagnoseReport& report) {
  return diagnose_report_from_json(report_to_json(report), "report.json");
}

/// The message of reading `text`, which must be refused as bad input.
std::string refusal(const std::string& text) {
  try {
    diagnose_report_from_json(text, "report.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Input);
    return error.what();
  }
  ADD_FAILURE() << "was read: " << text;
  return {};
}

Json parsed(const std::string& text) { return parse_json(text, "report.json"); }
Json met_json() { return parsed(report_to_json(requirement_met())); }

TEST(ReportJson, ReadsBackEqual) {
  for (const DiagnoseReport& report :
       {DiagnoseReport{}, requirement_met(), without_requirement(), impossible(), nothing_needed()}) {
    EXPECT_EQ(report_to_json(again(report)), report_to_json(report));
  }
}

TEST(ReportJson, KeepsWhatOtherSumsGive) {
  DiagnoseReport report = requirement_met();
  EXPECT_EQ(met_json().find("other_sums"), nullptr);
  report.other_sums = OtherSums{Accumulate::Float16, report.all_low};
  EXPECT_EQ(parsed(report_to_json(report)).at("other_sums").at("accumulate"), "float16");
  EXPECT_EQ(again(report).other_sums.value().figures.outputs[0].sqnr_db, report.all_low.outputs[0].sqnr_db);
}

TEST(ReportJson, ReadsWhoDecidedFromTheWordsOfFormerReports) {
  const auto read = [](const std::string& objective, const std::string& options) {
    Json json = met_json();
    json["command"] = "vernier fix m.onnx" + options;
    json.erase("job");
    json["kept"].erase("decided_by");
    json["kept"]["objective"] = objective;
    return diagnose_report_from_json(json_text(json), "report.json");
  };
  EXPECT_EQ(read("", "").kept->decided_by, DecidedBy::Requirement);
  EXPECT_EQ(read("--check by a person (--ask)", "").kept->decided_by, DecidedBy::Person);
  EXPECT_EQ(read("--check ./check.sh", "").kept->decided_by, DecidedBy::Program);
  EXPECT_EQ(read("--min-top1 0.9 by the labels of l.npy", "").kept->decided_by, DecidedBy::Labels);
  EXPECT_EQ(read("--metric-script m.py --min 0.5", "").kept->decided_by, DecidedBy::Script);
  EXPECT_EQ(read("--min-top1-agreement 0.9, on tensorrt", "").kept->decided_by, DecidedBy::Engine);
  EXPECT_EQ(read("--min-sqnr 20, on tensorrt", "").kept->decided_by, DecidedBy::Engine);
  const DiagnoseReport compared = read("simple --atol 0.5, against golden.json", " --prove-minimum --resume");
  EXPECT_EQ(compared.kept->decided_by, DecidedBy::Comparison);
  EXPECT_TRUE(compared.kept->golden && compared.kept->minimum_asked && compared.kept->resumed);
  EXPECT_EQ(compared.job, DiagnosisJob::Fix);
}

TEST(ReportJson, KeepsEveryValue) {
  const DiagnoseReport report = requirement_met();
  const DiagnoseReport copy = again(report);
  EXPECT_EQ(copy.command, report.command);
  EXPECT_EQ(copy.low, report.low);
  EXPECT_EQ(copy.requirement->metric, Metric::MinSqnrDb);
  EXPECT_EQ(copy.requirement->limits[0].value, 24);
  EXPECT_EQ(copy.layers.size(), report.layers.size());
  EXPECT_EQ(copy.layers[1].saturated, 123'456);
  EXPECT_EQ(copy.layers[0].share, report.layers[0].share);
  EXPECT_TRUE(copy.layers[0].kept);
  EXPECT_EQ(copy.kept->certificate[2].metric, report.kept->certificate[2].metric);
  EXPECT_TRUE(copy.kept->certificate[2].lower_bound);
  EXPECT_EQ(copy.typed->weight_bytes, 3'612'004);
  EXPECT_EQ(copy.latency->repaired_ms, 8.4);
  EXPECT_EQ(copy.phases.back().seconds, 1.52);
  EXPECT_EQ(copy.files, report.files);
  EXPECT_EQ(copy.final_figures->passed, true);
  EXPECT_EQ(report_to_text(copy, {}), report_to_text(report, {}));
}

TEST(ReportJson, WritesInfinitiesAndNanAsStrings) {
  DiagnoseReport report = without_requirement();
  report.all_low.outputs[0].cosine = std::numeric_limits<double>::quiet_NaN();
  const Json json = parsed(report_to_json(report));
  EXPECT_EQ(json.at("reference").at("outputs").at(0).at("sqnr_db"), "inf");
  EXPECT_EQ(json.at("all_low").at("outputs").at(0).at("sqnr_db"), "-inf");
  EXPECT_EQ(json.at("all_low").at("outputs").at(0).at("cosine"), "nan");
  const DiagnoseReport copy = again(report);
  EXPECT_EQ(copy.reference.outputs[0].sqnr_db, std::numeric_limits<double>::infinity());
  EXPECT_EQ(copy.all_low.outputs[0].sqnr_db, -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(copy.all_low.outputs[0].cosine));
}

TEST(ReportJson, LeavesOutWhatWasNotMeasured) {
  const Json json = parsed(report_to_json(without_requirement()));
  for (const char* key : {"requirement", "kept", "final_figures", "typed", "latency", "all_high"}) {
    EXPECT_FALSE(json.contains(key)) << key;
  }
  EXPECT_FALSE(json.at("all_low").contains("passed"));
  EXPECT_FALSE(json.at("layers").at(5).contains("share"));
  EXPECT_FALSE(json.at("layers").at(5).contains("overflowed")) << "not looked at is not zero";
  EXPECT_EQ(json.at("layers").at(4).at("overflowed"), 0);
  EXPECT_EQ(again(without_requirement()).layers[5].share, std::nullopt);
}

TEST(ReportJson, StaysValidWithNamesThatAreNot) {
  const DiagnoseReport copy = again(hostile());
  EXPECT_EQ(copy.layers[0].name, hostile().layers[0].name);
  EXPECT_EQ(copy.layers[1].name, hostile().layers[1].name);
  EXPECT_EQ(copy.layers[4].name, "broken \xef\xbf\xbd\xef\xbf\xbd bytes");
}

TEST(ReportJson, RefusesWhatIsNoReport) {
  EXPECT_NE(refusal("").find("report.json:"), std::string::npos);
  EXPECT_NE(refusal("{\"kind\": ").find("is not JSON: line 1"), std::string::npos);
  EXPECT_NE(refusal("[]").find("is an array"), std::string::npos);
  EXPECT_EQ(refusal("{}"), "report.json: kind is missing");
  EXPECT_NE(refusal(report_to_json(verified())).find("kind is 'vernier verify'"), std::string::npos);
}

TEST(ReportJson, RefusesOtherVersions) {
  Json json = met_json();
  json.at("version") = 2;
  EXPECT_EQ(refusal(json_text(json)), "report.json: version is 2, this program reads version 1");
}

TEST(ReportJson, NamesTheFieldThatIsWrong) {
  Json json = met_json();
  json.at("layers").at(3).at("share") = "a lot";
  EXPECT_EQ(refusal(json_text(json)),
            "report.json: layers[3].share is a string, a number, \"inf\", \"-inf\" or \"nan\" is wanted");
  json = met_json();
  json.at("layers").at(3).erase("name");
  EXPECT_EQ(refusal(json_text(json)), "report.json: layers[3].name is missing");
  json = met_json();
  json.at("samples") = -1;
  EXPECT_EQ(refusal(json_text(json)), "report.json: samples is -1, which is out of range");
  json.at("samples") = 1.5;
  EXPECT_EQ(refusal(json_text(json)), "report.json: samples is a number, an integer is wanted");
  json = met_json();
  json.at("low").at(0) = "int9";
  EXPECT_EQ(refusal(json_text(json)),
            "report.json: low[0] is 'int9', one of float32, float16, bfloat16, float8e4m3fn, float8e5m2, int8, uint8, "
            "int4, uint4, int16, uint16, nvfp4, mxfp8, mxfp8e5m2, mxfp4, dynamic-int8 is wanted");
  json = met_json();
  json.at("requirement").at("metric") = "luck";
  EXPECT_EQ(refusal(json_text(json)),
            "report.json: requirement.metric is 'luck', one of min-sqnr, max-abs-error, max-mse, min-cosine, "
            "min-top1-agreement is wanted");
  json = met_json();
  json.at("files").at("model") = Json();
  EXPECT_EQ(refusal(json_text(json)), "report.json: files.model is null, a string is wanted");
}

TEST(ReportJson, RefusesUnknownFieldsAndOffersTheNearest) {
  Json json = met_json();
  json.at("kept")["layer"] = 3;
  try {
    diagnose_report_from_json(json_text(json), "report.json");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "report.json: kept.layer is unknown");
    EXPECT_NE(error.hint().find("layers"), std::string::npos);
  }
}

TEST(ReportJson, OfVerifyHoldsFiguresAndLayers) {
  const Json json = parsed(report_to_json(verified()));
  EXPECT_EQ(json.at("kind"), "vernier verify");
  EXPECT_EQ(json.at("version"), 1);
  EXPECT_EQ(json.at("figures").at("passed"), false);
  EXPECT_EQ(json.at("layers").size(), 12U);
  EXPECT_EQ(json.at("not_compared").size(), 2U);
}

}  // namespace
}  // namespace vernier
