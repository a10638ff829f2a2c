// simulate_cli TYPED IN OUT [TENSOR ...]
//
// Simulates a typed file from what it says, runs the simulated graph once without optimizations on one thread, and
// writes its outputs and the tensors named. IN and OUT are GraphProto messages whose initializers are the tensors.
// Prints the layers' formats and notes as JSON. The tests in this folder compare them with what ONNX Runtime makes of
// the file itself.
#include <cstddef>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "engines/onnxruntime/runtime.h"
#include "engines/onnxruntime/session.h"
#include "json/fields.h"
#include "plan/simulate_typed.h"
#include "vernier/error.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace {

vernier::Sample read_tensors(const std::string& path) {
  onnx::GraphProto graph;
  std::ifstream file(path, std::ios::binary);
  if (!graph.ParseFromIstream(&file)) throw vernier::Error(vernier::ErrorKind::Input, path + ": no GraphProto");
  vernier::Sample sample;
  for (const onnx::TensorProto& tensor : graph.initializer()) sample[tensor.name()] = vernier::tensor_of(tensor);
  return sample;
}

void write_tensors(const std::string& path, const std::vector<std::string>& names,
                   const std::vector<vernier::Tensor>& values) {
  onnx::GraphProto graph;
  for (std::size_t i = 0; i < names.size(); ++i) *graph.add_initializer() = vernier::proto_of(values[i], names[i]);
  std::ofstream file(path, std::ios::binary);
  if (!graph.SerializeToOstream(&file)) throw vernier::Error(vernier::ErrorKind::Input, path + ": cannot be written");
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 4) {
    std::cerr << "usage: simulate_cli TYPED IN OUT [TENSOR ...]\n";
    return 2;
  }
  vernier::SimulatedFile simulated = vernier::simulate_typed(vernier::read_model(argv[1]));
  for (int i = 4; i < argc; ++i) {
    onnx::ValueInfoProto& output = *simulated.model.proto.mutable_graph()->add_output();
    output.set_name(argv[i]);
    output.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  }
  const vernier::Session session(vernier::Runtime::load(), simulated.model, {.optimize = false});
  write_tensors(argv[3], session.output_names(), session.run(read_tensors(argv[2])));
  vernier::Json layers = vernier::Json::object();
  for (const vernier::PlannedLayer& layer : simulated.layers) {
    layers.add(layer.name, vernier::format_name(layer.format));
  }
  const vernier::Json said = vernier::Json::Object{{"layers", layers}, {"notes", vernier::json_of(simulated.notes)}};
  std::cout << vernier::json_text(said) << '\n';
  return 0;
} catch (const vernier::Error& failure) {
  std::cerr << "error: " << failure.what() << '\n';
  return static_cast<int>(failure.kind());
}
