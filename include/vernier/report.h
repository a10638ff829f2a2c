// What the tool found out, as values. The JSON file is written from these, and text and HTML from that JSON, so an old
// run can be rendered again. A value that was not measured is absent, never zero. All SQNR in dB.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "vernier/causes.h"
#include "vernier/format.h"
#include "vernier/report_pictures.h"
#include "vernier/requirement.h"

namespace vernier {

/// One judged output of one run, against the reference.
struct OutputFigure {
  std::string name;
  double sqnr_db = 0;  // pooled over samples; +inf when equal, -inf when not finite where the reference is
  double worst_sqnr_db = 0;
  std::size_t worst_sample = 0;
  double max_abs_error = 0;
  double mse = 0;
  double cosine = 0;
  std::optional<double> top1_agreement;  // share of rows whose largest element is at the same place
  std::int64_t nonfinite = 0;            // elements not finite where the reference is
  std::int64_t reference_nonfinite = 0;
};

/// One run: all high, all low, repaired, final.
struct RunFigures {
  std::vector<OutputFigure> outputs;
  std::optional<bool> passed;    // absent without a requirement
  std::optional<double> damage;  // share of the allowance used; 1 is exactly the limit
};

struct LayerRow {
  std::string name;
  std::string op_type;
  std::string graph;                         // "" for the main graph
  Format format = Format::Float32;           // in the all-low plan
  std::optional<double> own_sqnr_db;         // its own error, on reference inputs
  std::optional<double> propagated_sqnr_db;  // with everything before it low too
  std::optional<double> inherited_sqnr_db;   // of what arrives with its inputs: propagated less own noise power
  std::optional<double> sensitivity_db;      // SQNR of the worst judged output with only this layer low
  std::optional<double> share;               // of the summed damage of all layers, 0..1
  std::int64_t values = 0;                   // rounded values looked at for the counts below
  std::int64_t overflowed = 0, saturated = 0, subnormal = 0, flushed = 0, nan = 0;
  std::int64_t macs = 0;  // multiply-accumulates of one sample
  bool kept = false;
};

struct CertificateRow {
  std::string layer;
  double metric = 0;         // of the kept set without this layer
  double damage = 0;         // > 1: fails
  bool lower_bound = false;  // stopped as soon as the failure was certain
  std::size_t samples = 0;   // that decided; 0: not counted
  double confidence = 1;     // of the failure; 1: certain
};

struct TestRow {                    // one trial of a search
  std::vector<std::string> layers;  // that ran in the high format
  std::string verdict;              // good, bad, invalid, timed-out, unstable
  double metric = 0;
  double damage = 0;
  bool lower_bound = false;  // stopped as soon as the failure was certain
  std::string needs;         // what it would pass with, in words; empty: not known
  std::size_t samples = 0;   // that decided; 0: not counted (an outside check)
  double confidence = 1;     // of the verdict; 1: certain
};

struct LayerGroup {                 // layers that should switch together
  std::vector<std::string> layers;  // in graph order
  std::string why;                  // "they read one quantized tensor, 'x'"
  std::size_t kept = 0;             // of them in the answer
};

struct RankingReport {                     // predictions against what was measured
  std::optional<double> ratio;             // measured / predicted damage at the last guided trial
  std::optional<double> rank_correlation;  // Spearman's, of predicted damages and those measured near the limit
  std::size_t compared = 0;                // layers it rests on
  bool mended = false;                     // replaced on the way by better ones
};

struct ParetoPoint {  // one set that was tried
  std::vector<std::string> layers;
  double cost = 0;  // borders included, in the unit of the search
  double metric = 0;
  double damage = 0;
  bool front = false;  // none that costs less has less damage
};

struct MinimalInstead {  // what the minimal search keeps where another one was asked for
  std::vector<std::string> layers;
  bool certified = false;
  std::size_t evaluations = 0;  // beyond those of the other search
};

struct KeptSetReport {
  std::vector<std::string> layers;
  std::string mode = "minimal";       // bisect, linear, worst-first
  std::string direction = "forward";  // reverse: the last layers
  std::string end;                    // certified, found, nothing-needed, impossible, stopped, unstable
  std::string objective;              // what decided, when it was no requirement: "simple, against golden.json"
  std::vector<TestRow> tests;         // every trial, in order
  std::optional<MinimalInstead> minimal;
  std::optional<TestRow> file_test;  // the written file, by that objective
  std::string cost_unit = "layers";
  double cost = 0;  // of the set, borders included
  std::optional<double> cost_of_all;
  std::optional<double> lower_bound;  // no set that passes costs less, if the network is monotone
  std::vector<ParetoPoint> pareto;    // cheapest first
  std::vector<LayerGroup> groups;     // those that hold a kept layer
  std::optional<RankingReport> ranking;
  std::size_t sample_inferences = 0;  // one sample through the network once: everything from the reference run on
  std::vector<std::string> assumed;   // what the answer rests on without a test
  std::vector<std::string> proven;    // what was tested
  std::size_t recalled = 0;           // evaluations that came from the journal
  bool certified = false;
  std::vector<CertificateRow> certificate;
  std::optional<double> metric;  // of the kept set, as the search simulated it; the claim is final_figures
  std::size_t evaluations = 0;   // of the full sample set, the two ends included
  std::int64_t kept_macs = 0, total_macs = 0;
  std::vector<std::string> notes;
};

struct TypedReport {
  std::string file;
  std::int64_t casts = 0;
  std::int64_t quantize_pairs = 0;
  std::int64_t weight_bytes = 0, original_weight_bytes = 0;
  std::vector<std::string> notes;
};

struct LatencyReport {
  std::optional<double> float_ms, low_ms, repaired_ms;  // median of one sample on ONNX Runtime's own kernels
  int threads = 1;
  std::string note;  // why a figure is absent, what the kernels were
};

struct PhaseTime {
  std::string phase;
  double seconds = 0;
};

struct CurvePoint {  // quality against the number of kept layers, predicted from sensitivities
  std::size_t kept = 0;
  double predicted_sqnr_db = 0;
  std::optional<double> measured_sqnr_db;
};

struct DiagnoseReport {
  int version = 1;
  std::string command;  // as typed
  std::string vernier_version, onnxruntime_version, onnx_version;
  std::string machine;  // CPU model and cores
  std::string model_file, model_sha256;
  std::string data;         // description of the source
  std::string data_sha256;  // of the samples that were read
  std::size_t samples = 0;
  bool calibrated_on_evaluation_samples = true;
  bool interrupted = false;  // what was not measured by then is absent
  bool random_data = false;
  std::string scheme;  // one line
  std::string runner;  // "trt-sim", ...: what the figures rest on
  std::string target;
  std::vector<Format> low;
  Format high = Format::Float32;
  std::optional<Requirement> requirement;

