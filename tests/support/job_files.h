// A model and its samples as files, and the options that point to them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "model/model.h"
#include "plan/signature.h"
#include "tiny_networks.h"
#include "vernier/diagnose.h"
#include "vernier/format.h"
#include "vernier/measure.h"
#include "vernier/quantize.h"
#include "vernier/report/figures.h"
#include "vernier/requirement.h"
#include "vernier/tensor.h"
#include "vernier/verify.h"

namespace vernier::testing {

/// net.onnx and x.npy in a folder of the test's own.
class NetFiles {
 public:
  explicit NetFiles(const onnx::ModelProto& model, const Shape& input = kConvNetInput, std::size_t samples = 8) {
    write_model(adopt_model(model), model_file());
    write_npy(data_file(), bell_samples("x", input, samples), "x");
  }
  NetFiles() : NetFiles(network(kConvNet, conv_net_weights())) {}

  std::filesystem::path operator/(const std::string& name) const { return folder_ / name; }
  std::filesystem::path model_file() const { return folder_ / "net.onnx"; }
  std::filesystem::path data_file() const { return folder_ / "x.npy"; }

  MeasureOptions measure() const {
    MeasureOptions options;
    options.data.location = data_file().string();
    options.threads = 1;
    return options;
  }
  DiagnoseOptions diagnose_options(std::vector<Format> low) const {
    DiagnoseOptions options;
    options.model = model_file();
    options.output = folder_ / "out";
    options.measure = measure();
    options.precision.low = std::move(low);
    options.latency = false;
    return options;
  }
  QuantizeOptions quantize_options(std::vector<Format> low) const {
    QuantizeOptions options;
    options.model = model_file();
    options.output = folder_ / "converted.onnx";
    options.measure = measure();
    options.precision.low = std::move(low);
    return options;
  }
  VerifyOptions verify_options(const std::filesystem::path& typed) const {
    VerifyOptions options;
    options.float_model = model_file();
    options.typed_model = typed;
    options.measure = measure();
    return options;
  }

 private:
  TempFolder folder_;
};

/// A typed file without what it claims of itself, which convert does not measure.
inline std::string network_in(const std::filesystem::path& path) {
  Model model = read_model(path);
  for (const char* claim : {"requirement", "figure"}) add_to_signature(model, claim, "");
  return whole_proto(model).SerializeAsString();
}

inline std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline Requirement at_least_db(double db) { return {Metric::MinSqnrDb, {{db, ""}}}; }

inline const LayerRow& row_named(const std::vector<LayerRow>& rows, std::string_view name) {
  for (const LayerRow& row : rows) {
    if (row.name == name) return row;
  }
  throw std::runtime_error("no row " + std::string(name));
}

}  // namespace vernier::testing
