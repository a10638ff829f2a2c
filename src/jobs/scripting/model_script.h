// A script in the place of a model: file.py[:function], whose load_network() or load_model() makes one.
#pragma once

#include <filesystem>
#include <memory>
#include <set>
#include <vector>

#include "base/scratch_folder.h"
#include "jobs/scripting/network_scripts.h"
#include "vernier/format.h"
#include "vernier/onnx_model.h"
#include "vernier/precision.h"
#include "vernier/samples.h"
#include "vernier/sinks.h"

namespace vernier {

struct ScriptedModel {
  std::filesystem::path path;           // where it can be read, as long as this lives
  std::vector<LayerSetting> settings;   // what the script set on the network that it returned
  std::unique_ptr<ScratchFolder> keep;  // holds the model when the script returned no file; else null
};

/// True when `model` is a file's name that means Python, with or without a function.
bool is_model_script(const OnnxModel& model);

/// Runs the script once. The network that it may ask for is that of its model, prepared for `formats`.
/// Errors: Input: what the script does wrong; Backend when Python cannot be started; Interrupted.
ScriptedModel run_model_script(const std::filesystem::path& model, const std::set<Format>& formats,
                               const SourceOptions& how, const JobSinks& sinks, const Warn& warn);

/// Refuses to replace the script `model`, if it is one. Errors: as refuse_to_overwrite.
void keep_model_script(const std::filesystem::path& output, const std::filesystem::path& model);

}  // namespace vernier
