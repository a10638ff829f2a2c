#include "vernier/report/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "analysis/requirement.h"
#include "engines/onnxruntime/runtime.h"
#include "engines/onnxruntime/session.h"
#include "job_files.h"
#include "numerics/round.h"
#include "plan/simulate_typed.h"
#include "vernier/arithmetic.h"
#include "vernier/error.h"
#include "vernier/format.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/figures.h"
#include "vernier/requirement.h"
#include "vernier/target.h"
#include "vernier/tensor.h"
#include "vernier/verify.h"

namespace vernier::testing {
namespace {

/// y = x W + b as a float network and the same with float16 casts made by hand.
constexpr const char* kFloat = R"(
  g (float[1,6] x) => (float[1,3] y) {
    [dense] d = MatMul (x, w)
    [shift] y = Add (d, b)
  })";
constexpr const char* kHalf = R"(
  g (float[1,6] x) => (float[1,3] y) {
    [to_half] xh = Cast <to = 10> (x)
    [w_half] wh = Cast <to = 10> (w)
    [dense] dh = MatMul (xh, wh)
    [from_half] d = Cast <to = 1> (dh)
    [shift] y = Add (d, b)
  })";

NamedTensors dense_weights() { return {{"w", bell({6, 3}, 5)}, {"b", bell({3}, 6)}}; }

Tensor half(const Tensor& tensor) {
  QuantParams params;
  params.format = Format::Float16;
  Tensor out(Dtype::Float32, tensor.shape());
  round_to(params, tensor.floats(), out.mutable_floats());
  return out;
}

TEST(Verify, MeasuresHandMadeCastsAsTheFileSaysThem) {
  const NetFiles files(network(kFloat, dense_weights()), {1, 6});
  write_model(model_of(kHalf, dense_weights()), files / "half.onnx");
  const VerifyReport report = verify(files.verify_options(files / "half.onnx"));

  // By hand: inputs, weights and product rounded to float16, the sum of products in float32.
  const auto runtime = Runtime::load();
  const Model dense = model_of("g (float[1,6] x, float[6,3] w) => (float[1,3] d) { d = MatMul(x, w) }");
  const Session product(runtime, dense);
  OutputStats expected;
  const Samples samples = bell_samples("x", {1, 6}, 8);
  const NamedTensors weights = dense_weights();
  const auto sum = [&](const Tensor& d) {
    Tensor y(Dtype::Float32, {1, 3});
    for (std::size_t i = 0; i < 3; ++i) y.mutable_floats()[i] = d.floats()[i] + weights[1].second.floats()[i];
    return y;
  };
  for (std::size_t s = 0; s < samples.size(); ++s) {
    const Tensor x = samples.at(s).at("x");
    const Tensor ref = product.run({{"x", x}, {"w", weights[0].second}}).front();
    const Tensor low = half(product.run({{"x", half(x)}, {"w", half(weights[0].second)}}).front());
    expected.add_sample(s, sum(ref), sum(low));
  }
  // Kernels may sum in another order: one float32 rounding in a figure of some 60 dB.
  EXPECT_NEAR(report.figures.outputs.front().sqnr_db, metric_value(Metric::MinSqnrDb, expected), 0.05);
  EXPECT_EQ(report.compared, 2U);
  EXPECT_TRUE(report.not_compared.empty());
  EXPECT_EQ(row_named(report.layers, "dense").format, Format::Float16);
  EXPECT_EQ(row_named(report.layers, "shift").format, Format::Float32);
}

TEST(Verify, UndoesThePowerOfTwoAtWhichARepairStoresAResult) {
  const NetFiles files(network(kFloat, dense_weights()), {1, 6});
  NamedTensors eighths = dense_weights();
  for (float& weight : eighths[0].second.mutable_floats()) weight /= 8;
  const Model scaled = model_of(R"(g (float[1,6] x) => (float[1,3] y) <float eight = {8.0}> {
    [to_half] xh = Cast <to = 10> (x)
    [w_half] wh = Cast <to = 10> (w)
    [dense] dh = MatMul (xh, wh)
    [from_half] ds = Cast <to = 1> (dh)
    [back] d8 = Mul (ds, eight)
    [shift] y = Add (d8, b)
  })",
                                eighths);
  write_model(scaled, files / "scaled.onnx");
  const VerifyReport report = verify(files.verify_options(files / "scaled.onnx"));
  const auto dense = std::ranges::find(report.layers, "dense", &LayerRow::name);
  ASSERT_NE(dense, report.layers.end());
  EXPECT_EQ(dense->stored_times, 0.125);
  EXPECT_GT(dense->sqnr_db.value(), 40);
  EXPECT_NE(report_to_text(report, {}).find("dense, stored times 2^-3"), std::string::npos);
}

TEST(Verify, OfTheFloatModelItselfFindsNoDifference) {
  const NetFiles files;
  const VerifyReport report = verify(files.verify_options(files.model_file()));
  EXPECT_EQ(report.figures.outputs.front().sqnr_db, std::numeric_limits<double>::infinity());
  EXPECT_EQ(report.figures.outputs.front().max_abs_error, 0);
  EXPECT_EQ(report.compared, 8U) << "every layer that computes: three convolutions and Relus, the pool, the Gemm";
  for (const LayerRow& row : report.layers) {
    EXPECT_EQ(row.sqnr_db.value(), std::numeric_limits<double>::infinity()) << row.name;
  }
}

