// How texts, pages and other tools' files name what a diagnosis is about: its formats, its model, its limit.
#pragma once

#include <cstddef>
#include <string>

#include "vernier/report/diagnose.h"
#include "vernier/report/figures.h"
#include "vernier/report/kept_set.h"
#include "vernier/report/typed.h"

namespace vernier {

/// "vernier diagnose", or "vernier fix" where that is what the report's command ran.
const char* program_of(const DiagnoseReport& report);

/// What the answer is of, written or not.
inline constexpr const char* kOutputModel = "the output model";

/// "INT8", or "INT8 except 2 excluded layers": what stands behind "everything in".
std::string all_low_text(const DiagnoseReport& report);

/// "INT8", "INT8 and FP16": what all-low means in this report.
std::string low_text(const DiagnoseReport& report);

/// The figures of everything low, with the accepted repairs of `vernier fix`.
const RunFigures& low_figures(const DiagnoseReport& report);

/// Whether a good part of the network stays high although everything that can be is lowered.
bool lowers_a_part(const DiagnoseReport& report);
/// " (0.3 % of the multiply-accumulates, 1 % of the weight bytes)": the share that everything low lowers; empty if
/// it is most of the work.
std::string lowered_share(const DiagnoseReport& report);
/// "; 2 recurrent layers stay in FP32": what does the rest of the work, and what could not be lowered.
std::string not_lowered(const DiagnoseReport& report);

/// The format of a kept layer: of a ladder the one that it was raised to.
Format kept_in(const DiagnoseReport& report, const std::string& layer);

/// "3 of 20 layers to UINT16 and 1 to FP16 (12 % of the multiply-accumulates)", of a ladder. `raised` follows "layers".
std::string raised_text(const KeptSetReport& kept, const char* raised = "");
/// "3 of 20 layers in FP32 (12 % of the multiply-accumulates)"; of a ladder "3 of 20 layers raised to UINT16 ...".
/// `report.kept` must be there.
std::string kept_text(const DiagnoseReport& report);

/// What a row of the certificate says: "at best 23.4 dB" and "at least 1.07x" of a test that was stopped early.
struct CertificateWords {
  std::string result;      // what decides
  std::string on_samples;  // the figure of these samples, where a bound on new ones decides
  std::string used;        // of the allowed error; empty if there is none
};
CertificateWords certificate_words(const DiagnoseReport& report, const CertificateRow& row);

/// The heading of those results: "bound on new samples (90 %)", or "result".
std::string certified_figure(const DiagnoseReport& report);

/// Whether figures of sets that a search tried are those that hold on new samples.
bool on_new_samples(const DiagnoseReport& report);

/// Python that loads a file despite `crashing_optimizers`.
std::string session_that_runs(const RuntimeCheck& check);

}  // namespace vernier
