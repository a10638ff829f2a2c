#include "options/runner_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "base/text.h"
#include "options/parse_values.h"
#include "vernier/error.h"

namespace vernier::cli {
namespace {

const char* const kRunnersGroup = "Runners";
const char* const kOutputs = "Outputs";

bool simulates(RunnerKind kind) { return kind == RunnerKind::Simulated || kind == RunnerKind::TensorRt; }

}  // namespace

void RunnerGroup::add(CLI::App& app) {
  const auto runner = [&](const char* name, RunnerKind kind, const char* help) {
    add_flag(
        app, name,
        [this, kind] {
          runners_.emplace_back().kind = kind;
          if (simulates(kind)) runners_.back().precision = common_;
        },
        help)
        .at_once()
        .group(kRunnersGroup);
  };
  runner("--onnxrt", RunnerKind::OnnxRuntime, "ONNX Runtime as it is, with its own kernels and optimizations");
  runner("--sim", RunnerKind::Simulated,
         "Our rounding in float32 kernels: each layer in the precision that the options, or a typed model, say");
  runner("--trt", RunnerKind::TensorRt,
         "The same under TensorRT's documented rules; nothing runs on TensorRT, and runs are named trt-sim");
  add_value(
      app, "--exec",
      [this](const std::string& command) {
        runners_.emplace_back().kind = RunnerKind::Program;
        runners_.back().command = command;
      },
      "COMMAND",
      "Any program, started once a sample, one after the other: a command line with {model}, {inputs} and "
      "{outputs}, the paths of the "
      "model, of a .npz with an array for each input, and of the .npz to write")
      .at_once()
      .group(kRunnersGroup);
  add_flag(app, "--trt-native", [] {
    throw Error(ErrorKind::Usage, "--trt=native: there is no TensorRT here to run on",
                "--trt simulates its rules; deploy.md of vernier diagnose has the trtexec line");
  }).group("");
  add_precision_options(app, [this]() -> PrecisionText& { return precision(); });
  add_values(app, "--providers,--execution-providers", providers_, "NAME",
             "Execution providers of --onnxrt, best first, by any part of their names (default: CPU)")
      .group(kRunnersGroup);
  add_value(app, "--graph-optimization-level", optimization_, "LEVEL",
            "Of --onnxrt: ORT_DISABLE_ALL, ORT_ENABLE_BASIC, ORT_ENABLE_EXTENDED or ORT_ENABLE_ALL (default: "
            "ORT_ENABLE_ALL)")
      .group(kRunnersGroup);
}

void RunnerGroup::add_outputs(CLI::App& app) {
  const auto outputs = [&](const std::string& prefix, OutputChoice& choice, const std::string& whose) {
    add_values(app, "--" + prefix + "-outputs", choice.names, "NAME",
               "Tensors that " + whose +
                   " give, instead of the model's outputs: names, wildcards, '*' or: mark all (default: its outputs)")
        .group(kOutputs);
    add_values(app, "--" + prefix + "-exclude-outputs", choice.excluded, "NAME",
               "Tensors taken off that choice (default: none)")
        .group(kOutputs);
    add_values(app, "--" + prefix + "-outputs-by-type", choice.op_types, "OP",
               "Also what nodes of these operator types give (default: none)")
        .group(kOutputs);
  };
  outputs("onnx", onnx_, "--onnxrt, --sim and --trt");
  outputs("trt", trt_, "--trt, whatever --onnx-outputs says,");
}

PrecisionText& RunnerGroup::precision() {
  for (auto runner = runners_.rbegin(); runner != runners_.rend(); ++runner) {
    if (simulates(runner->kind)) return runner->precision;
  }
  return common_;
}

bool RunnerGroup::any_script() const {
  return !common_.network_scripts.empty() || std::any_of(runners_.begin(), runners_.end(), [](const Typed& typed) {
    return !typed.precision.network_scripts.empty();
  });
}

bool RunnerGroup::any_program() const {
  return std::any_of(runners_.begin(), runners_.end(),
                     [](const Typed& typed) { return typed.kind == RunnerKind::Program; });
}

GraphOptimization RunnerGroup::optimization() const {
  return parse_choice<GraphOptimization>("--graph-optimization-level", optimization_);
}

std::vector<RunnerOptions> RunnerGroup::values(const std::vector<std::string>& models) const {
  if (runners_.empty()) {
    if (models.empty()) return {};
    throw Error(ErrorKind::Usage, fmt::format("no runner was chosen for {}", printable(models.front())),
                "add --onnxrt, --sim or --trt");
  }
  if (models.empty()) throw Error(ErrorKind::Usage, "a runner was chosen, but no model", "vernier run MODEL --onnxrt");
  if (models.size() != 1 && runners_.size() != 1 && models.size() != runners_.size()) {
    throw Error(
        ErrorKind::Usage,
        fmt::format("{} and {}: which runs which?", plural(models.size(), "model"), plural(runners_.size(), "runner")),
        "give one model for all runners, or as many models as runners, in the same order");
  }
  const bool takes_precision =
      std::any_of(runners_.begin(), runners_.end(), [](const Typed& typed) { return simulates(typed.kind); });
  if (common_.any_low() && !takes_precision) {
    throw Error(ErrorKind::Usage, "a low format was given, but --onnxrt runs a model as it is",
                "add --sim, or --trt; vernier convert writes a typed model for --onnxrt");
  }
  if (!common_.network_scripts.empty() && !takes_precision) {
    throw Error(ErrorKind::Usage, "a network script was given, but --onnxrt runs a model as it is",
                "add --trt, or --sim: they run each layer in the precision that the script sets");
  }
  const bool is_trt = std::any_of(runners_.begin(), runners_.end(),
                                  [](const Typed& typed) { return typed.kind == RunnerKind::TensorRt; });
  if (!is_trt && !(trt_.names.empty() && trt_.excluded.empty() && trt_.op_types.empty())) {
    throw Error(ErrorKind::Usage, "--trt-outputs was given, but no --trt", "--onnx-outputs is for --onnxrt and --sim");
  }
  std::vector<RunnerOptions> values;
  for (std::size_t i = 0; i < std::max(models.size(), runners_.size()); ++i) {
    const Typed& typed = runners_[runners_.size() == 1 ? 0 : i];
    values.push_back({typed.kind, models[models.size() == 1 ? 0 : i], typed.precision.values(), typed.command});
  }
  return values;
}

}  // namespace vernier::cli
