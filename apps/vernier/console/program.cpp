#include "console/program.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>

#include "base/text.h"
#include "base/version.h"
#include "commands/commands.h"
#include "commands/report_commands.h"
#include "console/command_line.h"
#include "console/console.h"
#include "console/help.h"
#include "console/hint_options.h"
#include "console/interrupt.h"
#include "console/output_guard.h"
#include "console/standard_output.h"
#include "distributed/ranks.h"
#include "options/syntax.h"
#include "vernier/error.h"
#include "vernier/marks.h"
#include "vernier/report/gate.h"

namespace vernier::cli {

std::vector<Command> add_commands(CLI::App& root, const std::string& command) {
  std::vector<Command> commands{
      add_diagnose(root, command),
      add_fix(root, command),
      add_verify(root, command),
      add_report(root),
      add_bundle(root),
      add_eval(root, command),
      add_pipeline(root, command),
      add_calibrate(root, command),
      add_convert(root),
      add_quantize(root),
      add_run(root, command),
      add_bench(root, command),
      add_inspect(root),
      add_inspect_data(root),
      add_inspect_plan(root),
      add_data_diff(root, command),
      add_data_merge(root),
      add_data_to_input(root),
      add_data_concat(root),
      add_debug_accuracy(root, command),
      add_debug_precision(root, command),
      add_debug_loss(root, command),
      add_debug_reduce(root, command),
      add_debug_repeat(root),
      add_debug_build(root),
      add_debug_diff_tactics(root),
      add_inspect_tactics(root),
      add_inspect_diff_tactics(root),
      add_inspect_sparsity(root),
      add_inspect_capability(root),
      add_inspect_engine(root),
      add_surgeon_extract(root),
      add_surgeon_sanitize(root),
      add_surgeon_insert(root),
      add_surgeon_prune(root),
      add_surgeon_weight_strip(root),
      add_surgeon_weight_reconstruct(root),
      add_plugin_match(root),
      add_plugin_list(root),
      add_plugin_replace(root),
      add_check(root),
      add_check_placement(root),
      add_check_data(root),
      add_check_lint(root),
      add_doctor(root),
      add_completion(root),
  };
  for (Command& topic : add_help_topics(root)) commands.push_back(std::move(topic));
  for (Command& template_command : add_templates(root)) commands.push_back(std::move(template_command));
  for (Command& older : add_precision(root, command)) commands.push_back(std::move(older));
  return commands;
}

namespace {

/// Runs it; what continuous integration reads is written for a command that fails, too.
int run_gated(const Command& command, Console& console) {
  if (command.gate == nullptr) return command.run(console);
  try {
    return command.run(console);
  } catch (const Error& error) {
    try {
      command.gate->tell(gate_of_failure(full_name(*command.app), error.what()));
    } catch (const Error& other) {
      console.warning(other.what());
    }
    throw;
  }
}

/// For tests: a hint that cannot be followed is a fault of ours.
void check_hint(const CLI::App& root, const Error& error) {
  if (std::getenv("VERNIER_CHECK_HINTS") == nullptr) return;
  const CLI::App& app = chosen_app(root);
  const std::vector<std::string> wrong = options_out_of_place(app, command_words(error.hint()));
  if (wrong.empty()) return;
  throw Error(ErrorKind::Internal, fmt::format("a hint names {}, which {} does not accept: {} (hint: {})",
                                               list_some(wrong), full_name(app), error.what(), error.hint()));
}

/// --json, --format json.
bool is_json(const GivenOption& option) {
  return option.name == "--json" || (option.name == "--format" && option.values == std::vector<std::string>{"json"});
}

/// True if JSON, CSV or a script is asked for on stdout.
bool prints_for_programs(const CLI::App& app) {
  if (app.get_name() == "completion" || app.get_name().ends_with("-schema")) return true;
  return std::ranges::any_of(given_options(app), [](const GivenOption& option) {
    const bool other_format = option.name == "--format" && option.values != std::vector<std::string>{"table"};
    return is_json(option) || option.name == "--csv" || other_format;
  });
}

int run_command(CLI::App& root, const std::vector<Command>& commands, const std::vector<std::string>& arguments,
                Console& console) {
  if (arguments.empty()) {
    print_result(console, root.help());
    return 0;
  }
  if (arguments.size() == 1 && arguments.front() == "help") {
    print_result(console, root.get_subcommand("help")->help());
    return 0;
  }
  console.expect_json(std::ranges::find(arguments, "--json") != arguments.end());  // until options are known
  try {
    parse_arguments(root, keep_stdout_for_files(arguments));
  } catch (const CLI::CallForVersion& version) {
    print_result(console, version.what());
    return 0;
  } catch (const CLI::CallForAllHelp&) {
    print_result(console, chosen_app(root).help("", CLI::AppFormatMode::All));
    return 0;
  } catch (const CLI::Success&) {
    print_result(console, chosen_app(root).help());
    return 0;
  }

  const CLI::App* chosen = &chosen_app(root);
  const auto found =
      std::find_if(commands.begin(), commands.end(), [&](const Command& candidate) { return candidate.app == chosen; });
  if (found == commands.end()) {
    throw Error(ErrorKind::Internal, fmt::format("no code for command '{}'", chosen->get_name()));
  }
  keep_inputs_safe(*chosen);
  Ranks& job = job_ranks();
  MessageGroup messages = *found->messages;
  if (!job.first()) messages.log_file.clear();
  console.configure(messages);
  console.expect_json(std::ranges::any_of(given_options(*chosen), is_json));
  if (prints_for_programs(*chosen)) console.keep_results_out_of_log();
  if (found->ignored) {
    for (const std::string& text : *found->ignored) console.warning(text);
  }
  if (found->messages->print_command) {
    print_result(console, resolved_command(*chosen, command_text(arguments)));
    return 0;
  }
  if (!found->spreads) {
    const bool works = job.first();
    job.part();
    if (!works) return 0;
  }
  // Of several ranks an interrupt reaches some earlier than others: it ends them all, and --resume goes on.
  if (job.alone()) catch_interrupts();
  const int code = run_gated(*found, console);
  console.check_log();
  if (!cut_short()) return code;
  throw Error(ErrorKind::Interrupted, "interrupted: the results are partial");
}

}  // namespace

int run_program(const std::vector<std::string>& arguments, Console& console) {
  CLI::App root("Finds, explains and fixes the layers that break an ONNX network in low precision", "vernier");
  root.formatter(std::make_shared<HelpFormatter>());
  root.set_help_flag("-h,--help", "Print this help")->group("Options");
  root.set_help_all_flag("--help-all")->group("");  // hidden: the same as --help
  root.set_version_flag("-V,--version", fmt::format("vernier {}", vernier_version()), "Print the version")
      ->group("Options");
  root.require_subcommand(0, 1);
  root.footer(
      "vernier COMMAND --help describes a command; vernier help lists topics.\nExit code: 0 done, requirement met; 1 "
      "ran, and the answer is no; 2 usage; 3 input; 4 backend; 70 internal error; 130 interrupted");

  const std::vector<Command> commands = add_commands(root, command_text(arguments));
  try {
    return run_command(root, commands, arguments, console);
  } catch (const Error& error) {
    check_hint(root, error);
    throw;
  }
}

}  // namespace vernier::cli
