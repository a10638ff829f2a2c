// Every option that names an output, of every command, on a file that the command reads.
#include "console/output_guard.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "console/command_line.h"
#include "console/program.h"
#include "options/syntax.h"
#include "temp_files.h"
#include "vernier/error.h"

namespace vernier::cli {
namespace {

void for_each_command(const CLI::App& app, const std::function<void(const CLI::App&)>& visit) {
  const auto subcommands = app.get_subcommands([](const CLI::App*) { return true; });
  if (subcommands.empty()) visit(app);
  for (const CLI::App* command : subcommands) for_each_command(*command, visit);
}

std::vector<std::string> words_of(const CLI::App& app) {
  if (app.get_parent() == nullptr) return {};
  std::vector<std::string> words = words_of(*app.get_parent());
  words.push_back(app.get_name());
  return words;
}

bool names_a_place(const CLI::Option& option) {
  const std::string value = option.get_type_name();
  return value.starts_with("FILE") || value == "DIR" || value == "PATH";
}

/// Options that name a place and only read it.
const std::set<std::string> kRead{"--load-timing-cache",
                                  "--external-data-dir",
                                  "--labels",
                                  "--metric-script",
                                  "--load-debug-replay",
                                  "--golden",
                                  "--data-loader-script",
                                  "--load-outputs",
                                  "--report",
                                  "--postprocess-func-script",
                                  "--exclude-list",
                                  "--compare-func-script",
                                  "--fp16-outputs",
                                  "--int8-outputs",
                                  "--tested",
                                  "--load-tactics",
                                  "--trt-config-script",
                                  "--trt-config-postprocess-script",
                                  "--model",
                                  "--dir",
                                  "--plugin-dir",
                                  "--config",
                                  "--good",
                                  "--bad",
                                  "--plan",
                                  "--tensor-overrides",
                                  "--trt-network-postprocess-script"};

const std::set<std::string> kEditsInPlace = {"vernier convert",
                                             "vernier quantize",
                                             "vernier surgeon extract",
                                             "vernier surgeon sanitize",
                                             "vernier surgeon insert",
                                             "vernier surgeon prune",
                                             "vernier surgeon weight-strip",
                                             "vernier surgeon weight-reconstruct"};

/// What the guard says of a command line; empty when it lets it pass.
std::string said_of(CLI::App& root, const std::vector<std::string>& words) {
  try {
    parse_arguments(root, words);
    keep_inputs_safe(chosen_app(root));
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

std::string said_of(const std::vector<std::string>& words) {
  CLI::App root("", "vernier");
  const std::vector<Command> commands = add_commands(root, "");
  return said_of(root, words);
}

class OutputGuard : public ::testing::Test {
 protected:
  OutputGuard() { std::ofstream(folder_ / "m.onnx") << "model"; }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  TempFolder folder_;
};

TEST_F(OutputGuard, EveryOptionThatNamesAPlaceIsKnownToReadOrToWriteIt) {
  CLI::App root("", "vernier");
  const std::vector<Command> commands = add_commands(root, "");
  for_each_command(root, [&](const CLI::App& command) {
    for (const CLI::Option* option : command.get_options()) {
      if (option->get_positional() || !names_a_place(*option) || !option->get_configurable()) continue;
      EXPECT_TRUE(kRead.contains(option->get_name()))
          << command.get_name() << " " << option->get_name() << ": declare it with writes(), or list it here";
    }
  });
}

TEST_F(OutputGuard, NoOptionOfAnyCommandOverwritesItsModel) {
  CLI::App root("", "vernier");
  const std::vector<Command> commands = add_commands(root, "");
  std::size_t tried = 0;
  for_each_command(root, [&](const CLI::App& command) {
    const auto options = command.get_options();
    std::vector<std::string> line = words_of(command);
    for (const CLI::Option* option : options) {
      if (option->get_positional()) line.push_back(file("m.onnx"));
    }
    if (line == words_of(command)) return;
    for (const CLI::Option* option : options) {
      const bool writes = !option->get_configurable() && option->get_expected_max() > 0;  // --help is marked as well
      if (!writes || option->get_positional()) continue;
      std::vector<std::string> words = line;
      const std::string name =
          option->get_name().empty() ? "--" + option->get_lnames().front() : option->get_name();  // empty: hidden
      words.push_back(name);
      words.push_back(file("m.onnx"));
      const std::string said = said_of(root, words);
      if (name == "--output" && kEditsInPlace.contains(full_name(command))) {
        EXPECT_EQ(said, "");
        continue;
      }
      EXPECT_NE(said.find("m.onnx would be overwritten by " + name), std::string::npos)
          << command.get_name() << " " << name << ": " << said;
      ++tried;
    }
  });
  EXPECT_GT(tried, 60U);
}

TEST_F(OutputGuard, SeesThroughLinksAndScripts) {
  std::filesystem::create_symlink("m.onnx", folder_ / "link.onnx");
  EXPECT_NE(said_of({"check", "lint", file("m.onnx"), "-o", file("link.onnx")}), "");
  std::ofstream(folder_ / "loader.py") << "pass";
  EXPECT_NE(said_of({"diagnose", file("m.onnx"), "--data", file("loader.py") + ":load", "--junit", file("loader.py")}),
            "");
  EXPECT_EQ(said_of({"diagnose", file("m.onnx"), "--junit", file("new.xml")}), "");
}

TEST_F(OutputGuard, MovesNoFolderWithTheModelInIt) {
  const std::vector<std::string> line{"debug", "reduce", file("m.onnx"), "-o", file("small.onnx"), "--artifacts"};
  std::vector<std::string> words = line;
  words.push_back(folder_.path().string());
  EXPECT_NE(said_of(words), "");
  words.back() = file("logs");
  EXPECT_EQ(said_of(words), "");
}

TEST_F(OutputGuard, TwoOptionsDoNotWriteOneFile) {
  EXPECT_NE(said_of({"diagnose", file("m.onnx"), "--junit", file("a.xml"), "--log-file", file("a.xml")})
                .find("--junit and --log-file would both write"),
            std::string::npos);
}

TEST_F(OutputGuard, AReplayIsGoneOnWith) {
  std::ofstream(folder_ / "replay.json") << "{}";
  EXPECT_EQ(said_of({"debug", "reduce", file("m.onnx"), "-o", file("small.onnx"), "--load-debug-replay",
                     file("replay.json"), "--save-debug-replay", file("replay.json")}),
            "");
}

TEST_F(OutputGuard, FoldersAreShared) {
  std::filesystem::create_directory(folder_ / "out");
  EXPECT_EQ(said_of({"diagnose", file("m.onnx"), "-o", file("out"), "--data", file("out")}), "");
}

}  // namespace
}  // namespace vernier::cli
