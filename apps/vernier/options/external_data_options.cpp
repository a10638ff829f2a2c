#include "options/external_data_options.h"

#include <fmt/format.h>

#include <cstdint>
#include <vector>

#include "options/options.h"
#include "options/parse_values.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier::cli {

std::int64_t parse_bytes(const char* option, const std::string& text) {
  std::string number = text;
  double unit = 1;
  if (!number.empty()) {
    switch (number.back()) {
      case 'K':
      case 'k':
        unit = 1024.0;
        break;
      case 'M':
      case 'm':
        unit = 1024.0 * 1024;
        break;
      case 'G':
      case 'g':
        unit = 1024.0 * 1024 * 1024;
        break;
      default:
        break;
    }
  }
  if (unit > 1) number.pop_back();
  const double bytes = parse_number(option, number) * unit;
  if (!(bytes >= 1 && bytes <= 1e15)) {
    throw Error(ErrorCode::BadValue, fmt::format("{}: {} is not a size", option, text), "16M, for example");
  }
  return static_cast<std::int64_t>(bytes);
}

void ExternalDataGroup::add(CLI::App& app) {
  add_values(
      app, "--save-external-data,--external-data-path",
      [this](const std::vector<std::string>& values) {
        wanted_ = true;
        if (!values.empty()) file_ = values.front();
      },
      "[FILE]", "Write weights into FILE in the model's folder, or into MODEL.data (default: only above 1.9 GB)")
      .writes()
      .values(0, 1)
      .group("Output");
  add_value(
      app, "--external-data-size-threshold", threshold_, "BYTES",
      "With --save-external-data: keep smaller weights in the model; K, M and G are powers of 1024 (default: 1024)")
      .group("Output");
  add_flag(app, "--no-save-all-tensors-to-one-file", many_files_,
           "With --save-external-data: one file per weight, MODEL.0.data, MODEL.1.data ...")
      .group("Output");
}

ExternalDataOptions ExternalDataGroup::values() const {
  ExternalDataOptions options;
  options.wanted = wanted_;
  options.file = file_;
  options.one_file = !many_files_;
  if (!wanted_ && (many_files_ || !threshold_.empty())) {
    throw Error(ErrorCode::WithoutEffect,
                fmt::format("{} without --save-external-data",
                            many_files_ ? "--no-save-all-tensors-to-one-file" : "--external-data-size-threshold"),
                "add --save-external-data");
  }
  if (many_files_ && !file_.empty()) {
    throw Error(
        ErrorCode::Contradiction,
        fmt::format(
            "--save-external-data {} and --no-save-all-tensors-to-one-file contradict each other: one file, or many",
            file_),
        "leave out one of them");
  }
  if (threshold_ == "0") {
    options.size_threshold = 0;
  } else if (!threshold_.empty()) {
    options.size_threshold = parse_bytes("--external-data-size-threshold", threshold_);
  }
  return options;
}

}  // namespace vernier::cli
