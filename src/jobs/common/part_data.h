// The values at both ends of a part of a model, in files beside it: the part is at once a test case.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "model/model.h"
#include "vernier/samples.h"

namespace vernier {

struct PartData {
  std::filesystem::path inputs, outputs;  // STEM_inputs.json, STEM_outputs.json
};

/// Writes what `part`, which is or will be `model_file`, takes and gives on each sample. `values` hold its inputs and
/// outputs by name; `runner` says in the file who computed the outputs. Errors: Input (a file cannot be written).
PartData write_part_data(const std::filesystem::path& model_file, const Model& part, const std::vector<Sample>& values,
                         const std::string& runner);

}  // namespace vernier
