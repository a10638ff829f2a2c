// Attention with as many heads as rows, whose products OpenVINO would compute in one kernel, kept apart.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "model_text.h"
#include "vernier/format.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier::testing {
namespace {

Prepared of_attention(const std::string& shape, const std::string& between = "Softmax <axis = -1> (s)",
                      int opset = 13) {
  PrepareOptions options;
  options.formats = {Format::Int8};
  options.for_openvino = true;
  return prepare(model_of(R"(<ir_version: 8, opset_import: ["" : )" + std::to_string(opset) + "]> g (float[" + shape +
                          "] x) => (float[a,b,c,d] y) { [qk] s = MatMul(x, x) [soft] p = " + between +
                          " [pv] a = MatMul(p, x) [back] y = Transpose <perm = [0, 2, 1, 3]> (a) }"),
                 options, [](const Model&, const Sample&) -> std::vector<Tensor> {
                   throw std::logic_error("nothing to evaluate here");
                 });
}

TEST(PartAttention, AsManyHeadsAsRows) {
  for (const int opset : {11, 13}) {
    const Prepared done = of_attention("n,4,4,4", "Softmax <axis = 3> (s)", opset);
    EXPECT_EQ(op_types(done.model),
              (std::vector<std::string>{"MatMul", "Softmax", "Unsqueeze", "MatMul", "Squeeze", "Transpose"}))
        << opset;
    EXPECT_EQ(node_named(done.model, "pv/Squeeze").output(0), "a");
    ASSERT_FALSE(done.notes.empty());
    EXPECT_EQ(done.notes[0].note.code, "attention-parted");
  }
}

TEST(PartAttention, OthersStayAsTheyAre) {
  EXPECT_TRUE(of_attention("n,3,4,4").notes.empty()) << "fewer heads";
  EXPECT_TRUE(of_attention("n,h,4,4").notes.empty()) << "an open number of heads";
  EXPECT_TRUE(of_attention("n,1,1,1").notes.empty()) << "one of each";
  EXPECT_TRUE(of_attention("n,4,4,4", "CumSum (x, x)").notes.empty()) << "nothing that is known lies between";
}

TEST(PartAttention, DataOfAnotherRankStays) {
  PrepareOptions options;
  options.formats = {Format::Int8};
  options.for_openvino = true;
  for (const char* const batch : {"1", "2"}) {
    const Prepared done = prepare(
        model_of(R"(<ir_version: 8, opset_import: ["" : 13]> g (float[4,4,4] x, float[)" + std::string(batch) +
                 ",4,4,8] v) => (float[a,b,c,d] y) { [qk] s = MatMul(x, x) [soft] p = Softmax <axis = -1> (s) "
                 "[pv] y = MatMul(p, v) }"),
        options,
        [](const Model&, const Sample&) -> std::vector<Tensor> { throw std::logic_error("nothing to evaluate here"); });
    EXPECT_EQ(op_types(done.model), (std::vector<std::string>{"MatMul", "Softmax", "MatMul"})) << batch;
    EXPECT_TRUE(done.notes.empty()) << batch;
  }
}

}  // namespace
}  // namespace vernier::testing
