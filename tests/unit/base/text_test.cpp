#include "base/text.h"

#include <gtest/gtest.h>

namespace vernier {
namespace {

TEST(WildcardMatch, FollowsTheShell) {
  EXPECT_TRUE(wildcard_match("Conv_*", "Conv_12"));
  EXPECT_TRUE(wildcard_match("*", ""));
  EXPECT_TRUE(wildcard_match("a?c*e", "abcdde"));
  EXPECT_TRUE(wildcard_match("l[0-3]x", "l2x"));
  EXPECT_TRUE(wildcard_match("l[!0-3]x", "l7x"));
  EXPECT_TRUE(wildcard_match("a[b", "a[b"));
  EXPECT_FALSE(wildcard_match("Conv_?", "Conv_12"));
  EXPECT_FALSE(wildcard_match("", "a"));
}

TEST(NearestNames, OffersTheClosestFirst) {
  const std::vector<std::string> names{"Conv_10", "Conv_1", "Relu_3"};
  EXPECT_EQ(nearest_names("Conv1", names).front(), "Conv_1");
  EXPECT_TRUE(nearest_names("something_else_entirely", names).empty());
  const std::vector<std::string> twice = {"Conv", "Conv", "Concat"};
  EXPECT_EQ(nearest_names("Cnov", twice), (std::vector<std::string>{"Conv"}));
}

TEST(NearestNames, OffersFirstWhatBeginsSo) {
  const std::vector<std::string> names{"--max-mse", "--max-abs-error", "--min-sqnr"};
  EXPECT_EQ(nearest_names("--max-abs", names), (std::vector<std::string>{"--max-abs-error", "--max-mse"}));
}

TEST(Printable, EscapesWhatCouldMoveTheCursor) {
  EXPECT_EQ(printable("a\x1b[2J"), "a\\x1b[2J");
  EXPECT_EQ(printable("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
  EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");
  EXPECT_EQ(printable("a\xe2\x80\xae\xe2\x81\xa9z"), "a\\u{202E}\\u{2069}z");
  EXPECT_EQ(printable("\xe2\x82\xac\xe2\x80\x94"), "\xe2\x82\xac\xe2\x80\x94") << "the euro and a dash turn nothing";
}

TEST(TupleText, IsPythons) {
  EXPECT_EQ(tuple_text({}), "()");
  EXPECT_EQ(tuple_text({3}), "(3,)");
  EXPECT_EQ(tuple_text({1, 2, 3}), "(1, 2, 3)");
}

TEST(PlaceText, CountsTheLastAxisFirst) {
  EXPECT_EQ(place_text(0, {}), "()");
  EXPECT_EQ(place_text(14, {2, 3, 4}), "(1, 0, 2)");
}

}  // namespace
}  // namespace vernier
