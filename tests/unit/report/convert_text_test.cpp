#include <gtest/gtest.h>

#include "vernier/report/quantize.h"

namespace vernier {
namespace {

TEST(ConvertText, SaysWhatWasWritten) {
  QuantizeResult result;
  result.scheme = "int8: symmetric per tensor";
  result.typed.file = "out/typed.onnx";
  result.typed.casts = 1;
  result.typed.quantize_pairs = 3;
  result.typed.weight_bytes = 80'530;
  result.typed.original_weight_bytes = 310'840;
  result.typed.float_weights = {{"a", 73'728, "float32", {"Conv"}}, {"b", 36'864, "float32", {"Gemm"}}};
  result.typed.notes = {Note("a note of the lowering")};
  result.notes = {Note("2 constant nodes folded")};
  result.layers_by_format = {{"float32", 1}, {"int8", 4}};
  result.warnings = {Note("told elsewhere")};
  EXPECT_EQ(result_to_text(result, {}),
            "Written       out/typed.onnx, strongly typed\n"
            "Scheme        INT8: symmetric per tensor\n"
            "Layers        1 FP32, 4 INT8\n"
            "Added         1 cast, 3 quantize/dequantize pairs\n"
            "Weights       80.5 kB, were 311 kB; large FP32 weights: 'a' of Conv 73.7 kB, 'b' of Gemm 36.9 kB\n"
            "note: a note of the lowering\n"
            "note: 2 constant nodes folded\n");
}

}  // namespace
}  // namespace vernier
