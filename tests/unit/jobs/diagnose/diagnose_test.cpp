// The main job on networks of a few layers.
#include "vernier/diagnose.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <limits>
#include <utility>
#include <vector>

#include "job_files.h"
#include "plan/plan.h"
#include "vernier/error.h"
#include "vernier/format.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/figures.h"
#include "vernier/report/kept_set.h"
#include "vernier/report/note_text.h"
#include "vernier/report/outcome.h"
#include "vernier/report/verify.h"
#include "vernier/requirement.h"
#include "vernier/samples.h"
#include "vernier/sinks.h"
#include "vernier/tensor.h"
#include "vernier/verify.h"

namespace vernier::testing {
namespace {

using Names = std::vector<std::string>;

TEST(Diagnose, WithoutARequirementGivesACurveAndSearchesNothing) {
  const NetFiles files;
  const DiagnoseReport report = diagnose(files.diagnose_options({Format::Int8}));
  EXPECT_FALSE(report.kept.has_value());
  EXPECT_FALSE(report.all_low.passed.has_value());
  ASSERT_EQ(report.curve.size(), 5U) << "none, 1, 2, 3 and all 4 layers kept";
  for (std::size_t i = 0; i < report.curve.size(); ++i) EXPECT_EQ(report.curve[i].kept, i);
  EXPECT_EQ(report.curve[0].measured_sqnr_db.value(), report.all_low.outputs.front().sqnr_db);
  EXPECT_GT(report.curve[2].measured_sqnr_db.value(), report.curve[0].measured_sqnr_db.value());
  EXPECT_GT(report.curve[4].measured_sqnr_db.value(), 120) << "nothing is low: on some CPUs last bits of sums differ";
  ASSERT_EQ(report.layers.size(), 4U);
  for (std::size_t i = 1; i < report.layers.size(); ++i) {
    EXPECT_GE(report.layers[i].sensitivity_db.value(), report.layers[i - 1].sensitivity_db.value())
        << "most damaging first";
  }
  double shares = 0;
  for (const LayerRow& row : report.layers) shares += row.share.value();
  EXPECT_NEAR(shares, 1, 1e-12);
  EXPECT_TRUE(std::filesystem::exists(files / "out" / "model.onnx"));
  EXPECT_TRUE(std::filesystem::exists(files / "out" / "report.json"));
}

TEST(Diagnose, NeedsNothingWhenAllLowMeetsTheRequirement) {
  const NetFiles files;
  DiagnoseOptions options = files.diagnose_options({Format::Int8});
  options.measure.requirement = at_least_db(10);
  const DiagnoseReport report = diagnose(options);
  EXPECT_EQ(report.kept.value().end, SearchEnd::NothingNeeded);
  EXPECT_TRUE(report.kept->layers.empty());
  EXPECT_TRUE(report.kept->certified);
  EXPECT_EQ(report.kept->evaluations, 2U) << "the two ends";
  EXPECT_TRUE(report.final_figures.value().passed.value());
  EXPECT_TRUE(report.curve.empty());
}

TEST(Diagnose, TellsTheSearchOfAnObjectiveAsAStep) {
  const NetFiles files;
  DiagnoseOptions options = files.diagnose_options({Format::Int8});
  options.search.compare.emplace();
  options.quick = true;
  Names told;
  JobSinks sinks;
  sinks.step = [&](const JobStep& step) { told.push_back(step.name); };
  EXPECT_TRUE(diagnose(options, sinks).kept.has_value());
  EXPECT_EQ(std::ranges::count(told, "search"), 1);
}

TEST(Diagnose, MeetsARequirementWithACertifiedKeptSet) {
  const NetFiles files;
  const double all_low = diagnose(files.diagnose_options({Format::Int8})).all_low.outputs.front().sqnr_db;
  DiagnoseOptions options = files.diagnose_options({Format::Int8});
  options.measure.requirement = at_least_db(all_low + 3);
  const DiagnoseReport report = diagnose(options);
  EXPECT_FALSE(report.all_low.passed.value());
  EXPECT_EQ(report.kept.value().end, SearchEnd::Certified);
  EXPECT_TRUE(report.kept->certified);
  ASSERT_FALSE(report.kept->layers.empty());
  EXPECT_LT(report.kept->layers.size(), 4U);
  ASSERT_EQ(report.kept->certificate.size(), report.kept->layers.size());
  for (const CertificateRow& row : report.kept->certificate) EXPECT_GT(row.damage, 1) << row.layer;
  EXPECT_TRUE(report.final_figures.value().passed.value()) << "measured on the written file";
  EXPECT_NEAR(report.kept->metric.value(), report.final_figures->outputs.front().sqnr_db, 0.1) << "the search's own";
  std::int64_t kept_macs = 0;
  for (const LayerRow& row : report.layers) kept_macs += row.kept ? row.macs.value() : 0;
  EXPECT_EQ(report.kept->kept_macs, kept_macs);
  EXPECT_EQ(report.kept->total_macs, 64 * (8 * 27 + 2 * 8 * 72) + 40) << "64 places of 8 channels, and 8 x 5";
}

TEST(Diagnose, MeasuresTop1OfAnOutputOfManyRowsWhenItIsRequired) {
  const NetFiles files(
      network("rows (float[1,4,8] x) => (float[1,4,5] y) { [m] y = MatMul (x, w) }", {{"w", bell({8, 5}, 1)}}),
      {1, 4, 8});
  DiagnoseOptions options = files.diagnose_options({Format::Int8});
  EXPECT_FALSE(diagnose(options).all_low.outputs.front().top1_agreement.has_value()) << "it may be boxes or pixels";
  options.measure.requirement = Requirement{Metric::MinTop1Agreement, {{0.5, ""}}};
  const DiagnoseReport report = diagnose(options);
  EXPECT_GE(report.all_low.outputs.front().top1_agreement.value(), 0.5);
  EXPECT_GE(report.final_figures.value().outputs.front().top1_agreement.value(), 0.5);
}

TEST(Diagnose, CountsTheBytesOfWeightsInConstantNodes) {
  const NetFiles files(network("constant (float[1,2] x) => (float[1,2] y) {"
                               "  w = Constant <value = float[2,2] {1, 2, 3, 4}> () y = MatMul (x, w) }"),
                       {1, 2});
  EXPECT_EQ(diagnose(files.diagnose_options({Format::Float16})).typed.value().original_weight_bytes, 4 * 4);
}

TEST(Diagnose, RefusesAFolderThatCannotBeMadeBeforeItMeasures) {
  const NetFiles files;
  DiagnoseOptions options = files.diagnose_options({Format::Int8});
  options.output = files.model_file() / "out";
  JobSinks sinks;
  bool measured = false;
  sinks.progress = [&](const std::string&, std::size_t, std::size_t) { measured = true; };
  EXPECT_EQ(error_of([&] { diagnose(options, sinks); }).kind(), ErrorKind::Input);
  EXPECT_FALSE(measured);
}

TEST(Diagnose, RefusesToWriteOverTheModelItReads) {
  const NetFiles files;
  const std::filesystem::path model = files / "out" / "model.onnx";
  std::filesystem::create_directory(files / "out");
  std::filesystem::copy_file(files.model_file(), model);
  DiagnoseOptions options = files.diagnose_options({Format::Int8});
  options.model = model;
  EXPECT_EQ(error_of([&] { diagnose(options); }).kind(), ErrorKind::Usage);
  EXPECT_EQ(bytes_of(model), bytes_of(files.model_file()));
}

TEST(Diagnose, SaysThatFixedLayersAreWhyNothingHelps) {
  const NetFiles files;
  DiagnoseOptions options = files.diagnose_options({Format::Int8});
  options.precision.layer_precisions = {{"conv1", Format::Int8}};
  options.measure.requirement = at_least_db(200);
  const DiagnoseReport report = diagnose(options);
  ASSERT_EQ(report.kept.value().end, SearchEnd::Impossible);
  EXPECT_LT(report.all_high.value().outputs.front().sqnr_db, 200) << "measured, with conv1 in int8";
  const std::string text = report_to_text(report, {});
  EXPECT_NE(text.find("1 layer is fixed in a low format by --layer-precisions"), std::string::npos) << text;
  EXPECT_EQ(report.kept->total_macs, 64 * (8 * 27 + 2 * 8 * 72) + 40) << "of the whole network";
}

TEST(Diagnose, RanksByNoiseWhereTheMetricCountsClasses) {
  const NetFiles files;
  DiagnoseOptions options = files.diagnose_options({Format::Int8});
  options.measure.requirement = Requirement{Metric::MinTop1Agreement, {{0.1, ""}}};
  options.rank = true;
  const DiagnoseReport report = diagnose(options);
  for (std::size_t i = 1; i < report.layers.size(); ++i) {
    EXPECT_LE(report.layers[i - 1].sensitivity_db.value(), report.layers[i].sensitivity_db.value()) << i;
    EXPECT_TRUE(report.layers[i].share.has_value()) << i;
  }
}

TEST(Diagnose, WarnsOfABatchThatCountsAsOneSample) {
  const NetFiles files(
      network("g (float[n,4] x) => (float[n,3] y) { [m] y = MatMul (x, w) }", {{"w", bell({4, 3}, 1)}}), {4},
      6);  // an array of shape 6x4
  DiagnoseOptions options = files.diagnose_options({Format::Int8});
  const DiagnoseReport report = diagnose(options);
  EXPECT_EQ(report.samples, 1U);
  ASSERT_EQ(report.warnings.size(), 1U);
  EXPECT_EQ(report.warnings.front(), (Note{"batch-as-one-sample", {{"batch", 6}}}));
  options.measure.data.split_batch = true;
  EXPECT_TRUE(diagnose(options).warnings.empty());
}

TEST(Diagnose, WarnsOfAFormatThatNoLayerRunsIn) {
  const NetFiles files;
  const DiagnoseReport report = diagnose(files.diagnose_options({Format::Float16, Format::BFloat16}));
  ASSERT_EQ(report.warnings.size(), 1U);
  EXPECT_EQ(report.warnings.front(), (Note{"format-without-layers", {{"format", "bfloat16"}}}));
}

TEST(Diagnose, TakesABranchForGrantedOnlyWhenAllSamplesTakeIt) {
  const NetFiles files(whole_proto(if_net()), {4, 20});
  // The first two samples take the first branch; the third, or the one that calibrates, takes the other.
  const auto samples_of = [](std::vector<int> signs) {
    std::vector<Sample> samples;
    for (const int sign : signs) {
      Tensor x(Dtype::Float32, {4, 20});
      for (float& value : x.mutable_floats()) value = static_cast<float>(sign);
      samples.push_back({{"x", x}});
    }
    return Samples(samples);
  };
  const auto inlined = [](const DiagnoseReport& report) {
    return std::ranges::find(report.notes, "if-inlined", &Note::code) != report.notes.end();
  };
  DiagnoseOptions options = files.diagnose_options({Format::Int8});
  write_npy(files.data_file(), samples_of({1, 1, 1}), "x");
  EXPECT_TRUE(inlined(diagnose(options)));
  write_npy(files / "calibration.npy", samples_of({1, -1}), "x");
  options.measure.calibration_data.emplace().location = (files / "calibration.npy").string();
  EXPECT_FALSE(inlined(diagnose(options)));
  options.measure.calibration_data.reset();
  write_npy(files.data_file(), samples_of({1, 1, -1}), "x");
  EXPECT_FALSE(inlined(diagnose(options)));
}

TEST(Diagnose, RanksAMaskThatOverflowsByWhatItDoesToTheOutput) {
  Tensor mask(Dtype::Float32, {1, 8});
  std::fill_n(mask.mutable_floats().begin() + 4, 4, -1e9F);
  const NetFiles files(network(R"(masked (float[1,8] x) => (float[1,8] y) {
                                    [scores] s = MatMul (x, w)
                                    [masked] m = Add (s, mask)
                                    [softmax] y = Softmax <axis = -1> (m)
                                  })",
                               {{"w", bell({8, 8}, 1, 3.0F)}, {"mask", mask}}),
                       {1, 8});
  const DiagnoseReport report = diagnose(files.diagnose_options({Format::Float16}));
  const LayerRow& masked = row_named(report.layers, "masked");
  EXPECT_EQ(masked.own_sqnr_db.value(), -std::numeric_limits<double>::infinity()) << "-1e9 is no float16";
  EXPECT_TRUE(masked.share.has_value()) << "it has a place among the others";
  for (std::size_t i = 1; i < report.layers.size(); ++i) {
    EXPECT_GE(report.layers[i].sensitivity_db.value(), report.layers[i - 1].sensitivity_db.value());
  }
}

