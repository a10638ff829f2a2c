#include "base/quote.h"

#include <gtest/gtest.h>
#include <regex.h>

#include <algorithm>
#include <array>
#include <cstdio>

namespace vernier {
namespace {

/// What bash makes of `word` as one argument.
std::string through_bash(const std::string& word) {
  // The inner quoting is the one under test; the outer one hands the line over through a file descriptor.
  std::string path = testing::TempDir() + "vernier_quote_test.sh";
  FILE* script = std::fopen(path.c_str(), "wb");
  const std::string line = "printf '%s|' " + shell_quote(word);
  std::fwrite(line.data(), 1, line.size(), script);
  std::fclose(script);
  FILE* pipe = popen(("bash '" + path + "'").c_str(), "r");
  std::string out;
  std::array<char, 256> buffer{};
  for (std::size_t n; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) out.append(buffer.data(), n);
  pclose(pipe);
  std::remove(path.c_str());
  return out;
}

/// Whether the pattern is found anywhere in `text`. POSIX extended syntax agrees with Python's on what is escaped here;
/// std::regex does not compile under the sanitizers with GCC 12 (a false maybe-uninitialized).
bool found(const std::string& pattern, const std::string& text) {
  regex_t compiled{};
  EXPECT_EQ(regcomp(&compiled, pattern.c_str(), REG_EXTENDED | REG_NOSUB), 0) << pattern;
  const bool match = regexec(&compiled, text.c_str(), 0, nullptr, 0) == 0;
  regfree(&compiled);
  return match;
}

TEST(ShellQuote, LeavesPlainWordsBare) {
  EXPECT_EQ(shell_quote("/model.0/Conv_1:0"), "/model.0/Conv_1:0");
  EXPECT_EQ(shell_quote("my model.onnx"), "'my model.onnx'");
  EXPECT_EQ(shell_quote(""), "''");
  EXPECT_EQ(shell_quote("it's"), R"('it'\''s')");
  EXPECT_EQ(shell_quote("a\nb'c"), R"($'a\x0ab\'c')");
}

TEST(ShellQuote, GivesTheShellExactlyTheName) {
  for (const std::string name : {"",
                                 "two words",
                                 "it's",
                                 "a:b/c",
                                 "$(reboot)",
                                 "`id`",
                                 "a\"b",
                                 "back\\slash",
                                 "x;y&z|w",
                                 "*?[a]",
                                 "#c",
                                 "~",
                                 "new\nline",
                                 "tab\there \\n'quote'",
                                 "\x1b[2J",
                                 "gr\xc3\xbc\xc3\x9f e",
                                 "\xff\xfe raw",
                                 "!history!",
                                 "\xe2\x80\xae"
                                 "rtl",
                                 "\x01"
                                 "1f"}) {
    EXPECT_EQ(through_bash(name), name + "|");
  }
}

TEST(PythonQuote, EscapesQuotesAndBackslashes) {
  EXPECT_EQ(python_quote("Conv_1"), "\"Conv_1\"");
  EXPECT_EQ(python_quote("a\"b\\c'd"), R"("a\"b\\c'd")");
  EXPECT_EQ(python_quote("a\nb"), R"(b"a\x0ab".decode())");
}

TEST(ExactRegex, MatchesTheNameAndNothingElse) {
  EXPECT_EQ(exact_regex("/model.0/Conv"), R"(^/model\.0/Conv$)");
  for (const std::string name : {"a.b", "a+b(c)", "[x]", "Conv_1", "a|b", "x*", "a\\b", "{2}", "^a$"}) {
    EXPECT_TRUE(found(exact_regex(name), name)) << name;
    EXPECT_FALSE(found(exact_regex(name), name + "0")) << name;
    EXPECT_FALSE(found(exact_regex(name), "0" + name)) << name;
  }
  EXPECT_FALSE(found(exact_regex("a.b"), "axb"));
}

TEST(CodeBlock, HasAFenceThatItsTextCannotClose) {
  EXPECT_EQ(code_block("sh", "ls"), "```sh\nls\n```\n");
  EXPECT_EQ(code_block("sh", "echo '```'\n"), "````sh\necho '```'\n````\n");
}

TEST(InlineCode, HoldsBackticks) {
  EXPECT_EQ(inline_code("conv"), "`conv`");
  EXPECT_EQ(inline_code("a`b"), "`` a`b ``");
  EXPECT_EQ(inline_code("a\nb"), "`a\\x0ab`");
}

TEST(MarkdownText, IsNotMarkup) { EXPECT_EQ(markdown_text("<b>*x*|[a]"), R"(\<b\>\*x\*\|\[a\])"); }

}  // namespace
}  // namespace vernier