  RunFigures reference;                // prepared float model against the original file
  std::optional<RunFigures> all_high;  // all that may be raised in the high format, when that is not the float model
  RunFigures all_low;
  std::optional<RunFigures> repaired;  // `vernier fix`: all low, with every accepted repair and nothing kept
  std::vector<LayerRow> layers;        // ranked: most damaging first
  std::optional<Explanation> explanation;
  std::vector<CurvePoint> curve;
  std::vector<NetworkNode> network;    // in graph order; empty in reports of earlier versions
  std::vector<LayerPicture> pictures;  // of the worst layers, when a report is written
  std::optional<KeptSetReport> kept;
  std::optional<RunFigures> final_figures;  // `verify` of the written file: the claim
  std::optional<TypedReport> typed;
  std::optional<LatencyReport> latency;
  std::vector<PhaseTime> phases;
  std::vector<std::string> warnings;
  std::vector<std::string> notes;            // preparation, layers inside bodies, ...
  std::map<std::string, std::string> files;  // "model", "plan", "report", "page", "deploy" -> path
};

struct VerifyReport {
  int version = 1;
  std::string command;
  std::string vernier_version, onnxruntime_version, onnx_version;
  std::string machine;
  std::string float_file, float_sha256;
  std::string typed_file, typed_sha256;
  std::string data;
  std::size_t samples = 0;
  bool random_data = false;
  RunFigures figures;
  std::vector<LayerRow> layers;           // graph order; formats are what the file says
  std::size_t compared = 0;               // layers compared
  std::vector<std::string> not_compared;  // names, with reasons
  std::string objective;                  // labels or a script that decide, in words; empty: none
  std::optional<TestRow> test;            // of the typed file, by that
  std::optional<Requirement> requirement;
  std::string doubt;  // near the limit, when kernels that sum in another order give another verdict; also a warning
  std::vector<PhaseTime> phases;
  std::vector<std::string> warnings;
  std::vector<std::string> notes;
};

/// JSON and text forms. Text is a function of the report alone.
VERNIER_API std::string report_to_json(const DiagnoseReport& report);
VERNIER_API DiagnoseReport diagnose_report_from_json(const std::string& text, const std::string& where);
VERNIER_API std::string report_to_json(const VerifyReport& report);

struct TextOptions {
  std::size_t width = 100;  // columns that text is wrapped at
  std::size_t top = 15;     // rows of the ranked table; 0: all
  bool color = false;
  bool whole_names = false;  // tables as wide as their names, for files and logs
};
VERNIER_API std::string report_to_text(const DiagnoseReport& report, const TextOptions& options);
VERNIER_API std::string report_to_text(const VerifyReport& report, const TextOptions& options);

/// deploy.md: the exact commands and flags to deploy the result with trtexec 10 and 11, Polygraphy, ONNX Runtime and
/// OpenVINO; exclusion lists for ModelOpt and ONNX Runtime's quantizers; versions and hashes. Commands that were never
/// run here are labelled "documented, not run".
VERNIER_API std::string deploy_markdown(const DiagnoseReport& report);

}  // namespace vernier
