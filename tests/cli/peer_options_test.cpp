// Every option that the peers' reference lists is known to every command that measures or writes (docs/contract.md, 8):
// taken, taken with a warning that it has no effect, or refused with a reason; never "unknown option".
#include "options/peer_options.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"
#include "commands/commands.h"
#include "console/command_line.h"
#include "console/hint_options.h"
#include "console/program.h"
#include "sanitized.h"
#include "temp_files.h"
#include "vernier/error.h"

namespace vernier::cli {
namespace {

/// Names in the groups that Polygraphy's run, convert and debug precision share, and in trtexec's section.
std::set<std::string> names_of(const std::string& reference) {
  const auto section = [&](const char* from, const char* to) {
    const std::size_t begin = reference.find(from);
    return reference.substr(begin, reference.find(to, begin) - begin);
  };
  const std::string text = section("### 1.0 ", "### 1.1 ") + section("## 5. trtexec", "## 6. ");
  const std::regex option("--[a-zA-Z][a-zA-Z0-9_-]*[a-zA-Z0-9]");
  std::set<std::string> names;
  for (std::sregex_iterator at(text.begin(), text.end(), option); at != std::sregex_iterator(); ++at) {
    names.insert(at->str());
  }
  return names;
}

/// What is said of `option` behind `words`, the names of a command.
std::string said_of(CLI::App& root, std::vector<std::string> words, const std::string& option) {
  words.push_back(option);
  try {
    parse_arguments(root, words);
  } catch (const Error& error) {
    return error.what();
  }
  return "taken";
}

TEST(PeerOptions, NoneIsUnknownToACommandThatMeasuresOrWrites) {
  const auto shared = shared_folder();
  if (!shared) VERNIER_SKIP_OR_FAIL("no shared reference: set VERNIER_SHARED");
  const std::set<std::string> names = names_of(read_text(*shared / "reference" / "polygraphy.md"));
  ASSERT_GT(names.size(), 200U);

  CLI::App root("", "vernier");
  const std::vector<Command> commands{
      add_diagnose(root, ""),       add_convert(root),       add_verify(root, ""),          add_run(root, ""),
      add_debug_accuracy(root, ""), add_calibrate(root, ""), add_debug_precision(root, ""), add_debug_reduce(root, ""),
      add_bench(root, "")};
  for (const Command& command : commands) {
    std::vector<std::string> words{command.app->get_name()};
    if (command.app->get_parent() != &root) words.insert(words.begin(), command.app->get_parent()->get_name());
    std::vector<std::string> asks = words;
    asks.emplace_back("--help");
    EXPECT_THROW(parse_arguments(root, asks), CLI::CallForHelp);
    for (const std::string& name : names) {
      const std::string option = normalize_arguments({name}).front();
      if (command.app->get_option_no_throw(option) != nullptr || refusal_by(*command.app, option)) continue;
      EXPECT_EQ(said_of(root, words, option).find("unknown option"), std::string::npos) << words.back() << ": " << name;
    }
  }
}

/// Commands that have no commands.
void collect_leaves(const CLI::App& app, std::vector<const CLI::App*>& leaves) {
  const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
  if (commands.empty()) leaves.push_back(&app);
  for (const CLI::App* command : commands) collect_leaves(*command, leaves);
}

std::vector<std::string> words_to(const CLI::App& app) {
  if (app.get_parent() == nullptr) return {};
  std::vector<std::string> words = words_to(*app.get_parent());
  words.push_back(app.get_name());
  return words;
}

/// Under the sanitizer all take a minute, and run the same code.
std::size_t one_of() { return address_sanitized() ? 8 : 1; }

TEST(PeerOptions, HintsNameOptionsThatTheirCommandTakes) {
  const auto shared = shared_folder();
  if (!shared) VERNIER_SKIP_OR_FAIL("no shared reference: set VERNIER_SHARED");
  CLI::App root("", "vernier");
  const std::vector<Command> commands = add_commands(root, "");
  std::vector<const CLI::App*> leaves;
  collect_leaves(root, leaves);
  ASSERT_GT(leaves.size(), 30U);
  std::size_t number = 0;
  for (const std::string& name : names_of(read_text(*shared / "reference" / "polygraphy.md"))) {
    if (number++ % one_of() != 0) continue;
    const std::string option = normalize_arguments({name}).front();
    const auto refuses = [&](const CLI::App* leaf) { return refusal_by(*leaf, option).has_value(); };
    if (std::none_of(leaves.begin(), leaves.end(), refuses)) continue;
    for (const CLI::App* leaf : leaves) {
      std::vector<std::string> words = words_to(*leaf);
      words.push_back(option);
      try {
        parse_arguments(root, words);
      } catch (const Error& error) {
        for (const std::string& wrong : options_out_of_place(*leaf, error.hint())) {
          ADD_FAILURE() << full_name(*leaf) << ": " << error.what() << "\n hint: " << error.hint() << "\n has no "
                        << wrong;
        }
      } catch (const CLI::Success&) {
      }
    }
  }
}

TEST(HintOptions, BelongToTheCommandThatTheHintNames) {
  CLI::App root("", "vernier");
  const std::vector<Command> commands = add_commands(root, "");
  const CLI::App& inspect = *root.get_subcommand("inspect")->get_subcommand("model");
  using Names = std::vector<std::string>;
  EXPECT_EQ(options_out_of_place(inspect, "--show formats"), Names{});
  EXPECT_EQ(options_out_of_place(inspect, "--data samples.npz, or --show"), Names{"--data"});
  EXPECT_EQ(options_out_of_place(inspect, "vernier run MODEL --data samples.npz"), Names{});
  EXPECT_EQ(options_out_of_place(inspect, "vernier run MODEL --until 3"), Names{"--until"});
  EXPECT_EQ(options_out_of_place(inspect, "vernier debug repeat --until 3"), Names{});
  EXPECT_EQ(options_out_of_place(inspect, "pip install --no-deps onnx, and --show formats"), Names{});
}

}  // namespace
}  // namespace vernier::cli
