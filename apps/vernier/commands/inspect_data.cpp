#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "commands/commands.h"
#include "console/console.h"
#include "options/options.h"
#include "options/parse_values.h"
#include "vernier/data_files.h"

namespace vernier::cli {
namespace {

struct InspectDataLine {
  std::string path, num_items = "3", line_width = "75";
  bool all = false, show_values = false, histogram = false, json = false;
  MessageGroup messages;
};

// "-1" is no limit.
std::optional<std::size_t> parse_limit(std::string_view option, const std::string& text) {
  if (text == "-1") return std::nullopt;
  return parse_count(option, text, 0, 1000000000);
}

}  // namespace

Command add_inspect_data(CLI::App& root) {
  auto line = std::make_shared<InspectDataLine>();
  CLI::App& app = add_command(command_group(root, "inspect", "Print what is in a file"), "data",
                              "Print the arrays in saved inputs or results, with their statistics");
  add_argument(app, "PATH", line->path, "Saved inputs or results: JSON, a folder of JSON, .npz or .npy");
  add_flag(app, "-a,--all", line->all, "Print all iterations (default: the first)").group("Output");
  add_flag(app, "-s,--show-values", line->show_values, "Also print the values, as NumPy does (default: no)")
      .group("Output");
  add_flag(app, "--histogram", line->histogram, "Print a histogram of each array (default: no)").group("Output");
  add_value(app, "-n,--num-items", line->num_items, "N",
            "Values to show at each end of a dimension, in arrays with more than 1000; -1: all (default: 3)")
      .group("Output");
  add_value(app, "--line-width", line->line_width, "N",
            "Characters per line of values; -1: one line per row (default: 75)")
      .group("Output");
  add_flag(app, "--json", line->json, "Print JSON, without values and histograms (default: text)").group("Output");
  add_message_options(app, line->messages);
  add_footer(app,
             "Example: vernier inspect data golden.json --all --show-values\nExit code: 0 done; 2 usage; 3 input; 70 "
             "internal error");

  return {&app, &line->messages, [line](Console& console) {
            InspectDataOptions options;
            options.path = line->path;
            options.all = line->all;
            options.show_values = line->show_values;
            options.histogram = line->histogram;
            options.edge_items = parse_limit("--num-items", line->num_items);
            options.line_width = parse_limit("--line-width", line->line_width);
            const DataInspection report = inspect_data(options);
            print_result(console, line->json ? report_to_json(report) : report_to_text(report));
            return 0;
          }};
}

}  // namespace vernier::cli
