#include "report/text/first_screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

#include "base/layout.h"
#include "base/text.h"
#include "causes/cause_texts.h"
#include "report/text/diagnosis_words.h"
#include "report/text/explanation_text.h"
#include "report/text/figures.h"
#include "report/text/layer_names.h"
#include "report/text/missed_answer.h"
#include "report/text/numbers.h"
#include "report/text/sections.h"
#include "report/told.h"
#include "vernier/format.h"
#include "vernier/report/causes.h"
#include "vernier/report/outcome.h"

namespace vernier {
namespace {

constexpr std::size_t kLabel = 14;  // columns, as labelled() writes them

std::string good_enough(const DiagnoseReport& report, const Answer& answer, const TextOptions& options) {
  const Outcome outcome = outcome_of(report);
  const bool missed = is_missed(outcome);
  const bool doubtful = !report.engine && missed_as_measured(report.other_sums);
  const bool plainly = reservation_of(report, report.final_figures.value_or(report.all_low)).empty();
  const bool good = met(report) && !doubtful && plainly && outcome != Outcome::NothingLeft;
  const Paint paint = missed ? Paint::Bad : good ? Paint::Good : Paint::Bold;
  return painted(wrap(answer.sentence, options.width), paint, options.color) + "\n";
}

/// What the network measured before anything was kept or repaired.
std::string figure_before(const DiagnoseReport& report, const TextOptions& options) {
  const bool changed = report.repaired || (report.kept && !report.kept->layers.empty());
  const bool by_task = report.kept && !report.kept->by_requirement();
  if (!changed || by_task || report.all_low.outputs.empty()) return {};
  const bool by_bound = report.requirement && misses_on_new_samples_alone(report.all_low, *report.requirement);
  return labelled("Before",
                  fmt::format("{}{}, all in {}{}", named_figure(report.all_low, report.requirement),
                              by_bound ? bound_clause(report.all_low, report.requirement) : "", all_low_text(report),
                              report.repaired ? " without repairs" : ""),
                  options.width);
}

std::string damage_text(const DiagnoseReport& report, const TextOptions& options) {
  const MainDamage damage = main_damage(report);
  constexpr std::size_t kShare = 8;  // "99.1 %  "
  constexpr std::size_t kKept = 16;  // ", kept in UINT16"
  const std::size_t taken = kLabel + kShare + kKept;
  const LayerNames names(report, options, std::max<std::size_t>(options.width, taken + 20) - taken);
  std::string text;
  if (!damage.of.empty()) text = labelled("Damage", damage.of + ":", options.width);
  const auto line = [&](double share, const std::string& of) {
    text += fmt::format("{:<{}}{:>6}  {}\n", text.empty() ? "Damage" : "", kLabel, percent_text(share), of);
  };
  for (std::size_t i = 0; i < damage.layers.size(); ++i) {
    const LayerRow& row = *damage.layers[i];
    line(*row.share,
         names.of(row.name) + (row.kept ? fmt::format(", kept in {}", format_title(kept_in(report, row.name))) : ""));
  }
  if (damage.others > 0) line(damage.share_of_others, others_text(damage));
  return text;
}

std::string why(const DiagnoseReport& report, const TextOptions& options) {
  const LayerNames names(report, options, kNameInSentence);
  std::string text;
  for (const CauseGroup& group : main_causes(report)) {
    const bool possible = group.first->confidence < kLikelyCause;
    const std::string where = group.layers.empty() ? "The network" : names.of(group.layers.front());
    text +=
        labelled(text.empty() ? "Why" : "",
                 fmt::format("{}{}: {}", where, possible ? ", possibly" : "", cause_sentence(group)), options.width);
  }
  return text.empty() ? labelled("Why", only_rounding(report), options.width) : text;
}

std::string next(const Answer& answer, const TextOptions& options) {
  std::string text;
  for (const NextStep& step : answer.steps) {
    text += labelled(text.empty() ? "Next" : "", step.advice, options.width);
    // Commands stay on one line: they are there to be pasted.
    if (!step.command.empty()) text += fmt::format("{:{}}$ {}\n", "", kLabel, step.command);
  }
  return text;
}

}  // namespace

MainDamage main_damage(const DiagnoseReport& report) {
  constexpr std::size_t kMost = 3;
  constexpr double kNearlyAll = 0.95;
  MainDamage damage;
  if (report.repaired && outcome_of(report) == Outcome::NothingNeeded) return damage;  // what it still does is allowed
  double shown = 0;
  for (const LayerRow& row : report.layers) {
    if (!row.share || damage.layers.size() == kMost || shown >= kNearlyAll) break;
    damage.layers.push_back(&row);
    shown += *row.share;
  }
  if (damage.layers.empty()) return damage;
  const std::vector<CauseGroup> causes = main_causes(report);
  if (!causes.empty() && causes.front().first->id == kEngineLoss) {
    damage.of = "In the simulation";
  } else if (report.repaired) {
    damage.of = "After the repairs";
  }
  damage.others = report.layers.size() - damage.layers.size();
  damage.share_of_others = std::max(0.0, 1 - shown);
  return damage;
}

std::string others_text(const MainDamage& damage) {
  return damage.others == 1 ? "the other layer" : fmt::format("the other {} layers", damage.others);
}

std::vector<CauseGroup> main_causes(const DiagnoseReport& report) {
  constexpr std::size_t kMost = 2;
  constexpr double kLittle = 0.1;  // of the damage: something else is why
  std::vector<CauseGroup> groups = cause_groups(report);
  if (harmless(report, groups)) return {};
  const auto is_mended = [](const CauseGroup& group) { return group.mended != nullptr; };
  // What the repairs have solved needs no other advice.
  const bool solved = report.repaired && outcome_of(report) == Outcome::NothingNeeded;
  if (solved && std::ranges::any_of(groups, is_mended)) std::erase_if(groups, std::not_fn(is_mended));
  const bool shared = std::ranges::any_of(report.layers, [](const LayerRow& row) { return row.share.has_value(); });
  std::erase_if(groups, [&](const CauseGroup& group) {
    if (group.layers.empty()) return false;
    // Of outputs that are not finite no layer has a share.
    const bool measured = shared && (!report.repaired || group.first->share);
    return measured ? group.share < kLittle : report.repaired && group.mended == nullptr;
  });
  if (groups.size() > kMost) groups.resize(kMost);
  return groups;
}

std::string cause_sentence(const CauseGroup& group) {
  std::string text = told(group.first->sentence);
  if (group.layers.size() < 2 && group.mended == nullptr) return text;
  if (!text.ends_with('.')) text += '.';  // a caller's own
  if (group.mended != nullptr) text += fmt::format(" Repaired by {}.", group.mended->id);
  const std::size_t others = group.layers.size() - 1;
  if (others == 0 || group.layers.empty()) return text;
  return text + fmt::format(" {} the same cause.",
                            others == 1 ? "1 more layer has" : fmt::format("{} more layers have", others));
}

std::string first_screen(const DiagnoseReport& report, const Answer& answer, const TextOptions& options) {
  const std::string rest =
      figure_before(report, options) + damage_text(report, options) + why(report, options) + next(answer, options);
  return good_enough(report, answer, options) + rest + (rest.empty() ? "" : "\n");
}

}  // namespace vernier
