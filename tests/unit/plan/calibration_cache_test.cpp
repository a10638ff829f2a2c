#include "plan/calibration_cache.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>

#include "numerics/round.h"
#include "vernier/error.h"
#include "vernier/format.h"

namespace vernier {
namespace {

CachedRanges read(const std::string& text) { return calibration_cache_from_text(text, "c"); }

float step_of(const RangeStats& range) {
  return symmetric_params(Format::Int8, std::array{range.absmax()}, -1).scale.front();
}

std::string message(const std::string& text) {
  try {
    read(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Input);
    return error.what();
  }
  return "read without an error";
}

TEST(CalibrationCache, ReadsTensorRtStepsBigEndianBehindTheLastColon) {
  const CachedRanges cache = read(
      "TRT-7000-EntropyCalibration2\ndata: 3c008912\r\n(Unnamed Layer* 12) [Shuffle]_output: 3c010a14\na: b: c: 0\n\n");
  EXPECT_EQ(cache.kind, "TensorRT cache (TRT-7000-EntropyCalibration2)");
  EXPECT_TRUE(cache.symmetric);
  ASSERT_EQ(cache.ranges.size(), 2U);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(step_of(cache.ranges.at("data"))), 0x3c008912U);
  const RangeStats& unnamed = cache.ranges.at("(Unnamed Layer* 12) [Shuffle]_output");
  EXPECT_NEAR(unnamed.max, 1.00024, 1e-5);
  EXPECT_EQ(unnamed.min, -unnamed.max);
  EXPECT_EQ(cache.zero_steps, std::set<std::string>{"a: b: c"});
}

TEST(CalibrationCache, StepsComeBackWithinOneUnitInTheLastPlace) {
  int exact = 0, all = 0;
  for (std::uint32_t bits = 0x00800000; bits < 0x7b000000; bits += 40009) {
    const std::string line = "x: " + std::string(8, '0');
    std::array<char, 16> hex{};
    std::snprintf(hex.data(), hex.size(), "%08x", bits);
    const CachedRanges cache = read("TRT-1-MinMaxCalibration\nx: " + std::string(hex.data()));
    const std::uint32_t back = std::bit_cast<std::uint32_t>(step_of(cache.ranges.at("x")));
    ASSERT_LE(back > bits ? back - bits : bits - back, 1U) << hex.data();
    exact += back == bits;
    ++all;
  }
  EXPECT_GT(exact, all * 98 / 100);
}

TEST(CalibrationCache, WritesWhatItReads) {
  const std::string text = "TRT-8601-EntropyCalibration2\na b: 3c008912\nx:y: 40490fdb\nz: 3c010204\n";
  EXPECT_EQ(to_tensorrt_cache(read(text).ranges), text);
  EXPECT_EQ(to_tensorrt_cache({{"zero", RangeStats{.min = 0, .max = 0}}}),
            "TRT-8601-EntropyCalibration2\nzero: 3c010204\n")
      << "a tensor of zeros gets the step of the plan, 1/127";
  EXPECT_THROW(to_tensorrt_cache({{"a\nb", RangeStats{.min = 0, .max = 1}}}), Error);
}

TEST(CalibrationCache, RefusesBrokenTensorRtLines) {
  EXPECT_EQ(message("TRT-1-E\nx 3c008912"),
            "c: line 2: 'x 3c008912' is not NAME: HEX, a step as the hex digits of a float32");
  EXPECT_EQ(message("TRT-1-E\n\nx: 3c0089121"),
            "c: line 3: 'x: 3c0089121' is not NAME: HEX, a step as the hex digits of a float32");
  EXPECT_EQ(message("TRT-1-E\nx: "), "c: line 2: 'x: ' is not NAME: HEX, a step as the hex digits of a float32");
  EXPECT_EQ(message("TRT-1-E\nx: 7f800000"), "c: line 2: the scale inf of tensor 'x' is not finite");
  EXPECT_EQ(message("TRT-1-E\nx: 7fc00000"), "c: line 2: the scale nan of tensor 'x' is not finite");
  EXPECT_EQ(message("TRT-1-E\nx: 80000000"), "c: line 2: the scale -0 of tensor 'x' is not positive");
  EXPECT_EQ(message("TRT-1-E\nx: 00000000"), "c: holds no range: every step in it is 0");
  EXPECT_EQ(message("TRT-1-E\nx: bf800000"), "c: line 2: the scale -1 of tensor 'x' is not positive");
  EXPECT_EQ(message("TRT-1-E\nx: 3c008912\nx: 3c008913"), "c: line 3: tensor 'x' has a second range");
  EXPECT_NE(message("TRT-1-E\n\x98: 3c008912").find("is not UTF-8"), std::string::npos);
  EXPECT_EQ(message("TRT-1-E\n"), "c: holds no range at all");
  EXPECT_EQ(message(""), "c: neither a TensorRT cache (first line TRT-...) nor JSON with ranges");
}

TEST(CalibrationCache, RefusesScalesThatNoGridCanHave) {
  // A line that was cut off behind each of its digits.
  for (std::size_t digits = 1; digits < 8; ++digits) {
    const std::string cut = std::string("3c010a14").substr(0, digits);
    EXPECT_EQ(message("TRT-1-E\nw: 3c010a14\nx: " + cut), "c: line 3: the scale of tensor 'x' is cut off: '" + cut +
                                                              "' has " + std::to_string(digits) + " of 8 hex digits");
  }
  EXPECT_EQ(message("TRT-1-E\nx: 0000003c"),
            "c: line 2: the scale 8.40779e-44 of tensor 'x' is subnormal, smaller than 1.18e-38");
  EXPECT_EQ(message("TRT-1-E\nx: 7cf0bdc2"),
            "c: line 2: the scale 1e+37 of tensor 'x' is too large: float32 cannot hold the dequantized values");
  for (const char* text : {R"({"x": [0, 1e-40]})", R"({"x": {"lowest": -1e-40, "highest": 0}})",
                           R"({"vernier_ranges": 1, "tensors": {"x": {"min": 0, "max": 1e-40}}})"}) {
    EXPECT_NE(message(text).find("of tensor 'x' makes the scale 7.8753e-43, which is subnormal, smaller than 1.18e-38"),
              std::string::npos)
        << message(text);
  }
}

TEST(CalibrationCache, WritesARangeThatIsTooSmallForAScaleAsZeros) {
  const RangesByTensor ranges{{"x", RangeStats{.min = 0, .max = 1e-40F}}};
  const RangesByTensor zeros{{"x", RangeStats{.min = 0, .max = 0}}};
  EXPECT_EQ(read(to_ranges_json(ranges, "mse", "m.onnx", "abc")).ranges, zeros);
  EXPECT_EQ(read(to_onnxruntime_json(ranges, "MinMax")).ranges, zeros);
  EXPECT_EQ(step_of(ranges.at("x")), step_of(zeros.at("x")));
}

TEST(CalibrationCache, ReadsBothShapesOfOnnxRuntime) {
  const CachedRanges whole = read(
      R"({"CLS": "TensorsData", "data": {"x": {"lowest": {"data": -1.5, "dtype": "float32", "CLS": "numpy.array"},
          "highest": {"data": [2.5], "dtype": "float32", "CLS": "numpy.array"}, "hist": {"data": [1, 2]}}},
          "calibration_method": {"CLS": "CalibrationMethod", "value": "CalibrationMethod.MinMax"}})");
  EXPECT_EQ(whole.ranges.at("x"), (RangeStats{.min = -1.5F, .max = 2.5F}));
  EXPECT_FALSE(whole.symmetric);
  EXPECT_EQ(read(R"({"x": [-1, 2]})").ranges.at("x"), (RangeStats{.min = -1, .max = 2}));
  EXPECT_EQ(read(R"({"x": {"lowest": -1, "highest": 2, "CLS": "TensorData"}})").ranges.at("x"),
            (RangeStats{.min = -1, .max = 2}));
}

