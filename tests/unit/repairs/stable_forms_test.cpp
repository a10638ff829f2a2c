#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bench.h"
#include "model/graph_edit.h"
#include "repairs/repair.h"
#include "vernier/format.h"

namespace vernier::testing {
namespace {

/// x -> `pieces` -> y, all in float16; 'e' holds the exponentials, 's' their sum.
Bench net(const std::string& pieces, Format format = Format::Float16) {
  return {parsed("g (float[2,4] q) => (float[2,4] y) <float one = {1}, float two = {2}, int64[1] axis = {-1}> {"
                 " [in] x = Mul(q, two)\n " +
                 pieces + " }"),
          format};
}

std::vector<std::string> operators_of(const Model& model) {
  std::vector<std::string> types;
  for (const onnx::NodeProto& node : model.proto.graph().node()) types.push_back(node.op_type());
  std::ranges::sort(types);
  return types;
}

/// The operators of the network once its only proposal is carried out; none: nothing was proposed.
std::vector<std::string> operators_after(Bench bench) {
  const auto proposals = stable_forms(bench.network(), 0);
  if (proposals.empty()) return {};
  EXPECT_EQ(proposals.size(), 1U);
  EXPECT_TRUE(proposals[0].by_output);
  Model model = bench.model;
  proposals[0].rewrite(model);
  EXPECT_NO_THROW(verify_structure(model, "stable-form"));
  return operators_of(model);
}

const char* const kSoftplus = "[exp] e = Exp(x)\n [add] s = Add(one, e)\n [log] y = Log(s)";
const char* const kLogSumExp =
    "[exp] e = Exp(x)\n [sum] s = ReduceSum<keepdims = 1>(e, axis)\n [log] l = Log(s)\n [sub] y = Sub(x, l)";
const char* const kSoftmax = "[exp] e = Exp(x)\n [sum] s = ReduceSum(e, axis)\n [div] y = Div(e, s)";

TEST(StableForm, TakesExponentialsOfNothingAboveZero) {
  Bench bench = net(kSoftplus);
  bench.ranges["e"] = {0, 1e6, 10, 0};
  EXPECT_EQ(operators_after(bench),
            (std::vector<std::string>{"Abs", "Add", "Add", "Exp", "Log", "Mul", "Neg", "Relu"}));
}

TEST(StableForm, SubtractsTheLargestInFrontOfTheExponential) {
  Bench bench = net(kLogSumExp);
  bench.ranges["s"] = {1, 1e6, 10, 0};
  EXPECT_EQ(operators_after(bench),
            (std::vector<std::string>{"Add", "Exp", "Log", "Mul", "ReduceMax", "ReduceSum", "Sub", "Sub"}));
  bench.ranges["s"] = {1e-9F, 1, 10, 0};
  EXPECT_FALSE(operators_after(bench).empty()) << "the logarithm of what becomes 0";
  bench.ranges["s"] = {0.1F, 1000, 10, 0};
  EXPECT_TRUE(operators_after(bench).empty()) << "float16 holds them";
}

TEST(StableForm, FindsTheLargestTwiceWhereTheSumLosesItsDimension) {
  Bench bench =
      net("[exp] e = Exp(x)\n [sum] s = ReduceSum<keepdims = 0>(e, axis)\n [log] l = Log(s)\n"
          " [wide] w = Unsqueeze(l, axis)\n [sub] y = Sub(x, w)");
  bench.ranges["s"] = {1, 1e6, 10, 0};
  const auto operators = operators_after(bench);
  EXPECT_EQ(std::ranges::count(operators, "ReduceMax"), 2);
}

TEST(StableForm, MakesOneOperatorOfARatioAndOfALogarithmOfASoftmax) {
  Bench ratio = net(kSoftmax);
  ratio.ranges["e"] = {0, 1e6, 10, 0};
  EXPECT_EQ(operators_after(ratio), (std::vector<std::string>{"Mul", "Softmax"}));
  Bench logarithm = net("[softmax] e = Softmax(x)\n [log] y = Log(e)");
  logarithm.ranges["e"] = {1e-7F, 1, 10, 0};
  EXPECT_EQ(operators_after(logarithm), (std::vector<std::string>{"LogSoftmax", "Mul"}));
}

TEST(StableForm, KeepsASoftmaxThatOthersRead) {
  Bench bench = net("[softmax] e = Softmax(x)\n [log] l = Log(e)\n [mul] y = Mul(e, l)");
  bench.ranges["e"] = {1e-7F, 1, 10, 0};
  EXPECT_EQ(operators_after(bench), (std::vector<std::string>{"LogSoftmax", "Mul", "Mul", "Softmax"}));
}

TEST(StableForm, LeavesAloneWhatIsNoSuchForm) {
  for (const char* const pieces :
       {"[exp] e = Exp(x)\n [add] s = Add(e, two)\n [log] y = Log(s)",                        // log(2 + exp(x))
        "[exp] e = Exp(x)\n [add] s = Add(e, one)\n [log] l = Log(s)\n [mul] y = Mul(l, e)",  // exp(x) is wanted, too
        "[exp] e = Exp(x)\n [sum] s = ReduceSum(e)\n [div] y = Div(e, s)"}) {                 // over all dimensions
    Bench bench = net(pieces);
    bench.ranges["e"] = {0, 1e6, 10, 0};
    EXPECT_TRUE(operators_after(bench).empty()) << pieces;
  }
  Bench bfloat = net(kSoftplus, Format::BFloat16);
  bfloat.ranges["e"] = {0, 1e6, 10, 0};
  EXPECT_TRUE(operators_after(bfloat).empty()) << "bfloat16 holds them";
}

}  // namespace
}  // namespace vernier::testing
