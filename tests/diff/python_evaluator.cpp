#include "python_evaluator.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "vernier/error.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier::testing {
namespace {

onnx::GraphProto read_tensors(const std::filesystem::path& path) {
  onnx::GraphProto tensors;
  if (!tensors.ParseFromString(read_text(path))) {
    throw Error(ErrorKind::Backend, fmt::format("{}: not what evaluate.py writes", path.string()));
  }
  return tensors;
}

void run(const std::vector<std::string>& command) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    ::execvp(arguments[0], arguments.data());
    ::_exit(127);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child || status != 0) {
    throw Error(ErrorKind::Backend, fmt::format("{} failed with status {}", command[1], status));
  }
}

}  // namespace

Sample read_sample(const std::filesystem::path& path) {
  Sample sample;
  const onnx::GraphProto tensors = read_tensors(path);
  for (const onnx::TensorProto& tensor : tensors.initializer()) sample[tensor.name()] = tensor_of(tensor);
  return sample;
}

Evaluator python_evaluator(const std::string& python, const std::string& script, const std::filesystem::path& folder) {
  return [=](const Model& model, const Sample& inputs) {
    const std::filesystem::path file = folder / "evaluate.onnx";
    const std::filesystem::path in = folder / "evaluate.in";
    const std::filesystem::path out = folder / "evaluate.out";
    write_model(model, file);
    onnx::GraphProto tensors;
    for (const auto& [name, tensor] : inputs) *tensors.add_initializer() = proto_of(tensor, name);
    replace_file(in, tensors.SerializeAsString());
    run({python, script, file.string(), in.string(), out.string()});
    std::vector<Tensor> values;
    const onnx::GraphProto results = read_tensors(out);
    for (const onnx::TensorProto& tensor : results.initializer()) values.push_back(tensor_of(tensor));
    for (const auto& used : {file, in, out}) std::filesystem::remove(used);
    return values;
  };
}

}  // namespace vernier::testing
