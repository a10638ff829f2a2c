// Which tensors become outputs, by names, patterns and types of operators.
#include "analysis/marked_outputs.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tiny_networks.h"
#include "vernier/error.h"
#include "vernier/run.h"

namespace vernier::testing {
namespace {

std::vector<std::string> chosen(const Model& model, const OutputChoice& choice) {
  std::vector<std::string> left_out, names;
  for (const auto& [name, dtype] : choose_outputs(model, choice, left_out)) names.push_back(name);
  EXPECT_TRUE(left_out.empty());
  return names;
}

Model two_steps() {
  return model_of(R"(g (float[1,4] x) => (float[1,4] y) {
    [one] a = Relu (x)
    [two] b = Abs (a)
    [three] y = Relu (b)
  })");
}

TEST(MarkedOutputs, WithoutAChoiceAreTheModels) { EXPECT_EQ(chosen(two_steps(), {}), (std::vector<std::string>{"y"})); }

TEST(MarkedOutputs, AllComeInGraphOrder) {
  const std::vector<std::string> all{"a", "b", "y"};
  EXPECT_EQ(chosen(two_steps(), {{"*"}, {}, {}}), all);
  EXPECT_EQ(chosen(two_steps(), {{"mark", "all"}, {}, {}}), all);
}

TEST(MarkedOutputs, NamesReplaceAndExcludesAndTypesCombine) {
  EXPECT_EQ(chosen(two_steps(), {{"b"}, {}, {}}), (std::vector<std::string>{"b"}));
  EXPECT_EQ(chosen(two_steps(), {{"[ab]"}, {}, {}}), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(chosen(two_steps(), {{}, {}, {"relu"}}), (std::vector<std::string>{"a", "y"}));
  EXPECT_EQ(chosen(two_steps(), {{"*"}, {"b"}, {}}), (std::vector<std::string>{"a", "y"}));
}

TEST(MarkedOutputs, WhatMatchesNothingIsAnError) {
  std::vector<std::string> left_out;
  EXPECT_THROW(choose_outputs(two_steps(), {{"yy"}, {}, {}}, left_out), Error);
  EXPECT_THROW(choose_outputs(two_steps(), {{}, {}, {"Relo"}}, left_out), Error);
  EXPECT_THROW(choose_outputs(two_steps(), {{"a"}, {"a"}, {}}, left_out), Error);
}

}  // namespace
}  // namespace vernier::testing