TEST(CalibrationCache, EndsThatOnnxRuntimeSwappedByAHairAreTakenInOrder) {
  EXPECT_EQ(read(R"({"x": {"lowest": 0.25, "highest": 0.24975586}})").ranges.at("x"),
            (RangeStats{.min = 0.24975586F, .max = 0.25F}));
}

TEST(CalibrationCache, WritesWhatOnnxRuntimeReads) {
  const RangesByTensor ranges{{"a", RangeStats{.min = -0.1F, .max = 3}},
                              {"b \"q\"", RangeStats{.min = 0, .max = 1e-30F}}};
  EXPECT_EQ(read(to_onnxruntime_json(ranges, "MinMax")).ranges, ranges);
}

TEST(CalibrationCache, OursComesBackExactly) {
  const RangesByTensor ranges{{"a", RangeStats{.min = -0.1F, .max = 0.3F}},
                              {"b", RangeStats{.min = -3e38F, .max = 1e-38F}}};
  const CachedRanges cache = read(to_ranges_json(ranges, "mse", "m.onnx", "abc"));
  EXPECT_EQ(cache.ranges, ranges);
  EXPECT_EQ(cache.model_sha256, "abc");
}

TEST(CalibrationCache, RefusesForeignJson) {
  EXPECT_EQ(message("{").find("c: is not JSON: line 1, column 2"), 0U);
  EXPECT_EQ(message("{}"), "c: holds no range at all");
  EXPECT_EQ(message(R"({"x": [2, 1]})"), "c: tensor 'x': [2, 1] of tensor 'x' is not a range");
  EXPECT_EQ(message(R"({"x": [1e999, 1]})"), "c: is not JSON: '1e999' is beyond float64");
  EXPECT_EQ(message(R"({"x": ["a", 1]})"), "c: tensor 'x': expected a number, found a string");
  EXPECT_EQ(message(R"({"x": {"lowest": [1, 2], "highest": [3, 4]}})"),
            "c: tensor 'x': 2 ranges, one a channel: activations have one a tensor");
  EXPECT_EQ(message(R"({"layers": [{"name": "a"}]})"),
            "c: tensor 'layers': neither [lowest, highest] nor fields of these names");
  EXPECT_EQ(message(R"({"vernier_ranges": 2})"), "c: version 2 of ranges, this program reads 1");
  EXPECT_EQ(message(R"({"data": {}, "calibration_method": 0, "smooth_quant": true})"),
            "c: these ranges belong to a model that SmoothQuant changed");
}

