#include "report/text/missed_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "base/quote.h"
#include "base/text.h"
#include "report/text/diagnosis_words.h"
#include "report/text/figures.h"
#include "vernier/format.h"
#include "vernier/report/figures.h"
#include "vernier/report/outcome.h"
#include "vernier/target.h"

namespace vernier {
namespace {

/// The margin that would have covered the gap between the search and the file. Empty where margins are not known.
std::string more_room(const DiagnoseReport& report) {
  const double damage = report.final_figures->damage.value_or(0);
  if (!report.requirement || report.requirement->metric == Metric::MinTop1Agreement || !std::isfinite(damage))
    return {};
  const double gap = 10 * std::log10(std::max(damage, 1.0));
  const double margin = report.requirement->margin_db + std::max(0.5, std::ceil(2 * gap) / 2);
  return fmt::format("The gap is {:.1f} dB of error power: --margin {:g} makes the search keep that margin. ", gap,
                     margin);
}

}  // namespace

bool misses_on_new_samples_alone(const RunFigures& run, const Requirement& requirement) {
  const OutputFigure* const figure = deciding_output(run, requirement);
  if (figure == nullptr || requirement.confidence <= 0.5) return false;
  const bool of_top1 = requirement.metric == Metric::MinTop1Agreement;
  if (!of_top1 && requirement.metric != Metric::MinSqnrDb) return false;
  const double limit = requirement.limit_for(figure->name).value_or(0);
  const double value = of_top1 ? figure->top1_agreement.value_or(0) : figure->sqnr_db;
  const std::optional<double>& above = of_top1 ? figure->top1_above : figure->sqnr_above;
  return value >= limit && !(above && *above >= limit);
}

const CertificateRow* needed_for_new_samples_alone(const KeptSetReport& kept, const Requirement& requirement) {
  if (requirement.metric != Metric::MinSqnrDb && requirement.metric != Metric::MinTop1Agreement) return nullptr;
  const auto row = std::ranges::find_if(kept.certificate, [&](const CertificateRow& one) {
    const std::optional<double> limit = requirement.limit_for(one.output);
    return one.on_samples && limit && *one.on_samples >= *limit;
  });
  return row == kept.certificate.end() ? nullptr : &*row;
}

Answer impossible(const DiagnoseReport& report) {
  Answer answer;
  const RunFigures& best = report.all_high ? *report.all_high : report.reference;
  // Such a search raises every layer that may change. The others are low because the user named them.
  const std::size_t raised = report.kept->layers.size();
  const std::size_t fixed = raised == 0 ? 0 : lowered_layers(report) - std::min(raised, lowered_layers(report));
  const std::string every = fixed == 0 ? "every layer" : "every layer that may change";
  answer.sentence = fmt::format("No choice of layers helps: with {} in {} the result is {}, and {} is missed.", every,
                                format_title(report.high), figure_in_sentence(best, report.requirement),
                                required_text(best, *report.requirement));
  if (fixed > 0) {
    answer.then(fmt::format("{} fixed in a low format by --layer-precisions. Remove some of them.",
                            fixed == 1 ? "1 layer is" : fmt::format("{} layers are", fixed)));
  }
  if (report.high != Format::Float32) {
    answer.then(fmt::format("{} itself is not enough. Try -p float32 for the kept layers.", format_title(report.high)));
  }
  const bool more = fixed > 0 || report.high != Format::Float32;
  answer.then(fmt::format(
      "{} the requirement, the data and the reference. Is the limit meant for this output and metric? Are the inputs "
      "prepared as in training?",
      more ? "Otherwise check" : "Check"));
  if (report.random_data) answer.then("The inputs were random. Pass real ones with --data.");
  if (report.files.contains("report")) {
    answer.then(fmt::format("No model was written, because it would have {} in {}.", every, format_title(report.high)));
  }
  return answer;
}

Answer file_misses(const DiagnoseReport& report) {
  Answer answer;
  const RunFigures& figures = *report.final_figures;
  const std::string measured =
      fmt::format("with {} it measures {}", kept_text(report), figure_in_sentence(figures, report.requirement));
  const std::string required = required_text(figures, *report.requirement);
  if (misses_on_new_samples_alone(figures, *report.requirement)) {
    answer.sentence =
        fmt::format("The requirement is missed: {} on these samples, but {} cannot show that {} is met on new ones.",
                    measured, plural(report.samples, "sample"), required);
    answer.then("Give more samples, or accept less certainty (--claim-confidence).");
    return answer;
  }
  answer.sentence = fmt::format("The requirement is missed: {}, and {} is not reached.", measured, required);
  if (keeps_everything(report)) {
    answer.then(report.high == Format::Float32
                    ? "Nothing is left in low precision. FP32 sums in another order differ by as much, so require less."
                    : fmt::format("Nothing is left in low precision, and {} is not enough. Try -p float32 for the kept "
                                  "layers.",
                                  format_title(report.high)));
    say_how_to_train(report, answer);
    return answer;
  }
  answer.then("The search passed in simulation, but the output model does not. " + more_room(report) +
              "See the notes for layers that do not support their format.");
  return answer;
}

void say_how_to_train(const DiagnoseReport& report, Answer& answer) {
  if (const auto file = report.files.find("qat"); file != report.files.end()) {
    answer.then(fmt::format("Train the network in ModelOpt with {}.", printable(file->second)));
  } else if (report.trainable) {
    answer.then("To train the network for it in ModelOpt: vernier fix --qat DIR writes the configuration.");
  }
}

Answer refused_by_runtime(const DiagnoseReport& report) {
  const RuntimeCheck& check = *report.typed->onnxruntime;
  Answer answer;
  const bool crashes = !check.crashing_optimizers.empty();
  answer.sentence = fmt::format("ONNX Runtime {} {} {}.", report.onnxruntime_version,
                                crashes ? "crashes when it loads" : "refuses", kOutputModel);
  if (report.final_figures) {
    answer.sentence +=
        fmt::format(" Simulated, it measures {}.", figure_in_sentence(*report.final_figures, report.requirement));
  }
  if (crashes) {
    answer.then(fmt::format("With default optimizations, {}. The file runs with {}.", printable(check.refused),
                            session_that_runs(check)));
    return answer;
  }
  answer.then("ONNX Runtime's message: " + printable(check.refused));
  // It may name a Cast that Vernier added.
  const bool known = std::ranges::find(report.layers, check.node, &LayerRow::name) != report.layers.end();
  const std::string keep = fmt::format("eep {} in FP32 with --layer-precisions {}.",
                                       known ? fmt::format("'{}'", printable(check.node)) : "the layer that it names",
                                       known ? shell_quote(check.node + ":float32") : "NAME:float32");
  answer.then(check.runs_unoptimized
                  ? "It runs without optimizations: set graph_optimization_level to ORT_DISABLE_ALL, or k" + keep
                  : "K" + keep);
  return answer;
}

}  // namespace vernier
