// A source of samples of one's own, progress, and a job that is ended after some time.
//   own_samples MODEL.onnx FOLDER SECONDS: FOLDER holds sample_<i>.bin, each the float32 values of one input
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "vernier/vernier.h"

namespace {

class RawFiles final : public vernier::SampleSource {
 public:
  RawFiles(std::filesystem::path folder, std::string input, vernier::Shape shape)
      : folder_(std::move(folder)), input_(std::move(input)), shape_(std::move(shape)) {
    while (std::filesystem::exists(path(size_))) ++size_;
  }
  std::size_t size() const override { return size_; }
  std::string description() const override { return folder_.string(); }
  // Called from several threads, more than once for a sample.
  vernier::Sample at(std::size_t index) const override {
    vernier::Tensor sample(vernier::Dtype::Float32, shape_);
    const std::span<std::byte> bytes = sample.mutable_bytes();
    std::ifstream file(path(index), std::ios::binary);
    if (!file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()))) {
      throw vernier::Error(vernier::ErrorKind::Input, path(index).string() + ": is too short");
    }
    return {{input_, sample}};
  }

 private:
  std::filesystem::path path(std::size_t index) const { return folder_ / ("sample_" + std::to_string(index) + ".bin"); }

  std::filesystem::path folder_;
  std::string input_;
  vernier::Shape shape_;
  std::size_t size_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const std::span<char*> arguments(argv, static_cast<std::size_t>(argc));
  if (arguments.size() != 4) {
    std::cerr << "usage: own_samples MODEL.onnx FOLDER SECONDS\n";
    return 2;
  }
  try {
    const vernier::OnnxModel model(arguments[1]);
    const vernier::InputInfo input = model.inputs().front();
    vernier::Shape shape = input.shape;
    for (std::int64_t& dimension : shape) dimension = dimension < 0 ? 1 : dimension;

    vernier::DiagnoseOptions options;
    options.model = model;
    options.measure.data.source = std::make_shared<const RawFiles>(arguments[2], input.name, shape);
    options.precision.low = {vernier::Format::Float16};

    const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(std::atof(arguments[3]));
    vernier::JobSinks sinks;
    sinks.warning = [](const vernier::Note& note) { std::cerr << "warning: " << vernier::note_text(note) << '\n'; };
    sinks.interrupted = [&] { return std::chrono::steady_clock::now() > until; };
    const vernier::DiagnoseReport report = vernier::diagnose(options, sinks);
    std::cout << vernier::report_to_text(report, {});
    return 0;
  } catch (const vernier::DiagnosisInterrupted& interrupted) {
    std::cout << "time is up; measured: " << interrupted.report().phases.size() << " steps\n";
    return 1;
  } catch (const vernier::Error& error) {
    std::cerr << "error: " << error.what() << '\n';
    return static_cast<int>(error.kind());
  }
}