TEST(CalibrationCache, AStepOfZeroIsNoRangeOfWhatIsQuantized) {
  const CachedRanges cache = read("TRT-1-E\na: 3c010a14\ndead: 00000000\n");
  EXPECT_NO_THROW(require_cache_of(cache, "c", "sha", {"a"}, {"a", "dead"}));
  try {
    require_cache_of(cache, "c", "sha", {"a", "dead"}, {"a", "dead"});
    FAIL() << "a step of 0 was taken";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find("c: step 0 for 1 of 2 quantized tensors (dead)"), 0U) << error.what();
  }
}

TEST(CalibrationCache, OfAnotherModelIsRefusedWithTheFirstNames) {
  CachedRanges cache = read("TRT-1-E\na: 3c008912\nz: 3c008912\n");
  EXPECT_NO_THROW(require_cache_of(cache, "c", "s", {"a"}, {"a", "b"}));
  const auto refusal = [&](const std::set<std::string>& needed, const std::string& sha) -> std::string {
    try {
      require_cache_of(cache, "c", sha, needed, {"a", "b", "d", "e", "f", "g"});
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal({"a", "b", "d", "e", "f", "g"}, "s"),
            "c: TensorRT cache (TRT-1-E) of another model: 5 of 6 quantized tensors have no range in it (b, d, e and 2 "
            "more); 1 of its 2 are not tensors of this model (z)");
  cache.model_sha256 = "0123456789abcdef";
  EXPECT_EQ(refusal({"a"}, "fedcba9876543210"),
            "c: TensorRT cache (TRT-1-E) of another model: it was made for the file with sha256 0123456789ab..., this "
            "one has fedcba987654...; 1 of its 2 are not tensors of this model (z)");
}

}  // namespace
}  // namespace vernier