TEST(Diagnose, SaysWhenEvenAllHighMissesTheRequirement) {
  const NetFiles files;
  DiagnoseOptions options = files.diagnose_options({Format::Int8});
  options.precision.high = Format::Float16;
  options.measure.requirement = at_least_db(120);  // float16 keeps some 11 bits, 66 dB
  const DiagnoseReport report = diagnose(options);
  EXPECT_EQ(report.kept.value().end, SearchEnd::Impossible);
  EXPECT_FALSE(report.kept->certified);
  EXPECT_FALSE(report.all_high.value().passed.value());
  EXPECT_FALSE(report.final_figures.has_value());
  EXPECT_FALSE(std::filesystem::exists(files / "out" / "model.onnx")) << "with everything kept it would answer nothing";
  EXPECT_TRUE(std::filesystem::exists(files / "out" / "report.json"));
  const TestRow& all_high = report.kept->tests.front();
  EXPECT_EQ(all_high.samples, report.samples) << "what it would take is said, not a bound";
  EXPECT_NEAR(all_high.metric, report.all_high->outputs.front().sqnr_db, 0.01);
}

TEST(Diagnose, MeasuresWhatElseCouldBeDone) {
  const NetFiles files;
  DiagnoseOptions options = files.diagnose_options({Format::Int8});
  options.measure.requirement = at_least_db(diagnose(options).all_low.outputs.front().sqnr_db + 3);
  EXPECT_TRUE(diagnose(options).alternatives.empty()) << "none were asked for";

  options.alternatives = 16;
  const DiagnoseReport report = diagnose(options);
  Names changes;
  for (const Alternative& row : report.alternatives) {
    changes.push_back(row.change);
    if (row.end == AlternativeEnd::NotMeasured) {
      EXPECT_FALSE(row.why.empty()) << row.change;
      continue;
    }
    EXPECT_EQ(row.figures.value().passed.value(), row.end != AlternativeEnd::Missed) << row.change;
    EXPECT_EQ(row.total_macs, report.kept.value().total_macs) << row.change;
    EXPECT_EQ(row.lowered >= row.kept, true) << row.change;
  }
  EXPECT_EQ(changes, (Names{"keep", "fix", "‹target› openvino", "‹fp16›", "‹target› onnxruntime"}));
  const Alternative& found = report.alternatives.front();
  EXPECT_EQ(found.kept, report.kept->layers.size());
  EXPECT_EQ(found.cost, report.kept->cost);
  EXPECT_EQ(found.end, AlternativeEnd::Met);
  const Alternative& half = report.alternatives[3];
  EXPECT_EQ(half.end, AlternativeEnd::Met);
  EXPECT_EQ(half.kept, 0U) << "float16 keeps 11 bits";
  EXPECT_EQ(half.low, std::vector{Format::Float16});
  EXPECT_GT(half.figures->outputs.front().sqnr_db, found.figures->outputs.front().sqnr_db);
  EXPECT_EQ(plan_from_json(bytes_of(files / "out" / "plan.json"), "plan.json").target, Target::TensorRt)
      << "the others wrote nothing";
}

