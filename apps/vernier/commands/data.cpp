#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "commands/commands.h"
#include "console/console.h"
#include "options/options.h"
#include "vernier/data_files.h"
#include "vernier/error.h"
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
                "Files of saved inputs or results, or folders with one file an iteration, or .npz")
      .required();
  add_value(app, "-o,--output", line->output, "FILE", output_help).writes().group("Output");
  add_message_options(app, line->messages);
  add_footer(app,
             footer + "\nExit code: 0 done, with or without warnings; 2 usage; 3 input; 70 our fault; 130 interrupted");

  return {&app, &line->messages, [line, name, job, text](Console& console) {
            if (line->output.empty()) {
              throw Error(ErrorKind::Usage, fmt::format("vernier data {}: -o is missing", name), "-o joined.json");
            }
            SavedFilesOptions options;
            options.paths.assign(line->paths.begin(), line->paths.end());
            options.output = line->output;
            print_result(console, text(job(options, console.sinks())));
            return 0;
          }};
}

constexpr const char* kOutputHelp =
    "File to write: JSON as Polygraphy writes it; .npz; a name without extension makes a folder with one file {} "
    "(required)";

}  // namespace

Command add_data_merge(CLI::App& root) {
  return add_data_command(root, "merge",
                          "Make one file of inputs: sample i holds the arrays of iteration i of every file; outputs of "
                          "results become inputs",
                          fmt::format(kOutputHelp, "a sample"),
                          "Example: vernier data merge image.json features.json -o inputs.json", merge_data,
                          merged_to_text);
}

Command add_data_to_input(CLI::App& root) {
  return add_data_command(root, "to-input", "The old name of data merge", fmt::format(kOutputHelp, "a sample"),
                          "Example: vernier data to-input golden.json -o inputs.json", merge_data, merged_to_text);
}

Command add_data_concat(CLI::App& root) {
  return add_data_command(root, "concat",
                          "Put the iterations of several files one after the other, run by run; the time in a runner's "
                          "name is not looked at",
                          fmt::format(kOutputHelp, "an iteration"),
                          "Example: vernier data concat first.json second.json -o both.json", concat_data,
                          joined_to_text);
}

}  // namespace vernier::cli
