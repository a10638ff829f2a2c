// The report of `vernier debug loss` as JSON, and its two tables as CSV with the same fields.
#include <string>
#include <tuple>
#include <vector>

#include "report/export/csv.h"
#include "report/json/document.h"
#include "report/json/fields_figures.h"
#include "vernier/report/debug_loss.h"
#include "vernier/report/figures.h"
#include "vernier/report/note_text.h"

namespace vernier {
namespace {

/// Of the outputs as a whole: everything else is in the tables.
struct OutputLoss {
  std::string name;
  double sqnr_db = 0;
};

}  // namespace

template <>
struct Fields<OutputLoss> {
  using R = OutputLoss;
  static constexpr auto list = std::tuple{Field{"name", &R::name}, Field{"sqnr_db", &R::sqnr_db}};
};

template <>
struct Fields<TensorLoss> {
  using R = TensorLoss;
  static constexpr auto list = std::tuple{Field{"layer", &R::layer},
                                          Field{"operator", &R::op_type},
                                          Field{"tensor", &R::tensor},
                                          Field{"quantized_tensor", &R::quantized_tensor},
                                          Field{"format", &R::format},
                                          Field{"sqnr_db", &R::sqnr_db},
                                          Field{"own_sqnr_db", &R::own_sqnr_db},
                                          Field{"propagated_db", &R::propagated_db}};
};

template <>
struct Fields<QuantizerLoss> {
  using R = QuantizerLoss;
  static constexpr bool (*unmeasured)(const R&) = [](const R& row) { return !row.not_measured.empty(); };
  static constexpr auto list = std::tuple{Field{"tensor", &R::tensor},
                                          Field{"quantizer", &R::quantizer},
                                          Field{"dequantizer", &R::dequantizer},
                                          Field{"weight", &R::weight},
                                          Field{"format", &R::format},
                                          Field{"scales", &R::scales},
                                          Field{"smallest_scale", &R::smallest_scale},
                                          Field{"largest_scale", &R::largest_scale},
                                          Field{"zero_point", &R::zero_point},
                                          Field{"axis", &R::axis},
                                          Field{"block", &R::block},
                                          Field{"sqnr_db", &R::sqnr_db},
                                          Prose{"not_measured", &R::not_measured, unmeasured},
                                          Field{"clip_share", &R::clip_share},
                                          Field{"coverage", &R::coverage},
                                          Field{"used_codes", &R::used_codes},
                                          Field{"values", &R::values}};
};

template <>
struct Fields<DebugLossReport> {
  using R = DebugLossReport;
  static std::vector<OutputLoss> outputs(const R& report) {
    std::vector<OutputLoss> outputs;
    for (const OutputFigure& output : report.figures.outputs) outputs.push_back({output.name, output.sqnr_db});
    return outputs;
  }
  static constexpr bool (*was_examined)(const R&) = [](const R& report) { return report.examined > 0; };
  static constexpr bool (*in_bodies)(const R&) = [](const R& report) { return report.inside_bodies > 0; };
  static constexpr auto list = std::tuple{Field{"version", &R::version},
                                          Field{"command", &R::command},
                                          Field{"float_file", &R::float_file},
                                          Field{"quantized_file", &R::quantized_file},
                                          Field{"data", &R::data},
                                          Field{"samples", &R::samples},
                                          Field{"examined", &R::examined, was_examined},
                                          Derived{"outputs", outputs},
                                          Field{"saturated_pairs", &R::saturated_pairs},
                                          Field{"defects", &R::defects},
                                          Field{"tensors", &R::tensors},
                                          Field{"quantizers", &R::quantizers},
                                          Field{"matched_by_structure", &R::matched_by_structure},
                                          Remarks{"not_compared", "not_compared_codes", &R::not_compared, note_texts},
                                          Field{"inside_bodies", &R::inside_bodies, in_bodies},
                                          Remarks{"warnings", "warning_codes", &R::warnings, note_texts},
                                          Remarks{"notes", "note_codes", &R::notes, note_texts}};
};

std::string report_to_json(const DebugLossReport& report) { return to_document(ReportKind::DebugLoss, report); }

std::string report_to_csv(const DebugLossReport& report) {
  return csv_table(report.tensors) + "\n" + csv_table(report.quantizers);
}

}  // namespace vernier