TEST(Verify, OfOurOwnFilesAgreesWithTheSimulationThatMadeThem) {
  for (const Format low : {Format::Int8, Format::Float16, Format::BFloat16, Format::Float8E4M3FN}) {
    const NetFiles files;
    const DiagnoseReport made = diagnose(files.diagnose_options({low}));
    const VerifyReport report = verify(files.verify_options(files / "out" / "model.onnx"));
    EXPECT_NEAR(report.figures.outputs.front().sqnr_db, made.all_low.outputs.front().sqnr_db, 0.05) << format_name(low);
    EXPECT_EQ(report.figures.outputs.front().sqnr_db, made.final_figures.value().outputs.front().sqnr_db);
    EXPECT_TRUE(report.not_compared.empty()) << format_name(low);
    EXPECT_EQ(row_named(report.layers, "conv2").format, low);
  }
}

TEST(Verify, GivesTheNoiseOfFloat16SumsThatTheSearchHad) {
  for (const Format low : {Format::Float16, Format::BFloat16}) {
    const NetFiles files;
    DiagnoseOptions options = files.diagnose_options({low});
    options.precision.arithmetic = kMeasuredArithmetic;
    const DiagnoseReport made = diagnose(options);
    VerifyOptions again = files.verify_options(files / "out" / "model.onnx");
    const VerifyReport usual = verify(again);
    again.arithmetic = kMeasuredArithmetic;
    const VerifyReport measured = verify(again);
    const auto db = [](const RunFigures& run) { return run.outputs.front().sqnr_db; };
    EXPECT_NEAR(db(measured.figures), db(made.all_low), 0.05) << format_name(low);
    // One of the two compares layers, too, which stops fusions: on some CPUs the last bits of sums differ.
    EXPECT_NEAR(db(usual.other_sums.value().figures), db(measured.figures), 0.01) << format_name(low);
    EXPECT_NEAR(db(usual.figures), db(measured.other_sums.value().figures), 0.01) << format_name(low);
    EXPECT_GT(db(usual.figures), db(measured.figures) + 0.1) << format_name(low);
    again.target = Target::OpenVino;
    again.arithmetic = {};
    EXPECT_FALSE(verify(again).other_sums) << "measured with TensorRT alone";
  }
}

/// A network of two products whose Relu between them is left to the clipping of a Q/DQ pair of `codes`.
VerifyReport with_dropped_relu(const std::string& domain, const std::string& codes, double scale) {
  const NamedTensors weights{{"w", bell({6, 8}, 5)}, {"v", bell({8, 3}, 6)}};
  const NetFiles files(network(R"(g (float[1,6] x) => (float[1,3] y) {
                         [dense] d = MatMul (x, w) [act] r = Relu (d) [head] y = MatMul (r, v) })",
                               weights),
                       {1, 6});
  Model dropped = model_of(fmt::format(R"(g (float[1,6] x) => (float[1,3] y) {{
                [dense] r = MatMul (x, w)
                s = Constant <value = float {{{}}}> ()
                z = Constant <value = {} {{0}}> ()
                q = QuantizeLinear (r, s, z)
                rq = DequantizeLinear (q, s, z)
                [head] y = MatMul (rq, v) }})",
                                       scale, codes),
                           weights);
  for (onnx::NodeProto& node : *dropped.proto.mutable_graph()->mutable_node()) {
    if (is_quantization(node, "QuantizeLinear") || is_quantization(node, "DequantizeLinear")) node.set_domain(domain);
  }
  if (!domain.empty()) {
    onnx::OperatorSetIdProto& opset = *dropped.proto.add_opset_import();
    opset.set_domain(domain);
    opset.set_version(1);
  }
  write_model(dropped, files / "dropped.onnx");
  return verify(files.verify_options(files / "dropped.onnx"));
}

TEST(Verify, ComparesAReluThatAQuantizerDroppedBehindTheQuantizationThatDoesItsWork) {
  const VerifyReport report = with_dropped_relu("", "uint8", 0.05);
  EXPECT_GT(row_named(report.layers, "act").sqnr_db.value(), 20) << "what its readers get";
}

TEST(Verify, ComparesADroppedReluBehindAPairOf16BitsToo) {
  const VerifyReport report = with_dropped_relu("com.microsoft", "uint16", 0.0005);
  EXPECT_GT(row_named(report.layers, "act").sqnr_db.value(), 60) << "what its readers get";
}

TEST(Verify, JudgesTheRequirement) {
  const NetFiles files;
  diagnose(files.diagnose_options({Format::Int8}));
  VerifyOptions options = files.verify_options(files / "out" / "model.onnx");
  options.measure.requirement = at_least_db(1);
  EXPECT_TRUE(verify(options).figures.passed.value());
  options.measure.requirement = at_least_db(100);
  const VerifyReport missed = verify(options);
  EXPECT_FALSE(missed.figures.passed.value());
  EXPECT_GT(missed.figures.damage.value(), 1);
}

TEST(Verify, RefusesAFileWithOtherOutputs) {
  const NetFiles files(network(kFloat, dense_weights()), {1, 6});
  write_model(model_of("g (float[1,6] x) => (float[1,6] other) { other = Relu(x) }"), files / "other.onnx");
  const Error error = error_of([&] { verify(files.verify_options(files / "other.onnx")); });
  EXPECT_EQ(error.kind(), ErrorKind::Input);
  EXPECT_NE(std::string(error.what()).find("have different outputs"), std::string::npos) << error.what();
}

}  // namespace
}  // namespace vernier::testing