TEST(Diagnose, JudgesEachHalfByWhatTheOtherTaught) {
  const NetFiles files(network(kConvNet, conv_net_weights()), kConvNetInput, 40);
  DiagnoseOptions options = files.diagnose_options({Format::Int8});
  const double all_low = diagnose(options).all_low.outputs.front().sqnr_db;
  options.measure.requirement = at_least_db(all_low + 3);
  EXPECT_FALSE(diagnose(options).cross_fit) << "it was not asked for";

  options.measure.cross_fit = true;
  options.measure.requirement->confidence = 0.9;
  const DiagnoseReport report = diagnose(options);
  EXPECT_TRUE(report.cross_fit);
  EXPECT_EQ(report.samples, 40U) << "all samples judge";
  ASSERT_TRUE(report.final_figures.value().passed.value());
  const OutputFigure& unseen = report.final_figures->outputs.front();
  EXPECT_GE(unseen.sqnr_above.value(), all_low + 3) << "the lower end meets the limit";
  EXPECT_LT(*unseen.sqnr_above, unseen.sqnr_db);
  EXPECT_NE(report.all_low.outputs.front().sqnr_db, all_low) << "measured by the halves, too";

  // The written file learned from all samples: `in_sample` is what `verify` says of it.
  VerifyOptions verify_options = files.verify_options(files / "out" / "model.onnx");
  const double own = verify(verify_options).figures.outputs.front().sqnr_db;
  const OutputFigure& in_sample = report.in_sample.value().outputs.front();
  EXPECT_NEAR(own, in_sample.sqnr_db, 0.05);
  EXPECT_NE(own, unseen.sqnr_db);
  EXPECT_GE(unseen.sqnr_interval.value().high, in_sample.sqnr_interval.value().high) << "it may be as good as there";
  EXPECT_LE(unseen.sqnr_interval->low, in_sample.sqnr_interval->low) << "its ranges are wider than those of a half";
  EXPECT_LE(*unseen.sqnr_above, in_sample.sqnr_above.value()) << "the file itself exceeds no more on its own samples";
  EXPECT_LE(unseen.sqnr_interval->low, *unseen.sqnr_above) << "what is claimed at 90 % lies inside what 95 % allow";
}

