// `vernier help TOPIC`: which command answers which question, names that reports use, and schemas of files.
// `vernier help NAME`: one of these names.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "commands/commands.h"
#include "commands/finding_names.h"
#include "console/console.h"
#include "console/exit_codes.h"
#include "console/help.h"
#include "options/options.h"
#include "plan/plan.h"
#include "repairs/repair_texts.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
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

std::string findings(const char* head, std::span<const FindingName> names) {
  std::string text = head;
  for (const FindingName& name : names) text += fmt::format("\n{}\n  {}\n", name.kind, name.text);
  return text;
}

std::string defects() {
  return findings("Defects of Q/DQ files that check lint, verify and debug loss name:\n", defect_names());
}

std::string places() {
  return findings("Places of Q/DQ pairs that check placement names, with the engines:\n", placement_names());
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

std::string errors() {
  std::string text =
      "Error codes. The first digit stands for the exit code: 2 usage, 3 input, 4 backend, 7 internal (70).\n"
      "vernier help E301 explains one of them.\n\n";
  for (const ErrorPage& page : error_pages()) text += fmt::format("{}  {}\n", code_name(page.code), page.title);
  return text;
}

/// What `vernier help E301` prints.
std::string text_of(const ErrorPage& page) {
  return fmt::format("{}: {}\n\nWhy   {}\nFix   {}\n      $ {}\n", code_name(page.code), page.title,
                     command_words(page.why), command_words(page.cure), command_words(page.command));
}

struct ReportColumn {
  const char* names;  // in tables and in report.json, with commas between
  const char* text;
};

constexpr std::array kColumns{
    ReportColumn{"local,own,own_sqnr_db", "SQNR of a layer's output on exact inputs: the local error"},
    ReportColumn{"propagated,propagated_db",
                 "SQNR of a layer's output if only its inputs are in error, with everything low: the propagated error"},
    ReportColumn{"both,sqnr_db", "SQNR at a layer's output with everything low: local and propagated error"},
    ReportColumn{
        "sensitivity,sens.,sensitivity_db",
        "SQNR of the network's output with only this layer in low precision, on a few samples, half of them the "
        "hardest"},
    ReportColumn{"share", "the layer's part of the damage of all layers, each lowered alone"},
    ReportColumn{"kept", "the layer stays in the high format"},
    ReportColumn{"worst-sample,worst,worst_sqnr_db", "the lowest SQNR of one sample, and its number, from 0"},
    ReportColumn{"largest-error,max_abs_error", "the largest difference of one element, in the output's unit"},
    ReportColumn{"cosine", "the two outputs as vectors: 1 is the same direction"},
    ReportColumn{
        "not-finite,not-fin.,nonfinite",
        "infinite or NaN values that the float model does not have; inf lost: its infinities that are missing"},
    ReportColumn{"of-the-work,work", "the kept layers' part of the multiply-accumulates"},
    ReportColumn{"at-least,sqnr_db_above", "a bound for new samples, with the confidence of --claim-confidence"},
    ReportColumn{"runs-in", "the format in which the file has the layer computed"},
    ReportColumn{"clipping,clip_share", "the part of the error from values beyond the range; the rest is rounding"},
    ReportColumn{"coverage", "the width of the range over that of the values"},
    ReportColumn{"values-used,used", "the part of the quantized values in use"},
    ReportColumn{"seen-from,seen-to", "the smallest and the largest value of the samples"},
    ReportColumn{"clipped", "the part of the values beyond the range"},
    ReportColumn{"halves-differ,differ", "the ratio of the ranges of two halves of the samples, wider to narrower"},
    ReportColumn{"still-grew,grew", "how much the last fifth of the samples widened the range"},
    ReportColumn{"overflow,overflowed", "values that became infinite"},
    ReportColumn{"saturated", "values that were clipped to the end of the range"},
    ReportColumn{"subnormal", "values that lost digits near zero"},
    ReportColumn{"underflow,flushed", "values that became zero"},
};

/// Words of the answer of a report.
constexpr std::array kWords{
    ReportColumn{"sqnr,sqnr_db",
                 "Signal to quantization noise ratio, in dB: 10 log10 of the energy of the FP32 output over the "
                 "energy of the error, over all samples. At 20 dB the error is a tenth as large as the "
                 "output, at 26 dB a twentieth, at 40 dB a hundredth"},
    ReportColumn{"dB,decibel",
                 "A ratio of powers on a logarithmic scale. Of SQNR, more is better: 20 dB is an error of "
                 "10 %, 40 dB of 1 %"},
    ReportColumn{"error,noise",
                 "The difference between a result in low precision and the FP32 one. A layer has a local "
                 "error, made on exact inputs, and a propagated error, from its inputs"},
    ReportColumn{"local-error", "SQNR of a layer's output on exact inputs; own_sqnr_db in report.json"},
    ReportColumn{"propagated-error",
                 "SQNR of a layer's output if only its inputs are in error, with everything low; propagated_db in "
                 "report.json"},
    ReportColumn{"scheme", "The tensors that are quantized, their formats and scales: the rules of the target"},
    ReportColumn{"runner", "The engine that computed the figures, or the simulation of one on the CPU"},
    ReportColumn{"damage", "The error that layers make at the output. A share is a layer's part of the total"},
    ReportColumn{"of-the-allowed-error", "The error over the one that the requirement allows: 1 is the limit"},
    ReportColumn{"certified,1-minimal,certified-1-minimal",
                 "Vernier dropped every kept layer alone, and each time the requirement was missed. "
                 "No single kept layer can be dropped"},
    ReportColumn{"ladder,rung",
                 "The formats that a layer may use, lowest first: --ladder int8,float16. A rung is one of "
                 "them"},
    ReportColumn{"trt-sim,sim-onnxruntime,sim-openvino",
                 "The simulation of an engine on the CPU, by its documented rules. The engine itself did not run"},
    ReportColumn{"vnni",
                 "Instructions of x86 CPUs that add products of INT8 in 32 bits. CPUs without them add pairs in 16 "
                 "bits, which can saturate"},
    ReportColumn{
        "placement",
        "The places of Q/DQ pairs in a file. An engine runs a layer in INT8 only if it fuses its pairs with it: "
        "vernier check placement"},
    ReportColumn{"kept-set", "The layers that stay in the high format, FP32 unless -p names another"},
    ReportColumn{"cross-fitted",
                 "Each half of the samples is measured on a network that the other half calibrated. "
                 "Figures then hold for samples that did not calibrate"},
    ReportColumn{"new-samples,on-new-samples,bound-on-new-samples,bound",
                 "Samples that Vernier has not seen. The bound is what the figure exceeds on them, with the confidence "
                 "of --claim-confidence. It lies below the figure of the samples that you gave"},
    ReportColumn{"held-out,on-held-out-samples",
                 "Samples that did not calibrate. The output model is cross-fitted: each half of the samples is "
                 "measured with the ranges of the other"},
    ReportColumn{"interval,sqnr_db_95_percent",
                 "The 95 % confidence interval of a figure: two ends, where a bound (at-least) has one"},
    ReportColumn{"confidence", "How often such an interval or bound would hold if the samples were drawn again"},
    ReportColumn{"top-1,top-1-agreement,top-1-accuracy",
                 "Top-1 agreement: the share of samples for which both models choose the same class. "
                 "Top-1 accuracy compares with labels"},
    ReportColumn{"repaired,repairs-tried",
                 "Changes of weights, ranges or operators that reduce the error without keeping "
                 "a layer. Vernier accepts a repair only if held-out samples gain"},
    ReportColumn{"multiply-accumulates,macs",
                 "Products that Conv, ConvTranspose, Gemm, MatMul, Einsum, Attention and recurrent layers "
                 "sum, for one sample: the work of a layer"},
    ReportColumn{"requirement,margin",
                 "The limit that the result has to meet, such as --min-sqnr 20. --margin asks for "
                 "extra distance to it, in dB"},
    ReportColumn{"output-model",
                 "out/model.onnx: a strongly typed ONNX file with all formats in its Casts and Q/DQ pairs"},
    ReportColumn{"low,high", "Low: the format that is tried, such as INT8. High: the format that kept layers stay in"},
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
  for (const FindingName& defect : defect_names()) {
    all.push_back({std::string(defect.kind), fmt::format("{}: a defect of a Q/DQ file\n  {}\n{}", defect.kind,
                                                         defect.text, listed_by("defects"))});
  }
  for (const FindingName& place : placement_names()) {
    all.push_back(
        {std::string(place.kind), fmt::format("{}: a place of Q/DQ pairs that check placement names\n  {}\n{}",
                                              place.kind, place.text, listed_by("places"))});
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
  const auto add = [&](const ReportColumn& row, const char* kind) {
    std::istringstream names(row.names);
    std::string title;
    for (std::string name; std::getline(names, name, ',');) {
      if (title.empty()) title = name;
      all.push_back({lower_case(name), fmt::format("{}: {}\n  {}\n", title, kind, row.text)});
    }
  };
  for (const ReportColumn& column : kColumns) add(column, "a column of reports");
  for (const ReportColumn& word : kWords) add(word, "a word of reports");
  for (const ErrorPage& page : error_pages()) {
    all.push_back({code_name(page.code), text_of(page) + listed_by("errors")});
  }
  for (const ExitCode& code : kExitCodes) {
    const std::string text = fmt::format("exit code {}\n  {}\n{}", code.code, code.meaning, listed_by("codes"));
    all.push_back({fmt::format("E{}", code.code), text});
    all.push_back({std::to_string(code.code), text});
  }
  return all;
}

bool is_code(const std::string& name) {
  return name.size() > 1 && (name.front() == 'E' || name.front() == 'e') &&
         name.find_first_not_of("0123456789", 1) == std::string::npos;
}

/// Without a name: all names, by kind.
std::string all_names() {
  const auto listed = [](const char* kind, const auto& list, const auto& name_of) {
    std::vector<std::string> names;
    for (const auto& each : list) names.emplace_back(name_of(each));
    return fmt::format("{}\n  {}\n", kind, fmt::join(names, ", "));
  };
  const auto first = [](const ReportColumn& row) {
    return std::string_view(row.names).substr(0, std::string_view(row.names).find(','));
  };
  return "Names that vernier help NAME explains:\n\n" +
         listed("causes", cause_names(), [](const CauseName& cause) { return cause.id; }) +
         listed("repairs", repair_names(), [](const RepairName& repair) { return repair.id; }) +
         listed("defects", defect_names(), [](const FindingName& defect) { return defect.kind; }) +
         listed("places of Q/DQ pairs", placement_names(), [](const FindingName& place) { return place.kind; }) +
         listed("columns", kColumns, first) + listed("words", kWords, first) +
         command_words("outcomes and exit codes: ‹vernier help codes›; error codes: ‹vernier help errors›\n");
}

/// A name may be that of a cause and of a repair.
std::string explanation(const std::vector<std::string>& words) {
  if (words.empty()) return all_names();
  std::string given = fmt::format("{}", fmt::join(words, "-"));
  std::ranges::replace(given, ' ', '-');  // 'local error' in quotes
  // Words have no capitals; exit codes (E4) and error codes (E301) do.
  std::string name = is_code(given) ? "E" + given.substr(1) : lower_case(given);
  if (name.ends_with("-db")) name.resize(name.size() - 3);  // a column with its unit
  std::vector<std::string> names;
  std::string text;
  for (const Explained& each : explained_names()) {
    names.push_back(each.name);
    if (each.name == name) text += (text.empty() ? "" : "\n") + each.text;
  }
  if (!text.empty()) return text;
  const std::vector<std::string> nearest = nearest_names(name, names);
  throw Error(
      ErrorCode::UnknownCommand,
      fmt::format("no command, and no name in a report: '{}'", printable(fmt::format("{}", fmt::join(words, " ")))),
      nearest.empty() ? "‹vernier help name› lists the names" : fmt::format("nearest: {}", fmt::join(nearest, ", ")));
}

Command name_of_a_report(CLI::App& root) {
  auto messages = std::make_shared<MessageGroup>();
  auto words = std::make_shared<std::vector<std::string>>();
  CLI::App& app = add_command(
      command_group(root, "help", "Explain a topic or a command"), "name",
      "Explain a cause, a repair, a defect, an outcome, a code, a column or a word of reports; alone: list them");
  add_arguments(app, "NAME", *words,
                "as in a report: concat-scales, smooth, certified, SQNR; an error code: E301; an exit code: E4");
  add_message_options(app, *messages);
  add_footer(app, "Example: vernier help concat-scales");
  return {&app, messages.get(), [messages, words](Console& console) {
            print_result(console, fit_to_terminal(explanation(*words)));
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

std::string accuracy() { return std::string(kAccuracy); }

/// A text for people.
template <std::string (*text)()>
std::string fit() {
  return fit_to_terminal(text());
}

}  // namespace

std::vector<Command> add_help_topics(CLI::App& root) {
  return {
      topic(root, "accuracy", "Choose a command for a network that is inaccurate in low precision", fit<accuracy>),
      topic(root, "causes", "List the causes that diagnose and fix look for", fit<causes>),
      topic(root, "repairs", "List the repairs of fix, and what each costs at run time", fit<repairs>),
      topic(root, "defects", "List the defects of Q/DQ files that check lint, verify and debug loss name",
            fit<defects>),
      topic(root, "places", "List the places of Q/DQ pairs that check placement names", fit<places>),
      topic(root, "codes", "List exit codes and outcomes", fit<codes>),
      topic(root, "errors", "List the error codes that hints name", fit<errors>),
      name_of_a_report(root),
      topic(root, "report-schema", "Print the JSON Schema of report.json of diagnose and fix", report_schema),
      topic(root, "verify-schema", "Print the JSON Schema of report.json of verify", verify_schema),
      topic(root, "pipeline-schema", "Print the JSON Schema of report.json of pipeline", pipeline_schema),
      topic(root, "error-schema", "Print the JSON Schema of an error with --json", error_schema),
      topic(root, "plan-schema", "Print the JSON Schema of plan.json", plan_schema),
  };
}

}  // namespace vernier::cli
