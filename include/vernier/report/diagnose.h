// What diagnose() and fix() found, as values. The JSON file is written from these, and text and HTML from the same
// values, so that an old run can be rendered again. A value that was not measured is absent, never zero.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/export.h"
#include "vernier/format.h"
#include "vernier/note.h"
#include "vernier/report/alternatives.h"
#include "vernier/report/causes.h"
#include "vernier/report/engine.h"
#include "vernier/report/figures.h"
#include "vernier/report/kept_set.h"
#include "vernier/report/pictures.h"
#include "vernier/report/text.h"
#include "vernier/report/typed.h"
#include "vernier/report/work.h"
#include "vernier/requirement.h"
#include "vernier/target.h"
#include "vernier/words.h"

namespace vernier {

struct LatencyReport {
  std::optional<double> float_ms, low_ms, repaired_ms;  // median of one sample
  int threads = 1;
  std::string note;      // why a figure is absent, what the kernels were
  std::string engine{};  // that it is of; empty: ONNX Runtime's own kernels
};

struct CurvePoint {  // quality against the number of kept layers, predicted from sensitivities
  std::size_t kept = 0;
  double predicted_sqnr_db = 0;
  std::optional<double> measured_sqnr_db;
};

/// An input with a dimension that the file leaves open, as the samples had it: the first, and dimension by dimension.
struct OpenInput {
  std::string name;
  Shape first, least, most;
  /// What an engine should be fast for: what ‹shapes› says, else that of DiagnoseReport::usual_sample. Absent in
  /// reports of earlier versions.
  std::optional<Shape> usual{};
};

enum class DiagnosisJob { Diagnose, Fix };
/// "diagnose", "fix".
VERNIER_API std::span<const std::string_view> words_of(DiagnosisJob which);

struct DiagnoseReport {
  int version = 1;
  DiagnosisJob job = DiagnosisJob::Diagnose;
  std::string command;  // as typed
  std::string vernier_version, onnxruntime_version, onnx_version;
  bool on_gpu = false;  // the networks ran on a GPU, which onnxruntime_version names
  std::string machine;  // CPU model and cores
  std::string model_file, model_sha256;
  std::string data;         // description of the source
  std::string data_sha256;  // of the samples that were read
  std::size_t samples = 0;  // that the search and the ranking rest on
  std::vector<OpenInput> open_inputs;
  std::optional<std::size_t> usual_sample;  // with the median of elements in open inputs; absent: shapes were given
  /// Figures of everything low, of the repaired network and of the file are cross-fitted: each half of the samples was
  /// judged by the network that the other half taught.
  bool cross_fit = false;
  bool calibrated_on_evaluation_samples = true;
  bool interrupted = false;  // what was not measured by then is absent
  bool random_data = false;
  /// The model is in low precision itself, and nobody gave its float model: the reference is the float network that its
  /// own stored values say, so errors of those values do not show.
  bool reference_from_file = false;
  std::string scheme;  // one line
  std::string runner;  // "trt-sim", ...: what the figures rest on
  Target target = Target::TensorRt;
  std::vector<Format> low;
  Format high = Format::Float32;
  bool trainable = false;           // `vernier fix` can write a configuration of ModelOpt for these formats
  bool weights_per_tensor = false;  // each weight has one scale; false of formats without scales, too
  std::size_t excluded = 0;         // layers that could take a low format, and that the options keep in the high one
  std::optional<LoweredWork> work;  // absent in reports of earlier versions, and of interrupted jobs
  std::optional<Requirement> requirement;

  RunFigures reference;                // prepared float model against the original file
  std::optional<RunFigures> all_high;  // all that may be raised in the high format, when that is not the float model
  RunFigures all_low;
  std::optional<RunFigures> repaired;  // `vernier fix`: all low, with every accepted repair and nothing kept
  std::string given_file;              // DiagnoseOptions::from; empty: none
  std::optional<RunFigures> given;     // that file as it is, simulated
  std::vector<LayerRow> layers;        // ranked: most damaging first
  std::optional<Explanation> explanation;
  std::vector<CurvePoint> curve;
  std::vector<NetworkNode> network;            // in graph order; empty in reports of earlier versions
  std::vector<LayerPicture> pictures;          // of the worst layers, when a report is written
  std::vector<SamplePicture> sample_pictures;  // of the worst samples, when they were asked for
  std::optional<KeptSetReport> kept;
  std::optional<RunFigures> final_figures;     // the claim: cross-fitted, or `verify` of the written file
  std::optional<AgreementChange> top1_change;  // from all low to that claim; absent: its agreement is no lower
  std::optional<RunFigures> in_sample;  // with cross_fit: `verify` of the written file on the samples that taught it
  std::optional<OtherSums> other_sums;  // of that, or without it of all low; target tensorrt, float16 or bfloat16
  std::optional<SaturatedPairs> saturated_pairs;  // of the written file; absent: none saturates
  std::optional<NotSimulated> not_simulated;      // of the written file
  std::optional<TypedReport> typed;
  std::optional<LatencyReport> latency;
  std::optional<EngineReport> compiled;
  std::optional<EngineFigures> engine;    // of the written file, run on an engine that has to agree
  std::vector<Alternative> alternatives;  // what was found first, then other ways; empty: none was measured
  std::vector<PhaseTime> phases;
  std::vector<Note> warnings;
  std::vector<Note> notes;                   // preparation, layers inside bodies, ...
  std::map<std::string, std::string> files;  // "model", "plan", "report", "page", "deploy", "qat" -> path
};

/// Layers that everything low lowers: the count that kept layers are a part of.
VERNIER_API std::size_t lowered_layers(const DiagnoseReport& report);

/// Whether the file that was made has no layer in a format below float32.
VERNIER_API bool wholly_float32(const DiagnoseReport& report);

/// No layer of the answer is in a low format, whichever way it was found: the search keeps every layer that was to be
/// lowered, of a ladder in the high format, or none could be lowered. False before a search.
VERNIER_API bool keeps_everything(const DiagnoseReport& report);

/// As all forms of reports in words of the command, its texts without marks (marks.h), which are not read again either.
VERNIER_API std::string report_to_json(const DiagnoseReport& report);
VERNIER_API DiagnoseReport diagnose_report_from_json(const std::string& text, const std::string& where);
VERNIER_API std::string report_to_text(const DiagnoseReport& report, const TextOptions& options);

/// One HTML file that needs nothing else: no network, no fonts, no other file; light and dark. Names from models are
/// data in it, never markup. Size: about 40 kB, 0.5 kB a layer, and 4 kB for each picture.
/// Cost: linear in the report.
VERNIER_API std::string report_to_html(const DiagnoseReport& report);

/// deploy.md: the exact commands and flags to deploy the result with trtexec 10 and 11, Polygraphy, ONNX Runtime and
/// OpenVINO; exclusion lists for ModelOpt and ONNX Runtime's quantizers; versions and hashes. Commands that were never
/// run here are labelled "documented, not run".
VERNIER_API std::string deploy_markdown(const DiagnoseReport& report);

/// The answer, each iteration with what it would have passed with and the layers that ran high, the words to paste, and
/// what the minimal search needs instead. A function of the report alone; `report.kept` must be there.
VERNIER_API std::string debug_precision_to_text(const DiagnoseReport& report, const TextOptions& options);

}  // namespace vernier
