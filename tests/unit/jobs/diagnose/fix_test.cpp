// Repairs in the network: what is accepted, and what is taken back.

#include "vernier/fix.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "job_files.h"
#include "jobs/diagnose/repair_ladder.h"
#include "jobs/diagnose/rounding_noise.h"
#include "vernier/format.h"
#include "vernier/report/causes.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/outcome.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"
#include "vernier/verify.h"

namespace vernier::testing {
namespace {

TEST(RepairLadder, AcceptsAFifthOfTheErrorPower) {
  EXPECT_TRUE(helps(1, 0.8));
  EXPECT_FALSE(helps(1, 0.801));
  EXPECT_TRUE(helps(1, 0));
  EXPECT_TRUE(helps(INFINITY, 1e-3)) << "finite again";
  EXPECT_FALSE(helps(INFINITY, INFINITY)) << "not finite still";
  EXPECT_FALSE(helps(1, NAN));
  EXPECT_FALSE(helps(0, 0)) << "there was nothing to repair";
}

OutputError output_error(double noise, std::vector<double> log_noise = {}, std::vector<std::int64_t> moved = {}) {
  OutputError error{noise, noise, {}, {}, std::move(moved)};
  if (log_noise.empty()) return error;
  error.output_log_noise.push_back(log_noise);
  error.log_noise.push_back(std::move(log_noise));
  return error;
}

TEST(RepairLadder, JudgesLayersOfALargeNetworkOnFewerSamples) {
  EXPECT_EQ(samples_to_judge(300'000'000), 8U);
  EXPECT_EQ(samples_to_judge(4'000'000'000), 4U);
  EXPECT_EQ(ladder_samples({0, 1}, {2, 3, 4, 5, 6, 7}, 4).judge, (std::vector<std::size_t>{2, 3, 5, 6}));
}

TEST(RepairLadder, AGainHasToBeBeyondNoiseOnSamplesThatTaughtNothing) {
  const OutputError before = output_error(0.1, {-6, -5, -7, -6});
  EXPECT_TRUE(better(before, output_error(0.09, {-6.5, -5.4, -7.6, -6.4}))) << "every sample gains";
  EXPECT_FALSE(better(before, output_error(0.09, {-5.8, -4.9, -7.0, -8}))) << "one sample, and the others lose";
  EXPECT_FALSE(better(before, output_error(0.2, {-6.5, -5.4, -7.6, -6.4}))) << "the figure of all is worse";
  EXPECT_TRUE(better(output_error(0.1), output_error(0.1))) << "of samples that taught there is nothing to doubt";
  EXPECT_FALSE(better(output_error(0.1), output_error(0.2)));
}

TEST(RepairLadder, WhatIsHandedOutGainsTwoStandardErrors) {
  const OutputError before = output_error(0.1, {-6, -5, -7, -6});
  const OutputError half_sure = output_error(0.09, {-6.5, -5, -8, -6.1});  // gains 0.4 +- 0.23
  EXPECT_TRUE(better(before, half_sure));
  EXPECT_FALSE(surely_better(before, half_sure));
  const OutputError sure = output_error(0.09, {-6.5, -5.4, -7.6, -6.4});
  EXPECT_TRUE(surely_better(before, sure));
  EXPECT_TRUE(surely_better(output_error(0.1), output_error(0.1))) << "samples that taught have no noise to speak of";
  OutputError in_front_alone = sure;
  in_front_alone.output_log_noise.front() = {-6.9, -4.7, -7.9, -5.1};  // gains 0.15 +- 0.47
  EXPECT_TRUE(better(before, in_front_alone));
  EXPECT_FALSE(surely_better(before, in_front_alone)) << "behind the Softmax nothing is gained";
}

TEST(RepairLadder, TheReasonNamesTheFiguresThatSpeakAgainstARepair) {
  OutputError before = output_error(0.1), after = output_error(0.05);
  EXPECT_EQ(no_gain_text(before, after), "on held-out samples the gain is within noise: 10.0 to 13.0 dB");
  after.noise = 0.2;
  EXPECT_EQ(no_gain_text(before, after),
            "better in front of the Softmax (10.0 to 13.0 dB), but worse at the output (10.0 to 7.0 dB)");
  EXPECT_EQ(no_gain_text(before, output_error(0.2)), "the whole network gets worse: 10.0 to 7.0 dB");
}

TEST(RepairLadder, NoOutputMayGetSurelyWorse) {
  OutputError before = output_error(0.1, {-6, -5, -7, -6});
  before.log_noise.push_back({-3, -3, -4, -3});
  OutputError after = output_error(0.05, {-9, -8, -10, -9});
  after.log_noise.push_back({-2.5, -2.4, -3.6, -2.5});
  EXPECT_FALSE(better(before, after)) << "each sample of the second output";
  after.log_noise.back() = {-2.5, -3.6, -4, -2.9};
  EXPECT_TRUE(better(before, after)) << "within noise";
}

TEST(RepairLadder, ClassesThatMoveBeyondChanceAreWorse) {
  const std::vector<std::int64_t> none(8);
  EXPECT_FALSE(better(output_error(0.1, {}, none), output_error(0.01, {}, {1, 1, 1, 1, 1, 0, 0, 0})))
      << "5 classes less";
  EXPECT_TRUE(better(output_error(0.1, {}, none), output_error(0.01, {}, {1, 1, 1, 1, 0, 0, 0, 0})))
      << "4 are within noise";
}

Tensor filled(const Shape& shape, const std::function<float(int)>& value) {
  Tensor tensor(Dtype::Float32, shape);
  for (int i = 0; i < static_cast<int>(tensor.count()); ++i) {
    tensor.mutable_floats()[static_cast<std::size_t>(i)] = value(i);
  }
  return tensor;
}

FixOptions fix_options(const NetFiles& files, std::vector<std::string> allow) {
  FixOptions options{files.diagnose_options({Format::Int8}), {std::move(allow), {}}};
  options.precision.rules.weights_per_channel = false;
  options.measure.output_parts = false;  // repairs are weighed by the output as a whole
  return options;
}

std::vector<RepairTried> rows_of(const DiagnoseReport& report, const std::string& id) {
  std::vector<RepairTried> rows;
  for (const RepairTried& row : report.explanation.value().repairs) {
    if (row.id == id) rows.push_back(row);
  }
  return rows;
}

float on_a_grid(int i) { return 0.01F * static_cast<float>(i * 37 % 201 - 100); }
float nearly_on_a_grid(int i) { return on_a_grid(i) + 3e-4F * std::sin(static_cast<float>(3 * i + 1)); }

/// The weights of `a` lie on a grid, those of `b` are nearly the same: what both round wrong cancels in their
/// difference, until one of them is repaired. The inputs of `c` hardly vary, so that its error is a shift of the mean.
onnx::ModelProto one_repair_hurts_another_helps() {
  return network(
      "net (float[1,16] x) => (float[1,16] y) <float k = {0.001}, float one = {1}> {"
      " [a] ya = MatMul(x, wa)\n [b] yb = MatMul(x, wb)\n [difference] d = Sub(ya, yb)\n"
      " [small] s = Mul(x, k)\n [shift] z = Add(s, one)\n [c] yc = Gemm(z, wc, bc)\n"
      " [all] y = Concat <axis = 1> (d, yc) }",
      {{"wa", filled({16, 8}, on_a_grid)},
       {"wb", filled({16, 8}, nearly_on_a_grid)},
       {"wc", bell({16, 8}, 1, 25)},
       {"bc", filled({8}, [](int) { return 0.0F; })}});
}

/// Whole numbers up to 127: their grid holds them all.
void write_whole_numbers(const NetFiles& files) {
  std::vector<Sample> samples;
  for (int n = 0; n < 16; ++n) {
    samples.push_back({{"x", filled({1, 16}, [&](int i) {
                          return static_cast<float>(i == n ? 127 : (i * 53 + n * 97) % 255 - 127);
                        })}});
  }
  write_npy(files.data_file(), Samples(std::move(samples)), "x");
}

TEST(Fix, OneKindOfRepairIsTakenBackAndAnotherStays) {
  const NetFiles files(one_repair_hurts_another_helps(), {1, 16});
  write_whole_numbers(files);
  const DiagnoseReport both = fix(fix_options(files, {"weight-grid", "bias-correction"}));
  const std::vector<RepairTried> grids = rows_of(both, "weight-grid");
  const auto of_a = std::ranges::find(grids, std::vector<std::string>{"a"}, &RepairTried::layers);
  ASSERT_NE(of_a, grids.end());
  EXPECT_GT(of_a->after_db.value(), of_a->before_db.value() + 20) << "the layer by itself is far better";
  EXPECT_FALSE(of_a->accepted);
  EXPECT_FALSE(of_a->accepted) << "it helps the calibration samples that decide, and not those that are measured";
  const std::vector<RepairTried> biases = rows_of(both, "bias-correction");
  EXPECT_TRUE(std::ranges::any_of(biases, &RepairTried::accepted));
  ASSERT_TRUE(both.repaired);
  EXPECT_GT(both.repaired->outputs.front().sqnr_db, both.all_low.outputs.front().sqnr_db + 0.5);

  const DiagnoseReport one = fix(fix_options(files, {"bias-correction"}));
  EXPECT_EQ(one.repaired.value().outputs.front().sqnr_db, both.repaired->outputs.front().sqnr_db)
      << "nothing of the other is left";
  const DiagnoseReport other = fix(fix_options(files, {"weight-grid"}));
  EXPECT_FALSE(other.repaired) << "the network stays as it was";
}

/// The network with its repairs is searched first, and verified: that answer stands.
TEST(Fix, InterruptedInTheSearchWithoutRepairsKeepsTheAnswerWithThem) {
  const NetFiles files(one_repair_hurts_another_helps(), {1, 16});
  write_whole_numbers(files);
  FixOptions options = fix_options(files, {"bias-correction"});
  options.measure.requirement = at_least_db(fix(options).repaired.value().outputs.front().sqnr_db + 1);
  const DiagnoseReport whole = fix(options);
  ASSERT_TRUE(whole.repaired && whole.final_figures.value().passed.value());
  for (const std::string at : {"all low", "search"}) {
    std::filesystem::remove_all(files / "out");
    options.search.journal = files / (at + ".jsonl");
    bool second = false, interrupted = false;
    JobSinks sinks;
    sinks.info = [&](const std::string& text) {
      second = second || text.starts_with("verify: ");
      interrupted = interrupted || (at == "search" && text.ends_with(".unrepaired"));
    };
    sinks.progress = [&](const std::string&, std::size_t, std::size_t) {
      interrupted = interrupted || (at == "all low" && second);
    };
    sinks.interrupted = [&] { return interrupted; };
    const DiagnoseReport report = fix(options, sinks);
    ASSERT_TRUE(report.interrupted) << at;
    EXPECT_EQ(outcome_of(report), Outcome::Met);
    EXPECT_EQ(report.kept->layers, whole.kept->layers);
    EXPECT_EQ(report.final_figures.value().outputs.front().sqnr_db, whole.final_figures->outputs.front().sqnr_db);
    EXPECT_NE(std::ranges::find(report.notes, "without-repairs-unknown", &Note::code), report.notes.end());
    VerifyOptions verifying = files.verify_options(files / "out" / "model.onnx");
    EXPECT_EQ(verify(verifying).figures.outputs.front().sqnr_db, whole.final_figures->outputs.front().sqnr_db);
  }
}

/// As above, behind a switch, the last element of x: 1 opens the difference, in which errors cancel; 0 opens `a` alone,
/// which its repair makes exact.
onnx::ModelProto a_repair_helps_half_of_the_samples() {
  return network(
      "net (float[1,16] x) => (float[1,24] y)"
      " <float k = {0.001}, float one = {1}> {"
      " [a] ya = MatMul(x, wa)\n [b] yb = MatMul(x, wb)\n [difference] d = Sub(ya, yb)\n"
      " [switch] on = MatMul(x, last)\n [other] off = Sub(one, on)\n"
      " [first] cancelled = Mul(d, on)\n [second] alone = Mul(ya, off)\n"
      " [small] s = Mul(x, k)\n [shift] z = Add(s, one)\n [c] shifted = Gemm(z, wc, bc)\n"
      " [all] y = Concat <axis = 1> (cancelled, alone, shifted) }",
      {{"wa", filled({16, 8}, on_a_grid)},
       {"wb", filled({16, 8}, nearly_on_a_grid)},
       {"last", filled({16, 1}, [](int i) { return i == 15 ? 1.0F / 127 : 0.0F; })},
       {"wc", bell({16, 8}, 1, 12)},
       {"bc", filled({8}, [](int) { return 0.0F; })}});
}

/// `open`: of how many samples, the first, the difference is open.
void write_switched(const std::filesystem::path& file, int samples, int open) {
  std::vector<Sample> made;
  for (int n = 0; n < samples; ++n) {
    made.push_back({{"x", filled({1, 16}, [&](int i) {
                       if (i == 15) return n < open ? 127.0F : 0.0F;
                       return static_cast<float>((i * 53 + n * 97) % 255 - 127);
                     })}});
  }
  write_npy(file, Samples(std::move(made)), "x");
}

TEST(Fix, WhatHelpsOnlySomeSamplesIsTakenBackAlone) {
  const NetFiles files(a_repair_helps_half_of_the_samples(), {1, 16});
  write_switched(files.data_file(), 8, 8);
  write_switched(files / "calibration.npy", 12, 8);
  FixOptions options = fix_options(files, {"weight-grid", "bias-correction"});
  options.measure.calibration_data = SourceOptions{};
  options.measure.calibration_data->location = (files / "calibration.npy").string();
  const DiagnoseReport report = fix(options);
  const std::vector<RepairTried> grids = rows_of(report, "weight-grid");
  const auto of_a = std::ranges::find(grids, std::vector<std::string>{"a"}, &RepairTried::layers);
  ASSERT_NE(of_a, grids.end());
  EXPECT_FALSE(of_a->accepted) << "it helps the calibration samples that decide, and not those that are measured";
  const std::vector<RepairTried> biases = rows_of(report, "bias-correction");
  EXPECT_TRUE(std::ranges::any_of(biases, &RepairTried::accepted)) << "the other kind is not lost with it";
  ASSERT_TRUE(report.repaired);
  EXPECT_GT(report.repaired->outputs.front().sqnr_db, report.all_low.outputs.front().sqnr_db + 1);
}

/// Channel 5 is small where it is made and large where it is read, so that one step for all weights of the second is
/// far too wide for the others.
NetFiles one_large_channel() {
  Tensor w1 = scaled_slice(bell({16, 32}, 1), 1, 5, 1.0F / 30);
  Tensor w2 = scaled_slice(bell({32, 16}, 2), 0, 5, 30);
  return NetFiles(network("net (float[1,16] x) => (float[1,16] y) {"
                          " [first] a = Gemm(x, w1, b1)\n [act] r = Relu(a)\n [second] y = MatMul(r, w2) }",
                          {{"w1", w1}, {"b1", scaled_slice(bell({1, 32}, 3), 1, 5, 1.0F / 30)}, {"w2", w2}}),
                  {1, 16}, 16);
}

constexpr double kFifthDb = 0.969;  // -10 log10(0.8)

TEST(Fix, EveryRowThatWasAcceptedTookAFifthAway) {
  const NetFiles files = one_large_channel();
  const DiagnoseReport report = fix(fix_options(files, {}));
  std::size_t accepted = 0;
  for (const RepairTried& row : report.explanation.value().repairs) {
    if (!row.accepted) continue;
    ++accepted;
    if (row.why.find("of its kind the output of the network changes from") != std::string::npos) continue;
    EXPECT_GE(row.after_db.value(), row.before_db.value() + kFifthDb) << row.id;
  }
  EXPECT_GT(accepted, 0U);
}

/// Pixels have a small mean and a large deviation: so has what the convolution's rounded weights make of them. The pool
/// leaves the mean alone. `result` is what makes the pool's input of x, w and b.
onnx::ModelProto pooled(const std::string& result) {
  return network("net (float[1,4,32,32] x) => (float[1,8] y) { " + result +
                     "\n [pool] y = ReduceMean <axes = [2, 3], keepdims = 0> (c) }",
                 {{"w", bell({8, 4, 1, 1}, 3)}, {"b", bell({8}, 4)}, {"v", bell({4, 8}, 3)}});
}

void write_pixels(const NetFiles& files) {
  std::vector<Sample> samples;
  for (int n = 0; n < 16; ++n) {
    Tensor x = filled({1, 4, 32, 32}, [&](int i) {
      const auto mixed = static_cast<std::uint32_t>(i + 4096 * n + 1) * 2654435761U;
      return 0.1F + static_cast<float>((mixed ^ (mixed >> 15U)) % 2001U) / 1000.0F - 1.0F;
    });
    samples.push_back({{"x", std::move(x)}});
  }
  write_npy(files.data_file(), Samples(std::move(samples)), "x");
}

TEST(Fix, SmallGainsCountWhereTheOutputGainsAFifth) {
  const NetFiles files(pooled("[conv] c = Conv(x, w, b)"), {1, 4, 32, 32});
  write_pixels(files);
  const DiagnoseReport report = fix(fix_options(files, {"bias-correction"}));
  const std::vector<RepairTried> rows = rows_of(report, "bias-correction");
  ASSERT_FALSE(rows.empty());
  EXPECT_TRUE(rows[0].accepted) << rows[0].why;
  EXPECT_LT(rows[0].after_db.value(), rows[0].before_db.value() + kFifthDb) << "the layer alone says little";
  EXPECT_NE(rows[0].why.find("with 0 of its kind the output of the network changes from"), std::string::npos)
      << rows[0].why;
  EXPECT_GT(report.repaired.value().outputs.front().sqnr_db, report.all_low.outputs.front().sqnr_db + 3);
}

TEST(Fix, ABiasThatAnAddBehindAMatMulAddsIsCorrectedToo) {
  const NetFiles files(pooled("[last] t = Transpose <perm = [0, 2, 3, 1]> (x)\n [fc] m = MatMul(t, v)\n"
                              " [bias] a = Add(m, b)\n [first] c = Transpose <perm = [0, 3, 1, 2]> (a)"),
                       {1, 4, 32, 32});
  write_pixels(files);
  const DiagnoseReport report = fix(fix_options(files, {"bias-correction"}));
  const std::vector<RepairTried> rows = rows_of(report, "bias-correction");
  ASSERT_EQ(rows.size(), 1U) << "once is enough: its own error cannot say what is left";
  EXPECT_EQ(rows[0].layers, std::vector<std::string>{"fc"});
  EXPECT_TRUE(rows[0].accepted) << rows[0].why;
  EXPECT_NEAR(rows[0].after_db.value(), report.repaired.value().outputs.front().sqnr_db, 1)
      << "summed in another order";
  EXPECT_GT(report.repaired->outputs.front().sqnr_db, report.all_low.outputs.front().sqnr_db + 3);
  EXPECT_EQ(verify(files.verify_options(files / "out" / "model.onnx")).figures.outputs.front().sqnr_db,
            report.final_figures.value().outputs.front().sqnr_db);
}

TEST(Fix, SplittingALargeChannelChangesFloat32NotAndHelps) {
  const NetFiles files = one_large_channel();
  const DiagnoseReport report = fix(fix_options(files, {"split-channels"}));
  const std::vector<RepairTried> rows = rows_of(report, "split-channels");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].layers, std::vector<std::string>{"second"});
  EXPECT_TRUE(rows[0].accepted) << rows[0].why;
  EXPECT_GT(rows[0].neutral_db.value(), 100);
  EXPECT_GT(rows[0].after_db.value(), rows[0].before_db.value() + 3)
      << "half the step is 6 dB where weights are all of it";
  EXPECT_GT(report.repaired.value().outputs.front().sqnr_db, report.all_low.outputs.front().sqnr_db + 3);
  const Model wide = read_model(files / "out" / "float.onnx");
  EXPECT_EQ(initializer(wide, "w2")->shape(), (Shape{33, 16}));
  EXPECT_EQ(verify(files.verify_options(files / "out" / "model.onnx")).figures.outputs.front().sqnr_db,
            report.final_figures.value().outputs.front().sqnr_db);
}

TEST(Fix, ARewriteThatHelpsNothingIsNotHeldAgainstTheFloatModel) {
  const NetFiles files;
  const DiagnoseReport report = fix(fix_options(files, {"equalize", "smooth"}));
  std::size_t tried = 0;
  for (const RepairTried& row : report.explanation.value().repairs) {
    EXPECT_EQ(row.neutral_db.has_value(), row.accepted) << row.id;
    tried += row.before_db && !row.accepted ? 1 : 0;
  }
  EXPECT_GT(tried, 0U);
}

/// A norm of values up to some thousands in opset 13, which has no LayerNormalization.
NetFiles norm_in_pieces() {
  return NetFiles(
      network("net (float[1,4,16] x) => (float[1,4,16] y) <float two = {2}, float e = {1e-5}, float big = {1000}> {"
              " [up] u = Mul(x, big)\n [mean] m = ReduceMean<axes = [2]>(u)\n [sub] d = Sub(u, m)\n"
              " [sq] s = Pow(d, two)\n [var] v = ReduceMean<axes = [2]>(s)\n [eps] a = Add(v, e)\n"
              " [root] r = Sqrt(a)\n [div] q = Div(d, r)\n [gain] g = Mul(q, scale)\n [bias] y = Add(g, shift) }",
              {{"scale", bell({16}, 1)}, {"shift", bell({16}, 2)}}, 13),
      {1, 4, 16});
}

TEST(Fix, ANormInPiecesBecomesTheOperator) {
  const NetFiles files = norm_in_pieces();
  FixOptions options{files.diagnose_options({Format::Float16}), {{"fuse-norm"}, {}}};
  const DiagnoseReport report = fix(options);
  EXPECT_LT(report.all_low.outputs.front().sqnr_db, 10) << "squares overflow";
  const std::vector<RepairTried> rows = rows_of(report, "fuse-norm");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_TRUE(rows[0].accepted) << rows[0].why;
  EXPECT_GT(rows[0].neutral_db.value(), 100);
  EXPECT_GT(report.repaired.value().outputs.front().sqnr_db, 50);
  const Model fused = read_model(files / "out" / "float.onnx");
  EXPECT_EQ(default_opset(fused.proto), 17);
  const auto& nodes = fused.proto.graph().node();
  EXPECT_TRUE(std::ranges::any_of(nodes, [](const auto& node) { return node.op_type() == "LayerNormalization"; }));
  EXPECT_FALSE(std::ranges::any_of(nodes, [](const auto& node) { return node.op_type() == "Sqrt"; }));
  EXPECT_GT(report.final_figures.value().outputs.front().sqnr_db, 50) << "the written file";
}

TEST(Fix, ARewriteMayChangeAsMuchAsTheRoundingOfFloat32) {
  const NetFiles files(
      network("net (float[1,4,16] x) => (float[1,4,16] y) <float two = {2}, float e = {1e-5}, float far = {90000}> {"
              " [up] u = Add(x, far)\n [mean] m = ReduceMean<axes = [2]>(u)\n [sub] d = Sub(u, m)\n"
              " [sq] s = Pow(d, two)\n [var] v = ReduceMean<axes = [2]>(s)\n [eps] a = Add(v, e)\n"
              " [root] r = Sqrt(a)\n [div] y = Div(d, r) }",
              {}, 17),
      {1, 4, 16});
  const DiagnoseReport report = fix(FixOptions{files.diagnose_options({Format::Float16}), {{"fuse-norm"}, {}}});
  const std::vector<RepairTried> rows = rows_of(report, "fuse-norm");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_LT(rows[0].neutral_db.value_or(0), 60);
  EXPECT_EQ(rows[0].why.find("the FP32 outputs change too"), std::string::npos) << rows[0].why;
}

TEST(RoundingNoise, IsBehindEachNodeThatComputes) {
  Model model;
  model.proto = network(
      "net (float[2] x) => (float[2] y) <int64[1] two = {2}> {"
      " [move] r = Reshape(x, two)\n [neg] y = Neg(r) }");
  const Model noisy = with_rounding_noise(model);
  std::vector<std::string> operators;
  for (const onnx::NodeProto& node : noisy.proto.graph().node()) operators.push_back(node.op_type());
  EXPECT_EQ(operators, (std::vector<std::string>{"Reshape", "Neg", "RandomUniformLike", "Mul"}));
  EXPECT_EQ(noisy.proto.graph().node(3).output(0), "y");
}

TEST(Fix, ANormIsJudgedWithoutWhatIsWrongElsewhere) {
  const NetFiles files(
      network("net (float[1,16] x) => (float[1,16] y) <float two = {2}, float e = {1e-5}> {"
              " [mean] m = ReduceMean<axes = [1]>(x)\n [sub] d = Sub(x, m)\n [sq] s = Pow(d, two)\n"
              " [var] v = ReduceMean<axes = [1]>(s)\n [eps] a = Add(v, e)\n [root] r = Sqrt(a)\n"
              " [div] q = Div(d, r)\n [mm] z = MatMul(q, w)\n [up] f = Mul(z, c)\n [shift] p = Add(f, c)\n"
              " [back] y = Sub(p, c) }",
              {{"w", bell({16, 16}, 1)}, {"c", filled({1}, [](int) { return 20000.0F; })}}, 13),
      {1, 16});
  FixOptions options{files.diagnose_options({Format::Float16}), {{"fuse-norm"}, {}}};
  const DiagnoseReport report = fix(options);
  const std::vector<RepairTried> rows = rows_of(report, "fuse-norm");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_TRUE(rows[0].accepted);
  EXPECT_NE(rows[0].why.find("3 layers in FP32, because of infinite or NaN results"), std::string::npos) << rows[0].why;
  EXPECT_GT(rows[0].after_db.value(), rows[0].before_db.value() + 1);
  ASSERT_TRUE(report.repaired);
  EXPECT_EQ(report.repaired->outputs.front().sqnr_db, -INFINITY) << "which this repair does not answer";
}

TEST(Fix, ARewriteThatOnlyTakesAwayInfinitiesStays) {
  const NetFiles files(network("net (float[1,16] x) => (float[1,16] y) <float one = {1}, float big = {40}> {"
                               " [up] z = Mul(x, big)\n [exp] e = Exp(z)\n [sum] s = Add(e, one)\n [log] p = Log(s)\n"
                               " [tanh] t = Tanh(p)\n [mish] m = Mul(z, t)\n [mm] y = MatMul(m, w) }",
                               {{"w", bell({16, 16}, 1)}}),
                       {1, 16});
  const DiagnoseReport report = fix(FixOptions{files.diagnose_options({Format::Float16}), {{"stable-form"}, {}}});
  const std::vector<RepairTried> rows = rows_of(report, "stable-form");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_TRUE(rows[0].accepted) << rows[0].why;
  EXPECT_NE(rows[0].why.find("2 layers fewer overflow"), std::string::npos) << rows[0].why;
  ASSERT_TRUE(report.repaired);
  EXPECT_FALSE(report.repaired->nonfinite_inside) << "a Tanh hid them";
}

/// RMS norms in pieces on a stream that reaches some 150000.
NetFiles large_stream_with_rms_norms() {
  const auto norm = [](const std::string& n, const std::string& x) {
    return "[sq" + n + "] s" + n + " = Mul(" + x + ", " + x + ")\n [mean" + n + "] m" + n +
           " = ReduceMean<axes = [-1]>(s" + n + ")\n [eps" + n + "] e" + n + " = Add(m" + n + ", e)\n [root" + n +
           "] r" + n + " = Sqrt(e" + n + ")\n [div" + n + "] q" + n + " = Div(" + x + ", r" + n + ")\n [gain" + n +
           "] n" + n + " = Mul(q" + n + ", g)\n ";
  };
  return NetFiles(
      network("net (float[1,4,16] x) => (float[1,4,8] y) <float e = {1e-5}> { [embed] x0 = MatMul(x, t)\n " +
                  norm("0", "x0") +
                  "[up0] u0 = MatMul(n0, a)\n [down0] d0 = MatMul(u0, b)\n"
                  " [x1] x1 = Add(x0, d0)\n " +
                  norm("1", "x1") + "[head] y = MatMul(n1, c) }",
              {{"t", bell({16, 16}, 1, 0.25F)},
               {"g", bell({16}, 2)},
               {"a", bell({16, 32}, 3, 0.25F)},
               {"b", bell({32, 16}, 4, 9000)},
               {"c", bell({16, 8}, 5, 0.25F)}}),
      {1, 4, 16});
}

TEST(Fix, AStreamIsScaledAlthoughTheSquaresOfItsNormsHideIt) {
  const NetFiles files = large_stream_with_rms_norms();
  for (const char* squares : {"fuse-norm", "scale-square"}) {
    const DiagnoseReport report =
        fix(FixOptions{files.diagnose_options({Format::Float16}), {{"scale-stream", squares}, {}}});
    EXPECT_LT(report.all_low.outputs.front().sqnr_db, 1);
    for (const char* id : {"scale-stream", squares}) {
      const std::vector<RepairTried> rows = rows_of(report, id);
      EXPECT_TRUE(std::ranges::any_of(rows, &RepairTried::accepted)) << id;
    }
    EXPECT_GT(report.repaired.value().outputs.front().sqnr_db, 45) << squares;
  }
}

TEST(Fix, TheMeanOfAStreamIsTakenOffInBFloat16) {
  const NetFiles files(network("net (float[1,4,16] x) => (float[1,4,16] y) {\n [embed] e = MatMul(x, t)\n"
                               " [shift] s = Add(e, c)\n [norm] y = LayerNormalization(s, g, h) }",
                               {{"t", bell({16, 16}, 1, 0.25F)},
                                {"c", filled({16}, [](int) { return 400.0F; })},
                                {"g", bell({16}, 2)},
                                {"h", bell({16}, 3)}}),
                       {1, 4, 16});
  for (const Format format : {Format::Float16, Format::BFloat16}) {
    const DiagnoseReport report = fix(FixOptions{files.diagnose_options({format}), {{"centre-stream"}, {}}});
    const std::vector<RepairTried> rows = rows_of(report, "centre-stream");
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_TRUE(rows[0].accepted) << rows[0].why;
  }
}

TEST(Fix, AMaskMadeInTheNetworkIsClamped) {
  const NetFiles files(network("net (float[4,8] x) => (float[4,8] y) <float zero = {0}, float one = {1},"
                               " float never = {-3.4e38}> {"
                               " [logits] a = MatMul(x, w)\n [open] p = Greater(x, zero)\n [mask] k = Cast<to = 1>(p)\n"
                               " [closed] c = Sub(one, k)\n [never] m = Mul(c, never)\n [add] l = Add(a, m)\n"
                               " [softmax] y = Softmax<axis = -1>(l) }",
                               {{"w", bell({8, 8}, 1)}}, 13),
                       {4, 8});
  FixOptions options{files.diagnose_options({Format::Float16}), {}};
  const DiagnoseReport report = fix(options);
  EXPECT_EQ(report.all_low.outputs.front().sqnr_db, -INFINITY) << "0 * -inf";
  const std::vector<RepairTried> rows = rows_of(report, "clamp-mask");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_TRUE(rows[0].accepted) << rows[0].why;
  EXPECT_EQ(rows[0].layers, (std::vector<std::string>{"never", "add"}));
  EXPECT_GT(report.repaired.value().outputs.front().sqnr_db, 50);
  const std::vector<Cause>& causes = report.explanation->causes;
  EXPECT_TRUE(
      std::ranges::any_of(causes, [](const Cause& c) { return c.id == "mask-constant" && c.layer == "never"; }));
  EXPECT_FALSE(std::ranges::any_of(causes, [](const Cause& c) { return c.id == "overflow"; }))
      << "the mask is the cause, not what it makes";
}

}  // namespace
}  // namespace vernier::testing
