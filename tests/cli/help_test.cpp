#include "console/help.h"

#include <gtest/gtest.h>

#include <memory>
#include <sstream>
#include <string>

#include "commands/commands.h"

namespace vernier::cli {
namespace {

TEST(Wrap, BreaksAtSpacesAndIndentsWhatFollows) {
  EXPECT_EQ(wrap("one two three", 2, 9), "one two\n  three");
  EXPECT_EQ(wrap("one two three", 2, 100), "one two three");
  EXPECT_EQ(wrap("", 2, 9), "");
}

TEST(Wrap, LeavesWordsLongerThanALineWhole) { EXPECT_EQ(wrap("a bcdefghijkl m", 0, 5), "a\nbcdefghijkl\nm"); }

TEST(Help, EveryOptionWithAValueStatesItsDefaultOrThatItIsRequired) {
  CLI::App root("", "vernier");
  const Command commands[] = {add_diagnose(root, ""), add_verify(root, ""), add_convert(root), add_inspect(root),
                              add_doctor(root)};
  int seen = 0;
  for (const Command& command : commands) {
    for (const CLI::Option* option : command.app->get_options()) {
      const bool hidden = option->get_group().empty();
      if (hidden || option->get_positional() || option->get_expected_max() == 0) continue;
      ++seen;
      // Requirements and low formats state it once, for the group.
      const std::string stated = option->get_description() + option->get_group();
      const bool is_low = option->check_lname("low");
      EXPECT_TRUE(is_low || stated.find("default:") != std::string::npos ||
                  stated.find("required") != std::string::npos)
          << command.app->get_name() << " " << option->get_name();
    }
  }
  EXPECT_GT(seen, 40);
}

TEST(Help, LinesFitIntoAHundredColumns) {
  CLI::App root("", "vernier");
  root.formatter(std::make_shared<HelpFormatter>());
  const Command diagnose = add_diagnose(root, "");
  std::istringstream help(diagnose.app->help("", CLI::AppFormatMode::All));
  int lines = 0;
  for (std::string line; std::getline(help, line); ++lines) EXPECT_LE(line.size(), 100U) << line;
  EXPECT_GT(lines, 60);
}

}  // namespace
}  // namespace vernier::cli
