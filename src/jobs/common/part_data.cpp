#include "jobs/common/part_data.h"

#include "vernier/runs.h"
#include "vernier/tensor.h"

namespace vernier {

PartData write_part_data(const std::filesystem::path& model_file, const Model& part, const std::vector<Sample>& values,
                         const std::string& runner) {
  const std::string stem = (model_file.parent_path() / model_file.stem()).string();
  PartData files{stem + "_inputs.json", stem + "_outputs.json"};
  InputWriter inputs(files.inputs);
  RunWriter outputs(files.outputs, {runner});
  for (const Sample& sample : values) {
    std::vector<NamedTensor> fed;
    for (const InputInfo& input : model_inputs(part)) fed.push_back({input.name, sample.at(input.name)});
    inputs.add(fed);
    Iteration iteration;
    for (const InputInfo& output : model_outputs(part)) {
      iteration.outputs.push_back({output.name, sample.at(output.name)});
    }
    outputs.add(0, iteration);
  }
  inputs.finish();
  outputs.finish();
  return files;
}

}  // namespace vernier