// Trials that judged by the samples that taught them would promise what the file's claim then misses.
TEST(Diagnose, SearchesByWhatHoldsOnNewSamples) {
  const NetFiles files(network(kConvNet, conv_net_weights()), kConvNetInput, 40);
  DiagnoseOptions options = files.diagnose_options({Format::Int8});
  options.measure.cross_fit = true;
  options.measure.requirement = at_least_db(diagnose(options).all_low.outputs.front().sqnr_db + 3);
  options.measure.requirement->confidence = 0.9;
  const DiagnoseReport report = diagnose(options);
  const KeptSetReport& kept = report.kept.value();
  ASSERT_TRUE(kept.certified);
  for (const Note& note : kept.notes) EXPECT_NE(note.code, "set-not-confirmed") << "no second search";
  EXPECT_NEAR(kept.metric.value(), report.final_figures->outputs.front().sqnr_above.value(), 1e-9)
      << "what the search ends with is what is claimed";
  const double limit = options.measure.requirement->limits.front().value;
  for (const CertificateRow& row : kept.certificate) EXPECT_LT(row.metric, limit) << row.layer;
}

TEST(Diagnose, NamesTheFewSamplesThatHoldTheError) {
  // Scores so far apart that most samples are decided.
  const NetFiles files(network("net (float[1,16] x) => (float[1,5] y) {"
                               " [dense] logits = MatMul (x, w) [softmax] y = Softmax <axis = -1> (logits) }",
                               {{"w", bell({16, 5}, 21, 3)}}),
                       {1, 16}, 40);
  const DiagnoseReport report = diagnose(files.diagnose_options({Format::Int8}));
  const OutputFigure& output = report.final_figures.value().outputs.front();
  ASSERT_TRUE(output.heavy_tail) << "few samples are undecided";
  EXPECT_GT(output.softmax_input.value().sqnr_db, 0);
  EXPECT_EQ(output.softmax_input->tensor, "logits");
}

