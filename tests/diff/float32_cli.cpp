// Converts many models to all float32 in one process: what `vernier convert MODEL --layer-precisions '*:float32' -o
// OUT` does. Reads pairs of lines from standard input, a model and the file to write; answers each pair with one line,
// "ok" or "error KIND: TEXT". tests/diff/test_backend_nodes.py drives it.
#include <algorithm>
#include <exception>
#include <iostream>
#include <string>

#include "vernier/error.h"
#include "vernier/format.h"
#include "vernier/quantize.h"

int main() {
  std::string model;
  std::string output;
  while (std::getline(std::cin, model) && std::getline(std::cin, output)) {
    vernier::QuantizeOptions options;
    options.model = model;
    options.output = output;
    options.precision.layer_precisions = {{"*", vernier::Format::Float32}};
    std::string answer = "ok";
    try {
      vernier::quantize(options);
    } catch (const vernier::Error& error) {
      answer = "error " + std::to_string(static_cast<int>(error.kind())) + ": " + error.what();
    } catch (const std::exception& failure) {
      answer = std::string("error 70: not an Error: ") + failure.what();
    }
    std::replace(answer.begin(), answer.end(), '\n', ' ');
    std::cout << answer << std::endl;
  }
  return 0;
}
