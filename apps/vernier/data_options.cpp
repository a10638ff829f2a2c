#include <fmt/format.h>

#include <limits>

#include "core/text.h"
#include "options.h"
#include "parse_values.h"
#include "vernier/error.h"

namespace vernier::cli {
namespace {

const char* const kGroup = "Data";
const char* const kImageGroup = "Images (for a --data folder of images)";
constexpr std::uint64_t kMostThreads = 4096;

void refuse_loader_script(const char* option, const std::string& location) {
  // "file.py" or "file.py:func".
  const std::size_t at = location.rfind(".py");
  if (at == std::string::npos || (at + 3 != location.size() && location[at + 3] != ':')) return;
  throw Error(ErrorKind::Usage,
              fmt::format("{} {}: data loader scripts are not implemented yet", option, printable(location)),
              "let the script save its samples with numpy.savez (arrays by input name, first axis = samples) and give "
              "the .npz");
}

void check_geometry(const std::string& geometry) {
  // Only the kind: the rest is parsed where images are read, which also says what is wrong with it.
  for (const std::string_view kind : {"short-crop:", "stretch:", "letterbox:", "height:"}) {
    if (geometry.empty() || (geometry.starts_with(kind) && geometry.size() > kind.size())) return;
  }
  throw Error(ErrorKind::Usage, fmt::format("--image: '{}' is not a way to fit images", printable(geometry)),
              "one of: short-crop:256,224 stretch:WxH letterbox:SIZE[,pad=114,center|topleft] height:32");
}

}  // namespace

void DataGroup::add(CLI::App& app, const std::string& data_help) {
  add_value(app, "--data", data_, "SOURCE",
            data_help +
                ": .npy, .npz, a folder of .npz, a folder of images or one image, saved inputs JSON, ONNX test data "
                "folders (default: random data, with a warning)")
      ->group(kGroup);
  add_value(app, "--samples", samples_, "N", "Use at most N samples, 1 or more (default: all; of random data: 1)")
      ->group(kGroup);
  app.add_flag("--split-batch", split_batch_,
               "Split a .npy or .npz along a dynamic first dimension into samples of batch 1 (default: do not)")
      ->group(kGroup);
  add_values(app, "--carry", carries_, "OUT:IN",
             "Feed output OUT back to input IN with the next sample; both start at zero (default: none)")
      ->group(kGroup);
  add_values(app, "--val-range", val_range_, "[NAME:][LO,HI]", "Range of random data, ends included (default: [0,1])")
      ->group(kGroup);
  add_value(app, "--seed", seed_, "N", "Seed of random data, 0 or more (default: 1)")->group(kGroup);
  add_values(app, "--input-shapes,--inputs", shapes_, "NAME:[DIMS]",
             "Shapes of dynamic inputs of random data, x:[1,3,224,224] (default: dynamic dimensions become 1)")
      ->group(kGroup);
  add_value(app, "--threads", threads_, "N", "Threads to compute with, up to 4096; 0: all usable cores (default: 0)")
      ->group(kGroup);

  add_value(app, "--image", geometry_, "HOW",
            "short-crop:256,224 | stretch:WxH | letterbox:SIZE[,pad=114,center|topleft] | height:32, in pixels "
            "(default: stretch to the input's size)")
      ->group(kImageGroup);
  add_values(app, "--image-mean", mean_, "V", "One value or three, subtracted, in 0..255 (default: 0)")
      ->group(kImageGroup);
  add_values(app, "--image-std", std_, "V", "One value or three, divided by, in 0..255, not 0 (default: 1)")
      ->group(kImageGroup);
  add_value(app, "--image-color", color_, "ORDER", "rgb, bgr or y (default: rgb)")->group(kImageGroup);
  add_value(app, "--image-layout", layout_, "LAYOUT", "nchw or nhwc (default: from the input's shape)")
      ->group(kImageGroup);
}

void DataGroup::add_calibration(CLI::App& app) {
  add_value(app, "--calibration-data", calibration_data_, "SOURCE",
            "Samples to learn ranges from, in any form of --data (default: the samples of --data)")
      ->group(kGroup);
}

SourceOptions DataGroup::source() const {
  SourceOptions source;
  source.split_batch = split_batch_;
  if (!seed_.empty()) source.seed = parse_count("--seed", seed_, 0, std::numeric_limits<std::uint64_t>::max());
  for (const std::string& text : val_range_) {
    auto [name, range] = parse_value_range("--val-range", text);
    source.value_ranges[name] = range;
  }
  for (const std::string& text : shapes_) {
    auto [name, shape] = parse_input_shape("--input-shapes", text);
    source.shapes[name] = shape;
  }
  for (const std::string& text : carries_) source.carried.push_back(parse_pair("--carry", text, "OUT:IN").second);

  check_geometry(geometry_);
  source.image.geometry = geometry_;
  source.image.mean = parse_channels("--image-mean", mean_);
  source.image.scale = parse_channels("--image-std", std_);
  for (const float divisor : source.image.scale) {
    if (divisor == 0) throw Error(ErrorKind::Usage, "--image-std: 0 cannot be divided by");
  }
  source.image.color = parse_choice("--image-color", color_, {"rgb", "bgr", "y"});
  if (!layout_.empty()) source.image.layout = parse_choice("--image-layout", layout_, {"nchw", "nhwc"});
  return source;
}

std::vector<std::string> DataGroup::without_effect() const {
  std::vector<std::string> texts;
  if (data_.empty()) return texts;
  const auto only_random = [&](const char* option, bool given) {
    if (given) texts.push_back(fmt::format("{} has no effect with --data: it shapes random data", option));
  };
  only_random("--val-range", !val_range_.empty());
  only_random("--seed", !seed_.empty());
  only_random("--input-shapes", !shapes_.empty() && carries_.empty());  // carried states take their shape from it
  return texts;
}

MeasureOptions DataGroup::values() const {
  MeasureOptions options;
  options.data = source();
  refuse_loader_script("--data", data_);
  options.data.location = data_;
  if (!samples_.empty()) {
    options.data.limit = parse_count("--samples", samples_, 1, std::numeric_limits<std::size_t>::max());
    options.data.random_samples = options.data.limit;
  }
  if (!calibration_data_.empty()) {
    refuse_loader_script("--calibration-data", calibration_data_);
    options.calibration_data = source();
    options.calibration_data->location = calibration_data_;
  }
  for (const std::string& text : carries_) options.carries.push_back(parse_pair("--carry", text, "OUT:IN"));
  options.threads = parse_count("--threads", threads_, 0, kMostThreads);
  return options;
}

}  // namespace vernier::cli
