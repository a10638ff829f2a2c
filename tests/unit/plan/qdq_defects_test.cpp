// Mistakes in Q/DQ pairs that are seen in the graph. Whole files are looked at in tests/diff/test_quantized_files.py.
#include "plan/qdq_defects.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tiny_graph.h"

namespace vernier::testing {
namespace {

/// Kinds of what is found in a Conv whose data come dequantized through `between`, from `d` to `m`.
std::vector<std::string> kinds(const std::string& between) {
  const Model model = parse_model(R"(g (float[1,1,4,4] x) => (float[a,b,c,d] y)
    <float s = {0.1}, int8 z = {0}, int8[2,1,1,1] w_q = {1,2}, int64[1,1,2,4] i = {0,0,0,0,1,1,1,1}, int64[1] one = {1},
     int64[8] around = {0,0,1,1,0,0,1,1}, float half = {0.05}> {
      q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z) w = DequantizeLinear(w_q, s, z) )" +
                                  between + " [conv] y = Conv(m, w) }");
  std::vector<std::string> found;
  for (const QdqDefect& defect : find_qdq_defects(model)) found.push_back(defect.kind);
  return found;
}

const std::vector<std::string> kNone;
const std::vector<std::string> kMissing{"missing-quantizer"};

TEST(QdqDefects, WhateverMovesOrSelectsValuesLeavesThemOnTheirGrid) {
  EXPECT_EQ(kinds("m = Transpose <perm = [0, 1, 3, 2]> (d)"), kNone);
  EXPECT_EQ(kinds("m = GatherElements <axis = 2> (d, i)"), kNone);
  EXPECT_EQ(kinds("m = GlobalMaxPool(d)"), kNone);
  EXPECT_EQ(kinds("m = ReduceMax <axes = [2]> (d)"), kNone);
  EXPECT_EQ(kinds("m, places = TopK <axis = 2> (d, one)"), kNone);
  EXPECT_EQ(kinds("m = Concat <axis = 2> (d, d)"), kNone);
}

TEST(QdqDefects, WhatFillsOrComputesNeedsAQuantizerBehindIt) {
  EXPECT_EQ(kinds("m = Pad(d, around, half)"), kMissing);
  EXPECT_EQ(kinds("m = Sigmoid(d)"), kMissing);
  EXPECT_EQ(kinds("r = Sigmoid(d) m = Concat <axis = 2> (d, r)"), kMissing);
}

}  // namespace
}  // namespace vernier::testing
