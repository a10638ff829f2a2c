#include "options/runner_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "base/text.h"
#include "options/parse_values.h"
#include "table/bench.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/format.h"

namespace vernier::cli {
namespace {

const char* const kRunnersGroup = "Runners";
const char* const kOutputs = "Outputs";

bool takes_precision(RunnerKind kind) {
  return kind == RunnerKind::Simulated || kind == RunnerKind::TensorRt || kind == RunnerKind::OpenVino;
}

void refuse_simulation(CLI::App& app) {
  const auto refuse = [](const char* name) {
    throw Error(ErrorCode::WithoutEffect, fmt::format("{}: the speed of a simulation means nothing", name),
                "--onnxrt, --trt or --openvino");
  };
  for (const char* name : {"--sim", "--trt-sim"}) {
    add_flag(app, name, [refuse, name] { refuse(name); }).group("");
  }
  add_values(app, "--exec", [](const std::vector<std::string>&) {
    throw Error(ErrorCode::WithoutEffect, "--exec starts the program once per sample, which takes most of the time",
                "let the program time itself, or use --onnxrt, --trt or --openvino");
  }).group("");
}

}  // namespace

void RunnerGroup::add(CLI::App& app, bool timed) {
  const auto runner = [&](const char* name, const RunnerOptions& options, const char* help) {
    return add_flag(
               app, name, [this, options] { add_runner(options); }, help)
        .at_once();
  };
  const auto of_kind = [](RunnerKind kind) {
    RunnerOptions options;
    options.kind = kind;
    return options;
  };
  runner("--onnxrt", of_kind(RunnerKind::OnnxRuntime), "ONNX Runtime with its own kernels and optimizations")
      .group(kRunnersGroup);
  // The peer's NumPy references of a few operators: ONNX Runtime computes those, and the others.
  if (!timed) runner("--pluginref", of_kind(RunnerKind::OnnxRuntime), "").group("");
  if (!timed) {
    runner("--sim", of_kind(RunnerKind::Simulated),
           "Simulation: each layer in the precision that the options or the typed model set")
        .group(kRunnersGroup);
  }
  RunnerOptions tensorrt = of_kind(RunnerKind::TensorRt);
  if (timed) tensorrt.use = EngineUse::Always;
  runner(
      "--trt", tensorrt,
      timed
          ? "TensorRT or TensorRT-RTX, found in --python, on this machine's GPU; never simulated"
          : "TensorRT or TensorRT-RTX, found in --python, if there is a GPU. Otherwise its documented rules are "
            "simulated, and runs are named trt-sim. --trt=native: the engine or an error; --trt=sim: always simulated")
      .group(kRunnersGroup);
  tensorrt.use = EngineUse::Always;
  runner("--trt-native", tensorrt, "").group("");
  tensorrt.use = EngineUse::Never;
  if (timed) {
    refuse_simulation(app);
  } else {
    runner("--trt-sim", tensorrt, "").group("");
  }
  runner("--openvino", of_kind(RunnerKind::OpenVino),
         "OpenVINO, found in --python, on the CPU; --openvino DEVICE: on that device (GPU, GPU.1, NPU, AUTO, ...). If "
         "no other runner uses precision options, the default of --target is openvino")
      .group(kRunnersGroup);
  add_value(
      app, "--openvino-device",
      [this, of_kind](const std::string& device) {
        RunnerOptions options = of_kind(RunnerKind::OpenVino);
        options.device = device;
        add_runner(options);
      },
      "DEVICE", "")
      .at_once()
      .group("");
  if (!timed) add_exec(app);
  if (timed) {
    // trtexec's word for the fastest of what it may.
    add_flag(app, "--best",
             [this] {
               for (const Format format : {Format::Int8, Format::Float16}) precision().flags.push_back(format);
             })
        .at_once()
        .group("");
  }
  add_precision_options(app, [this]() -> PrecisionText& { return precision(); });
  add_flag(app, "--weakly-typed", weakly_typed_,
           "With --trt and TensorRT 10: the builder chooses formats by flags, ranges, constraints and scripts "
           "(default: a typed file)")
      .group(kRunnersGroup);
  add_rows(app, table::kOnnxRuntime, texts_);
}

void RunnerGroup::add_exec(CLI::App& app) {
  add_value(
      app, "--exec",
      [this](const std::string& command) {
        RunnerOptions options;
        options.kind = RunnerKind::Program;
        options.command = command;
        add_runner(options);
      },
      "COMMAND",
      "Any program, started once per sample. The command contains {model}, {inputs} and {outputs}: the paths of the "
      "model, of a .npz with the inputs, and of the .npz to write")
      .at_once()
      .group(kRunnersGroup);
}

void RunnerGroup::add_outputs(CLI::App& app) {
  const auto outputs = [&](const std::string& prefix, OutputChoice& choice, const std::string& whose) {
    add_values(app, "--" + prefix + "-outputs", choice.names, "NAME",
               "Tensors that " + whose +
                   " return, instead of the model's outputs: names, wildcards, '*' or: mark all (default: its outputs)")
        .group(kOutputs);
    add_values(app, "--" + prefix + "-exclude-outputs", choice.excluded, "NAME",
               "Tensors to exclude from that choice (default: none)")
        .group(kOutputs);
    add_values(app, "--" + prefix + "-outputs-by-type", choice.op_types, "OP",
               "Also outputs of nodes with these operator types (default: none)")
        .group(kOutputs);
  };
  outputs("onnx", onnx_, "--onnxrt, --sim, --trt and --openvino");
  outputs("trt", trt_, "--trt, whatever --onnx-outputs says,");
}

void RunnerGroup::add_runner(const RunnerOptions& options) {
  runners_.emplace_back().options = options;
  if (takes_precision(options.kind)) runners_.back().precision = common_;
}

PrecisionText& RunnerGroup::precision() {
  for (auto runner = runners_.rbegin(); runner != runners_.rend(); ++runner) {
    if (takes_precision(runner->options.kind)) return runner->precision;
  }
  return common_;
}

bool RunnerGroup::any_script() const {
  return common_.any_script() ||
         std::any_of(runners_.begin(), runners_.end(), [](const Typed& typed) { return typed.precision.any_script(); });
}

bool RunnerGroup::any_process() const {
  return std::any_of(runners_.begin(), runners_.end(), [](const Typed& typed) {
    const bool never = typed.options.use == EngineUse::Never;
    return typed.options.kind == RunnerKind::Program || typed.options.kind == RunnerKind::OpenVino ||
           (typed.options.kind == RunnerKind::TensorRt && !never);
  });
}

GraphOptimization RunnerGroup::optimization() const {
  GraphOptimization level = GraphOptimization::EnableAll;
  read_value(table::kOptimization, texts_, level);
  return level;
}

void RunnerGroup::add_first(RunnerKind kind) {
  Typed typed;
  typed.options.kind = kind;
  if (kind == RunnerKind::TensorRt) typed.options.use = EngineUse::Always;
  if (takes_precision(kind)) typed.precision = common_;
  runners_.insert(runners_.begin(), std::move(typed));
}

void RunnerGroup::check_precision(const char* takers) const {
  const bool any_takes = std::any_of(runners_.begin(), runners_.end(),
                                     [](const Typed& typed) { return takes_precision(typed.options.kind); });
  if (common_.any_low() && !any_takes) {
    throw Error(ErrorCode::WithoutEffect, "a low format was given, but --onnxrt runs the model unchanged",
                fmt::format("add {}; or write a typed model for --onnxrt with vernier convert", takers));
  }
  if (common_.any_script() && !any_takes) {
    throw Error(ErrorCode::WithoutEffect, "a network script was given, but --onnxrt runs the model unchanged",
                fmt::format("add {}: they run each layer in the precision that the script sets", takers));
  }
}

RunnerOptions RunnerGroup::value(const Typed& typed, const std::string& model, bool for_openvino) {
  RunnerOptions value = typed.options;
  value.model = model;
  PrecisionText precision = typed.precision;
  // A file placed for TensorRT would be slower there, and its codes may have other results.
  if (for_openvino && !precision.texts.given("--target")) precision.texts.add("--target", {"openvino"});
  value.precision = precision.values();
  return value;
}

std::vector<RunnerOptions> RunnerGroup::every(const std::vector<std::string>& models) const {
  check_precision("--trt or --openvino");
  if (weakly_typed_) throw Error(ErrorCode::WithoutEffect, "--weakly-typed: bench times typed files", "leave it out");
  std::vector<RunnerOptions> values;
  for (const std::string& model : models) {
    for (const Typed& typed : runners_) {
      values.push_back(value(typed, model, typed.options.kind == RunnerKind::OpenVino));
    }
  }
  return values;
}

std::vector<RunnerOptions> RunnerGroup::values(const std::vector<std::string>& models) const {
  if (runners_.empty()) {
    if (models.empty()) return {};
    throw Error(ErrorCode::MissingArgument, fmt::format("no runner was chosen for {}", printable(models.front())),
                "add --onnxrt, --sim, --trt or --openvino");
  }
  if (models.empty())
    throw Error(ErrorCode::MissingArgument, "a runner was chosen, but no model", "vernier run MODEL --onnxrt");
  if (models.size() != 1 && runners_.size() != 1 && models.size() != runners_.size()) {
    throw Error(ErrorCode::Contradiction,
                fmt::format("{} and {}: it is unclear which runner runs which model", plural(models.size(), "model"),
                            plural(runners_.size(), "runner")),
                "pass one model for all runners, or one model per runner, in the same order");
  }
  check_precision("--sim, or --trt");
  const bool is_trt = std::any_of(runners_.begin(), runners_.end(),
                                  [](const Typed& typed) { return typed.options.kind == RunnerKind::TensorRt; });
  if (!is_trt && !(trt_.names.empty() && trt_.excluded.empty() && trt_.op_types.empty())) {
    throw Error(ErrorCode::WithoutEffect, "--trt-outputs was given, but not --trt",
                "--onnx-outputs is for --onnxrt and --sim");
  }
  const bool openvino_alone = std::all_of(runners_.begin(), runners_.end(), [](const Typed& typed) {
    return typed.options.kind == RunnerKind::OpenVino || !takes_precision(typed.options.kind);
  });
  if (weakly_typed_ && !is_trt) {
    throw Error(ErrorCode::WithoutEffect, "--weakly-typed was given, but not --trt",
                "it sets how TensorRT's engine is built");
  }
  std::vector<RunnerOptions> values;
  for (std::size_t i = 0; i < std::max(models.size(), runners_.size()); ++i) {
    const Typed& typed = runners_[runners_.size() == 1 ? 0 : i];
    values.push_back(value(typed, models[models.size() == 1 ? 0 : i], openvino_alone));
    values.back().weakly_typed = weakly_typed_ && values.back().kind == RunnerKind::TensorRt;
  }
  return values;
}

}  // namespace vernier::cli
