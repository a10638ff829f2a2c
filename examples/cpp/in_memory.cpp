// A model and samples that are in memory, a result that goes to the next job, and no file at all.
//   in_memory MODEL.onnx INPUT N: the model's bytes, and N samples of [1, ...] that a function makes for its input
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <span>
#include <string>

#include "vernier/vernier.h"

int main(int argc, char** argv) {
  const std::span<char*> arguments(argv, static_cast<std::size_t>(argc));
  if (arguments.size() != 4) {
    std::cerr << "usage: in_memory MODEL.onnx INPUT N\n";
    return 2;
  }
  std::ifstream file(arguments[1], std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const vernier::OnnxModel model = vernier::OnnxModel::of_bytes(bytes, "my model");
  const std::string input = arguments[2];
  try {
    vernier::Shape shape;
    for (const vernier::InputInfo& each : model.inputs()) {
      if (each.name == input) shape = each.shape;
    }
    for (std::int64_t& dimension : shape) dimension = dimension < 0 ? 1 : dimension;

    vernier::QuantizeOptions quantize;
    quantize.model = model;
    quantize.precision.low = {vernier::Format::Int8};
    quantize.measure.data.source =
        vernier::samples_by(static_cast<std::size_t>(std::atoi(arguments[3])), [&](std::size_t index) {
          vernier::Tensor sample(vernier::Dtype::Float32, shape);
          double phase = static_cast<double>(index);
          for (float& value : sample.mutable_floats()) value = static_cast<float>(std::sin(phase += 0.37));
          return vernier::Sample{{input, sample}};
        });
    const vernier::QuantizeResult quantized = vernier::quantize(quantize);

    vernier::VerifyOptions verify;
    verify.float_model = model;
    verify.typed_model = quantized.typed.model;
    verify.measure = quantize.measure;
    const vernier::VerifyReport report = vernier::verify(verify);
    std::cout << report.float_file << ": " << report.figures.outputs.front().sqnr_db << " dB over " << report.samples
              << " samples\n";
    return 0;
  } catch (const vernier::Error& error) {
    std::cerr << "error: " << error.what() << '\n';
    return static_cast<int>(error.kind());
  }
}
