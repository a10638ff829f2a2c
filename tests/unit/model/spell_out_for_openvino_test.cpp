// Pools that OpenVINO reads differently, written so that it does not. tests/engines/test_openvino_reader.py compares
// many more with ONNX Runtime and OpenVINO.
#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "model/openvino_reader.h"
#include "model_text.h"
#include "vernier/format.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier::testing {
namespace {

using Ints = std::vector<std::int64_t>;

Prepared of_pool(const std::string& attributes, const std::string& shape = "1,1,7,7") {
  PrepareOptions options;
  options.formats = {Format::Int8};
  options.for_openvino = true;
  return prepare(
      model_of(R"(<ir_version: 9, opset_import: ["" : 19]> g (float[)" + shape +
               "] x) => (float[a,b,c,d] y) { [pool] y = AveragePool <ceil_mode = 1, count_include_pad = 1, " +
               attributes + "> (x) }"),
      options,
      [](const Model&, const Sample&) -> std::vector<Tensor> { throw std::logic_error("nothing to evaluate here"); });
}

/// The padding that stays with the pool; empty: the pool stays as it is.
Ints pads_left(const std::string& attributes, const std::string& shape = "1,1,7,7") {
  const Prepared done = of_pool(attributes, shape);
  const onnx::NodeProto& pool = node_named(done.model, "pool");
  if (done.notes.empty()) {
    EXPECT_EQ(op_types(done.model), std::vector<std::string>{"AveragePool"});
    EXPECT_EQ(attribute_int(pool, "ceil_mode", 0), 1);
    return {};
  }
  EXPECT_EQ(done.notes[0].note.code, "pools-spelled-out");
  EXPECT_EQ(op_types(done.model), (std::vector<std::string>{"Pad", "AveragePool"}));
  EXPECT_EQ(attribute_int(pool, "ceil_mode", 1), 0);
  EXPECT_EQ(attribute_int(pool, "count_include_pad", 1), 0);
  return attribute_ints(pool, "pads");
}

TEST(SpellOutForOpenVino, AveragesBeyondThePaddingGetAPadInFront) {
  EXPECT_EQ(pads_left("kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]", "1,1,8,8"), (Ints{0, 0, 1, 1}));
  EXPECT_EQ(pads_left("kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]", "1,1,8,7"), (Ints{0, 0, 1, 0}));
  EXPECT_EQ(pads_left("kernel_shape = [2, 2], strides = [4, 4], pads = [1, 0, 1, 0]", "1,1,8,9"), (Ints{0, 0, 0, 1}))
      << "the padding is along the other axis";
}

TEST(SpellOutForOpenVino, AWindowThatOnnxDropsIsNoneBehindAPad) {
  // Along the first axis, a fourth window would start in the padding alone.
  EXPECT_EQ(pads_left("kernel_shape = [2, 3], strides = [3, 2], pads = [0, 1, 1, 1]", "1,1,6,8"), (Ints{0, 0, 0, 1}));
}

TEST(SpellOutForOpenVino, ADroppedWindowIsLeftOutOfTheFile) {
  // OpenVINO drops it, too, but shape inference counts it.
  const auto spelled_out = [](const std::string& attributes) {
    const Prepared done = of_pool(attributes);
    EXPECT_EQ(op_types(done.model), std::vector<std::string>{"AveragePool"});
    const onnx::NodeProto& pool = node_named(done.model, "pool");
    EXPECT_EQ(attribute_int(pool, "ceil_mode", 1), 0);
    Ints pads = attribute_ints(pool, "pads");
    pads.push_back(attribute_int(pool, "count_include_pad", 0));
    return pads;
  };
  EXPECT_EQ(spelled_out("kernel_shape = [2, 2], strides = [2, 2], pads = [1, 1, 1, 1]"), (Ints{1, 1, 1, 1, 1}));
  EXPECT_EQ(spelled_out("kernel_shape = [1, 2], strides = [4, 2]"), (Ints{0, 0, 0, 1, 0}))
      << "the padding that it gets does not count";
}

TEST(SpellOutForOpenVino, PoolsThatAreReadAsMeantStay) {
  const std::string pool = "kernel_shape = [2, 2], strides = [2, 2], pads = [1, 1, 1, 1]";
  EXPECT_EQ(pads_left(pool, "1,1,8,8"), Ints{}) << "no window reaches beyond";
  EXPECT_EQ(pads_left("kernel_shape = [2, 2], strides = [2, 2]"), Ints{}) << "no padding";
}

TEST(SpellOutForOpenVino, PoolsThatCannotBeWrittenStayAndAreNamed) {
  const std::string open = "kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]";
  EXPECT_EQ(pads_left(open, "1,1,h,w"), Ints{});
  EXPECT_TRUE(averages_beyond_padding(node_named(of_pool(open, "1,1,h,w").model, "pool"), {1, 1, -1, -1}));
  const std::string dilated = "kernel_shape = [2, 2], strides = [4, 4], dilations = [3, 3], pads = [1, 1, 0, 0]";
  EXPECT_EQ(pads_left(dilated, "1,1,5,5"), Ints{}) << "ONNX Runtime refuses padding as large as the kernel";
  EXPECT_TRUE(averages_beyond_padding(node_named(of_pool(dilated, "1,1,5,5").model, "pool"), {1, 1, 5, 5}));
}

TEST(SpellOutForOpenVino, AStrideOfOneReachesNowhereBeyond) {
  const std::string pool = "kernel_shape = [3, 3], pads = [1, 1, 1, 1]";
  EXPECT_EQ(pads_left(pool, "1,1,h,w"), Ints{});
  EXPECT_FALSE(averages_beyond_padding(node_named(of_pool(pool, "1,1,h,w").model, "pool"), {1, 1, -1, -1}));
}

}  // namespace
}  // namespace vernier::testing
