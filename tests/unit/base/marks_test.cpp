#include "vernier/marks.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/text.h"
#include "vernier/error.h"

namespace vernier {
namespace {

std::vector<std::string> texts_of(const std::vector<Marked>& marks) {
  std::vector<std::string> texts;
  for (const Marked& mark : marks) texts.push_back(mark.text);
  return texts;
}

TEST(Marks, AreOptionsAndCommandsOnTheCommandLine) {
  EXPECT_EQ(command_words("‹image-std› holds 0"), "--image-std holds 0");
  EXPECT_EQ(command_words("list them with: ‹vernier inspect model MODEL --show layers›"),
            "list them with: vernier inspect model MODEL --show layers");
  EXPECT_EQ(command_words("choose another folder with ‹output›"), "choose another folder with -o");
  EXPECT_EQ(command_words("(‹int8›, ‹fp16›)"), "(--int8, --fp16)");
  EXPECT_EQ(command_words(""), "");
}

TEST(Marks, AreWhatTheirReaderMakesOfThem) {
  EXPECT_EQ(replace_marks("‹a› or ‹vernier b›",
                          [](const Marked& mark) { return mark.is_command() ? "[" + mark.text + "]" : mark.text; }),
            "a or [vernier b]");
}

TEST(Marks, ThatHaveNoPartnerStay) {
  EXPECT_EQ(command_words("a › b ‹ c"), "a › b ‹ c");
  EXPECT_EQ(command_words("‹ a ‹margin›"), "‹ a --margin");
  EXPECT_EQ(command_words("‹margin› ›"), "--margin ›");
}

TEST(Marks, OfAnErrorAreItsSubjectAndItsRemedies) {
  const Error error(ErrorKind::Usage, "'a.onnx', ‹vernier run›: ‹carry› names no output, ‹data› no sample",
                    "give ‹input-shapes›; ‹vernier inspect model MODEL› lists them");
  EXPECT_EQ(error.subject(), "carry") << "the first argument, no command";
  EXPECT_EQ(texts_of(error.remedies()), (std::vector<std::string>{"input-shapes", "vernier inspect model MODEL"}));
  EXPECT_FALSE(error.remedies().front().is_command());
  EXPECT_TRUE(error.remedies().back().is_command());
  const Error plain(ErrorKind::Input, "a.onnx: no such file");
  EXPECT_EQ(plain.subject(), "");
  EXPECT_TRUE(plain.remedies().empty());
}

TEST(Marks, CannotBeForgedByAName) {
  const std::string name = "‹int8›";
  EXPECT_EQ(printable(name), "\\u{2039}int8\\u{203A}");
  EXPECT_EQ(command_words("no layer is named '" + printable(name) + "'"), "no layer is named '\\u{2039}int8\\u{203A}'");
  EXPECT_EQ(printable_text("‹int8› of \x1b"), "‹int8› of \\x1b");
}

}  // namespace
}  // namespace vernier
