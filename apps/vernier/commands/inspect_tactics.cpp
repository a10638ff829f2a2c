// inspect tactics, diff-tactics and sparsity.
#include <filesystem>
#include <memory>
#include <string>

#include "commands/commands.h"
#include "console/console.h"
#include "options/options.h"
#include "options/peer_options.h"
#include "options/rows.h"
#include "table/measure.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/inspect.h"

namespace vernier::cli {
namespace {

struct OneFile {
  std::string path;
  MessageGroup messages;
};

struct SparsityLine {
  std::string model;
  Texts texts;
  MessageGroup messages;
};

struct DiffLine {
  std::string folder, good, bad;
  MessageGroup messages;
};

template <class Report, class File>
Command one_file(CLI::App& root, const std::string& name, const std::string& description, const std::string& argument,
                 const std::string& help, Report (*job)(const File&)) {
  auto line = std::make_shared<OneFile>();
  CLI::App& app = add_command(command_group(root, "inspect", "Print what is in a file"), name, description);
  add_argument(app, argument, line->path, help);
  add_message_options(app, line->messages);
  return {&app, &line->messages, [line, job](Console& console) {
            print_result(console, report_to_text(job(line->path)));
            return 0;
          }};
}

Command add_diff(CLI::App& group) {
  auto line = std::make_shared<DiffLine>();
  CLI::App& app = add_command(group, "diff-tactics", "Find tactics that occur in bad replays only");
  add_value(app, "--dir", line->folder, "DIR",
            "Folder with good/ and bad/, as --artifacts-dir makes it (default: none)")
      .group("Replays");
  add_value(app, "--good", line->good, "PATH", "A good replay, or a folder of them (default: DIR/good)")
      .group("Replays");
  add_value(app, "--bad", line->bad, "PATH", "A bad replay, or a folder of them (default: DIR/bad)").group("Replays");
  add_message_options(app, line->messages);
  return {&app, &line->messages, [line](Console& console) {
            if (line->folder.empty() && (line->good.empty() || line->bad.empty())) {
              throw Error(ErrorCode::MissingArgument, "--dir is missing",
                          "--dir polygraphy_artifacts, or --good and --bad");
            }
            DiffTacticsOptions options;
            options.folder = line->folder;
            options.good = line->good;
            options.bad = line->bad;
            print_result(console, report_to_text(diff_tactics(options)));
            return 0;
          }};
}

}  // namespace

Command add_inspect_tactics(CLI::App& root) {
  return one_file(root, "tactics", "Print a tactic replay", "REPLAY",
                  "JSON of --save-tactics, from TensorRT 10 or older", inspect_tactics);
}

Command add_inspect_sparsity(CLI::App& root) {
  auto line = std::make_shared<SparsityLine>();
  CLI::App& app = add_command(command_group(root, "inspect", "Print what is in a file"), "sparsity",
                              "Find the weights that are 2:4 sparse");
  add_argument(app, "MODEL", line->model, "ONNX file");
  add_row(app, table::kExternalDataDir, "Model", line->texts);
  add_message_options(app, line->messages);
  const IgnoredOptions ignored = add_ignored_options(app);
  return {&app, &line->messages,
          [line](Console& console) {
            std::filesystem::path external_data_dir;
            read_value(table::kExternalDataDir, line->texts, external_data_dir);
            print_result(console, report_to_text(inspect_sparsity(line->model, external_data_dir)));
            return 0;
          },
          ignored};
}

Command add_inspect_diff_tactics(CLI::App& root) {
  return add_diff(command_group(root, "inspect", "Print what is in a file"));
}

Command add_debug_diff_tactics(CLI::App& root) {
  return add_diff(command_group(root, "debug", "Find where a model goes wrong"));
}

}  // namespace vernier::cli
