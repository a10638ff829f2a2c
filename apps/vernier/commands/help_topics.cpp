// `vernier help TOPIC`: which command answers which question, names that reports use, and schemas of files.
// `vernier help NAME`: one of these names.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "commands/commands.h"
#include "console/console.h"
#include "console/exit_codes.h"
#include "options/options.h"
#include "plan/plan.h"
#include "repairs/repair_texts.h"
#include "vernier/error.h"
#include "vernier/fix.h"
#include "vernier/marks.h"
#include "vernier/report/causes.h"
#include "vernier/report/outcome.h"
#include "vernier/report/schema.h"

namespace vernier::cli {
namespace {

constexpr const char* kAccuracy = R"(A network gives wrong results in low precision. Ask in this order:

1. Is it wrong at all, and by how much?
     vernier run model.onnx --onnxrt --trt --int8 --data samples.npz --compare sqnr
     vernier verify model.onnx typed.onnx --data samples.npz          (a typed file that you already have)

2. Does it fail every time?
   Not always: the build or the device varies, not the network.
     vernier debug repeat --until 20 --artifacts replay.json --check ./build_and_compare.sh
     vernier inspect diff-tactics --dir polygraphy_artifacts
   Always: go on with 3.

3. Is it a quantized file of another tool?
   Yes: which of its Q/DQ pairs do the damage, and which will an engine not fuse?
     vernier debug loss float.onnx quantized.onnx --data samples.npz
     vernier check placement quantized.onnx --target tensorrt

4. Does ONNX Runtime run the model, and does the simulation show the failure?
   Yes: where does the error start, and which layers must stay in high precision?
     vernier debug accuracy model.onnx --sim --int8 --data samples.npz
     vernier diagnose model.onnx --int8 --min-sqnr 24 --data samples.npz -o out
   No, it only fails on the device: reduce the network until it is small enough to read.
     vernier debug reduce model.onnx -o reduced.onnx --check ./fails_on_device.sh polygraphy_debug.onnx

5. You know the layers: extract them with their input values, as a test case.
     vernier surgeon extract model.onnx --inputs TENSOR:auto:auto --outputs TENSOR:auto --with-data samples.npz -o part.onnx

6. You want the smallest network that fails, for a bug report.
     vernier debug reduce model.onnx -o reduced.onnx --check-sim int8 --min-sqnr 15 --data samples.npz

vernier COMMAND --help describes a command.
)";

std::string causes() {
  std::string text = "Causes that diagnose and fix look for, with the formats that they are for:\n";
  for (const CauseName& cause : cause_names())
    text += fmt::format("\n{} ({})\n  {}\n", cause.id, cause.formats, cause.text);
  return text;
}

std::string repairs() {
  std::string text = "Repairs of vernier fix, in the order in which they are tried:\n";
  for (const RepairName& repair : repair_names()) {
    text += fmt::format("\n{}\n  {}\n  cost at run time: {}\n", repair.id, command_words(repair.text), repair.cost);
  }
  return text;
}

std::string codes() {
  std::string text = "Exit codes of all commands:\n\n";
  for (const ExitCode& code : kExitCodes) text += fmt::format("{:>5}  {}\n", code.code, code.meaning);
  text += "\n\"outcome\" in report.json:\n\n";
  for (std::size_t i = 0; i < words_of(Outcome{}).size(); ++i) {
    const auto outcome = static_cast<Outcome>(i);
    text += fmt::format("  {:<16}{}\n", word_of(outcome), text_of(outcome));
  }
  return text;
}

struct ReportColumn {
  const char* names;  // in tables and in report.json
  const char* text;
};

constexpr std::array kColumns{
    ReportColumn{"local own own_sqnr_db",
                 "SQNR of a layer's result on exact inputs: the error that the layer makes itself"},
    ReportColumn{"propagated inherited inherited_sqnr_db",
                 "SQNR of what arrives with a layer's inputs, everything low"},
    ReportColumn{"both propagated_sqnr_db", "SQNR of a layer's result with everything low: local and propagated error"},
    ReportColumn{"sensitivity sens. sensitivity_db", "SQNR of the output with only this layer in the low format"},
    ReportColumn{"share", "the layer's part of the summed damage of all layers, each lowered alone"},
    ReportColumn{"kept", "the layer stays in the high format"},
    ReportColumn{"overflow overflowed", "values that became infinite"},
    ReportColumn{"saturated", "values that were clipped to the end of the range"},
    ReportColumn{"subnormal", "values that lost digits near zero"},
    ReportColumn{"underflow flushed", "values that became zero"},
};

/// A name that reports use, and what `vernier help NAME` prints for it.
struct Explained {
  std::string name;
  std::string text;
};

std::vector<Explained> explained_names() {
  const auto listed_by = [](const char* topic) {
    return command_words(fmt::format("\n‹vernier help {}› lists all of them.\n", topic));
  };
  std::vector<Explained> all;
  for (const CauseName& cause : cause_names()) {
    all.push_back({std::string(cause.id), fmt::format("{}: a cause that diagnose and fix look for ({})\n  {}\n{}",
                                                      cause.id, cause.formats, cause.text, listed_by("causes"))});
  }
  for (const RepairName& repair : repair_names()) {
    all.push_back(
        {std::string(repair.id), fmt::format("{}: a repair of vernier fix\n  {}\n  cost at run time: {}\n{}", repair.id,
                                             command_words(repair.text), repair.cost, listed_by("repairs"))});
  }
  for (std::size_t i = 0; i < words_of(Outcome{}).size(); ++i) {
    const auto outcome = static_cast<Outcome>(i);
    all.push_back({std::string(word_of(outcome)), fmt::format("{}: an outcome in report.json\n  {}\n{}",
                                                              word_of(outcome), text_of(outcome), listed_by("codes"))});
  }
  all.push_back({"keep-high", fmt::format("keep-high: named by causes as the last repair\n  {}\n{}",
                                          command_words(repair_text("keep-high").value_or("")), listed_by("repairs"))});
  for (const ReportColumn& column : kColumns) {
    std::istringstream names(column.names);
    std::string title;
    names >> title;
    for (std::string name = title; !name.empty(); name.clear(), names >> name) {
      all.push_back({name, fmt::format("{}: a column of reports\n  {}\n", title, column.text)});
    }
  }
  for (const ExitCode& code : kExitCodes) {
    const std::string text = fmt::format("exit code {}\n  {}\n{}", code.code, code.meaning, listed_by("codes"));
    all.push_back({fmt::format("E{}", code.code), text});
    all.push_back({std::to_string(code.code), text});
  }
  return all;
}

/// A name may be that of a cause and of a repair.
std::string explanation(const std::string& name) {
  std::vector<std::string> names;
  std::string text;
  for (const Explained& each : explained_names()) {
    names.push_back(each.name);
    if (each.name == name) text += (text.empty() ? "" : "\n") + each.text;
  }
  if (!text.empty()) return text;
  const std::vector<std::string> nearest = nearest_names(name, names);
  throw Error(ErrorKind::Usage, fmt::format("no command, and no name in a report: '{}'", printable(name)),
              nearest.empty() ? "‹vernier help causes›, ‹vernier help repairs› and ‹vernier help codes› list the names"
                              : fmt::format("nearest: {}", fmt::join(nearest, ", ")));
}

Command name_of_a_report(CLI::App& root) {
  auto messages = std::make_shared<MessageGroup>();
  auto name = std::make_shared<std::string>();
  CLI::App& app = add_command(command_group(root, "help", "Explain a topic or a command"), "name",
                              "Explain one cause, repair, outcome or exit code");
  add_argument(app, "NAME", *name, "as in a report: concat-scales, smooth, file-misses; an exit code: E4");
  add_message_options(app, *messages);
  add_footer(app, "Example: vernier help concat-scales");
  return {&app, messages.get(), [messages, name](Console& console) {
            print_result(console, explanation(*name));
            return 0;
          }};
}

Command topic(CLI::App& root, const char* name, const char* about, std::function<std::string()> text) {
  auto messages = std::make_shared<MessageGroup>();
  CLI::App& app = add_command(command_group(root, "help", "Explain a topic or a command"), name, about);
  add_message_options(app, *messages);
  return {&app, messages.get(), [messages, text = std::move(text)](Console& console) {
            print_result(console, text());
            return 0;
          }};
}

}  // namespace

std::vector<Command> add_help_topics(CLI::App& root) {
  return {
      topic(root, "accuracy", "Choose a command for a network that is inaccurate in low precision",
            [] { return std::string(kAccuracy); }),
      topic(root, "causes", "List the causes that diagnose and fix look for", causes),
      topic(root, "repairs", "List the repairs of fix, and what each costs at run time", repairs),
      topic(root, "codes", "List exit codes and outcomes", codes),
      name_of_a_report(root),
      topic(root, "report-schema", "Print the JSON Schema of report.json of diagnose and fix", report_schema),
      topic(root, "verify-schema", "Print the JSON Schema of report.json of verify", verify_schema),
      topic(root, "pipeline-schema", "Print the JSON Schema of report.json of pipeline", pipeline_schema),
      topic(root, "plan-schema", "Print the JSON Schema of plan.json", plan_schema),
  };
}

}  // namespace vernier::cli
