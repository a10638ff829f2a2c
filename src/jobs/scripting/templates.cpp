// Scripts to start from. Names come from untrusted files: they appear as Python literals only.

#include "vernier/templates.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "base/text.h"
#include "json/json.h"
#include "model/model.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

std::string array_text(const InputInfo& input, const std::string& where) {
  std::vector<std::string> dims;
  for (const std::int64_t dim : input.shape) dims.push_back(std::to_string(dim < 0 ? 1 : dim));
  const std::string shape = fmt::format("({}{})", fmt::join(dims, ", "), dims.size() == 1 ? "," : "");
  switch (input.dtype) {
    case Dtype::Float32:
    case Dtype::Float64:
      return fmt::format("random.random({}, dtype=np.{})", shape, dtype_name(input.dtype));
    case Dtype::Float16:
    case Dtype::BFloat16:  // float32 is converted when it is read
      return fmt::format("random.random({}, dtype=np.float32)", shape);
    case Dtype::Bool:
      return fmt::format("random.integers(0, 2, {}).astype(bool)", shape);
    case Dtype::Int8:
    case Dtype::UInt8:
    case Dtype::Int16:
    case Dtype::UInt16:
    case Dtype::Int32:
    case Dtype::UInt32:
    case Dtype::Int64:
    case Dtype::UInt64:
      return fmt::format("random.integers(0, 2, {}, dtype=np.{})", shape, dtype_name(input.dtype));
    default:
      throw Error(ErrorCode::SampleValues, fmt::format("{}: input '{}' is of type {}, which no sample can have", where,
                                                       printable(input.name), dtype_name(input.dtype)));
  }
}

}  // namespace

std::string data_loader_template(const OnnxModel& source) {
  const Model model = read_model(source);
  std::string arrays;
  for (const InputInfo& input : model_inputs(model)) {
    const bool open = std::any_of(input.shape.begin(), input.shape.end(), [](std::int64_t dim) { return dim < 0; });
    arrays += fmt::format("            {}: {},{}\n", json_quoted(input.name), array_text(input, source.name()),
                          open ? "  # dynamic dimensions are 1: replace them with sizes that the network accepts" : "");
  }
  return fmt::format(
      "# Samples of a model, one dict of arrays by input name each:\n"
      "#   vernier diagnose MODEL --int8 --min-sqnr 20 --data loader.py\n"
      "# Random numbers run, and say little: put your own data in their place.\n"
      "import numpy as np\n\n"
      "SAMPLES = 8\n\n\n"
      "def load_data():\n"
      "    random = np.random.default_rng(0)\n"
      "    for _ in range(SAMPLES):\n"
      "        yield {{\n{}        }}\n",
      arrays);
}

std::string metric_script_template() {
  return "# One number for all samples of a run:\n"
         "#   vernier debug precision MODEL --int8 --data SOURCE --metric-script metric.py --min 0.99\n"
         "# Both arguments are lists, one dict {output name: numpy array} per sample; the references are the float32 "
         "model's.\n"
         "import numpy as np\n\n\n"
         "def metric(outputs, references):\n"
         "    same = total = 0\n"
         "    for output, reference in zip(outputs, references):\n"
         "        for name, wanted in reference.items():\n"
         "            wanted, got = np.atleast_1d(wanted), np.atleast_1d(output[name])\n"
         "            # Replace this with your own metric, such as accuracy on labels.\n"
         "            agree = wanted.argmax(axis=-1) == got.argmax(axis=-1)\n"
         "            same, total = same + int(agree.sum()), total + agree.size\n"
         "    return same / max(total, 1)\n";
}

std::string postprocess_script_template(const OnnxModel& source) {
  const Model model = read_model(source);
  std::string outputs;
  for (const InputInfo& output : model_outputs(model)) {
    outputs += fmt::format("        {0}: outputs[{0}],\n", json_quoted(output.name));
  }
  return fmt::format(
      "# Returns what is compared in place of the outputs of a runner:\n"
      "#   vernier run MODEL --onnxrt --sim --int8 --data SOURCE --postprocess-func-script postprocess.py\n"
      "# Called for each runner and sample with a dict {{output name: numpy array}}; outputs left out are not "
      "compared.\n"
      "import numpy as np\n\n\n"
      "def postprocess_outputs(outputs):\n"
      "    # Change values, for example np.round(outputs[name], 3), or boxes after suppression.\n"
      "    return {{\n{}    }}\n",
      outputs);
}

std::string onnx_gs_template(const OnnxModel& source) {
  const std::filesystem::path& file = source.file();
  const std::filesystem::path updated = file.parent_path() / (file.stem().string() + "_updated.onnx");
  return fmt::format(
      "# Edits a model with ONNX GraphSurgeon: pip install onnx onnx-graphsurgeon\n"
      "import onnx\n"
      "import onnx_graphsurgeon as gs\n\n"
      "graph = gs.import_onnx(onnx.load({}))\n\n"
      "for node in graph.nodes:\n"
      "    # Change node.op, node.attrs, node.inputs and node.outputs.\n"
      "    print(node.op, node.name)\n\n"
      "graph.cleanup().toposort()\n"
      "onnx.save(gs.export_onnx(graph), {})\n",
      json_quoted(file.string()), json_quoted(updated.string()));
}

}  // namespace vernier