TEST(Diagnose, AFewSamplesStayTogether) {
  const NetFiles files(network(kConvNet, conv_net_weights()), kConvNetInput, 9);
  DiagnoseOptions options = files.diagnose_options({Format::Int8});
  options.measure.cross_fit = true;
  EXPECT_FALSE(diagnose(options).cross_fit);
}

TEST(Diagnose, MeasuresNothingElseWhereNothingHasToBeKept) {
  const NetFiles files;
  DiagnoseOptions options = files.diagnose_options({Format::Int8});
  options.measure.requirement = at_least_db(10);
  options.alternatives = 2;
  EXPECT_TRUE(diagnose(options).alternatives.empty());
}

TEST(Diagnose, SaysHowFarEachOptionGetsWhereNoneReachesTheLimit) {
  const NetFiles files;
  DiagnoseOptions options = files.diagnose_options({Format::Int8});
  options.precision.high = Format::Float16;
  options.measure.requirement = at_least_db(120);
  options.alternatives = 2;
  const DiagnoseReport report = diagnose(options);
  ASSERT_EQ(report.alternatives.size(), 3U);
  for (const Alternative& row : report.alternatives) {
    EXPECT_EQ(row.end, AlternativeEnd::Missed) << row.change;
    EXPECT_GT(row.figures.value().outputs.front().sqnr_db, 40) << row.change;
  }
  const std::string text = report_to_text(report, {});
  EXPECT_NE(text.find("None of the measured options meets the requirement"), std::string::npos) << text;
}

TEST(Diagnose, FallsBackToFloat16WhereThatIsTheHighSide) {
  const NetFiles files;
  const double all_low = diagnose(files.diagnose_options({Format::Int8})).all_low.outputs.front().sqnr_db;
  DiagnoseOptions options = files.diagnose_options({Format::Int8});
  options.precision.high = Format::Float16;
  options.measure.requirement = at_least_db(all_low + 3);
  const DiagnoseReport report = diagnose(options);
  ASSERT_EQ(report.kept.value().end, SearchEnd::Certified);
  const Plan plan = plan_from_json(bytes_of(files / "out" / "plan.json"), "plan.json");
  EXPECT_EQ(plan.high, Format::Float16);
  for (const PlannedLayer& layer : plan.layers) {
    const bool kept =
        std::find(report.kept->layers.begin(), report.kept->layers.end(), layer.name) != report.kept->layers.end();
    const bool weighted = layer.name.starts_with("conv") || layer.name == "gemm";
    EXPECT_EQ(layer.format, weighted && !kept ? Format::Int8 : Format::Float16) << layer.name;
  }
  EXPECT_TRUE(report.all_high.value().passed.value());
  EXPECT_TRUE(report.final_figures.value().passed.value());
}

/// A job's sinks that end it at the first word of a phase.
struct InterruptsAt {
  explicit InterruptsAt(std::string phase) : at(std::move(phase)) {
    sinks.progress = [this](const std::string& now, std::size_t, std::size_t) {
      interrupted = interrupted || now == at;
    };
    sinks.interrupted = [this] { return interrupted; };
  }
  std::string at;
  bool interrupted = false;
  JobSinks sinks;
};

TEST(Diagnose, InterruptedKeepsItsRecord) {
  for (const std::string at : {"lock-step comparison", "sensitivity"}) {
    const NetFiles files;
    const InterruptsAt ending(at);
    DiagnoseOptions options = files.diagnose_options({Format::Int8});
    options.measure.requirement = at_least_db(40);
    const bool ran_before = at == "sensitivity";
    if (ran_before) diagnose(options);
    EXPECT_EQ(error_of([&] { diagnose(options, ending.sinks); }).kind(), ErrorKind::Interrupted) << at;
    ASSERT_TRUE(std::filesystem::exists(files / "out" / "report.json")) << at;
    const DiagnoseReport report = diagnose_report_from_json(bytes_of(files / "out" / "report.json"), "report.json");
    EXPECT_TRUE(report.interrupted);
    EXPECT_FALSE(report.kept.has_value()) << at;
    ASSERT_FALSE(report.warnings.empty()) << at;
    EXPECT_EQ(note_text(report.warnings.back()), "interrupted: the report has only the figures measured so far");
    const bool older = std::ranges::find(report.warnings, "older-files", &Note::code) != report.warnings.end();
    EXPECT_EQ(older, ran_before) << at;
    ASSERT_FALSE(report.layers.empty());
    EXPECT_TRUE(report.layers.front().own_sqnr_db.has_value()) << at;
  }
}

