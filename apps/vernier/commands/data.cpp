#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "commands/commands.h"
#include "console/console.h"
#include "options/options.h"
#include "vernier/data_files.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/sinks.h"

namespace vernier::cli {
namespace {

struct DataLine {
  std::vector<std::string> paths;
  std::string output;
  MessageGroup messages;
};

using Job = JoinedData (*)(const SavedFilesOptions& options, const JobSinks& sinks);
using Text = std::string (*)(const JoinedData& result);

Command add_data_command(CLI::App& root, const std::string& name, const std::string& description,
                         const std::string& output_help, const std::string& footer, Job job, Text text) {
  auto line = std::make_shared<DataLine>();
  CLI::App& data = command_group(root, "data", "Compare, join and convert saved inputs and results");
  CLI::App& app = add_command(data, name, description);
  add_arguments(app, "PATHS", line->paths,
                "Files of saved inputs or results: JSON, .npz, or folders with one file per iteration")
      .required();
  add_value(app, "-o,--output", line->output, "FILE", output_help).writes().group("Output");
  add_message_options(app, line->messages);
  add_footer(
      app,
      footer + "\nExit code: 0 done, with or without warnings; 2 usage; 3 input; 70 internal error; 130 interrupted");

  return {&app, &line->messages, [line, name, job, text](Console& console) {
            if (line->output.empty()) {
              throw Error(ErrorCode::MissingArgument, fmt::format("vernier data {}: -o is missing", name),
                          "-o joined.json");
            }
            SavedFilesOptions options;
            options.paths.assign(line->paths.begin(), line->paths.end());
            options.output = line->output;
            print_result(console, text(job(options, console.sinks())));
            return 0;
          }};
}

constexpr const char* kOutputHelp =
    "File to write: JSON in Polygraphy's format, or .npz. A name without extension makes a folder with one file {} "
    "(required)";

}  // namespace

Command add_data_merge(CLI::App& root) {
  return add_data_command(root, "merge",
                          "Join files into one file of inputs: sample i gets the arrays of iteration i of each file. "
                          "Outputs of results become inputs",
                          fmt::format(kOutputHelp, "a sample"),
                          "Example: vernier data merge image.json features.json -o inputs.json", merge_data,
                          merged_to_text);
}

Command add_data_to_input(CLI::App& root) {
  return add_data_command(root, "to-input", "The old name of data merge", fmt::format(kOutputHelp, "a sample"),
                          "Example: vernier data to-input golden.json -o inputs.json", merge_data, merged_to_text);
}

Command add_data_concat(CLI::App& root) {
  return add_data_command(
      root, "concat", "Append the iterations of several files, run by run; times in the names of runners are ignored",
      fmt::format(kOutputHelp, "an iteration"), "Example: vernier data concat first.json second.json -o both.json",
      concat_data, joined_to_text);
}

}  // namespace vernier::cli
