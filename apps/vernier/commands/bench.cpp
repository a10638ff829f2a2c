#include "vernier/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "commands/commands.h"
#include "console/console.h"
#include "model/raw_proto.h"
#include "options/engine_settings.h"
#include "options/options.h"
#include "options/parse_values.h"
#include "options/rows.h"
#include "options/runner_options.h"
#include "options/trtexec_words.h"
#include "table/bench.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier::cli {
namespace {

struct BenchLine {
  std::vector<std::string> models;
  std::vector<std::string> named_models;  // --onnx, --loadEngine
  RunnerGroup runners;
  EngineSettingsGroup engine;
  DataGroup data;
  Texts timing;
  bool kernels = false, markdown = false;
  std::string export_times, export_profile, export_layers;
  ResultGroup result;
  MessageGroup messages;
};

void add_timing_options(CLI::App& app, BenchLine& line) {
  table::kTiming.each([&](const auto& row) {
    Option option = add_row(app, row, table::kTiming.group, line.timing);
    if (OptionNames(row.words.names).option == "--threads") option.values(0, 1);
  });
}

void add_output_options(CLI::App& app, BenchLine& line) {
  line.result.add(app);
  add_flag(app, "--markdown", line.markdown, "Print a table for a pull request").group("Output");
  add_flag(app, "--dump-layer-info,--dumpLayerInfo", line.kernels, "Also list the kernels of engines").group("Output");
  const auto file = [&](const char* names, std::string& path, const char* help) {
    add_value(app, names, path, "FILE", help).writes().group("Output");
  };
  file("--export-times,--exportTimes", line.export_times,
       "Write the time of each run in trtexec's format (default: none)");
  file("--export-profile,--exportProfile", line.export_profile,
       "Write the times of layers in trtexec's format (default: none)");
  file("--export-layer-info,--exportLayerInfo", line.export_layers,
       "Write the engine's kernels in trtexec's format (default: none)");
}

std::vector<double> percentiles_of(const std::vector<std::string>& texts) {
  std::vector<double> percentiles;
  for (const std::string& text : texts) {
    std::istringstream list(text);
    for (std::string one; std::getline(list, one, ',');) {
      percentiles.push_back(parse_number("--percentile", one));
      if (percentiles.back() < 0 || percentiles.back() > 100) {
        throw Error(ErrorCode::BadValue, fmt::format("--percentile {}: from 0 to 100", printable(one)));
      }
    }
  }
  return percentiles.empty() ? std::vector<double>{99} : percentiles;
}

void choose_runner(BenchLine& line, const std::vector<std::string>& models) {
  if (!line.runners.empty()) return;
  const bool built = std::ranges::all_of(models, [](const std::string& model) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(model, ignored) && is_built_engine(model);
  });
  const bool tensorrt = !line.named_models.empty() || built;
  line.runners.add_first(tensorrt ? RunnerKind::TensorRt : RunnerKind::OnnxRuntime);
}

void require_one_row(const BenchLine& line, const BenchOptions& options) {
  if (line.export_times.empty() && line.export_profile.empty() && line.export_layers.empty()) return;
  const std::size_t rows = options.runners.size() * std::max<std::size_t>(1, options.batches.size());
  if (rows == 1) return;
  throw Error(ErrorCode::WithoutEffect,
              fmt::format("--export-...: a file in trtexec's format holds one row, and there are {}", rows),
              "--json has all of them");
}