/// What a report holds of the network that no run measured yet is absent, not zero.
TEST(Diagnose, InterruptedBeforeASampleWasReadClaimsNothingOfSamples) {
  const NetFiles files;
  const InterruptsAt ending("float model");
  const DiagnoseOptions options = files.diagnose_options({Format::Int8});
  try {
    diagnose(options, ending.sinks);
    FAIL();
  } catch (const DiagnosisInterrupted& ended) {
    ASSERT_FALSE(ended.report().layers.empty());
    for (const LayerRow& row : ended.report().layers) EXPECT_FALSE(row.macs.has_value()) << row.name;
    EXPECT_EQ(report_to_json(ended.report()).find("data_sha256"), std::string::npos);
  }
}

TEST(Diagnose, InterruptedBeforeTheFileWasMeasuredClaimsNothingOfIt) {
  const NetFiles files;
  const double all_low = diagnose(files.diagnose_options({Format::Int8})).all_low.outputs.front().sqnr_db;
  std::filesystem::remove_all(files / "out");
  DiagnoseOptions options = files.diagnose_options({Format::Int8});
  options.measure.requirement = at_least_db(all_low + 3);
  options.search.journal = files / "new" / "folder" / "journal.jsonl";
  bool interrupted = false;
  JobSinks sinks;
  sinks.info = [&](const std::string& text) { interrupted = interrupted || text.starts_with("output model: "); };
  sinks.interrupted = [&] { return interrupted; };
  std::optional<DiagnoseReport> report;
  try {
    report = diagnose(options, sinks);
  } catch (const DiagnosisInterrupted& ended) {
    report = ended.report();
  }
  ASSERT_TRUE(report->kept.has_value() && report->typed.has_value());
  EXPECT_FALSE(report->final_figures.has_value());
  EXPECT_EQ(outcome_of(*report), Outcome::NotVerified);
  const std::string text = report_to_text(*report, {});
  EXPECT_EQ(text.find("Not verified: Vernier did not measure whether the output model meets"), 0U) << text;
  EXPECT_EQ(text.find("trtexec"), std::string::npos) << "nothing to deploy";
  const std::string deploy = bytes_of(files / "out" / "deploy.md");
  EXPECT_NE(deploy.find("Not verified: Vernier did not measure whether the output model meets"), std::string::npos);
  EXPECT_NE(deploy.find("| verify of the output model | not measured |"), std::string::npos);
  ASSERT_FALSE(report->warnings.empty());
  const std::string last = note_text(report->warnings.back());
  EXPECT_NE(last.find("To resume, run again with ‹resume› (the trials are in "), std::string::npos) << last;
}

TEST(Diagnose, InterruptedBeforeItMeasuredAnythingLeavesTheFolderAsItWas) {
  for (const std::string at : {"float model", "local error"}) {
    const NetFiles files;
    const InterruptsAt first(at), second(at);
    const DiagnoseOptions options = files.diagnose_options({Format::Int8});
    EXPECT_EQ(error_of([&] { diagnose(options, first.sinks); }).kind(), ErrorKind::Interrupted);
    EXPECT_FALSE(std::filesystem::exists(files / "out")) << "no folder of nothing";
    diagnose(options);
    const std::string before = bytes_of(files / "out" / "report.json");
    EXPECT_EQ(error_of([&] { diagnose(options, second.sinks); }).kind(), ErrorKind::Interrupted);
    EXPECT_EQ(bytes_of(files / "out" / "report.json"), before);
  }
}

TEST(Diagnose, InterruptedSaysThatItGoesOnWhereItKeepsWhatItMeasured) {
  const NetFiles files;
  const InterruptsAt ending("sensitivity");
  DiagnoseOptions options = files.diagnose_options({Format::Int8});
  options.cache_folder = files / "cache";
  EXPECT_EQ(error_of([&] { diagnose(options, ending.sinks); }).kind(), ErrorKind::Interrupted);
  const DiagnoseReport report = diagnose_report_from_json(bytes_of(files / "out" / "report.json"), "report.json");
  EXPECT_EQ(note_text(report.warnings.back()),
            "interrupted: the report has only the figures measured so far. Run again to resume");
  const DiagnoseReport again = diagnose(options);
  const auto reused = std::ranges::find(again.notes, "measurements-reused", &Note::code);
  ASSERT_NE(reused, again.notes.end());
  EXPECT_EQ(*reused->find("what"), NoteValue("local errors, everything low"));
}

TEST(Diagnose, SaysWhyNothingIsKeptForLaterRuns) {
  const NetFiles files;
  DiagnoseOptions options = files.diagnose_options({Format::Int8});
  options.cache_folder = files / "a file";
  std::ofstream(options.cache_folder) << "no folder";
  const std::vector<Note> notes = diagnose(options).notes;
  const auto why = std::ranges::find(notes, "nothing-kept", &Note::code);
  ASSERT_NE(why, notes.end());
  EXPECT_TRUE(std::get<std::string>(*why->find("why")).ends_with("Not a directory"));
}

