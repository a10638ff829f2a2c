// Scripts that set the precision of layers on a TensorRT network. Here they see a stand-in for it, made of the prepared
// model, and what they set becomes part of the precision options.
#pragma once

#include <filesystem>
#include <vector>

#include "jobs/common/sources.h"
#include "json/json.h"
#include "model/layers.h"
#include "vernier/precision.h"
#include "vernier/samples.h"
#include "vernier/sinks.h"

namespace vernier {

/// The network as scripts/network.py reads it: every node in graph order, bodies behind their node, with what is set
/// already.
Json network_json(const Model& prepared, const std::vector<Layer>& layers, const std::vector<LayerSetting>& settings);

/// Runs `precision.network_scripts` on the model of `source` as these options prepare it, which is left in `sources`
/// for the next step. Returns the options with what they set in layer_settings, and without scripts. Settings that
/// cannot mean anything here are dropped, and said to `warn`. `how`: the Python, and the seconds that a script may
/// take. Errors: Input: what a script does wrong; Backend when Python cannot be started; Interrupted.
PrecisionOptions run_network_scripts(const OnnxModel& source, PrecisionOptions precision, const SourceOptions& how,
                                     Sources& sources, const Warn& warn);

/// The settings that a program of scripts/ says, {"set": [[layer, format, {output: format}], ...]}, of the network that
/// it was given.
std::vector<LayerSetting> settings_of(const Json& set, const Json& network, const Warn& warn);

/// The files that are run, so that nothing is written over them.
std::vector<std::filesystem::path> script_files(const PrecisionOptions& precision);

}  // namespace vernier
