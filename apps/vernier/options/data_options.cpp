#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cache_folder.h"
#include "base/text.h"
#include "options/custom_ops_option.h"
#include "options/external_data_options.h"
#include "options/options.h"
#include "options/parse_values.h"
#include "scripts/script_location.h"
#include "vernier/error.h"
#include "vernier/measure.h"
#include "vernier/samples.h"

namespace vernier::cli {
namespace {

const char* const kDataGroup = "Data";
const char* const kImageGroup = "Images (for a --data folder of images)";
constexpr std::uint64_t kMostThreads = 4096;
constexpr std::uint64_t kMostBatch = 4096;

void check_geometry(const std::string& geometry) {
  // Only the kind: the rest is parsed where images are read, which also says what is wrong with it.
  for (const std::string_view kind : {"short-crop:", "stretch:", "letterbox:", "height:"}) {
    if (geometry.empty() || (geometry.starts_with(kind) && geometry.size() > kind.size())) return;
  }
  throw Error(ErrorKind::Usage, fmt::format("--image: '{}' is not a way to fit images", printable(geometry)),
              "one of: short-crop:256,224 stretch:WxH letterbox:SIZE[,pad=114,center|topleft] height:32");
}

}  // namespace

void DataGroup::add(CLI::App& app, const std::string& data_help) { add(app, data_help, /*timed=*/false); }

void DataGroup::add_to_time(CLI::App& app, const std::string& data_help) { add(app, data_help, /*timed=*/true); }

void DataGroup::add(CLI::App& app, const std::string& data_help, bool timed) {
  add_value(app, "--data", data_, "SOURCE",
            data_help +
                ": .npy, .npz, a folder of .npz, a folder of images or one image, saved inputs JSON, ONNX test data "
                "folders, a data loader script loader.py[:FUNC] (default: random data, with a warning)")
      .group(kDataGroup);
  add_values(app, "--load-inputs,--load-input-data", load_inputs_, "SOURCE",
             "Instead of --data: one or more sources, in any form of --data, one behind the other (default: none)")
      .group(kDataGroup);
  add_value(app, "--data-loader-script", loader_script_, "FILE[:FUNC]",
            "Instead of --data: a Python script whose FUNC yields a dict {input name: numpy array} for each sample "
            "(default: none; FUNC: load_data)")
      .group(kDataGroup);
  add_value(app, "--python", python_, "PROGRAM",
            "Python that runs scripts, with NumPy for data loaders (default: python3)")
      .group(kDataGroup);
  add_value(app, "--timeout", timeout_, "SECONDS",
            timed ? "End a script, or an answer of an engine, that takes longer (default: 600 for engines)"
                  : "End a script, or one start of --exec, that takes longer (default: never)")
      .group(kDataGroup);
  add_value(app, "--samples", samples_, "N", "Use at most N samples, 1 or more (default: all; of random data: 1)")
      .group(kDataGroup);
  if (!timed) {
    add_value(app, "--iterations,--iters", iterations_, "N", "The same as --samples (default: none)").group(kDataGroup);
  }
  add_flag(app, "--split-batch", split_batch_,
           "Split a .npy or .npz along a dynamic first dimension into samples of batch 1 (default: do not)")
      .group(kDataGroup);
  if (!timed) {
    add_values(app, "--carry", carries_, "OUT:IN",
               "Feed output OUT back to input IN with the next sample; both start at zero (default: none)")
        .group(kDataGroup);
  }
  add_values(app, "--val-range", val_range_, "[NAME:][LO,HI]", "Range of random data, ends included (default: [0,1])")
      .group(kDataGroup);
  add_value(app, "--seed", seed_, "N", "Seed of random data, 0 or more (default: 1)").group(kDataGroup);
  add_values(app, timed ? "--input-shapes,--inputs,--shapes" : "--input-shapes,--inputs", shapes_, "NAME:[DIMS]",
             "Shapes of dynamic inputs of random data, x:[1,3,224,224] (default: dynamic dimensions become 1)")
      .group(kDataGroup);
  if (!timed) {
    add_value(app, "--threads", threads_, "N", "Threads to compute with, up to 4096; 0: all usable cores (default: 0)")
        .group(kDataGroup);
  }
  add_custom_ops_option(app, custom_ops_, kDataGroup);
  add_external_data_dir_option(app, external_data_dir_, kDataGroup);

  add_value(app, "--image", geometry_, "HOW",
            "short-crop:256,224 | stretch:WxH | letterbox:SIZE[,pad=114,center|topleft] | height:32, in pixels "
            "(default: stretch to the input's size)")
      .group(kImageGroup);
  add_values(app, "--image-mean", mean_, "V", "One value or three, subtracted, in 0..255 (default: 0)")
      .group(kImageGroup);
  add_values(app, "--image-std", std_, "V", "One value or three, divided by, in 0..255, not 0 (default: 1)")
      .group(kImageGroup);
  add_value(app, "--image-color", color_, "ORDER", "rgb, bgr or y (default: rgb)").group(kImageGroup);
  add_value(app, "--image-layout", layout_, "LAYOUT", "nchw or nhwc (default: from the input's shape)")
      .group(kImageGroup);
}

void DataGroup::add_calibration(CLI::App& app) {
  add_value(app, "--calibration-data", calibration_data_, "SOURCE",
            "Samples to learn ranges from, in any form of --data (default: the samples of --data)")
      .group(kDataGroup);
  add_calibration_cache(app);
}

void DataGroup::add_batch(CLI::App& app) {
  add_value(app, "--batch", batch_, "N",
            "Run up to N samples of equal shapes as one, 1 to 4096, where the network's first dimensions are open and "
            "the answers are those of single samples; a warning says where not (default: 1)")
      .group(kDataGroup);
}

void DataGroup::add_no_cache(CLI::App& app) {
  add_flag(
      app, "--no-cache", no_cache_,
      "Begin anew, and keep nothing on the way (default: a run that was cut short goes on from what it had learned, "
      "which is kept in ~/.cache/vernier until it is done)")
      .group(kDataGroup);
}

void DataGroup::add_calibration_cache(CLI::App& app) {
  add_value(app, "--calibration-cache,--calib", calibration_cache_, "FILE",
            "File of ranges, read when it is there, else learned and written; it is read in TensorRT's, ONNX "
            "Runtime's or our form, and written as JSON under *.json, or as TensorRT's text (default: none)")
      .writes()
      .group(kDataGroup);
}

SourceOptions DataGroup::source() const {
  SourceOptions source;
  source.split_batch = split_batch_;
  if (!python_.empty()) source.python = python_;
  if (!timeout_.empty()) {
    source.script_seconds = parse_number("--timeout", timeout_);
    if (source.script_seconds <= 0) {
      throw Error(ErrorKind::Usage, fmt::format("--timeout: {} s leave no time at all", timeout_),
                  "leave it out to wait as long as it takes");
    }
  }
  if (!seed_.empty()) source.seed = parse_count("--seed", seed_, 0, std::numeric_limits<std::uint64_t>::max());
  for (const std::string& text : val_range_) {
    auto [name, range] = parse_value_range("--val-range", text);
    source.value_ranges[name] = range;
  }
  for (auto& [name, shape] : parse_input_shapes("--input-shapes", shapes_)) source.shapes[name] = std::move(shape);
  for (const std::string& text : carries_) source.carried.push_back(parse_pair("--carry", text, "OUT:IN").second);

  check_geometry(geometry_);
  source.image.geometry = geometry_;
  source.image.mean = parse_channels("--image-mean", mean_);
  source.image.scale = parse_channels("--image-std", std_);
  for (const float divisor : source.image.scale) {
    if (divisor == 0) throw Error(ErrorKind::Usage, "--image-std: 0 cannot be divided by");
  }
  source.image.color = parse_choice<ImageColor>("--image-color", color_);
  if (!layout_.empty()) source.image.layout = parse_choice<ImageLayout>("--image-layout", layout_);
  return source;
}

std::vector<std::string> DataGroup::locations() const {
  if (!data_.empty()) return {data_};
  if (!loader_script_.empty()) return {loader_script_};
  return load_inputs_;
}

std::string DataGroup::location_option() const {
  if (!data_.empty()) return "--data";
  return loader_script_.empty() ? "--load-inputs" : "--data-loader-script";
}

std::size_t DataGroup::limit() const {
  constexpr std::uint64_t kMost = std::numeric_limits<std::size_t>::max();
  if (!samples_.empty() && !iterations_.empty()) {
    throw Error(ErrorKind::Usage, "--samples and --iterations are the same", "leave out one of them");
  }
  if (!samples_.empty()) return parse_count("--samples", samples_, 1, kMost);
  if (iterations_.empty()) return 0;
  const std::size_t iterations = parse_count("--iterations", iterations_, 0, kMost);
  if (iterations == 0) throw Error(ErrorKind::Usage, "--iterations 0: nothing would be compared", "1 or more");
  return iterations;
}

std::vector<std::string> DataGroup::without_effect(bool scripts) const {
  std::vector<std::string> texts;
  const std::vector<std::string> sources = locations();
  const auto is_script = [](const std::string& location) { return script_location(location).has_value(); };
  if (!scripts && std::none_of(sources.begin(), sources.end(), is_script) && !is_script(calibration_data_)) {
    const auto only_scripts = [&](const char* option, bool given) {
      if (given) texts.push_back(fmt::format("{} has no effect without a script", option));
    };
    only_scripts("--python", !python_.empty());
    only_scripts("--timeout", !timeout_.empty());
  }
  if (sources.empty()) return texts;
  const auto only_random = [&](const char* option, bool given) {
    if (given)
      texts.push_back(fmt::format("{} has no effect with {}: it shapes random data", option, location_option()));
  };
  only_random("--val-range", !val_range_.empty());
  only_random("--seed", !seed_.empty());
  only_random("--input-shapes", !shapes_.empty() && carries_.empty());  // carried states take their shape from it
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
  if (!calibration_data_.empty()) {
    options.calibration_data = source();
    options.calibration_data->location = calibration_data_;
  }
  options.calibration_cache = calibration_cache_;
  for (const std::string& text : carries_) options.carries.push_back(parse_pair("--carry", text, "OUT:IN"));
  options.custom_operators.assign(custom_ops_.begin(), custom_ops_.end());
  options.external_data_dir = external_data_dir_;
  options.threads = parse_count("--threads", threads_, 0, kMostThreads);
  options.batch = parse_count("--batch", batch_, 1, kMostBatch);
  const std::filesystem::path cache = no_cache_ ? std::filesystem::path() : cache_folder();
  if (!cache.empty()) options.partial_folder = cache / "partial";
  return options;
}

void DataGroup::check_one_source() const {
  std::vector<std::string> given;
  if (!data_.empty()) given.emplace_back("--data");
  if (!load_inputs_.empty()) given.emplace_back("--load-inputs");
  if (!loader_script_.empty()) given.emplace_back("--data-loader-script");
  if (given.size() > 1) {
    throw Error(ErrorKind::Usage, fmt::format("{} and {}: both say where the samples come from", given[0], given[1]),
                "leave out one of them; --load-inputs takes several sources");
  }
  if (!loader_script_.empty() && !script_location(loader_script_)) {
    throw Error(ErrorKind::Usage,
                fmt::format("--data-loader-script: '{}' names no Python file", printable(loader_script_)),
                "loader.py, or loader.py:function; other sources go to --data");
  }
}

}  // namespace vernier::cli
