// The jobs of the command line as functions: each subcommand parses, calls one of these, prints.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "vernier/calibration.h"
#include "vernier/external_data.h"
#include "vernier/format.h"
#include "vernier/quantization.h"
#include "vernier/report.h"
#include "vernier/requirement.h"
#include "vernier/samples.h"
#include "vernier/search_options.h"

namespace vernier {

/// Where a job tells how far it is. Each may be empty.
struct JobSinks {
  /// Phase, items done, items in all. Called often; the receiver decides what to print.
  std::function<void(const std::string& phase, std::size_t done, std::size_t total)> progress;
  std::function<void(const std::string&)> warning;  // also listed in the report
  std::function<void(const std::string&)> info;     // one line a phase, shown with -v
  /// Polled between samples and trials; true ends the job: what was found so far is returned or written.
  std::function<bool()> interrupted;
};

/// What all jobs that measure share (CONTRACT 1, 2, 4, 5).
struct MeasureOptions {
  SourceOptions data;
  std::optional<SourceOptions> calibration_data;  // absent: the samples given
  /// --calibration-cache: when it is there, and belongs to the model, ranges are read from it and no samples are needed
  /// for them; else it is written with those that were learned.
  std::filesystem::path calibration_cache;
  std::vector<std::string> outputs;  // judged outputs; empty: every float output that carries no state
  std::vector<std::pair<std::string, std::string>> carries;  // --carry OUT:IN
  std::optional<Requirement> requirement;
  std::size_t threads = 0;  // 0: all usable cores
};

/// What a network script says of one layer.
struct LayerSetting {
  std::string layer;                 // its name, never a pattern
  std::optional<Format> precision;   // layer.precision
  std::vector<Format> output_types;  // layer.set_output_type()
};

struct PrecisionOptions {
  std::vector<Format> low;  // --int8 --fp16 ...: the lowest that a layer can take wins
  Format high = Format::Float32;
  std::string target = "tensorrt";                               // tensorrt, onnxruntime, openvino
  CalibrationChoice calibration;                                 // how ranges of activations are chosen
  std::vector<std::pair<std::string, Format>> layer_precisions;  // wildcards allowed, later ones win
  std::string constraints = "prefer";                            // obey, prefer, none
  /// Scripts that set precisions on a TensorRT network, file.py:function, in this order; Python and its time as for
  /// data loader scripts (SourceOptions).
  std::vector<std::string> network_scripts;
  std::vector<LayerSetting> layer_settings;  // what scripts have set; wins over layer_precisions
  QuantizationRules rules;
  LayerSelection selection;  // who may take a format with a scale; exceptions above win
};

struct DiagnoseOptions {
  std::filesystem::path model;
  std::filesystem::path output;  // folder; empty: nothing is written
  MeasureOptions measure;
  PrecisionOptions precision;
  std::string command;  // for the record
  bool latency = true;
  SearchOptions search;
  ExternalDataOptions external_data;  // of the typed model
};

/// The whole flow: reference, calibration, own errors, all-low, sensitivities, search, typed model, verify of that
/// file. Steps that a search mode other than Minimal has no use for are left out. Errors: Input, Backend, Usage; a
/// missed requirement is a value (final_figures->passed == false or kept->end).
VERNIER_API DiagnoseReport diagnose(const DiagnoseOptions& options, const JobSinks& sinks = {});

struct VerifyOptions {
  std::filesystem::path float_model;
  std::filesystem::path typed_model;
  MeasureOptions measure;
  TaskRequirement task;  // beside the figures: what decides, in the place of a requirement
  std::string command;
};

/// Reloads a typed file (ours or anyone's), simulates what the file says, and measures it layer by layer.
VERNIER_API VerifyReport verify(const VerifyOptions& options, const JobSinks& sinks = {});

struct ConvertOptions {
  std::filesystem::path model;
  std::filesystem::path output;
  std::filesystem::path plan;  // --plan; else made from `precision`
  PrecisionOptions precision;
  MeasureOptions measure;                  // calibration samples for int8 and fp8
  std::filesystem::path tensor_overrides;  // JSON: scales or ranges of single tensors, instead of calibrated ones
  ExternalDataOptions external_data;
};

/// Layers that do not run in the lowest format asked for, by the one reason they share.
struct SkippedLayers {
  std::string reason;
  std::string runs_in;  // a format, or the type that the file has: "float32", "float64"
  bool chosen = false;  // by the user: a selection or an exception
  std::vector<std::string> op_types;
  std::vector<std::string> layers;  // parallel
};

struct ConvertResult {
  std::string scheme;
  TypedReport typed;
  std::vector<std::string> notes;
  std::vector<std::string> warnings;  // exceptions not honoured, random data: told to the sink as well
  std::map<std::string, std::size_t> layers_by_format;
  std::vector<SkippedLayers> skipped;  // in the order of their first layers
};
VERNIER_API ConvertResult convert(const ConvertOptions& options, const JobSinks& sinks = {});

/// What was written, for people; without the warnings. As JSON: every field, skipped layers by name.
VERNIER_API std::string result_to_text(const ConvertResult& result, const TextOptions& options);
VERNIER_API std::string result_to_json(const ConvertResult& result);

/// `vernier inspect model`: text for people. `show` holds any of layers, attrs, weights, formats.
struct InspectOptions {
  std::filesystem::path model;
  std::vector<std::string> show;
};
VERNIER_API std::string inspect_model(const InspectOptions& options);

/// `vernier inspect data`: saved inputs or results in any form, a .npz or a .npy, as text for people or as JSON.
struct InspectDataOptions {
  std::filesystem::path path;
  bool all = false;          // all iterations, not only the first
  bool show_values = false;  // as NumPy prints them
  bool histogram = false;
  bool json = false;                           // the same as JSON, without values and histograms
  std::optional<std::size_t> edge_items = 3;   // values at each end of a dimension; absent: all
  std::optional<std::size_t> line_width = 75;  // absent: lines end where rows do
};
/// Errors: Input: nothing that is saved data, and at which byte a JSON file is broken.
VERNIER_API std::string inspect_data(const InspectDataOptions& options);

struct SavedFilesOptions {
  std::vector<std::filesystem::path> paths;  // at least one
  std::filesystem::path output;              // saved inputs or results; its form as InputWriter and RunWriter choose it
};

/// `vernier data merge`: sample i of the output holds the arrays of iteration i of every file, outputs of results
/// become inputs. Returns what was written, in words. Memory: one iteration of every file.
VERNIER_API std::string merge_data(const SavedFilesOptions& options, const JobSinks& sinks = {});

/// `vernier data concat`: the iterations of the files one after the other, run by run. Runs go by their names; the time
/// at the end of a runner's name is not looked at. All files must hold inputs, or all results. Memory: one iteration.
VERNIER_API std::string concat_data(const SavedFilesOptions& options, const JobSinks& sinks = {});

/// `vernier doctor`: what was found and tried; `healthy` is false when something needed is missing.
struct DoctorResult {
  std::string text;
  bool healthy = true;
};
VERNIER_API DoctorResult doctor();

}  // namespace vernier
