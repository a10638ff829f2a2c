// Which layers does INT8 break, and what is the cheapest repair? As `vernier fix`, with the report as values.
//   diagnose MODEL.onnx SAMPLES.npz DB
#include <cstdlib>
#include <iostream>
#include <span>

#include "vernier/vernier.h"

int main(int argc, char** argv) {
  const std::span<char*> arguments(argv, static_cast<std::size_t>(argc));
  if (arguments.size() != 4) {
    std::cerr << "usage: diagnose MODEL.onnx SAMPLES.npz DB\n";
    return 2;
  }
  vernier::FixOptions options;
  options.model = arguments[1];
  options.measure.data.location = arguments[2];
  options.measure.requirement = vernier::Requirement{vernier::Metric::MinSqnrDb, {{std::atof(arguments[3]), ""}}};
  options.precision.low = {vernier::Format::Int8};
  options.measure.cross_fit = true;
  try {
    const vernier::DiagnoseReport report = vernier::fix(options);
    std::cout << "all low: " << report.all_low.outputs.front().sqnr_db << " dB\n";
    for (const vernier::LayerRow& layer : report.layers) {
      if (layer.kept) std::cout << "kept: " << layer.name << '\n';
    }
    if (!report.final_figures || !report.final_figures->passed.value_or(false)) return 1;
    std::cout << "result: " << report.final_figures->outputs.front().sqnr_db << " dB\n";
    report.typed->model.write("typed.onnx");
    return 0;
  } catch (const vernier::Error& error) {
    std::cerr << "error: " << error.what() << "\n hint: " << error.hint() << '\n';
    return static_cast<int>(error.kind());
  }
}
