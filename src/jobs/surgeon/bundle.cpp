// `vernier bundle`: a layer that fails, its inputs, the report's row and the commands, as one file.

#include "vernier/bundle.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/file.h"
#include "base/scratch_folder.h"
#include "base/text.h"
#include "engines/onnxruntime/runtime.h"
#include "engines/onnxruntime/session.h"
#include "io/zip_files.h"
#include "jobs/common/output_files.h"
#include "jobs/surgeon/extract.h"
#include "json/json.h"
#include "model/graph_edit.h"
#include "model/layers.h"
#include "model/model.h"
#include "model/prepare.h"
#include "numerics/grid.h"
#include "plan/calibrate.h"
#include "plan/calibration_cache.h"
#include "plan/scheme.h"
#include "report/text/bundle_text.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/format.h"
#include "vernier/precision.h"
#include "vernier/report/causes.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/figures.h"
#include "vernier/report/pictures.h"
#include "vernier/sinks.h"
#include "vernier/surgeon.h"

namespace vernier {
namespace {

const LayerRow& chosen_row(const DiagnoseReport& report, const BundleOptions& options) {
  std::vector<std::string> names;
  for (const LayerRow& row : report.layers) {
    if (row.graph.empty() && (options.layer.empty() || row.name == options.layer)) return row;
    names.push_back(row.name);
  }
  const std::string file = printable(options.report.string());
  if (options.layer.empty()) throw Error(ErrorCode::NothingToLower, file + ": has no layer in the main graph");
  const std::vector<std::string> near = nearest_names(options.layer, names);
  throw Error(ErrorCode::UnknownName,
              fmt::format("‹layer›: {} has no layer '{}' in the main graph", file, printable(options.layer)),
              near.empty() ? "" : "nearest: " + list_some(near));
}

const onnx::NodeProto& node_of(const Model& model, const std::string& layer) {
  if (const onnx::NodeProto* node = find_node(model.proto.graph(), layer); node != nullptr) return *node;
  throw Error(ErrorCode::OtherModel,
              fmt::format("{}: has no node '{}'", printable(model.path.string()), printable(layer)),
              "the report must be of this very model");
}

/// The tensors that the node needs from others: no weights, no constants.
std::vector<TensorChoice> inputs_of(const Model& model, const onnx::NodeProto& node) {
  std::set<std::string> constants;
  for (const onnx::NodeProto& other : model.proto.graph().node()) {
    if (other.op_type() == "Constant") constants.insert(other.output().begin(), other.output().end());
  }
  std::vector<TensorChoice> inputs;
  for (const std::string& name : tensors_read(node)) {
    if (name.empty() || is_initializer(model, name) || constants.contains(name)) continue;
    inputs.push_back({name, {}, {}});
  }
  return inputs;
}

std::vector<TensorChoice> outputs_of(const onnx::NodeProto& node) {
  std::vector<TensorChoice> outputs;
  for (const std::string& name : node.output()) {
    if (!name.empty()) outputs.push_back({name, {}, {}});
  }
  return outputs;
}

/// The ends of the layer's grids as the report shows them, as a file of ranges for the layer by itself: what they were
/// learned from may be other samples than those in the bundle. Empty where a grid that the layer needs is not shown.
std::string ranges_of(const DiagnoseReport& report, const LayerRow& row, const std::filesystem::path& layer_file) {
  if (!needs_scale(row.format)) return {};
  PrecisionOptions precision;
  precision.low = report.low;
  precision.target = report.target;
  precision.rules.weights_per_channel = !report.weights_per_tensor;
  PrepareOptions prepare_options;
  prepare_options.formats = {report.low.begin(), report.low.end()};
  prepare_options.weights_per_channel = precision.rules.weights_per_channel;
  const Model original = read_model(layer_file);
  const Model layer = prepare(original, prepare_options, evaluator(Runtime::load())).model;
  const std::vector<Layer> layers = find_layers(layer);
  const std::set<std::string> needed =
      tensors_to_calibrate(layer, layers, assign_formats(layer, layers, precision).plan);
  RangesByTensor ranges;
  for (const LayerPicture& picture : report.pictures) {
    if (picture.layer != row.name) continue;
    for (const ValuePicture& values : picture.tensors) {
      if (!needed.contains(values.tensor) || values.logarithmic || !values.clip_low || !values.clip_high) continue;
      // A symmetric grid comes from its absolute maximum, which the lowest of 256 codes lies one step beyond.
      const bool symmetric = !is_unsigned(row.format);
      const double low = symmetric ? -*values.clip_high : *values.clip_low;
      ranges[values.tensor] = {static_cast<float>(low), static_cast<float>(*values.clip_high)};
    }
  }
  if (needed.empty() || ranges.size() < needed.size()) return {};
  return to_ranges_json(ranges, "as reported", "layer.onnx", original.sha256);
}

/// What was explained of this layer alone.
void keep_one(Explanation& explanation, const std::string& layer) {
  const auto of_others = [&](const auto& item) { return item.layer != layer; };
  std::erase_if(explanation.examined, [&](const std::string& name) { return name != layer; });
  std::erase_if(explanation.causes, of_others);
  std::erase_if(explanation.blame, of_others);
  std::erase_if(explanation.repairs, [&](RepairTried& row) {
    const bool its = std::ranges::find(row.layers, layer) != row.layers.end();
    row.layers = {layer};
    return !its;
  });
}

/// The report with one row and one picture, and without what other layers did.
DiagnoseReport of_one(DiagnoseReport report, const LayerRow& row) {
  report.layers = {row};
  if (report.explanation) keep_one(*report.explanation, row.name);
  std::erase_if(report.pictures, [&](const LayerPicture& picture) { return picture.layer != row.name; });
  report.network.clear();
  report.curve.clear();
  report.files.clear();
  report.kept.reset();
  report.typed.reset();
  report.final_figures.reset();
  report.other_sums.reset();
  report.model_file = std::filesystem::path(report.model_file).filename().string();
  return report;
}

Json versions(const DiagnoseReport& report) {
  return Json::Object{{"vernier", report.vernier_version},   {"onnxruntime", report.onnxruntime_version},
                      {"onnx", report.onnx_version},         {"machine", report.machine},
                      {"model_sha256", report.model_sha256}, {"data_sha256", report.data_sha256}};
}

}  // namespace

BundleResult bundle_layer(const BundleOptions& options, const JobSinks& sinks) {
  refuse_to_overwrite(options.output, {options.model.file(), options.report});
  const DiagnoseReport report =
      diagnose_report_from_json(read_text(options.report), printable(options.report.string()));
  const LayerRow row = chosen_row(report, options);
  const Model model = read_model(options.model);
  if (model.sha256 != report.model_sha256) {
    throw Error(ErrorCode::OtherModel,
                fmt::format("{}: the report is of another model ({})", printable(options.report.string()),
                            printable(report.model_file)),
                "diagnose this model, or name the one that the report is of");
  }
  const onnx::NodeProto& node = node_of(model, row.name);
  const ScratchFolder folder;
  ExtractOptions extract;
  extract.output = folder / "layer.onnx";
  extract.inputs = inputs_of(model, node);
  extract.outputs = outputs_of(node);
  extract.with_data = options.measure;
  BundleResult result;
  result.warnings = extract_part(model, extract, sinks).warnings;
  result.output = options.output;
  result.layer = row.name;
  const std::string ranges = ranges_of(report, row, extract.output);
  if (!ranges.empty()) replace_file(folder / "ranges.json", ranges);
  result.command = bundle_command(report, !ranges.empty());
  const DiagnoseReport one = of_one(report, row);
  replace_file(folder / "report.json", report_to_json(one));
  replace_file(folder / "versions.json", json_text(versions(report), kPrettyJson) + "\n");
  replace_file(folder / "README.md", bundle_readme(one, !ranges.empty()));
  std::vector<ZippedFile> files;
  for (const char* name : {"README.md", "layer.onnx", "layer_inputs.json", "layer_outputs.json", "ranges.json",
                           "report.json", "versions.json"}) {
    if (!std::filesystem::exists(folder / name)) continue;
    files.push_back({name, folder / name});
    result.files.emplace_back(name);
  }
  write_zip(options.output, files);
  return result;
}

}  // namespace vernier
