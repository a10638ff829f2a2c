#include "report/text/explanation_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/layout.h"
#include "base/median.h"
#include "base/text.h"
#include "report/text/diagnose_answer.h"
#include "report/text/diagnosis_words.h"
#include "report/text/figures.h"
#include "report/text/layer_names.h"
#include "report/text/numbers.h"
#include "report/text/sections.h"
#include "report/told.h"
#include "vernier/report/causes.h"
#include "vernier/report/outcome.h"

namespace vernier {
namespace {

/// Takes in what answers a cause at one more layer.
void add_repairs(CauseGroup& group, const Cause& cause) {
  const auto has = [](const std::vector<std::string>& list, const std::string& id) {
    return std::ranges::find(list, id) != list.end();
  };
  for (const std::string& id : cause.repairs) {
    if (!has(group.repairs, id) && !has(group.of_some, id)) group.of_some.push_back(id);
  }
  for (const std::string& id : group.repairs) {
    if (!has(cause.repairs, id)) group.of_some.push_back(id);
  }
  std::erase_if(group.repairs, [&](const std::string& id) { return has(group.of_some, id); });
}

/// The accepted repair that answers this cause; null: none.
const RepairTried* repair_of(const Explanation& explanation, const Cause& cause) {
  const auto row = std::ranges::find_if(explanation.repairs, [&](const RepairTried& tried) {
    return tried.accepted && std::ranges::find(cause.repairs, tried.id) != cause.repairs.end() &&
           std::ranges::find(tried.layers, cause.layer) != tried.layers.end();
  });
  return row == explanation.repairs.end() ? nullptr : &*row;
}

std::string group_text(const CauseGroup& group, const LayerNames& names, const TextOptions& options) {
  std::string head = group.first->id;
  if (group.first->confidence < kLikelyCause) head += " (possible)";  // a confidence is a rank, and no probability
  if (!group.layers.empty()) {
    const std::string layers = plural(group.layers.size(), "layer");
    head +=
        group.lesser == 0 ? ": " + layers : fmt::format(": main cause of {}, secondary in {}", layers, group.lesser);
  }
  if (const std::string damage = damage_of(group); !damage.empty()) head += ", " + damage;
  if (group.mended != nullptr) {
    head += "; repaired by " + group.mended->id;
    if (group.reached < group.layers.size()) head += fmt::format(" in {} of them", group.reached);
  } else if (!group.repairs.empty()) {
    head += fmt::format("; repairs: {}", fmt::join(group.repairs, ", "));
  }
  if (!group.of_some.empty()) head += fmt::format("; at some of them: {}", fmt::join(group.of_some, ", "));
  const std::string where = group.layers.empty() ? "the network" : names.of(group.layers.front());
  std::string text = wrap(head, options.width, "  ") +
                     wrap(fmt::format("{}: {}", where, told(group.first->sentence)), options.width, "    ");
  if (group.layers.size() > 1) {
    std::vector<std::string> others;
    std::transform(group.layers.begin() + 1, group.layers.end(), std::back_inserter(others),
                   [&](const std::string& layer) { return names.of(layer); });
    text += wrap("also " + list_some(others, 4), options.width, "    ");
  }
  return text;
}

/// Below this a layer's result is hardly there, whatever the figures of the outputs hide.
constexpr double kLostSignalDb = 10;

bool any_loses_signal(const DiagnoseReport& report, const std::vector<CauseGroup>& groups) {
  return std::ranges::any_of(report.layers, [&](const LayerRow& row) {
    if (!row.own_sqnr_db || *row.own_sqnr_db >= kLostSignalDb) return false;
    return std::ranges::any_of(groups, [&](const CauseGroup& group) {
      return std::ranges::find(group.layers, row.name) != group.layers.end();
    });
  });
}

bool needs_nothing(const DiagnoseReport& report) {
  return !report.repaired && outcome_of(report) == Outcome::NothingNeeded;
}

std::string causes_heading(const DiagnoseReport& report, const std::vector<CauseGroup>& groups) {
  const bool sure = groups.empty() || groups.front().first->confidence >= kLikelyCause;
  const bool fine = needs_nothing(report);
  std::string text = fine && any_loses_signal(report, groups)
                         ? "Layers that lose their signal, though the outputs hide it"
                     : fine ? "Found, but harmless in this model"
                     : sure ? "Causes"
                            : "Possible causes";
  if (report.repaired) text += " before the repairs";
  const std::size_t examined = report.explanation->samples;
  if (examined > 0 && examined < report.samples) {
    text += fmt::format(", examined on {} of the {}", examined, plural(report.samples, "sample"));
  }
  return text;
}

/// What makes the error of ordinary layers smaller: repairs that were accepted there, else `wider`.
std::string what_reduces_rounding(const Explanation& explanation, const char* wider) {
  const auto is_mended = [&](const std::string& layer) {
    return std::ranges::any_of(explanation.repairs, [&](const RepairTried& repair) {
      return repair.accepted && std::ranges::find(repair.layers, layer) != repair.layers.end();
    });
  };
  const std::size_t ordinary = explanation.ordinary.size();
  const auto mended = static_cast<std::size_t>(std::ranges::count_if(explanation.ordinary, is_mended));
  if (mended == 0) return wider;
  if (mended == ordinary) return "Accepted repairs reduce it.";
  return fmt::format("Accepted repairs reduce it in {} of these {}.", mended, plural(ordinary, "layer"));
}

std::string causes_text(const DiagnoseReport& report, const TextOptions& options) {
  const Explanation& explanation = *report.explanation;
  const std::vector<CauseGroup> groups = cause_groups(report);
  const LayerNames names(report, options, kNameInSentence);
  std::string text = heading(causes_heading(report, groups), options);
  const std::size_t shown = options.top == 0 ? groups.size() : std::min(options.top, groups.size());
  for (std::size_t i = 0; i < shown; ++i) text += group_text(groups[i], names, options);
  if (shown < groups.size()) {
    text += fmt::format("  ... and {} (--top 0 shows all)\n", plural(groups.size() - shown, "more cause"));
  }
  std::set<std::string> explained;
  bool all = false;  // a cause of the whole network is one of each layer
  for (const Cause& cause : explanation.causes) {
    explained.insert(cause.layer);
    all = all || cause.layer.empty();
  }
  const std::size_t ordinary = explanation.ordinary.size();
  std::size_t without = 0;
  for (const std::string& layer : explanation.examined) without += explained.contains(layer) ? 0 : 1;
  if (const std::string sentence = only_rounding(report); !sentence.empty()) {
    text += wrap(sentence, options.width, "  ");
  } else if (ordinary > 0 && !all) {
    text += wrap(fmt::format("{} of {} examined {} only the rounding error of the format. {}", ordinary,
                             plural(explanation.examined.size(), "layer"), ordinary == 1 ? "has" : "have",
                             what_reduces_rounding(explanation, "Only a wider format reduces it.")),
                 options.width, "  ");
  }
  if (without > ordinary && !all) {
    text += wrap(fmt::format("No cause found for {} of {} examined.", without - ordinary,
                             plural(explanation.examined.size(), "layer")),
                 options.width, "  ");
  }
  return text;
}

struct RepairSum {
  std::size_t accepted = 0, tried = 0, refused = 0;
  std::vector<double> before, after;
  std::string example;  // the accepted one that gains most, else the first
  bool example_tried = false;
  std::optional<double> example_gain;  // in dB
};

/// What a repair did to the layers where it was accepted.
std::string gain_text(const RepairSum& sum) {
  const std::string gain = fmt::format("{} dB to {} dB", db_text(median(sum.before)), db_text(median(sum.after)));
  return sum.accepted == 1 ? ", SQNR " + gain : ", median SQNR of these " + gain;
}

std::string repairs_text(const Explanation& explanation, const LayerNames& names, const TextOptions& options) {
  std::vector<std::string> order;
  std::map<std::string, RepairSum> sums;
  for (const RepairTried& row : explanation.repairs) {
    if (!sums.contains(row.id)) order.push_back(row.id);
    RepairSum& sum = sums[row.id];
    if (row.before_db || row.accepted) {
      ++sum.tried;
    } else {
      ++sum.refused;
    }
    if (row.accepted) {
      ++sum.accepted;
      if (row.before_db && row.after_db) {
        sum.before.push_back(*row.before_db);
        sum.after.push_back(*row.after_db);
      }
    }
    std::optional<double> gain;
    if (row.accepted && row.before_db && row.after_db) gain = *row.after_db - *row.before_db;
    const bool first = row.accepted ? sum.accepted == 1 : sum.accepted == 0 && sum.example.empty();
    if ((first || (gain && !(sum.example_gain >= gain))) && !row.layers.empty()) {
      sum.example = names.of(row.layers.front()) + ": " + told(row.why);
      sum.example_tried = row.before_db || row.accepted;
      sum.example_gain = gain;
    }
  }
  std::string text = heading("Repairs", options);
  std::vector<std::string> unused;  // nothing else to tell
  for (const std::string& id : order) {
    const RepairSum& sum = sums.at(id);
    if (sum.tried == 0 && sum.example.empty()) {
      unused.push_back(id);
      continue;
    }
    std::string line = fmt::format("{}: ", id);
    if (sum.tried > 0) line += fmt::format("accepted {} of {} tried", sum.accepted, sum.tried);
    if (!sum.before.empty()) line += gain_text(sum);
    const std::string example = sum.example.empty() ? "" : fmt::format(" ({})", sum.example);
    if (sum.example_tried) line += example;
    if (sum.refused > 0) {
      line += fmt::format("{}not applicable to {}", sum.tried > 0 ? "; " : "", plural(sum.refused, "place"));
    }
    if (!sum.example_tried) line += example;
    text += wrap(line, options.width, "  ");
  }
  if (!unused.empty()) {
    text += wrap(fmt::format("not applicable: {}", fmt::join(unused, ", ")), options.width, "  ");
  }
  return text;
}

}  // namespace

std::vector<CauseGroup> cause_groups(const DiagnoseReport& report) {
  std::vector<CauseGroup> groups;
  if (!report.explanation) return groups;
  std::map<std::string, double> shares;  // for reports of earlier versions
  for (const LayerRow& row : report.layers) shares[row.name] = row.share.value_or(0);
  std::map<std::string, double> surest;
  std::map<std::string, std::size_t> places;
  std::map<std::string, std::set<std::string>> lesser;  // layers, by cause
  for (const Cause& cause : report.explanation->causes) {
    double& most = surest[cause.layer];
    most = std::max(most, cause.confidence);
  }
  std::map<std::string, double> of_layers;  // of their damage, what is in a group
  double left = 1;
  for (const Cause& cause : report.explanation->causes) {
    if (cause.confidence < surest[cause.layer] - 0.1) {
      lesser[cause.id].insert(cause.layer);
      continue;
    }
    const auto [place, is_new] = places.emplace(cause.id, groups.size());
    if (is_new) {
      groups.emplace_back().first = &cause;
      groups.back().repairs = cause.repairs;
    }
    CauseGroup& group = groups[place->second];
    add_repairs(group, cause);
    if (cause.layer.empty() ? !cause.share : std::ranges::find(group.layers, cause.layer) != group.layers.end())
      continue;
    if (!cause.layer.empty()) group.layers.push_back(cause.layer);
    const double share = cause.share.value_or(report.repaired ? 0 : shares[cause.layer]);
    double& counted = of_layers[cause.layer];
    // Layers whose errors meet, as in front of a Softmax, have more than all together.
    const double fresh = std::isfinite(share) ? std::min(std::max(0.0, share - counted), left) : 0;
    counted += fresh;
    left -= fresh;
    group.share += share;
    if (std::isfinite(share)) group.told += share - fresh;
  }
  for (CauseGroup& group : groups) {
    group.lesser = lesser[group.first->id].size();
    group.mended = repair_of(*report.explanation, *group.first);
    if (group.mended == nullptr) continue;
    std::erase(group.of_some, group.mended->id);
    std::set<std::string> reached;
    for (const RepairTried& tried : report.explanation->repairs) {
      if (tried.accepted && tried.id == group.mended->id) reached.insert(tried.layers.begin(), tried.layers.end());
    }
    group.reached = static_cast<std::size_t>(
        std::ranges::count_if(group.layers, [&](const std::string& layer) { return reached.contains(layer); }));
  }
  return groups;
}

std::string damage_of(const CauseGroup& group) {
  if (std::isinf(group.share)) {
    return group.layers.size() > 1 ? "at least one makes outputs infinite or NaN" : "makes outputs infinite or NaN";
  }
  if (!(group.share > 0)) return {};
  const std::string text = fmt::format("{} of the damage", percent_text(std::min(group.share, 1.0)));
  constexpr double kRounding = 0.005;
  if (group.told < kRounding) return text;
  if (group.told > group.share - kRounding) return text + ", counted above";
  return text + fmt::format(" ({} not counted above)", percent_text(std::min(group.share, 1.0) - group.told));
}

bool harmless(const DiagnoseReport& report, const std::vector<CauseGroup>& groups) {
  return needs_nothing(report) && !any_loses_signal(report, groups);
}

/// Whether errors of layers that add up, and grow on their way by 20 dB at most, explain those of all outputs.
bool adds_up(const DiagnoseReport& report) {
  constexpr double kMostGrowthDb = 20;
  double worst = std::numeric_limits<double>::infinity();
  for (const LayerRow& row : report.layers) worst = std::min(worst, row.own_sqnr_db.value_or(worst));
  const double least = worst - 10 * std::log10(static_cast<double>(std::max<std::size_t>(report.layers.size(), 1)));
  return std::ranges::all_of(low_figures(report).outputs, [&](const OutputFigure& output) {
    return std::isnan(output.sqnr_db) || output.sqnr_db >= least - kMostGrowthDb;
  });
}

std::string only_rounding(const DiagnoseReport& report) {
  if (!report.explanation || needs_nothing(report) || !adds_up(report)) return {};
  const Explanation& found = *report.explanation;
  if (!found.causes.empty() || found.ordinary.empty()) return {};
  const std::size_t examined = found.examined.size();
  const std::string layers = found.ordinary.size() < examined
                                 ? fmt::format("{} of {}", found.ordinary.size(), plural(examined, "layer"))
                             : examined == 1 ? "the one layer"
                                             : fmt::format("all {} layers", examined);
  return fmt::format("The rounding of {} is the only cause in {} examined. {}", low_text(report), layers,
                     what_reduces_rounding(found, "A wider format reduces it."));
}

std::string explanation_section(const DiagnoseReport& report, const TextOptions& options) {
  if (!report.explanation) return {};
  const Explanation& explanation = *report.explanation;
  std::string text;
  if (!explanation.examined.empty()) text += causes_text(report, options);
  if (!explanation.repairs.empty())
    text += repairs_text(explanation, LayerNames(report, options, kNameInSentence), options);
  return text;
}

}  // namespace vernier