BenchOptions options_of(BenchLine& line, const std::string& command) {
  std::vector<std::string> models = line.models;
  models.insert(models.end(), line.named_models.begin(), line.named_models.end());
  if (models.empty())
    throw Error(ErrorCode::MissingArgument, "vernier bench: no model was given", "vernier bench MODEL");
  if (line.result.json && line.markdown) {
    throw Error(ErrorCode::Contradiction, "--json and --markdown: only one of them can be printed",
                "leave out one of them");
  }
  choose_runner(line, models);
  BenchOptions options;
  options.command = command;
  options.runners = line.runners.every(models);
  options.measure = line.data.values();
  constexpr std::uint64_t kMostThreads = 4096;
  if (const std::string& threads = line.timing.last("--threads"); !threads.empty())
    options.measure.threads = parse_count("--threads", threads, 0, kMostThreads);
  options.engine = line.engine.values();
  // As in trtexec: what engines are built for is what runs.
  for (const auto& [name, range] : options.engine.shapes) options.measure.data.shapes.try_emplace(name, range.opt);
  options.providers = line.runners.providers();
  options.optimization = line.runners.optimization();
  for (const std::string& text : line.timing.all("--batch")) {
    const std::uint64_t most = std::numeric_limits<std::int32_t>::max();
    options.batches.push_back(static_cast<std::int64_t>(parse_count("--batch", text, 1, most)));
  }
  read_rows(table::kTiming, line.timing, options);
  for (const auto& [option, value] : {std::pair{"--warm-up", options.warm_up_ms}, {"--duration", options.seconds}}) {
    if (value < 0) throw Error(ErrorCode::BadValue, fmt::format("{} {}: must not be below 0", option, value));
  }
  options.percentiles = percentiles_of(line.timing.all("--percentile"));
  options.layers |= !line.export_profile.empty();
  require_one_row(line, options);
  return options;
}

void write_exports(const BenchLine& line, const BenchRow& row) {
  if (!line.export_times.empty()) replace_file(line.export_times, times_for_trtexec(row));
  if (!line.export_profile.empty()) replace_file(line.export_profile, profile_for_trtexec(row));
  if (!line.export_layers.empty()) replace_file(line.export_layers, layers_for_trtexec(row));
}

}  // namespace

Command add_bench(CLI::App& root, const std::string& command) {
  auto line = std::make_shared<BenchLine>();
  CLI::App& app = add_command(root, "bench", "Time models on this machine's engines, side by side");
  add_arguments(app, "MODEL", line->models,
                "ONNX files, float or typed, engine files for --trt, or scripts that make models: loader.py[:FUNC]. "
                "Each runs on every runner (default: --onnxrt; --trt for engine files and --onnx=FILE)");
  for (const char* name : {"--onnx", "--loadEngine"}) {
    add_value(
        app, name, [line](const std::string& model) { line->named_models.push_back(model); }, "", "")
        .group("");
  }
  line->runners.add_to_time(app);
  add_timing_options(app, *line);
  line->engine.add(app);
  line->engine.add_words_of_trtexec(app);
  line->data.add_to_time(app, "Samples to run on: the first one, or the first ones for --batch");
  line->data.add_calibration(app);
  add_output_options(app, *line);
  add_message_options(app, line->messages);
  const IgnoredOptions ignored = add_ignored_options(app);
  add_words_of_trtexec(app, ignored);
  add_footer(app,
             "Example: vernier bench model.onnx typed.onnx --onnxrt --openvino --batch 1 8\nExample: vernier bench "
             "--onnx=model.onnx --best --saveEngine=model.engine --dumpProfile\nExit code: 0 timed; 2 usage; 3 input; "
             "4 backend: the engine is missing or fails; 70 internal error; 130 interrupted");

  return {&app, &line->messages,
          [line, command](Console& console) {
            const BenchOptions options = options_of(*line, command);
            for (const std::string& text : line->data.without_effect(line->runners.any_process()))
              console.warning(text);
            if (line->timing.given("--threads") && line->timing.last("--threads").empty()) {
              console.warning("--threads without a number has no effect in bench: inferences are timed one at a time");
            }
            for (const std::string& path :
                 {line->export_times, line->export_profile, line->export_layers, options.engine.save_engine.string()}) {
              if (!path.empty()) require_writable_file(path);
            }
            const BenchReport report = bench(options, console.sinks());
            write_exports(*line, report.rows.front());
            const TextOptions text = line->result.values(console);
            print_result(console, line->result.json ? report_to_json(report)
                                  : line->markdown  ? bench_markdown(report, text.top)
                                                    : report_to_text(report, text, line->kernels));
            return 0;
          },
          ignored};
}

}  // namespace vernier::cli
