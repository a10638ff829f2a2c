#include <gtest/gtest.h>

#include <span>
#include <string>

#include "gelus.h"
#include "repairs/repair.h"

namespace vernier::testing {
namespace {

TEST(FuseGelu, PiecesBecomeTheOperator) {
  for (const bool tanh : {false, true}) {
    for (const std::string pieces : tanh ? std::span<const char* const>(kTanhGelus) : kErfGelus) {
      Bench bench(gelu_net(pieces), Format::Float16);
      const auto proposals = fuse_gelus(bench.network(), 0);
      ASSERT_EQ(proposals.size(), 1U) << pieces;
      ASSERT_EQ(proposals[0].why_not, "") << pieces;
      EXPECT_EQ(proposals[0].opset, 20);
      EXPECT_EQ(proposals[0].otherwise.empty(), !tanh);
      Model fused = bench.model;
      proposals[0].rewrite(fused);
      ASSERT_EQ(fused.proto.graph().node_size(), 3) << "what makes x is scalar too, and stays";
      const onnx::NodeProto& gelu = fused.proto.graph().node(1);
      EXPECT_EQ(gelu.op_type(), "Gelu");
      EXPECT_EQ(gelu.name(), "last");
      EXPECT_EQ(gelu.input(0), "x");
      EXPECT_EQ(find_attribute(gelu, "approximate") != nullptr, tanh);
    }
  }
}

TEST(FuseGelu, WhatOnlyLooksLikeOneIsNone) {
  std::string one_third = kErfGelus[0];
  one_third.replace(one_third.find("root2"), 5, "three");
  Bench wide(gelu_net(one_third), Format::Float16);
  EXPECT_TRUE(fuse_gelus(wide.network(), 0).empty()) << "another width";
  Bench tanh(gelu_net("[curve] g = Tanh(x)\n"), Format::Float16);
  EXPECT_TRUE(fuse_gelus(tanh.network(), 0).empty());
  Bench whole(gelu_net(kErfGelus[0]), Format::Float32);
  EXPECT_TRUE(fuse_gelus(whole.network(), 0).empty()) << "float32 needs none";
}

TEST(FuseGelu, RefusesWithAReason) {
  Bench read(gelu_net(kErfGelus[0], "[more] y = Add(g, c)"), Format::Float16);
  // The sum ends the chain of single readers: the product behind is not reached.
  EXPECT_TRUE(fuse_gelus(read.network(), 0).empty());
  Bench halved(gelu_net(kErfGelus[1], "[more] y = Add(g, h)"), Format::Float16);
  EXPECT_EQ(fuse_gelus(halved.network(), 0).at(0).why_not, "another layer reads one of its nodes");
  Bench shown(gelu_net(kErfGelus[0], "[mm] y = MatMul(g, w)", "float[2,4] y, float[2,4] b"), Format::Float16);
  EXPECT_EQ(fuse_gelus(shown.network(), 0).at(0).why_not, "one of its nodes is an output of the network");
}

}  // namespace
}  // namespace vernier::testing
