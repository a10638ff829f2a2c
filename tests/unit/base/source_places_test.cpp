#include "base/source_places.h"

#include <gtest/gtest.h>

namespace vernier {
namespace {

TEST(SourcePlaces, AreTakenOutOfMessages) {
  EXPECT_EQ(
      without_source_places("/a/onnx/helper.cc:76: assertInputsAvailable: Assertion `inputs[i]->has_sizes()` failed: "
                            "Shape of input 0 is not available.\n"),
      "Shape of input 0 is not available.");
  EXPECT_EQ(without_source_places("Load failed: /src/graph.cc:12 void ns::Graph::Resolve(const X&, Y (*)(int)) const "
                                  "no such node"),
            "Load failed: no such node");
  EXPECT_EQ(without_source_places(
                "wildcard -1 has no solution. In operator() at /_src/shape.cpp:4633 In analyze at /_src/a.cpp:2)"),
            "wildcard -1 has no solution.)");
  EXPECT_EQ(without_source_places("a.h:7 CheckType it is an int"), "it is an int");
  EXPECT_EQ(without_source_places("graph.cc:12 no such\nnode"), "such node");
}

TEST(SourcePlaces, WhatOnlyLooksLikeOneStays) {
  for (const char* text : {"see model.cc: no", "ratio 1.h:x", "plain", ""})
    EXPECT_EQ(without_source_places(text), text);
}

}  // namespace
}  // namespace vernier