TEST(Diagnose, WhereAFileCannotBeWrittenItGivesWhatItMeasured) {
  for (const char* file : {"model.onnx", "plan.json", "report.json", "report.html"}) {
    const NetFiles files;
    DiagnoseOptions options = files.diagnose_options({Format::Int8});
    options.measure.requirement = at_least_db(40);
    std::filesystem::create_directories(files / "out" / file / "in the way");
    try {
      diagnose(options);
      FAIL() << file;
    } catch (const DiagnosisInterrupted& ended) {
      EXPECT_EQ(ended.kind(), ErrorKind::Input);
      EXPECT_NE(std::string(ended.what()).find(file), std::string::npos) << ended.what();
      EXPECT_TRUE(ended.report().interrupted);
      ASSERT_TRUE(ended.report().kept.has_value()) << file;
      EXPECT_EQ(std::ranges::count(ended.report().layers, true, &LayerRow::kept),
                static_cast<std::ptrdiff_t>(ended.report().kept->layers.size()));
      EXPECT_EQ(ended.report().files.contains("report"), file == std::string("report.html")) << file;
      EXPECT_EQ(ended.report().files.contains("page"), file == std::string("report.json")) << file;
      if (!ended.report().files.contains("report")) continue;
      const DiagnoseReport written = diagnose_report_from_json(bytes_of(files / "out" / "report.json"), "report.json");
      EXPECT_FALSE(written.files.contains("page")) << "no file that is not there";
      EXPECT_TRUE(written.interrupted);
    }
  }
}

TEST(Diagnose, InterruptedSearchStillWritesAModelThatPasses) {
  const NetFiles files;
  const double all_low = diagnose(files.diagnose_options({Format::Int8})).all_low.outputs.front().sqnr_db;
  for (const std::string phase : {"search", "trial"}) {
    std::filesystem::remove_all(files / "out");
    bool interrupted = false;
    JobSinks sinks;
    sinks.progress = [&](const std::string& now, std::size_t done, std::size_t) {
      interrupted = interrupted || (now == phase && done >= 2);
    };
    sinks.interrupted = [&] { return interrupted; };
    DiagnoseOptions options = files.diagnose_options({Format::Int8});
    options.measure.requirement = at_least_db(all_low + 3);
    const DiagnoseReport report = diagnose(options, sinks);
    EXPECT_EQ(report.kept.value().end, SearchEnd::Stopped) << phase;
    EXPECT_FALSE(report.kept->certified) << "an interrupted test proves nothing";
    EXPECT_TRUE(std::filesystem::exists(files / "out" / "model.onnx"));
    EXPECT_TRUE(std::filesystem::exists(files / "out" / "report.json"));
    const VerifyReport verified = [&] {
      VerifyOptions verify_options = files.verify_options(files / "out" / "model.onnx");
      verify_options.measure.requirement = options.measure.requirement;
      return verify(verify_options);
    }();
    EXPECT_TRUE(verified.figures.passed.value()) << phase;
  }
}

TEST(Diagnose, KeepsALayerThatTheUserFixedOutOfTheSearch) {
  const NetFiles files;
  for (const PrecisionConstraints constraints : {PrecisionConstraints::Obey, PrecisionConstraints::Prefer}) {
    DiagnoseOptions options = files.diagnose_options({Format::Int8});
    options.precision.layer_precisions = {{"conv*", Format::Int8}, {"conv2", Format::Float32}};
    options.precision.constraints = constraints;
    const DiagnoseReport report = diagnose(options);
    const Plan plan = plan_from_json(bytes_of(files / "out" / "plan.json"), "plan.json");
    EXPECT_EQ(plan.format_of("conv1"), Format::Int8);
    EXPECT_EQ(plan.format_of("conv2"), Format::Float32) << "later ones win";
    EXPECT_TRUE(report.warnings.empty());
    for (const LayerRow& row : report.layers) EXPECT_NE(row.name, "conv2");
    EXPECT_FALSE(row_named(report.layers, "conv1").share.has_value()) << "no candidate: the user decided";
  }
}

TEST(Diagnose, ObeyRefusesWhatALayerCannotTakeAndPreferWarns) {
  const NetFiles files;
  DiagnoseOptions options = files.diagnose_options({Format::Int8});
  options.precision.layer_precisions = {{"relu1", Format::Int8}};
  options.precision.constraints = PrecisionConstraints::Obey;
  const Error error = error_of([&] { diagnose(options); });
  EXPECT_EQ(error.kind(), ErrorKind::Usage);
  EXPECT_EQ(std::string(error.what()), "layer 'relu1' cannot run in INT8: Relu is not an operator of the scheme");
  options.precision.constraints = PrecisionConstraints::Prefer;
  const DiagnoseReport report = diagnose(options);
  ASSERT_EQ(report.warnings.size(), 1U);
  EXPECT_EQ(note_text(report.warnings.front()),
            "layer 'relu1' runs in FP32, not INT8: Relu is not an operator of the scheme");
}

