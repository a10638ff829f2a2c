// `vernier debug precision` as text.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "base/layout.h"
#include "base/quote.h"
#include "base/text.h"
#include "report/export/pareto.h"
#include "report/text/diagnose_answer.h"
#include "report/text/diagnosis_words.h"
#include "report/text/figures.h"
#include "report/text/minimum_text.h"
#include "report/text/numbers.h"
#include "report/text/sections.h"
#include "report/told.h"
#include "vernier/format.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/kept_set.h"
#include "vernier/report/outcome.h"
#include "vernier/report/text.h"

namespace vernier {
namespace {

bool is_list(const KeptSetReport& kept) { return kept.mode == SearchMode::Bisect || kept.mode == SearchMode::Linear; }

/// "the first 5 layers", "these 3 layers".
std::string layers_text(const KeptSetReport& kept, std::size_t count) {
  const char* which = !is_list(kept) ? "these" : kept.direction == SearchDirection::Reverse ? "the last" : "the first";
  return fmt::format("{} {}", count == 1 && !is_list(kept) ? "this" : which, plural(count, "layer"));
}

std::size_t searched_layers(const KeptSetReport& kept) {
  std::size_t most = kept.layers.size();
  for (const TestRow& test : kept.tests) most = std::max(most, test.layers.size());
  return most;
}

std::string wanted_text(const DiagnoseReport& report) {
  if (!report.kept->by_requirement()) return told(report.kept->objective);
  return report.requirement ? requirement_text(*report.requirement) : "";
}

std::string answer(const DiagnoseReport& report, const TextOptions& options) {
  const KeptSetReport& kept = *report.kept;
  const std::string high(format_title(report.high));
  Paint paint = Paint::Good;
  std::string text;
  const bool no_verdict = std::ranges::none_of(
      kept.tests, [](const TestRow& test) { return test.verdict == Verdict::Good || test.verdict == Verdict::Bad; });
  if (kept.end == SearchEnd::Impossible && !kept.tests.empty() && no_verdict) {
    paint = Paint::Bad;
    text = "The check had no verdict on one of the models, so the search has no result.";
  } else if (kept.end == SearchEnd::Stopped && !kept.layers.empty() && kept.layers.size() == searched_layers(kept)) {
    paint = Paint::Bold;
    text = fmt::format("Stopped early: so far only the set of all {} in {} is known to pass.",
                       plural(kept.layers.size(), "layer"), high);
  } else if (kept.end == SearchEnd::Impossible) {
    paint = Paint::Bad;
    text = fmt::format(
        "Could not find a configuration that satisfied accuracy requirements: even with every layer in {} it is "
        "missed.",
        high);
  } else if (kept.end == SearchEnd::NothingNeeded) {
    const std::string low = formats_text(report.low);
    text = wholly_float32(report) ? fmt::format("No layer can run in {}: the model stays in FP32.", low)
           : lowered_share(report).empty()
               ? fmt::format("Every layer can run in {}: the accuracy is acceptable as it is.", low)
               : fmt::format("Every layer that can run in {}{} does so with acceptable accuracy{}.", low,
                             lowered_share(report), not_lowered(report));
  } else {
    text = "To achieve acceptable accuracy, try " +
           (kept.ladder ? "raising " + raised_text(kept)
                        : fmt::format("running {} in {} precision", layers_text(kept, kept.layers.size()), high));
    if (kept.end == SearchEnd::Stopped) text += " (stopped early: fewer may do)";
    if (kept.end == SearchEnd::Unstable) text += " (the same test gave different answers: not proven)";
    if (kept.end == SearchEnd::Stopped || kept.end == SearchEnd::Unstable) paint = Paint::Bold;
  }
  if (outcome_of(report) == Outcome::NotVerified) {
    paint = Paint::Bold;
    if (text.ends_with('.')) text.pop_back();
    text += fmt::format(" (not verified: {} itself was not measured)", kOutputModel);
  }
  if (outcome_of(report) == Outcome::FileMisses) {
    paint = Paint::Bad;
    if (text.ends_with('.')) text.pop_back();
    text += fmt::format(" (only in simulation: {} itself misses the requirement)", kOutputModel);
  }
  if (outcome_of(report) == Outcome::Refused) {
    paint = Paint::Bad;
    if (text.ends_with('.')) text.pop_back();
    text += fmt::format(" (in simulation: ONNX Runtime refuses {})", kOutputModel);
  }
  return painted(wrap(text, options.width), paint, options.color) + "\n";
}

/// What the figures say when nothing converges, and which way is out.
std::string way_out(const DiagnoseReport& report, const TextOptions& options) {
  const KeptSetReport& kept = *report.kept;
  const std::string high(format_title(report.high));
  std::string text;
  if (kept.end == SearchEnd::Impossible && !kept.tests.empty()) {
    const TestRow& all = kept.tests.front();
    const std::string says = all.needs.empty()         ? "no tolerance is enough"
                             : kept.by_outside_check() ? "the check " + told(all.needs)
                                                       : "it would pass with " + told(all.needs);
    text += wrap(fmt::format("With every layer in {}: {}.", high, says), options.width);
    if (report.high != Format::Float32 && report.requirement) {
      text += wrap(fmt::format("The FP32 model itself: {}.", figure_text(report.reference, report.requirement)),
                   options.width);
    }
    const bool task = kept.decided_by == DecidedBy::Labels || kept.decided_by == DecidedBy::Script;
    const std::size_t raised = kept.layers.size();
    const std::size_t fixed = lowered_layers(report) - std::min(raised, lowered_layers(report));
    text += wrap(
        all.verdict != Verdict::Bad
            ? "Next: the check had no verdict on the model, so nothing is known about precision. Run it by hand."
        : raised > 0 && fixed > 0
            ? fmt::format("Next: {} fixed in a low format by --layer-precisions. Remove some of them.",
                          fixed == 1 ? "1 layer is" : fmt::format("{} layers are", fixed))
        : report.high != Format::Float32 ? fmt::format("Next: {} itself is not enough, so try -p float32.", high)
        : kept.golden ? "Next: precision is not the cause. The golden outputs are of another model or other inputs, or "
                        "the tolerance is tighter than two FP32 runs agree."
        : task ? "Next: precision is not the cause, because the FP32 model itself is not accurate enough. Check the "
                 "data (preparation, labels, --label-offset), then the limit. If both are right, train further."
        : kept.by_outside_check() ? "Next: precision is not the cause. Run the check by hand on the unchanged model: "
                                    "it may fail for other reasons."
                                  : "Next: precision is not the cause. Is the tolerance meant for this output and "
                                    "metric? Are the inputs prepared as in training?",
        options.width);
  } else if (!kept.ladder && kept.layers.size() == searched_layers(kept) && !kept.layers.empty() &&
             kept.end != SearchEnd::Stopped) {
    text += wrap(
        kept.mode != SearchMode::Minimal
            ? fmt::format("The list ends with every layer in {}, so nothing is left in {}: --mode minimal looks for "
                          "any set of layers.",
                          high, formats_text(report.low))
            : fmt::format(
                  "Every layer is needed in {}, so nothing is left in {}: allow a larger error, {}.", high,
                  formats_text(report.low),
                  std::ranges::any_of(report.low, needs_scale)
                      ? "calibrate on data that resemble the real ones (--calibration-data), or train with quantization"
                      : "repair what breaks (vernier fix), or try a format with another range"),
        options.width);
    if (!kept.tests.empty()) {
      const auto none =
          std::find_if(kept.tests.begin(), kept.tests.end(), [](const TestRow& test) { return test.layers.empty(); });
      if (none != kept.tests.end() && !none->needs.empty()) {
        text += wrap(fmt::format("With every layer in {}: {}{}.", formats_text(report.low),
                                 kept.by_outside_check() ? "the check " : "it would pass with ", told(none->needs)),
                     options.width);
      }
    }
  }
  return text;
}

std::string names_section(const DiagnoseReport& report, const TextOptions& options) {
  const KeptSetReport& kept = *report.kept;
  if (kept.layers.empty() || kept.end == SearchEnd::Impossible) return {};
  const std::string high(format_title(report.high));
  if (kept.ladder) {
    std::string text = heading("Layers to raise", options);
    std::string paste = "\nTo paste:\n  --layer-precisions";
    for (const RaisedLayer& layer : kept.ladder->raised) {
      text += fmt::format("  {}: {}\n", printable(layer.layer), format_title(layer.format));
      paste += " " + shell_quote(fmt::format("{}:{}", layer.layer, format_name(layer.format)));
    }
    return text + paste + "\n";
  }
  std::string text = heading(fmt::format("Layers to run in {}", high), options);
  for (const std::string& layer : kept.layers) text += "  " + printable(layer) + "\n";
  text += "\nTo paste:\n  --layer-precisions";
  for (const std::string& layer : kept.layers)
    text += " " + shell_quote(fmt::format("{}:{}", layer, format_name(report.high)));
  return text + "\n";
}

std::string minimal_section(const DiagnoseReport& report, const TextOptions& options) {
  const KeptSetReport& kept = *report.kept;
  if (!kept.minimal) return {};
  std::string text = wrap(
      fmt::format(
          "--mode minimal needs {}{}{} ({} more):", plural(kept.minimal->layers.size(), "layer"),
          kept.minimal->layers.size() < kept.layers.size() ? fmt::format(" instead of {}", kept.layers.size()) : "",
          kept.minimal->certified ? ", and none of them can be dropped" : "",
          plural(kept.minimal->evaluations, "evaluation")),
      options.width);
  text += "  --layer-precisions";
  for (const std::string& layer : kept.minimal->layers)
    text += " " + shell_quote(fmt::format("{}:{}", layer, format_name(report.high)));
  return "\n" + text + "\n";
}

bool judged_by_bound(const TestRow& test) { return test.on_samples.has_value(); }

std::string iterations_section(const DiagnoseReport& report, const TextOptions& options) {
  const KeptSetReport& kept = *report.kept;
  if (kept.tests.empty()) return {};
  Table table;
  table.column("#", Align::Right);
  table.column(kept.ladder ? "raised" : std::string(format_title(report.high)), Align::Right);
  table.column("", Align::Left);
  const bool counted =
      std::any_of(kept.tests.begin(), kept.tests.end(), [](const TestRow& test) { return test.samples > 0; });
  if (counted) table.column("samples", Align::Right);
  table.column("on these samples", Align::Right);
  table.flexible_column(kept.by_outside_check()                            ? "the check"
                        : std::ranges::any_of(kept.tests, judged_by_bound) ? "would pass on new samples with"
                                                                           : "would pass with");
  table.flexible_column(kept.ladder ? "layers that were raised" : "layers that ran high");
  // Of a long search the last ones lead to the answer.
  const std::size_t rows = options.top == 0 ? kept.tests.size() : std::min(kept.tests.size(), options.top);
  const std::size_t first = kept.tests.size() - rows;
  for (std::size_t i = first; i < kept.tests.size(); ++i) {
    const TestRow& test = kept.tests[i];
    const auto raised = [&](std::size_t at) {
      return at < test.raised_to.size() ? fmt::format(" to {}", format_title(test.raised_to[at])) : "";
    };
    const bool all = test.layers.size() == searched_layers(kept);
    const bool alike =
        std::ranges::adjacent_find(test.raised_to, [](Format a, Format b) { return a != b; }) == test.raised_to.end();
    std::vector<std::string> names;
    for (std::size_t at = 0; at < test.layers.size(); ++at) names.push_back(printable(test.layers[at]) + raised(at));
    std::vector<std::string> cells{std::to_string(i + 1), std::to_string(test.layers.size()),
                                   test.verdict == Verdict::Good  ? "PASSED"
                                   : test.verdict == Verdict::Bad ? "FAILED"
                                                                  : std::string(word_of(test.verdict))};
    if (counted) {
      const std::string sure = test.confidence < 1 ? fmt::format(" ({:g} %)", 100 * test.confidence) : "";
      cells.push_back(test.samples == 0 ? "" : fmt::format("{}{}", test.samples, sure));
    }
    cells.push_back(
        test.on_samples && report.requirement ? metric_text(report.requirement->metric, *test.on_samples, {}) : "");
    cells.push_back(told(test.needs));
    cells.push_back(names.empty() ? "none" : all && alike ? "all" + raised(0) : list_some(names, 6));
    table.row(cells);
  }
  std::string text = heading("Iterations", options) + table.text(options.width, options.whole_names);
  const bool by_chance =
      std::any_of(kept.tests.begin(), kept.tests.end(), [](const TestRow& test) { return test.confidence < 1; });
  if (by_chance) {
    text += wrap(
        "samples (P %): failed on so many with that confidence; the others are certain. Passing models ran on all "
        "samples",
        options.width, "  ");
  }
  if (first > 0) text += fmt::format("  ... and {} before (--rows 0, or --json)\n", plural(first, "iteration"));
  const auto passed = std::count_if(kept.tests.begin(), kept.tests.end(),
                                    [](const TestRow& test) { return test.verdict == Verdict::Good; });
  text += fmt::format("  Finished {} iteration(s) | Passed: {}/{} | Pass Rate: {:.1f}%\n", kept.tests.size(), passed,
                      kept.tests.size(), 100.0 * static_cast<double>(passed) / static_cast<double>(kept.tests.size()));
  if (kept.recalled > 0) text += fmt::format("  {} of them came from the journal\n", kept.recalled);
  return text;
}

/// Whether the predictions that the search went by were any good.
std::string ranking_text(const RankingReport& ranking) {
  std::string text;
  if (ranking.ratio) text = fmt::format("measured damage was {:.2g} times the predicted one", *ranking.ratio);
  if (ranking.rank_correlation) {
    text += fmt::format("{}rank correlation {:.2f} near the limit, over {}", text.empty() ? "" : "; ",
                        *ranking.rank_correlation, plural(ranking.compared, "layer"));
  }
  return text + (ranking.mended ? "; corrected on the way" : "");
}

std::string group_text(const LayerGroup& group) {
  std::vector<std::string> names;
  for (const std::string& layer : group.layers) names.push_back(printable(layer));
  return fmt::format("{} of {} kept: {} should switch together, {} (--whole-groups)", group.kept, group.layers.size(),
                     list_some(names, 4), told(group.why));
}

std::string grounds_section(const DiagnoseReport& report, const TextOptions& options) {
  const KeptSetReport& kept = *report.kept;
  std::string text;
  if (kept.end != SearchEnd::Impossible && !kept.layers.empty()) {
    text += labelled("Cost", cost_text(kept), options.width);
  }
  if (kept.ranking) text += labelled("Ranking", ranking_text(*kept.ranking), options.width);
  constexpr std::size_t kGroupsShown = 4;
  std::size_t split = 0;
  for (const LayerGroup& group : kept.groups) {
    if (group.kept == group.layers.size() || ++split > kGroupsShown) continue;
    text += labelled("Together", group_text(group), options.width);
  }
  if (split > kGroupsShown) {
    text += labelled("Together",
                     fmt::format("and {} more split (--json has them all)", plural(split - kGroupsShown, "group")),
                     options.width);
  }
  for (const std::string& proven : kept.proven) text += labelled("Proven", told(proven), options.width);
  if (!kept.lower_bound) {
    if (const std::string why = minimum_text(report); !why.empty()) text += labelled("Not proven", why, options.width);
  }
  for (const std::string& assumed : kept.assumed) text += labelled("Not proven", told(assumed), options.width);
  return text.empty() ? text : "\n" + text;
}

}  // namespace

std::string debug_precision_to_text(const DiagnoseReport& report, const TextOptions& options) {
  const KeptSetReport& kept = *report.kept;
  std::string more = way_out(report, options);
  if (kept.file_test && kept.file_test->verdict != Verdict::Good) {
    more += wrap(fmt::format("The output model just misses it: it would pass with {}. Search with a slightly stricter "
                             "limit, so that the file has some margin.",
                             told(kept.file_test->needs)),
                 options.width);
  } else if (report.engine && report.engine->figures.passed == false) {
    more += wrap(fmt::format("On {} the output model misses it: {}.", printable(report.engine->engine),
                             figure_text(report.engine->figures, report.requirement)),
                 options.width);
  } else if (!report.engine && report.final_figures && report.final_figures->passed == false &&
             kept.end != SearchEnd::Impossible) {
    more += wrap("The output model just misses it: require a little more than you need.", options.width);
  }
  if (report.other_sums) {
    more += wrap(other_sums_sentence(*report.other_sums, report.requirement), options.width);
  }
  std::string text = answer(report, options) + more + (more.empty() ? "" : "\n");
  text += labelled("Model", printable(report.model_file), options.width);
  text += labelled("Data", printable(report.data), options.width);
  text += labelled("Requirement", wanted_text(report), options.width);
  text += labelled("Scheme", scheme_words(report.scheme), options.width);
  text += labelled("Runner",
                   report.engine ? printable(report.engine->engine) + ", which ran every trial"
                                 : runner_text(report.runner, report.on_gpu),
                   options.width);
  text += labelled(
      "Search",
      fmt::format("{}{}: {}", word_of(kept.mode), kept.direction == SearchDirection::Reverse ? ", reverse" : "",
                  plural(kept.evaluations, "evaluation")),
      options.width);
  text += labelled("Time", time_text(report.phases), options.width);
  for (const auto& [what, file] : report.files) text += labelled(what, printable(file), options.width);
  text += iterations_section(report, options);
  text += names_section(report, options);
  text += minimal_section(report, options);
  text += grounds_section(report, options);
  text += pareto_table(kept, options);
  std::vector<Note> notes = report.notes;
  append(notes, kept.notes);
  return text + remarks(report.warnings, notes, options);
}

}  // namespace vernier
