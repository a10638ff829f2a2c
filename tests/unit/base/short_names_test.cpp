#include "base/short_names.h"

#include <gtest/gtest.h>

#include <set>

#include "base/layout.h"

namespace vernier {
namespace {

TEST(ShortNames, ShowWhereTwoDiffer) {
  const std::vector<std::string> names{"/blocks.0/attn/MatMul_1/Pow", "/blocks.1/attn/MatMul_1/Pow"};
  EXPECT_EQ(short_names(names, 8), (std::vector<std::string>{"..0/at..", "..1/at.."}));
  EXPECT_EQ(short_names(names, 40), names);
}

TEST(ShortNames, AreDistinctWithinTheirWidth) {
  std::vector<std::string> names;
  for (int block = 0; block < 12; ++block) {
    for (const char* part : {"query", "key", "value", "out"}) {
      for (const char* op : {"MatMul", "Add"}) {
        names.push_back("/encoder/layer." + std::to_string(block) + "/attention/self/" + part + "/" + op);
      }
    }
  }
  for (const std::size_t width : {12, 16, 20, 30}) {
    const std::vector<std::string> shorts = short_names(names, width);
    for (const std::string& name : shorts) EXPECT_LE(display_width(name), width);
    if (width >= 20) {
      EXPECT_EQ(std::set<std::string>(shorts.begin(), shorts.end()).size(), names.size()) << width;
    }
  }
}

TEST(ShortNames, CutNoLetterInTwo) {
  const std::vector<std::string> names{"\u5c64\u5c64\u5c64\u5c64\u5c64/1/\u5c64\u5c64\u5c64\u5c64\u5c64",
                                       "\u5c64\u5c64\u5c64\u5c64\u5c64/2/\u5c64\u5c64\u5c64\u5c64\u5c64"};
  const std::vector<std::string> shorts = short_names(names, 10);
  EXPECT_NE(shorts[0], shorts[1]);
  for (const std::string& name : shorts) EXPECT_LE(display_width(name), 10U);
}

TEST(CutSharedEnds, LeavesShortBeginningsAndRareOnes) {
  const std::vector<std::string> few{"Conv_1", "Conv_2", "Conv_3"};
  EXPECT_EQ(cut_shared_ends(few).names, few);
  const CutNames cut = cut_shared_ends({"model/backbone/a", "model/backbone/b", "model/backbone/c", "head"});
  EXPECT_EQ(cut.start, "model/backbone/");
  EXPECT_EQ(cut.names, (std::vector<std::string>{"..a", "..b", "..c", "head"}));
}

}  // namespace
}  // namespace vernier
