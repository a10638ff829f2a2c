// `vernier bundle`: one layer that fails, with everything needed to look at it, in one file to send to somebody.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "vernier/export.h"
#include "vernier/measure.h"
#include "vernier/note.h"
#include "vernier/onnx_model.h"
#include "vernier/sinks.h"

namespace vernier {

struct BundleOptions {
  OnnxModel model;
  std::filesystem::path report;  // report.json of diagnose on that model
  std::string layer;             // empty: the most damaging one of the report that is in the main graph
  std::filesystem::path output;  // .zip
  MeasureOptions measure;        // samples that the layer's inputs are taken on
};

struct BundleResult {
  std::filesystem::path output;
  std::string layer;
  std::vector<std::string> files;  // in the archive
  std::string command;             // that shows the layer's error, where the archive was unpacked
  std::vector<Note> warnings;
};

/// Cuts the layer out, takes its inputs and outputs on the samples, and packs: layer.onnx, layer_inputs.json,
/// layer_outputs.json, report.json (the report with this layer's row alone), ranges.json (of its grids, where the
/// report shows them), versions.json and README.md with the commands. Names of files on this machine are not in it, but
/// for those in the report's command. Errors: Input when the report belongs to another model or has no such layer;
/// Usage; Backend.
VERNIER_API BundleResult bundle_layer(const BundleOptions& options, const JobSinks& sinks = {});

VERNIER_API std::string result_to_json(const BundleResult& result);

}  // namespace vernier