TEST(Diagnose, NoneIgnoresLayerPrecisionsAndListsThem) {
  const NetFiles files;
  DiagnoseOptions options = files.diagnose_options({Format::Int8});
  options.precision.layer_precisions = {{"conv2", Format::Float32}};
  options.precision.constraints = PrecisionConstraints::None;
  const DiagnoseReport report = diagnose(options);
  EXPECT_EQ(row_named(report.layers, "conv2").format, Format::Int8);
  ASSERT_EQ(report.warnings.size(), 1U);
  EXPECT_EQ(report.warnings.front(), (Note{"layer-precision-ignored", {{"layer", "conv2"}, {"asked", "float32"}}}));
}

TEST(Diagnose, OffersTheNearestNameForAnUnknownLayer) {
  const NetFiles files;
  DiagnoseOptions options = files.diagnose_options({Format::Int8});
  options.precision.layer_precisions = {{"conv22", Format::Float32}};
  options.precision.constraints = PrecisionConstraints::Obey;
  const Error error = error_of([&] { diagnose(options); });
  EXPECT_EQ(error.kind(), ErrorKind::Usage);
  EXPECT_EQ(std::string(error.what()), "‹layer-precisions›: no layer is named 'conv22'");
  EXPECT_NE(error.hint().find("conv2"), std::string::npos) << error.hint();
}

TEST(Diagnose, CalibratesOnOtherSamplesWhenAsked) {
  const NetFiles files;
  write_npy(files / "other.npy", bell_samples("x", kConvNetInput, 3, 10.0F), "x");
  DiagnoseOptions options = files.diagnose_options({Format::Int8});
  const DiagnoseReport same = diagnose(options);
  EXPECT_TRUE(same.calibrated_on_evaluation_samples);
  const Plan own = plan_from_json(bytes_of(files / "out" / "plan.json"), "plan.json");
  options.measure.calibration_data = SourceOptions{};
  options.measure.calibration_data->location = (files / "other.npy").string();
  const DiagnoseReport report = diagnose(options);
  EXPECT_FALSE(report.calibrated_on_evaluation_samples);
  EXPECT_EQ(report.samples, 8U);
  const Plan plan = plan_from_json(bytes_of(files / "out" / "plan.json"), "plan.json");
  // The scale of the input is the largest absolute value of the calibration samples over 127.
  const auto absmax = [](const Samples& samples) {
    float largest = 0;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const Sample sample = samples.at(i);
      for (const float value : sample.at("x").floats()) largest = std::max(largest, std::abs(value));
    }
    return largest;
  };
  EXPECT_EQ(own.tensors.at("x").scale.front(), absmax(bell_samples("x", kConvNetInput, 8)) / 127);
  EXPECT_EQ(plan.tensors.at("x").scale.front(), absmax(bell_samples("x", kConvNetInput, 3, 10.0F)) / 127);
  EXPECT_LT(report.all_low.outputs.front().sqnr_db, same.all_low.outputs.front().sqnr_db) << "a range far too wide";
}

TEST(Diagnose, DoesNotDependOnThreads) {
  const NetFiles files;
  DiagnoseOptions options = files.diagnose_options({Format::Int8});
  const double all_low = diagnose(options).all_low.outputs.front().sqnr_db;
  options.measure.requirement = at_least_db(all_low + 3);
  const auto run = [&](std::size_t threads) {
    options.measure.threads = threads;
    DiagnoseReport report = diagnose(options);
    report.phases.clear();
    return std::pair{report_to_json(report), bytes_of(files / "out" / "model.onnx")};
  };
  const auto one = run(1);
  const auto three = run(3);
  EXPECT_EQ(one.first, three.first);
  EXPECT_EQ(one.second, three.second);
}

TEST(Diagnose, RefusesNoPrecisionAndModelsWithoutSuchLayers) {
  const NetFiles files;
  EXPECT_EQ(error_of([&] { diagnose(files.diagnose_options({})); }).kind(), ErrorKind::Usage);
  const NetFiles relu(network("g (float[1,4] x) => (float[1,4] y) { y = Relu(x) }"), {1, 4});
  const Error error = error_of([&] { diagnose(relu.diagnose_options({Format::Int8})); });
  EXPECT_EQ(error.kind(), ErrorKind::Input);
  EXPECT_NE(std::string(error.what()).find("no layer can run in the requested formats"), std::string::npos)
      << error.what();
}

TEST(Diagnose, MeasuresAFileInLowPrecisionAgainstTheNetworkBehindIt) {
  const NetFiles files;
  quantize(files.quantize_options({Format::Int8}));
  DiagnoseOptions options = files.diagnose_options({Format::Int8});
  options.model = files / "converted.onnx";
  const DiagnoseReport report = diagnose(options);
  EXPECT_NE(std::ranges::find(report.notes, "file-already-low", &Note::code), report.notes.end());
  EXPECT_EQ(report.reference.outputs.front().sqnr_db, std::numeric_limits<double>::infinity());
  EXPECT_LT(report.all_low.outputs.front().sqnr_db, 60);
}

}  // namespace
}  // namespace vernier::testing
