// What a run's figures say: the output that decides, the phrase against the requirement, the table of runs.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "vernier/arithmetic.h"
#include "vernier/report/figures.h"
#include "vernier/report/kept_set.h"
#include "vernier/report/text.h"
#include "vernier/requirement.h"

namespace vernier {

struct DiagnoseReport;
struct VerifyReport;

/// The metric's value in a figure; nullopt when it was not measured (top-1 of an output that has no rows).
std::optional<double> metric_value(Metric metric, const OutputFigure& figure);

/// The same metric on new samples, at least, at the requirement's confidence. nullopt: the figure itself decides.
std::optional<double> bound_on_new_samples(const OutputFigure& figure, const std::optional<Requirement>& requirement);
/// ", above 18.7 dB on new samples (90 % sure)": the bound that decides about `run`; empty: its figure does.
std::string bound_clause(const RunFigures& run, const std::optional<Requirement>& requirement);

/// The output with the least room: by requirement when there is one, else the lowest SQNR. nullptr when the run has
/// none.
const OutputFigure* deciding_output(const RunFigures& run, const std::optional<Requirement>& requirement);

/// "24.3 dB" of the deciding output; ", output 'scores'" follows when the run has several. "not measured" without one.
std::string figure_text(const RunFigures& run, const std::optional<Requirement>& requirement);

/// The same with the name of the figure: "SQNR 24.3 dB".
std::string named_figure(const RunFigures& run, const std::optional<Requirement>& requirement);
/// The same behind a verb: "an SQNR of 24.3 dB".
std::string figure_in_sentence(const RunFigures& run, const std::optional<Requirement>& requirement);

/// The clause that stands next to a verdict for layers with values that are not finite; empty: there are none.
std::string nonfinite_clause(const RunFigures& run);

/// What stands beside a met requirement. Empty where nothing does.
struct Reservation {
  std::string clause;  // ", but on x86 CPUs without VNNI it is at 2.0 dB in ONNX Runtime"
  std::string badge;   // "Met, except on CPUs without VNNI"
  bool empty() const { return clause.empty(); }
};
/// Of `figures`, which met the requirement: a layer that overflows and, where no engine's figures decide, CPUs that
/// miss it and nodes that the engine computes otherwise. Files with int8 data alone, as TensorRT takes them, do not
/// count for CPUs.
Reservation reservation_of(const DiagnoseReport& report, const RunFigures& figures);
Reservation reservation_of(const VerifyReport& report);

/// Whether this figure of a layer was measured of any.
bool is_measured(const std::vector<LayerRow>& layers, std::optional<double> LayerRow::*figure);

/// The smallest share of largest classes that are the float model's; nullopt where no output is class scores.
std::optional<double> same_top1(const RunFigures& run);

/// How much of what a metric allows is used, in the metric's own unit: the damage of a report is of error power.
double allowance_used(Metric metric, double damage);

/// "the required 24 dB"; of the deciding output of `run`.
std::string required_text(const RunFigures& run, const Requirement& requirement);

/// "TensorRT-RTX's sums", "sums in float32": what a run with such sums is called.
std::string sums_text(Accumulate accumulate);

/// "With FP16 accumulation, as measured on TensorRT-RTX (--accumulate float16), 24.3 dB: the required 30 dB is missed."
/// Without a requirement the figure alone.
std::string other_sums_sentence(const OtherSums& other, const std::optional<Requirement>& requirement);

/// The requirement is missed where the engine sums as was measured, whatever it is in float32.
bool missed_as_measured(const std::optional<OtherSums>& other);

/// "--min-sqnr 24 dB", "--min-sqnr 24 dB, scores 46 dB".
std::string requirement_text(const Requirement& requirement);

/// ": 96.7 % right, the float model 98.3 %. 95 % confidence over these 60 samples: 88.6 to 99.1 %": of a test by
/// labels.
std::string right_text(const TestRow& test);

/// "95 % lies within what these samples leave open: about 1,200 samples would decide it, if the figure stays."; empty
/// where `limit` lies outside of what is left open. `text` is the limit in words.
std::string undecided_text(const SamplingInterval& interval, double value, double limit, const std::string& text,
                           std::size_t samples);

/// One row per run and output: SQNR, worst sample, largest error, cosine, and top-1 and counts of not finite values
/// where there are any.
std::string figures_table(const std::vector<std::pair<std::string, const RunFigures*>>& runs,
                          const TextOptions& options);

}  // namespace vernier
