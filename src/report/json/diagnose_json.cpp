// The report of `vernier diagnose` and `vernier fix` as JSON, and read again.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "report/json/document.h"
#include "report/json/fields_engine.h"
#include "report/json/fields_figures.h"
#include "report/json/fields_kept_set.h"
#include "report/json/kind_schema.h"
#include "vernier/report/alternatives.h"
#include "vernier/report/causes.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/note_text.h"
#include "vernier/report/outcome.h"
#include "vernier/report/pictures.h"
#include "vernier/report/schema.h"
#include "vernier/report/typed.h"

namespace vernier {

template <>
struct Fields<TypedReport> {
  static constexpr bool (*has_large)(const TypedReport&) = [](const TypedReport& typed) {
    return !typed.float_weights.empty();
  };
  static constexpr bool (*counts_layers)(const TypedReport&) = [](const TypedReport& typed) {
    return typed.lowered.has_value();
  };
  static constexpr bool (*counts_weights)(const TypedReport&) = [](const TypedReport& typed) {
    return typed.quantized_weights.has_value();
  };
  static constexpr bool (*counts_refused)(const TypedReport&) = [](const TypedReport& typed) {
    return typed.refused > 0;
  };
  static constexpr auto list = std::tuple{Field{"file", &TypedReport::file},
                                          Field{"casts", &TypedReport::casts},
                                          Field{"quantize_pairs", &TypedReport::quantize_pairs},
                                          Field{"quantized_weights", &TypedReport::quantized_weights, counts_weights},
                                          Field{"quantized_biases", &TypedReport::quantized_biases, counts_weights},
                                          Field{"weight_bytes", &TypedReport::weight_bytes},
                                          Field{"original_weight_bytes", &TypedReport::original_weight_bytes},
                                          Field{"float_weights", &TypedReport::float_weights, has_large},
                                          Field{"lowered", &TypedReport::lowered, counts_layers},
                                          Field{"refused", &TypedReport::refused, counts_refused},
                                          Field{"onnxruntime", &TypedReport::onnxruntime},
                                          Remarks{"notes", "note_codes", &TypedReport::notes, note_texts}};
};

template <>
struct Fields<LatencyReport> {
  static constexpr bool (*on_engine)(const LatencyReport&) = [](const LatencyReport& r) { return !r.engine.empty(); };
  static constexpr auto list = std::tuple{Field{"engine", &LatencyReport::engine, on_engine},
                                          Field{"float_ms", &LatencyReport::float_ms},
                                          Field{"low_ms", &LatencyReport::low_ms},
                                          Field{"repaired_ms", &LatencyReport::repaired_ms},
                                          Field{"threads", &LatencyReport::threads},
                                          Prose{"note", &LatencyReport::note}};
};

template <>
struct Fields<CurvePoint> {
  static constexpr auto list =
      std::tuple{Field{"kept", &CurvePoint::kept}, Field{"predicted_sqnr_db", &CurvePoint::predicted_sqnr_db},
                 Field{"measured_sqnr_db", &CurvePoint::measured_sqnr_db}};
};

template <>
struct Fields<NetworkNode> {
  using R = NetworkNode;
  static constexpr auto list = std::tuple{Field{"name", &R::name}, Field{"op_type", &R::op_type},
                                          Field{"inputs", &R::inputs}, Field{"shape", &R::shape}};
};

template <>
struct Fields<ChannelRanges> {
  using R = ChannelRanges;
  static constexpr auto list =
      std::tuple{Field{"tensor", &R::tensor}, Field{"channels", &R::channels}, Field{"per_entry", &R::per_entry},
                 Field{"low", &R::low}, Field{"high", &R::high}};
};

template <>
struct Fields<ValuePicture> {
  using R = ValuePicture;
  static constexpr auto list = std::tuple{Field{"tensor", &R::tensor},
                                          Field{"role", &R::role},
                                          Field{"logarithmic", &R::logarithmic},
                                          Field{"first", &R::first},
                                          Field{"last", &R::last},
                                          Field{"reference", &R::reference},
                                          Field{"low", &R::low},
                                          Field{"reference_zeros", &R::reference_zeros},
                                          Field{"low_zeros", &R::low_zeros},
                                          Field{"low_nonfinite", &R::low_nonfinite},
                                          Field{"step", &R::step},
                                          Field{"clip_low", &R::clip_low},
                                          Field{"clip_high", &R::clip_high},
                                          Field{"smallest", &R::smallest},
                                          Field{"channels", &R::channels}};
};

template <>
struct Fields<LayerPicture> {
  using R = LayerPicture;
  static constexpr auto list =
      std::tuple{Field{"layer", &R::layer}, Field{"samples", &R::samples}, Field{"tensors", &R::tensors}};
};

template <>
struct Fields<CauseFigure> {
  using R = CauseFigure;
  static constexpr auto list = std::tuple{Field{"name", &R::name}, Field{"value", &R::value}, Field{"unit", &R::unit}};
};

template <>
struct Fields<Cause> {
  using R = Cause;
  static constexpr auto list = std::tuple{Field{"id", &R::id},           Field{"layer", &R::layer},
                                          Field{"tensor", &R::tensor},   Field{"confidence", &R::confidence},
                                          Field{"figures", &R::figures}, Prose{"sentence", &R::sentence},
                                          Field{"repairs", &R::repairs}, Field{"share", &R::share}};
};

template <>
struct Fields<Blame> {
  using R = Blame;
  static constexpr auto list = std::tuple{
      Field{"layer", &R::layer},        Field{"weights", &R::weights},   Field{"activations", &R::activations},
      Field{"clipping", &R::clipping},  Field{"rounding", &R::rounding}, Field{"accumulation", &R::accumulation},
      Field{"inherited", &R::inherited}};
};

template <>
struct Fields<RepairTried> {
  using R = RepairTried;
  static constexpr auto list = std::tuple{Field{"id", &R::id},
                                          Field{"layers", &R::layers},
                                          Field{"before_db", &R::before_db},
                                          Field{"after_db", &R::after_db},
                                          Field{"neutral_db", &R::neutral_db},
                                          Field{"accepted", &R::accepted},
                                          Prose{"why", &R::why}};
};

template <>
struct Fields<Explanation> {
  using R = Explanation;
  static bool has_ordinary(const R& explanation) { return !explanation.ordinary.empty(); }
  static constexpr auto list =
      std::tuple{Field{"examined", &R::examined}, Field{"ordinary", &R::ordinary, has_ordinary},
                 Field{"causes", &R::causes},     Field{"blame", &R::blame},
                 Field{"repairs", &R::repairs},   Field{"proposals", &R::proposals},
                 Field{"samples", &R::samples}};
};

template <>
struct Fields<WorseFigure> {
  using R = WorseFigure;
  static constexpr auto list = std::tuple{Field{"output", &R::output}, Field{"top1", &R::top1},
                                          Field{"before", &R::before}, Field{"now", &R::now}};
};

template <>
struct Fields<Alternative> {
  using R = Alternative;
  static constexpr bool (*is_adopted)(const R&) = [](const R& row) { return row.adopted; };
  static constexpr auto list = std::tuple{Prose{"change", &R::change},
                                          Field{"low", &R::low},
                                          Field{"target", &R::target},
                                          Field{"end", &R::end},
                                          Prose{"why", &R::why},
                                          Field{"kept", &R::kept},
                                          Field{"lowered", &R::lowered},
                                          Field{"repairs", &R::repairs},
                                          Field{"kept_macs", &R::kept_macs},
                                          Field{"total_macs", &R::total_macs},
                                          Field{"cost", &R::cost},
                                          Field{"figures", &R::figures},
                                          Field{"metric", &R::metric},
                                          Field{"ms", &R::ms},
                                          Field{"float_ms", &R::float_ms},
                                          Field{"seconds", &R::seconds},
                                          Field{"adopted", &R::adopted, is_adopted},
                                          Field{"worse", &R::worse}};
};

template <>
struct Fields<SamplePicture> {
  using R = SamplePicture;
  static constexpr auto list =
      std::tuple{Field{"sample", &R::sample}, Field{"input", &R::input}, Field{"png", &R::png}};
};

template <>
struct Fields<LoweredWork> {
  using R = LoweredWork;
  static constexpr auto list = std::tuple{Field{"macs", &R::macs},
                                          Field{"total_macs", &R::total_macs},
                                          Field{"weight_bytes", &R::weight_bytes},
                                          Field{"total_weight_bytes", &R::total_weight_bytes},
                                          Field{"recurrent", &R::recurrent},
                                          Field{"on_codes", &R::on_codes},
                                          Field{"others", &R::others},
                                          Field{"deciding", &R::deciding, optional_field<R>}};
};

template <>
struct Fields<OpenInput> {
  using R = OpenInput;
  static constexpr auto list = std::tuple{Field{"name", &R::name}, Field{"first", &R::first}, Field{"least", &R::least},
                                          Field{"most", &R::most}, Field{"usual", &R::usual}};
};

template <>
struct Fields<DiagnoseReport> {
  using R = DiagnoseReport;
  static constexpr bool (*leaves_open)(const R&) = [](const R& report) { return !report.open_inputs.empty(); };
  // Reports of earlier versions, and those that were not written, have none of these.
  static constexpr bool (*drawn)(const R&) = [](const R& report) { return !report.network.empty(); };
  static constexpr bool (*pictured)(const R&) = [](const R& report) { return !report.pictures.empty(); };
  static constexpr bool (*shows_samples)(const R&) = [](const R& report) { return !report.sample_pictures.empty(); };
  static constexpr bool (*halved)(const R&) = [](const R& report) { return report.cross_fit; };
  static constexpr bool (*compared)(const R&) = [](const R& report) { return !report.alternatives.empty(); };
  static constexpr bool (*read_samples)(const R&) = [](const R& report) { return !report.data_sha256.empty(); };
  static constexpr bool (*has_given)(const R&) = [](const R& report) { return !report.given_file.empty(); };
  static constexpr bool (*from_file)(const R&) = [](const R& report) { return report.reference_from_file; };
  static constexpr bool (*has_work)(const R&) = [](const R& report) { return report.work.has_value(); };
  static constexpr bool (*loses_top1)(const R&) = [](const R& report) { return report.top1_change.has_value(); };
  static constexpr bool (*trains)(const R&) = [](const R& report) { return report.trainable; };
  static constexpr bool (*per_tensor)(const R&) = [](const R& report) { return report.weights_per_tensor; };
  static constexpr bool (*some_excluded)(const R&) = [](const R& report) { return report.excluded > 0; };
  static constexpr auto list = std::tuple{
      Field{"version", &R::version},
      Field{"job", &R::job, optional_field<R>},
      Field{"command", &R::command},
      Field{"vernier_version", &R::vernier_version},
      Field{"onnxruntime_version", &R::onnxruntime_version},
      Field{"on_gpu", &R::on_gpu, ran_on_gpu<R>},
      Field{"onnx_version", &R::onnx_version},
      Field{"machine", &R::machine},
      Field{"model_file", &R::model_file},
      Field{"model_sha256", &R::model_sha256},
      Field{"data", &R::data},
      Field{"data_sha256", &R::data_sha256, read_samples},
      Field{"samples", &R::samples},
      Field{"open_inputs", &R::open_inputs, leaves_open},
      Field{"usual_sample", &R::usual_sample},
      Field{"cross_fit", &R::cross_fit, halved},
      Field{"calibrated_on_evaluation_samples", &R::calibrated_on_evaluation_samples},
      Field{"random_data", &R::random_data},
      Field{"reference_from_file", &R::reference_from_file, from_file},
      Field{"interrupted", &R::interrupted},
      Field{"scheme", &R::scheme},
      Field{"runner", &R::runner},
      Field{"target", &R::target},
      Field{"low", &R::low},
      Field{"high", &R::high},
      Field{"trainable", &R::trainable, trains},
      Field{"weights_per_tensor", &R::weights_per_tensor, per_tensor},
      Field{"excluded", &R::excluded, some_excluded},
      Field{"work", &R::work, has_work},
      Field{"requirement", &R::requirement},
      Field{"reference", &R::reference},
      Field{"all_high", &R::all_high},
      Field{"all_low", &R::all_low},
      Field{"repaired", &R::repaired},
      Field{"given_file", &R::given_file, has_given},
      Field{"given", &R::given},
      Field{"kept", &R::kept},
      Field{"final_figures", &R::final_figures},
      Field{"top1_change", &R::top1_change, loses_top1},
      Field{"in_sample", &R::in_sample, halved},
      Field{"other_sums", &R::other_sums},
      Field{"saturated_pairs", &R::saturated_pairs},
      Field{"not_simulated", &R::not_simulated},
      Field{"engine", &R::engine},
      Field{"typed", &R::typed},
      Field{"alternatives", &R::alternatives, compared},
      Field{"latency", &R::latency},
      Field{"compiled", &R::compiled},
      Field{"phases", &R::phases},
      Remarks{"warnings", "warning_codes", &R::warnings, note_texts},
      Remarks{"notes", "note_codes", &R::notes, note_texts},
      Field{"files", &R::files},
      Field{"curve", &R::curve},
      Field{"layers", &R::layers},
      Field{"explanation", &R::explanation},
      Field{"network", &R::network, drawn},
      Field{"pictures", &R::pictures, pictured},
      Field{"sample_pictures", &R::sample_pictures, shows_samples},
  };
};

std::span<const std::string_view> words_of(DiagnosisJob /*which*/) {
  static constexpr std::array<std::string_view, 2> kWords{"diagnose", "fix"};
  return kWords;
}

std::span<const std::string_view> words_of(AlternativeEnd /*which*/) {
  static constexpr std::array<std::string_view, 4> kWords{"met", "unfinished", "missed", "not-measured"};
  return kWords;
}

constexpr const char* kOutcome = "outcome";

Json document_of(const DiagnoseReport& report) {
  Json json = json_of(report);
  // For those who read it without this library; it follows from the rest.
  json.members().insert(json.members().begin(), {kOutcome, word_of(outcome_of(report))});
  return document_of(ReportKind::Diagnose, std::move(json));
}

std::string report_schema() {
  Json schema = kind_schema<DiagnoseReport>(
      ReportKind::Diagnose,
      "The report of vernier diagnose, fix and debug precision. Values that were not measured are absent.");
  Json outcome = Json::object(), outcomes = Json::array();
  for (const std::string_view word : words_of(Outcome{})) outcomes.add(word);
  outcome.add("enum", std::move(outcomes));
  schema.at("properties").add(kOutcome, std::move(outcome));
  return json_text(schema, kPrettyJson) + "\n";
}

std::string report_to_json(const DiagnoseReport& report) { return json_text(document_of(report), kPrettyJson) + "\n"; }

namespace {

/// Who decided, from the words of reports that were written before it had a field (0.2 and earlier).
DecidedBy former_decided_by(const std::string& objective) {
  if (objective.empty()) return DecidedBy::Requirement;
  if (objective == "--check by a person (--ask)") return DecidedBy::Person;
  if (objective.starts_with("--check")) return DecidedBy::Program;
  if (objective.starts_with("--metric-script")) return DecidedBy::Script;
  if (objective.starts_with("--min-top1-agreement")) return DecidedBy::Engine;
  if (objective.starts_with("--min-top")) return DecidedBy::Labels;
  const bool on_engine = std::ranges::any_of(
      all_metrics(), [&](Metric metric) { return objective.starts_with(fmt::format("--{} ", word_of(metric))); });
  return on_engine ? DecidedBy::Engine : DecidedBy::Comparison;
}

void read_former_words(const std::string& command, KeptSetReport& kept) {
  kept.decided_by = former_decided_by(kept.objective);
  kept.golden = kept.objective.find(", against ") != std::string::npos;
  kept.minimum_asked =
      command.find("--prove-minimum") != std::string::npos || command.find("--prove_minimum") != std::string::npos;
  kept.resumed = command.find(" --resume") != std::string::npos;
}

}  // namespace

DiagnoseReport diagnose_report_from_json(const std::string& text, const std::string& where) {
  Json json = parse_document(ReportKind::Diagnose, text, where);
  json.erase(kOutcome);
  DiagnoseReport report;
  read_json(json, Place(where), report);
  if (!json.contains("job") && report.command.starts_with("vernier fix ")) report.job = DiagnosisJob::Fix;
  // Until 0.2 the scheme alone said it: "weights int8 symmetric per tensor, bias int32".
  const std::size_t weights = report.scheme.find("weights ");
  if (weights != std::string::npos) {
    const std::string of_them = report.scheme.substr(weights, report.scheme.find_first_of(",;", weights) - weights);
    report.weights_per_tensor = report.weights_per_tensor || of_them.ends_with("symmetric per tensor");
  }
  const Json* const kept = json.find("kept");
  if (report.kept && !kept->contains("decided_by")) read_former_words(report.command, *report.kept);
  return report;
}

}  // namespace vernier
