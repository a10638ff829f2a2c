#include "console/help.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "commands/commands.h"
#include "console/program.h"

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

/// Every command that `root` has, in any group.
std::vector<const CLI::App*> commands_of(const CLI::App& root) {
  std::vector<const CLI::App*> all;
  for (const CLI::App* app : root.get_subcommands([](const CLI::App*) { return true; })) {
    const std::vector<const CLI::App*> parts = commands_of(*app);
    all.insert(all.end(), parts.begin(), parts.end());
    if (parts.empty()) all.push_back(app);
  }
  return all;
}

TEST(Help, TheShortOneHasEveryOptionOfItsExample) {
  CLI::App root("", "vernier");
  root.formatter(std::make_shared<HelpFormatter>());
  const std::vector<Command> commands = add_commands(root, "");
  std::size_t options = 0;
  for (const CLI::App* command : commands_of(root)) {
    const std::string help = command->help("", CLI::AppFormatMode::Normal);
    for (const std::string& name : options_of_example(command->get_footer())) {
      ++options;
      const std::string rows = help.substr(0, help.find("\nExample: "));
      EXPECT_NE(rows.find(name), std::string::npos) << command->get_name() << " " << name;
    }
  }
  EXPECT_GT(options, 60U);
}

TEST(Help, OptionsOfAnExampleAreThoseOfTheFirst) {
  EXPECT_EQ(options_of_example("Example: vernier run a.onnx --sim --data=x -o out\nExample: vernier run --trt"),
            (std::vector<std::string>{"--sim", "--data", "-o"}));
  EXPECT_TRUE(options_of_example("Exit code: 0").empty());
}

}  // namespace
}  // namespace vernier::cli
