#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/cache_folder.h"
#include "base/text.h"
#include "options/options.h"
#include "options/parse_values.h"
#include "options/rows.h"
#include "scripts/script_location.h"
#include "table/measure.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/measure.h"
#include "vernier/samples.h"

namespace vernier::cli {
namespace {

void check_geometry(const std::string& geometry) {
  // Only the kind: the rest is parsed where images are read, which also says what is wrong with it.
  for (const std::string_view kind : {"short-crop:", "stretch:", "letterbox:", "height:"}) {
    if (geometry.empty() || (geometry.starts_with(kind) && geometry.size() > kind.size())) return;
  }
  throw Error(ErrorCode::BadValue, fmt::format("--image: '{}' is not a way to fit images", printable(geometry)),
              "one of: short-crop:256,224 stretch:WxH letterbox:SIZE[,pad=114,center|topleft] height:32");
}

}  // namespace

void DataGroup::add(CLI::App& app, const std::string& data_help) { add(app, data_help, /*timed=*/false); }

void DataGroup::add_to_time(CLI::App& app, const std::string& data_help) { add(app, data_help, /*timed=*/true); }

void DataGroup::add(CLI::App& app, const std::string& data_help, bool timed) {
  const std::string help = data_help + ": " + table::kData.words.help;
  table::kSource.each([&](auto row) {
    const std::string option = OptionNames(row.words.names).option;
    if (option == "--data") row.words.help = help.c_str();
    if (timed && option == "--iterations") return;
    if (timed && option == "--timeout") row.words = table::kTimeoutOfEngine.words;
    if (timed && option == "--input-shapes") row.words.names = "--input-shapes,--inputs,--shapes NAME:[DIMS]";
    add_row(app, row, table::kSource.group, texts_);
  });
  if (!timed) {
    add_row(app, table::kCarries, table::kRunning.group, texts_);
    add_row(app, table::kThreads, table::kRunning.group, texts_);
    add_row(app, table::kDevice, table::kRunning.group, texts_);
    add_row(app, table::kGpuMemory, table::kRunning.group, texts_);
  }
  add_row(app, table::kCustomOps, table::kRunning.group, texts_);
  add_row(app, table::kExternalDataDir, table::kRunning.group, texts_);
  add_rows(app, table::kImage, texts_);
}

void DataGroup::add_calibration(CLI::App& app) { add_rows(app, table::kCalibration, texts_); }

void DataGroup::add_batch(CLI::App& app) { add_rows(app, table::kBatch, texts_); }

void DataGroup::add_no_cache(CLI::App& app) { add_rows(app, table::kNoPartial, texts_); }

void DataGroup::add_calibration_cache(CLI::App& app) {
  add_row(app, table::kCalibrationCache, table::kCalibration.group, texts_);
}

SourceOptions DataGroup::source() const {
  SourceOptions source;
  read_rows(table::kSource, texts_, source);
  if (source.script_seconds <= 0 && texts_.given("--timeout")) {
    throw Error(ErrorCode::BadValue, fmt::format("--timeout: {} s is not a time limit", texts_.last("--timeout")),
                "leave it out to wait without a limit");
  }
  for (const std::string& text : texts_.all("--carry")) {
    source.carried.push_back(parse_pair("--carry", text, "OUT:IN").second);
  }
  check_geometry(texts_.last("--image"));
  read_rows(table::kImage, texts_, source.image);
  for (const float divisor : source.image.scale) {
    if (divisor == 0) throw Error(ErrorCode::BadValue, "--image-std: cannot divide by 0");
  }
  return source;
}

std::vector<std::string> DataGroup::locations() const { return texts_.all(location_option()); }

std::string DataGroup::location_option() const {
  for (const char* option : {"--data", "--data-loader-script"}) {
    if (texts_.given(option)) return option;
  }
  return "--load-inputs";
}

std::size_t DataGroup::limit() const {
  constexpr std::uint64_t kMost = std::numeric_limits<std::size_t>::max();
  if (texts_.given("--samples") && texts_.given("--iterations")) {
    throw Error(ErrorCode::Contradiction, "--samples and --iterations are the same option", "leave out one of them");
  }
  if (texts_.given("--samples")) return parse_count("--samples", texts_.last("--samples"), 1, kMost);
  if (!texts_.given("--iterations")) return 0;
  const std::size_t iterations = parse_count("--iterations", texts_.last("--iterations"), 0, kMost);
  if (iterations == 0) throw Error(ErrorCode::BadValue, "--iterations 0: nothing would be compared", "1 or more");
  return iterations;
}

std::vector<std::string> DataGroup::without_effect(bool scripts) const {
  std::vector<std::string> texts;
  const std::vector<std::string> sources = locations();
  const auto is_script = [](const std::string& location) { return script_location(location).has_value(); };
  if (!scripts && std::none_of(sources.begin(), sources.end(), is_script) &&
      !is_script(texts_.last("--calibration-data"))) {
    for (const char* option : {"--python", "--timeout"}) {
      if (texts_.given(option)) texts.push_back(fmt::format("{} has no effect without a script", option));
    }
  }
  if (sources.empty()) return texts;
  const bool carries = texts_.given("--carry");  // carried states take their shape from --input-shapes
  for (const char* option : {"--val-range", "--seed", "--input-shapes"}) {
    if (!texts_.given(option) || (carries && option == std::string_view("--input-shapes"))) continue;
    texts.push_back(fmt::format("{} has no effect with {}: it is for random data", option, location_option()));
  }
  return texts;
}

MeasureOptions DataGroup::values() const {
  check_one_source();
  MeasureOptions options;
  options.data = source();
  const std::vector<std::string> sources = locations();
  if (!sources.empty()) {
    options.data.location = sources.front();
    options.data.further.assign(sources.begin() + 1, sources.end());
    options.data.spare_names = location_option() == "--load-inputs";
  }
  if (const std::size_t most = limit(); most != 0) options.data.limit = options.data.random_samples = most;
  if (texts_.given("--calibration-data")) {
    options.calibration_data = source();
    options.calibration_data->location = texts_.last("--calibration-data");
  }
  read_rows(table::kCalibration, texts_, options);
  read_rows(table::kRunning, texts_, options);
  // cuBLAS takes 32 MiB for each session on an H200, outside of every limit; NVIDIA's own smallest choice is 128 KiB.
  if (options.gpu_memory) ::setenv("CUBLAS_WORKSPACE_CONFIG", ":16:8", /*overwrite=*/0);
  read_rows(table::kBatch, texts_, options);
  const std::filesystem::path cache = texts_.given("--no-cache") ? std::filesystem::path() : cache_folder();
  if (!cache.empty()) options.partial_folder = cache / "partial";
  return options;
}

void DataGroup::check_one_source() const {
  std::vector<std::string> given;
  for (const char* option : {"--data", "--load-inputs", "--data-loader-script"}) {
    if (texts_.given(option)) given.emplace_back(option);
  }
  if (given.size() > 1) {
    throw Error(ErrorCode::Contradiction,
                fmt::format("{} and {}: both name the source of the samples", given[0], given[1]),
                "leave out one of them; --load-inputs takes several sources");
  }
  const std::string& loader = texts_.last("--data-loader-script");
  if (!loader.empty() && !script_location(loader)) {
    throw Error(ErrorCode::NoPythonFile,
                fmt::format("--data-loader-script: '{}' names no Python file", printable(loader)),
                "use loader.py, or loader.py:function; pass other sources to --data");
  }
}

}  // namespace vernier::cli
