#include "report/text/diagnose_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>

#include "base/layout.h"
#include "base/quote.h"
#include "base/text.h"
#include "report/export/trtexec_shapes.h"
#include "report/text/alternatives_text.h"
#include "report/text/commands.h"
#include "report/text/diagnosis_words.h"
#include "report/text/figures.h"
#include "report/text/how_sure.h"
#include "report/text/missed_answer.h"
#include "report/text/numbers.h"
#include "report/told.h"
#include "vernier/format.h"
#include "vernier/report/figures.h"
#include "vernier/report/kept_set.h"
#include "vernier/report/outcome.h"

namespace vernier {
namespace {

/// How a run that was cut short goes on. `what_for`: "to get a certified set"; may be empty.
std::string same_command(const DiagnoseReport& report, const std::string& what_for = {}) {
  const bool resumes = report.kept && !report.kept->journal.empty() && !report.kept->resumed;
  return fmt::format("Run the same command {}{}.", resumes ? "with --resume" : "again",
                     what_for.empty() ? "" : " " + what_for);
}

/// "keep 3 of 20 layers in FP32", with the verb of a ladder "raise 3 of 20 layers to FP16".
std::string with_verb(const DiagnoseReport& report, const char* keep, const char* raise) {
  return report.kept->ladder ? fmt::format("{} {}", raise, raised_text(*report.kept))
                             : fmt::format("{} {}", keep, kept_text(report));
}

/// How a sentence about the kept layers begins.
std::string keeps(const DiagnoseReport& report) {
  if (report.kept->end != SearchEnd::Stopped) return with_verb(report, "Keep", "Raise");
  return "Stopped early, so fewer layers may be enough: " + with_verb(report, "keep", "raise");
}

/// Of a model that was not measured: `wanted` is known to be met by simulated trials alone.
Answer not_verified(const DiagnoseReport& report, const std::string& wanted) {
  Answer answer;
  answer.sentence = fmt::format("Not verified: Vernier did not measure whether {} meets {}.", kOutputModel, wanted);
  if (report.kept->end == SearchEnd::NothingNeeded) {
    const RunFigures& low = low_figures(report);
    answer.sentence += fmt::format(" In simulation no layer needs {}{}.", format_title(report.high),
                                   report.requirement ? ": everything in " + all_low_text(report) +
                                                            (report.repaired ? " with all accepted repairs" : "") +
                                                            " gives " + figure_in_sentence(low, report.requirement)
                                                      : "");
  } else {
    answer.sentence += fmt::format(
        " In simulation, {} is enough{}.", with_verb(report, "keeping", "raising"),
        report.kept->end == SearchEnd::Stopped ? "; the search was stopped, so fewer layers may be enough" : "");
  }
  answer.then(same_command(report, "for a verified answer"));
  return answer;
}

void say_how_to_deploy(const DiagnoseReport& report, Answer& answer) {
  if (!report.files.contains("model")) {
    answer.then("Nothing was written. Pass -o FOLDER for the output model, its plan and deploy.md.");
    return;
  }
  if (!report.files.contains("deploy")) return;  // a disk took the one and not the other
  const std::string model = report.files.at("model");
  const bool tensorrt = report.target == Target::TensorRt;
  const std::string where = printable(report.files.at("deploy")) + " has the commands for each engine.";
  if (!tensorrt) return answer.then(where);
  answer.then(where + " For TensorRT 10 (untested):",
              fmt::format("trtexec --onnx={} --stronglyTyped --saveEngine={}{}{}", shell_quote(model),
                          shell_quote(std::filesystem::path(model).replace_extension(".engine").string()),
                          trtexec_shapes(report, " "), report.high == Format::Float32 ? " --noTF32" : ""));
}

double deciding_sqnr_db(const RunFigures& run) {
  const OutputFigure* figure = deciding_output(run, {});
  return figure == nullptr ? -std::numeric_limits<double>::infinity() : figure->sqnr_db;
}

/// What the task may see of the result, beside a figure that it does not see.
void say_agreement(const DiagnoseReport& report, const RunFigures& run, Answer& answer) {
  const std::optional<double> agreement = same_top1(run);
  if (!agreement || (report.requirement && report.requirement->metric == Metric::MinTop1Agreement)) return;
  answer.sentence += fmt::format(" Top-1 agreement with the float model: {}.", percent_text(agreement));
  const std::optional<double> before = same_top1(report.all_low);
  const bool costs = report.top1_change && report.top1_change->costs();
  if (!before || !costs || deciding_sqnr_db(run) <= deciding_sqnr_db(report.all_low)) return;
  answer.then(fmt::format(
      "SQNR and task disagree: compared with everything in {}, SQNR rose, but top-1 agreement fell from {} to {}. It "
      "was lost in {} of {} and won in {}, more than chance. Let the task decide: --min-top1-agreement, or --labels "
      "FILE --min-top1.",
      low_text(report), percent_text(before), percent_text(agreement), report.top1_change->worse,
      plural(report.samples, "sample"), report.top1_change->better));
}

Answer without_requirement(const DiagnoseReport& report) {
  const std::string not_searched =
      fmt::format("No requirement was given, so Vernier did not search. With one, it finds the layers to keep{}.",
                  report.files.empty() ? ", and -o FOLDER writes the model" : "");
  Answer answer;
  // Later sentences are about the samples of the file, if there is one.
  const RunFigures& low = report.final_figures ? *report.final_figures : low_figures(report);
  answer.sentence =
      fmt::format("Everything {}{}{}{}: {}{}.", lowers_a_part(report) ? "that can be in " : "in ", all_low_text(report),
                  lowered_share(report), report.repaired ? " with all accepted repairs" : "", named_figure(low, {}),
                  not_lowered(report));
  if (report.repaired) {  // fix() was asked for the repairs alone
    answer.then(not_searched);
    return answer;
  }
  double share = 0;
  std::size_t worst = 0;
  while (worst < report.layers.size() && worst < 3 && report.layers[worst].share && share < 0.5) {
    share += *report.layers[worst++].share;
  }
  if (worst == 1 && lowered_layers(report) > 1) {
    answer.sentence += fmt::format(" One of {}, '{}', does {} of the damage.", plural(lowered_layers(report), "layer"),
                                   shorten_middle(printable(report.layers[0].name), 40), percent_text(share));
  } else if (worst > 1) {
    answer.sentence += fmt::format(" The worst {} of {} do {} of the damage.", worst,
                                   plural(lowered_layers(report), "layer"), percent_text(share));
  }
  answer.then(not_searched);
  // A tenth of the layers kept is what a repair usually may cost. Where keeping some was measured to help little
  // although the prediction says otherwise, the next point is taken.
  const double all_low_db = deciding_sqnr_db(report.all_low);
  const auto figure = [](const CurvePoint& point) { return point.measured_sqnr_db.value_or(point.predicted_sqnr_db); };
  const auto point = std::find_if(report.curve.begin(), report.curve.end(), [&](const CurvePoint& candidate) {
    return candidate.kept >= std::max<std::size_t>(1, lowered_layers(report) / 10) &&
           std::floor(figure(candidate)) > all_low_db;
  });
  if (point != report.curve.end() && std::isfinite(figure(*point)) && !report.command.empty()) {
    const double wanted = std::floor(figure(*point));
    // An earlier point may reach as much.
    const auto first = std::find_if(report.curve.begin(), point,
                                    [&](const CurvePoint& candidate) { return figure(candidate) >= wanted; });
    if (wanted > 0) {
      answer.then(fmt::format("{:.0f} dB would keep about {} ({}):", wanted, plural(first->kept, "layer"),
                              first->measured_sqnr_db ? "measured with the most damaging ones kept"
                                                      : "predicted from the sensitivities"),
                  fmt::format("{} --min-sqnr {:.0f}{}", printable(report.command), wanted,
                              report.files.empty() ? " -o out" : ""));
    }
  }
  return answer;
}

/// A model in low precision whose float model nobody gave: its stored values are the reference, so their errors do not
/// show, and nothing can be called met.
Answer no_float_model(const DiagnoseReport& report) {
  Answer answer;
  const bool raised = report.kept && !report.kept->layers.empty();
  const RunFigures& figures = raised && report.final_figures ? *report.final_figures : report.all_low;
  answer.sentence = fmt::format(
      "Without its float model, Vernier cannot tell whether {} is good enough. Compared with the stored values, {} has "
      "{}.",
      printable(report.model_file), raised ? kept_text(report) : "everything in " + all_low_text(report),
      figure_in_sentence(figures, report.requirement));
  answer.then("This does not show errors of the stored weights. Compare it with its float model:",
              fmt::format("{} --float FLOAT.onnx", printable(report.command)));
  return answer;
}

/// Labels or a script of the user's decided.
Answer by_task(const DiagnoseReport& report) {
  Answer answer;
  const KeptSetReport& kept = *report.kept;
  const std::string objective = told(kept.objective);
  const auto value = [&]() -> std::string {
    if (kept.engine_test) {
      return fmt::format(" on {}{}", printable(report.engine->engine),
                         kept.engine_test->interval ? right_text(*kept.engine_test)
                                                    : fmt::format(" ({:.6g})", kept.engine_test->metric));
    }
    if (kept.file_test && kept.file_test->interval) return right_text(*kept.file_test);
    if (kept.file_test) return fmt::format(" ({:.6g}, of {})", kept.file_test->metric, kOutputModel);
    return kept.metric ? fmt::format(" ({:.6g})", *kept.metric) : "";
  };
  const Outcome outcome = outcome_of(report);
  if (outcome == Outcome::NotVerified) return not_verified(report, objective);
  const bool hopeless = outcome == Outcome::Impossible;
  if (hopeless || outcome == Outcome::FileMisses) {
    answer.sentence = hopeless
                          ? fmt::format("No choice of layers helps: even with every layer in {}, the model misses {}.",
                                        format_title(report.high), objective)
                          : fmt::format("{} passes in the search, but the output model misses {}{}.", kept_text(report),
                                        objective, value());
    if (hopeless && !kept.tests.empty() && !kept.tests.front().needs.empty()) {
      answer.then(
          fmt::format("It would pass with {}. Is the limit meant for this data? Are labels and inputs those of "
                      "training? vernier check data --labels tries the usual mistakes, such as labels that count from "
                      "another number (--label-offset).",
                      told(kept.tests.front().needs)));
    }
    return answer;
  }
  const std::string met =
      objective + " is met" + value() + reservation_of(report, report.final_figures.value_or(report.all_low)).clause;
  answer.sentence =
      outcome == Outcome::NothingNeeded
          ? (lowers_a_part(report) ? fmt::format("Everything that can be in {}{}: {}{}.", all_low_text(report),
                                                 lowered_share(report), met, not_lowered(report))
                                   : fmt::format("No layer needs {}: everything in {}, {}.", format_title(report.high),
                                                 all_low_text(report), met))
          : fmt::format("{}: {}{}.", keeps(report), met, not_lowered(report));
  const TestRow* const test = kept.engine_test ? &*kept.engine_test : kept.file_test ? &*kept.file_test : nullptr;
  if (test != nullptr && test->interval && test->limit) {
    const std::string undecided =
        undecided_text(*test->interval, test->metric, *test->limit, percent_text(test->limit), test->samples);
    if (!undecided.empty()) answer.then(undecided);
  }
  if (keeps_everything(report)) {
    answer.sentence += fmt::format(" Nothing is left in {}.", low_text(report));
    return answer;
  }
  say_how_to_deploy(report, answer);
  return answer;
}

/// No layer that was to be lowered could be.
Answer nothing_low(const DiagnoseReport& report) {
  Answer answer;
  answer.sentence =
      fmt::format("Nothing is in {}: no layer supports it or gains speed, and {} is entirely in {}.", low_text(report),
                  kOutputModel, format_title(wholly_float32(report) ? Format::Float32 : report.high));
  answer.then("See the notes for the reason of each layer, or try another format.");
  return answer;
}

Answer searched(const DiagnoseReport& report) {
  Answer answer;
  const KeptSetReport& kept = *report.kept;
  const bool everything = keeps_everything(report);
  const Outcome outcome = outcome_of(report);
  if (outcome == Outcome::FileMisses && report.engine && report.engine->figures.passed == false) {
    answer.sentence = fmt::format("The requirement is missed on {}: with {} it measures {}, and {} is not reached.",
                                  printable(report.engine->engine), kept_text(report),
                                  figure_in_sentence(report.engine->figures, report.requirement),
                                  required_text(report.engine->figures, *report.requirement));
    answer.then(fmt::format("The simulation measures {}. vernier verify --on compares both layer by layer.",
                            figure_text(*report.final_figures, report.requirement)));
    if (std::ranges::any_of(report.engine->changed_formats, [](const EngineFigures::OtherFormat& changed) {
          return changed.asked == Format::Float32 && changed.runs_in == format_name(Format::BFloat16);
        })) {
      answer.then(
          "The engine computed FP32 layers in BF16. --inference-precision f32 forbids that (OpenVINO's "
          "INFERENCE_PRECISION_HINT, which the deployment has to set too).");
    }
    return answer;
  }
  if (outcome == Outcome::FileMisses) return file_misses(report);
  if (outcome == Outcome::NotVerified) return not_verified(report, required_text(report.all_low, *report.requirement));
  const bool nothing = outcome == Outcome::NothingNeeded;
  // Without a written file the kept set's own figure is not in the report; all-low's is.
  const RunFigures& figures = report.final_figures ? *report.final_figures : report.all_low;
  const std::string met =
      report.final_figures || nothing
          ? fmt::format(
                "{}, {} is met{}{}",
                nothing ? figure_in_sentence(figures, report.requirement) : named_figure(figures, report.requirement),
                required_text(figures, *report.requirement),
                !report.engine && missed_as_measured(report.other_sums) ? " with FP32 accumulation" : "",
                reservation_of(report, figures).clause)
          : fmt::format("{} is met in simulation", required_text(figures, *report.requirement));
  if (nothing) {
    const std::size_t layers = lowered_layers(report);
    // "everything in INT8 except 1 excluded layer" gives no number of layers.
    const bool one = layers == 1 || report.excluded > 0;
    const auto lowered = [&](const char* uncounted, const char* the, const char* all) {
      return report.excluded > 0 ? uncounted
             : layers == 1       ? fmt::format("{} one layer", the)
                                 : fmt::format("{} {} layers", all, layers);
    };
    answer.sentence =
        lowers_a_part(report)
            ? fmt::format("{} that can be in {}{} {} {}{}.", lowered("Everything", "The", "All"), all_low_text(report),
                          lowered_share(report), one ? "gives" : "give", met, not_lowered(report))
            : fmt::format("No layer needs {}: {} in {} {} {}{}.", format_title(report.high),
                          lowered("everything", "the", "all"), all_low_text(report), one ? "gives" : "give", met,
                          not_lowered(report));
  } else {
    answer.sentence = fmt::format("{}: {}{}.", keeps(report), met, not_lowered(report));
  }
  if (kept.end == SearchEnd::Stopped) {
    answer.then(report.interrupted ? same_command(report, "to get a certified set")
                                   : "Run the same command without its limit to get a certified set.");
  }
  if (kept.end == SearchEnd::Unstable) {
    answer.then(
        "The same test had different answers, so the set is not proven. Repeat with --threads 1. If that does not "
        "help, leave some margin between the requirement and the figure.");
  }
  if (everything) {
    answer.sentence += fmt::format(" Nothing is left in {}.", low_text(report));
    const Alternative* const best = best_alternative(report);
    const bool option_helps = best != nullptr && best != answer_of_alternatives(report);  // and is named
    if (kept.end != SearchEnd::Certified || option_helps) return answer;
    if (kept.not_cheaper > 0) {
      answer.then(
          fmt::format("No smaller set costs less by --cost {}, because format boundaries cost more. --cost layers and "
                      "--cost macs keep fewer layers.",
                      word_of(kept.cost_unit)));
      return answer;
    }
    const RunFigures& low = low_figures(report);
    const std::string measures =
        fmt::format("everything in {}{} measures {}", all_low_text(report),
                    report.repaired ? " with all accepted repairs" : "", figure_text(low, report.requirement));
    const bool ranges_too_narrow =
        report.explanation && std::ranges::any_of(report.explanation->causes, [](const Cause& cause) {
          return cause.layer.empty() && cause.id == "calibration-unrepresentative";
        });
    if (ranges_too_narrow) {
      answer.then("The ranges are too narrow for new samples. Calibrate on more samples, or on more typical ones.");
      return answer;
    }
    const CertificateRow* const row = needed_for_new_samples_alone(kept, *report.requirement);
    const bool by_bound = row != nullptr || misses_on_new_samples_alone(low, *report.requirement);
    const std::string on_these =
        row == nullptr ? measures
                       : fmt::format("the other layers are enough without '{}', with {}", printable(row->layer),
                                     metric_text(report.requirement->metric, *row->on_samples, {}));
    answer.then(
        by_bound ? fmt::format("On these samples {}, but {} cannot show that new ones stay above the limit. Give more "
                               "samples, or accept less certainty (--claim-confidence).",
                               on_these, plural(report.samples, "sample"))
                 : fmt::format("Every layer is needed in high precision, so low precision gains nothing. Require "
                               "less ({}), or try another format.",
                               measures));
    say_how_to_train(report, answer);
    return answer;
  }
  say_how_to_deploy(report, answer);
  return answer;
}

Answer answer_by_its_figures(const DiagnoseReport& report) {
  if (report.interrupted && report.all_low.outputs.empty()) {
    Answer answer;
    const bool own = is_measured(report.layers, &LayerRow::own_sqnr_db);
    answer.sentence = fmt::format("Interrupted before the network was measured with everything in {}{}.",
                                  all_low_text(report), own ? ". The report has the errors of single layers" : "");
    answer.then(same_command(report));
    return answer;
  }
  if (outcome_of(report) == Outcome::Refused) return refused_by_runtime(report);
  if (outcome_of(report) == Outcome::NoFloatModel) return no_float_model(report);
  const bool kept_none = !report.kept || report.kept->layers.empty();
  if (kept_none && (report.kept ? outcome_of(report) == Outcome::NothingLeft : wholly_float32(report))) {
    return nothing_low(report);
  }
  if (report.kept && !report.kept->by_requirement()) return by_task(report);
  if (!report.requirement) return without_requirement(report);
  if (!report.kept) {
    Answer answer;
    const RunFigures& low = low_figures(report);
    answer.sentence =
        fmt::format("Interrupted before the search: everything in {}{} measures {}.", all_low_text(report),
                    report.repaired ? " with all accepted repairs" : "", figure_in_sentence(low, report.requirement));
    answer.then(same_command(report));
    return answer;
  }
  if (outcome_of(report) == Outcome::Impossible) return impossible(report);
  return searched(report);
}

Answer answer_with_sums(const DiagnoseReport& report) {
  Answer answer = answer_by_its_figures(report);
  if (report.engine) {
    if (report.engine->figures.passed != false) {
      answer.sentence += fmt::format(" On {} the output model measures {}.", printable(report.engine->engine),
                                     figure_text(report.engine->figures, report.requirement));
    }
    return answer;  // what sums might make of it is known
  }
  if (!report.other_sums) return answer;
  answer.sentence += " " + other_sums_sentence(*report.other_sums, report.requirement);
  if (missed_as_measured(report.other_sums) && met(report)) {
    answer.first(
        "FP16 accumulation misses the requirement. Pass --accumulate float16 to keep layers until both meet it.");
  }
  return answer;
}

/// The file whose ranges were taken over, as it is: other weights or ranges of its own show here alone.
void say_given_file(const DiagnoseReport& report, Answer& answer) {
  if (!report.given) return;
  const bool missed = report.given->passed == false;
  answer.sentence += fmt::format(" The file {} itself measures {}{}.", printable(report.given_file),
                                 figure_text(*report.given, report.requirement), missed ? ", and misses it" : "");
  if (!missed) return;
  answer.first(fmt::format("To find the faults of {} itself:", printable(report.given_file)),
               fmt::format("vernier verify {} {} {}{}", shell_quote(report.model_file), shell_quote(report.given_file),
                           printable(data_options(report.command)), same_judging(report.command, report.requirement)));
}

}  // namespace

Answer answer_of(const DiagnoseReport& report) {
  Answer answer = answer_with_sums(report);
  if (report.reference_from_file) {
    if (outcome_of(report) == Outcome::NoRequirement) {
      answer.sentence += " This excludes errors of the stored values: pass --float FLOAT.onnx to include them.";
    }
    return answer;
  }
  const bool task_decides = report.kept && !report.kept->by_requirement();  // with an interval of its own
  if (report.final_figures) {
    if (!task_decides) say_how_sure(report, *report.final_figures, answer);
    say_agreement(report, *report.final_figures, answer);
  } else if (!report.requirement) {
    if (!task_decides) say_how_sure(report, low_figures(report), answer);
    say_agreement(report, low_figures(report), answer);
  }
  say_given_file(report, answer);
  say_adopted(report, answer);
  say_best_alternative(report, answer);
  return answer;
}

}  // namespace vernier
