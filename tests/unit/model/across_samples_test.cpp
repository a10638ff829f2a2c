#include "model/across_samples.h"

#include <gtest/gtest.h>

#include <string>

#include "model_text.h"

namespace vernier::testing {
namespace {

std::string found_in(const std::string& inputs, const std::string& outputs, const std::string& nodes) {
  return works_across_samples(
      model_of("<ir_version: 8, opset_import: [\"\" : 17]> g (" + inputs + ") => (" + outputs + ") " + nodes));
}

std::string of_node(const std::string& constants, const std::string& node) {
  return found_in("float[N,4] x", "float[M,K] y", constants + " { [n] y = " + node + " }");
}

TEST(AcrossSamples, InputsAndOutputsMustLeaveTheFirstDimensionOpen) {
  EXPECT_EQ(found_in("float[N,4] x", "float[M,4] y", "{ y = Relu(x) }"), "");
  EXPECT_EQ(found_in("float[1,4] x", "float[1,4] y", "{ y = Relu(x) }"),
            "the first dimension of input 'x' is fixed at 1");
  EXPECT_EQ(found_in("float[N,4] x, float rate", "float[N,4] y", "{ y = Mul(x, rate) }"),
            "input 'rate' has no dimension to put samples along");
  EXPECT_EQ(found_in("float[N,4] x, float[T,4] z", "float[N,4] y", "{ y = Add(x, z) }"),
            "the first dimensions of inputs are 'N' and 'T'");
  EXPECT_EQ(found_in("float[N,4] x", "float y", "{ y = ReduceSum <keepdims = 0> (x) }"),
            "output 'y' has no dimension to put samples along");
}

TEST(AcrossSamples, OperatorsThatAreSeenToMixSamples) {
  EXPECT_EQ(of_node("", "Softmax <axis = 0> (x)"), "Softmax 'n' works along the first dimension");
  EXPECT_EQ(of_node("", "Softmax <axis = 1> (x)"), "");
  EXPECT_EQ(of_node("", "ArgMax(x)"), "ArgMax 'n' works along the first dimension");
  EXPECT_EQ(of_node("", "Concat <axis = 0> (x, x)"), "Concat 'n' works along the first dimension");
  EXPECT_EQ(of_node("", "ReduceMean <axes = [0]> (x)"), "ReduceMean 'n' reduces the first dimension");
  EXPECT_EQ(of_node("", "ReduceMean(x)"), "ReduceMean 'n' reduces the first dimension");
  EXPECT_EQ(of_node("", "ReduceMean <axes = [1]> (x)"), "");
  EXPECT_EQ(of_node("<int64[1] axes = {0}>", "ReduceSum(x, axes)"), "ReduceSum 'n' reduces the first dimension");
  EXPECT_EQ(of_node("<int64[2] shape = {1, -1}>", "Reshape(x, shape)"),
            "Reshape 'n' reshapes to a fixed first dimension");
  EXPECT_EQ(of_node("<int64[2] shape = {0, -1}>", "Reshape(x, shape)"), "");
  EXPECT_EQ(of_node("<int64[2] shape = {-1, 2}>", "Reshape(x, shape)"), "");
  EXPECT_EQ(of_node("<int64[2] rows = {0, 0}>", "Gather(x, rows)"), "Gather 'n' works along the first dimension");
  EXPECT_EQ(of_node("", "RandomNormalLike(x)"), "RandomNormalLike 'n' returns other values every time");
}

TEST(AcrossSamples, NothingIsSaidOfSamplesThatATransposeMoved) {
  EXPECT_EQ(found_in("float[N,4,3] x", "float[N,3] y",
                     "<int64 first = {0}> { t = Transpose <perm = [1, 0, 2]> (x) y = Gather <axis = 0> (t, first) }"),
            "");
  EXPECT_EQ(
      found_in("float[N,4,3] x", "float[N,3] y",
               "<int64 first = {0}> { t = Transpose <perm = [0, 2, 1]> (x) [g] y = Gather <axis = 0> (t, first) }"),
      "Gather 'g' works along the first dimension");
}

TEST(AcrossSamples, TablesAndSizesAreNoData) {
  EXPECT_EQ(found_in("int64[N,4] ids", "float[N,4,2] y",
                     "<float[3,2] table = {1, 2, 3, 4, 5, 6}> { y = Gather(table, ids) }"),
            "");
  EXPECT_EQ(
      found_in("float[N,4] x", "float[N,4] y",
               "<int64 first = {0}, int64[1] rest = {-1}, int64[1] zero = {0}> { s = Shape(x) [g] n = Gather(s, first) "
               "u = Unsqueeze(n, zero) [c] t = Concat <axis = 0> (u, rest) y = Reshape(x, t) }"),
      "");
}

}  // namespace
}  // namespace vernier::testing
