#include "base/layout.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "vernier/error.h"

namespace vernier {
namespace {

TEST(DisplayWidth, CountsColumnsNotBytes) {
  EXPECT_EQ(display_width("Conv_1"), 6U);
  EXPECT_EQ(display_width("gr\xc3\xbc\xc3\x9f"), 4U);
  EXPECT_EQ(display_width("\xe5\x8d\xb7\xe7\xa9\x8d"), 4U);  // two wide characters
  EXPECT_EQ(display_width("e\xcc\x81"), 1U);                 // a combining accent
}

TEST(Shown, MakesInvisibleAndReversingCharactersVisible) {
  EXPECT_EQ(printable("a\xe2\x80\xae"
                      "b"),
            "a\\u{202E}b");
  EXPECT_EQ(printable("a\xe2\x80\x8b"
                      "b"),
            "a\\u{200B}b");
  EXPECT_EQ(printable("\x1b[2J"), "\\x1b[2J");
  EXPECT_EQ(printable("plain/name.1:0"), "plain/name.1:0");
}

TEST(ShortenMiddle, KeepsBothEnds) {
  EXPECT_EQ(shorten_middle("features.17.conv", 16), "features.17.conv");
  EXPECT_EQ(shorten_middle("features.17.conv", 10), "feat..conv");
  EXPECT_EQ(shorten_middle("features.17.conv", 3), "fea");
  EXPECT_EQ(shorten_middle("", 0), "");
}

TEST(ShortenMiddle, NeverCutsACharacter) {
  const std::string wide = "\xe5\x8d\xb7\xe7\xa9\x8d\xe5\xb1\xa4\xe7\xac\xac\xe4\xb8\x80\xe5\x8d\xb7";  // 12 columns
  for (std::size_t width = 0; width < 13; ++width) {
    const std::string cut = shorten_middle(wide, width);
    EXPECT_LE(display_width(cut), width);
    EXPECT_EQ(printable(cut), cut) << width;
  }
}

TEST(Wrap, IndentsTheLinesThatFollow) {
  EXPECT_EQ(wrap("one two three fours", 16, "note: "), "note: one two\n      three\n      fours\n");
  EXPECT_EQ(wrap("", 14, "Data "), "Data \n");
}

TEST(Wrap, ALongLabelDoesNotTakeTheLineFromAllLines) {
  EXPECT_EQ(wrap("one two three four five", 32, "no-quantizer-behind: "),
            "no-quantizer-behind: one two\n    three four five\n");
}

TEST(Wrap, KeepsAFigureAndItsUnitTogether) {
  EXPECT_EQ(wrap("the required 20 dB is met", 15), "the required\n20 dB is met\n");
  EXPECT_EQ(wrap("at least 90 % sure", 11), "at least\n90 % sure\n");
  EXPECT_EQ(wrap("it took 12 s, then 3.5 MB)", 10), "it took\n12 s, then\n3.5 MB)\n");
  EXPECT_EQ(wrap("a scale of 20 dBs", 13), "a scale of 20\ndBs\n") << "not a unit";
  EXPECT_EQ(wrap("layer conv1 dB", 11), "layer\nconv1 dB\n");
}

TEST(Wrap, CutsAWordThatIsLongerThanALineAndLosesNothing) {
  EXPECT_EQ(wrap("a " + std::string(25, 'x') + " b", 12), "a\nxxxxxxxxxxxx\nxxxxxxxxxxxx\nx b\n");
}

TEST(Wrap, CutsALongWordBehindASeparator) {
  EXPECT_EQ(wrap("model/block/conv;model/relu", 20), "model/block/conv;\nmodel/relu\n");
}

TEST(Table, TellsThatLettersWereLeftOut) {
  Table table;
  table.flexible_column("layer");
  table.column("SQNR dB", Align::Right);
  table.row({"a_long_name_of_a_layer_with_much_text", "1.0"});
  table.row({"another", "2.0"});
  EXPECT_NE(table.text(30).find("'..' stands for letters that\n  were left out"), std::string::npos) << table.text(30);
  EXPECT_EQ(table.text(60).find("'..'"), std::string::npos);
}

TEST(Table, ColumnsThatSayNothingAloneAreLeftOutTogether) {
  Table table;
  table.flexible_column("tensor");
  table.column("seen from", Align::Right);
  table.column("seen to", Align::Right);
  table.goes_with_the_one_before();
  table.column("differ", Align::Right);
  table.stays();
  table.row({"a_tensor_of_20_letter", "-1.2345", "1.2345", "16 %"});
  EXPECT_NE(table.text(42).find("not shown, too narrow: seen from, seen\n  to"), std::string::npos) << table.text(42);
  EXPECT_FALSE(table.shows("seen from", 42));
  EXPECT_TRUE(table.shows("differ", 42));
  EXPECT_TRUE(table.shows("seen from", 100));
}

TEST(Table, InAFileHasWholeHeadingsAndNamesOfAtMost64Columns) {
  Table table;
  table.flexible_column("layer");
  table.column("propagated dB", Align::Right, "propag.");
  table.row({std::string(90, 'x') + "1", "1.0"});
  table.row({std::string(90, 'x') + "2", "2.0"});
  const std::string text = table.text(60, /*whole=*/true);
  EXPECT_NE(text.find("propagated dB"), std::string::npos) << text;
  EXPECT_EQ(text.find('\n'), 2U + 64 + 2 + 13) << text;
}

TEST(Table, AlignsNumbersRightAndDropsEmptyColumns) {
  Table table;
  table.flexible_column("layer");
  table.column("nothing", Align::Right);
  table.column("dB", Align::Right);
  table.row({"a", "", "7.5"});
  table.row({"bcd", "", "-12.5"});
  EXPECT_EQ(table.text(40), "  layer     dB\n  a        7.5\n  bcd    -12.5\n");
}

TEST(Table, ShortensTheFlexibleColumnUntilItFits) {
  Table table;
  table.flexible_column("layer");
  table.column("dB", Align::Right);
  table.row({"features.17.conv.0.0", "24.3"});
  EXPECT_EQ(table.text(20),
            "  layer           dB\n  featu..v.0.0  24.3\n  '..' stands for\n  letters that were\n  left out\n");
}

TEST(Table, TakesShortHeadingsBeforeItShortensNames) {
  Table table;
  table.flexible_column("layer");
  table.column("inherited dB", Align::Right, "inher.");
  table.row({"features.17", "24.3"});
  EXPECT_EQ(table.text(30), "  layer        inherited dB\n  features.17          24.3\n");
  EXPECT_EQ(table.text(22), "  layer        inher.\n  features.17    24.3\n");
}

// A name that could be any other's says nothing; a column less says more. What marks rows stays.
TEST(Table, LeavesOutColumnsBeforeNamesAreUnreadable) {
  Table table;
  table.column("#", Align::Right);
  table.flexible_column("layer");
  table.column("local dB", Align::Right);
  table.column("share", Align::Right);
  table.stays();
  table.column("flushed", Align::Right);
  table.column("", Align::Left);
  table.row({"1", "block1_expand_conv", "12.5", "40.1 %", "7", "kept"});
  table.row({"2", "block2_project_conv", "33.1", "0.2 %", "9", ""});
  table.row({"3", "block2_expand_conv", "31.4", "0.2 %", "0", ""});
  EXPECT_EQ(table.text(39),
            "  #  layer                 share\n  1  block1_expand_conv   40.1 %  kept\n"
            "  2  block2_project_conv   0.2 %\n  3  block2_expand_conv    0.2 %\n"
            "  not shown, too narrow: local dB,\n  flushed\n");
}

TEST(Table, LeavesOutWhatMostNamesShareAndSaysSo) {
  Table table;
  table.flexible_column("layer");
  table.column("dB", Align::Right);
  table.row({"MobilenetV2/expanded_conv_1/depthwise/Relu6_prequant", "1.0"});
  table.row({"MobilenetV2/expanded_conv_12/expand/Relu6_prequant", "2.0"});
  table.row({"MobilenetV2/expanded_conv_13/expand/Relu6_prequant", "3.0"});
  EXPECT_EQ(table.text(40),
            "  layer             dB\n  ..1/depthwise..  1.0\n  ..12/expand..    2.0\n  ..13/expand..    3.0\n"
            "  '..' stands for\n  MobilenetV2/expanded_conv_ in front,\n  /Relu6_prequant at the end\n");
  EXPECT_NE(table.text(40, /*whole=*/true).find("MobilenetV2/expanded_conv_12/expand/Relu6_prequant "),
            std::string::npos);
}

TEST(Table, LeavesOutColumnsBeforeItsLinesWrap) {
  Table table;
  table.column("layer", Align::Left);
  table.column("dB", Align::Right);
  table.column("share of the damage", Align::Right);
  table.column("why", Align::Left);
  table.row({"conv1", "12.5", "0.4", "a long story"});
  EXPECT_EQ(table.text(20), "  layer    dB\n  conv1  12.5\n  not shown, too\n  narrow: share of\n  the damage, why\n");
  EXPECT_NE(table.text(100).find("a long story"), std::string::npos);
  EXPECT_NE(table.text(20, /*whole=*/true).find("a long story"), std::string::npos);
}

TEST(Table, RefusesARowOfAnotherLength) {
  Table table;
  table.column("a", Align::Left);
  EXPECT_THROW(table.row({"1", "2"}), Error);
}

}  // namespace
}  // namespace vernier
