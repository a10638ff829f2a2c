#include "report/text/explanation_text.h"

#include <fmt/format.h>

#include <cstddef>
#include <map>
#include <set>
#include <vector>

#include "base/layout.h"
#include "base/median.h"
#include "base/text.h"
#include "report/text/diagnose_answer.h"
#include "report/text/figures.h"
#include "report/text/numbers.h"
#include "report/text/sections.h"
#include "vernier/report/causes.h"

namespace vernier {
namespace {

/// The surest cause of each layer; further ones of the same layer only where they are nearly as sure.
std::string causes_text(const DiagnoseReport& report, const TextOptions& options) {
  const Explanation& explanation = *report.explanation;
  std::string text = heading(report.repaired ? "Causes, before the repairs" : "Causes", options.color);
  std::map<std::string, double> surest;
  std::size_t lines = 0;
  std::set<std::string> explained;
  for (const Cause& cause : explanation.causes) {
    explained.insert(cause.layer);
    const auto [first, fresh] = surest.emplace(cause.layer, cause.confidence);
    if (!fresh && cause.confidence < first->second - 0.1) continue;
    if (options.top > 0 && ++lines > options.top) continue;
    text += wrap(fmt::format("{}: {}: {}", cause.layer.empty() ? "the network" : printable(cause.layer), cause.id,
                             printable(cause.sentence)),
                 options.width, "  ");
  }
  if (options.top > 0 && lines > options.top) {
    text += fmt::format("  ... and {} ({})\n", plural(lines - options.top, "more cause"), all_of_them(report));
  }
  std::size_t without = 0;
  for (const std::string& layer : explanation.examined) without += explained.contains(layer) ? 0 : 1;
  if (without > 0) {
    text += wrap(fmt::format("none found for {} of {} examined", without, plural(explanation.examined.size(), "layer")),
                 options.width, "  ");
  }
  return text;
}

struct RepairSum {
  std::size_t accepted = 0, tried = 0, refused = 0;
  std::vector<double> before, after;
  std::string example;
};

/// What a repair did to the layers where it was accepted.
std::string gain_text(const RepairSum& sum) {
  const std::string gain = fmt::format("{} dB to {} dB", db_text(median(sum.before)), db_text(median(sum.after)));
  return sum.accepted == 1 ? ", SQNR " + gain : ", median SQNR of these " + gain;
}

std::string repairs_text(const Explanation& explanation, const TextOptions& options) {
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
      if (sum.accepted == 1 && !row.layers.empty())
        sum.example = printable(row.layers.front()) + ": " + printable(row.why);
    } else if (sum.accepted == 0 && sum.example.empty() && !row.layers.empty()) {
      sum.example = printable(row.layers.front()) + ": " + printable(row.why);
    }
  }
  std::string text = heading("Repairs", options.color);
  for (const std::string& id : order) {
    const RepairSum& sum = sums.at(id);
    std::string line = fmt::format("{}: ", id);
    if (sum.tried > 0) line += fmt::format("accepted {} of {} tried", sum.accepted, sum.tried);
    if (!sum.before.empty()) line += gain_text(sum);
    if (sum.refused > 0) line += fmt::format("{}no use for {}", sum.tried > 0 ? "; " : "", sum.refused);
    line += fmt::format(" ({})", sum.example);
    text += wrap(line, options.width, "  ");
  }
  return text;
}

}  // namespace

std::string explanation_section(const DiagnoseReport& report, const TextOptions& options) {
  if (!report.explanation) return {};
  const Explanation& explanation = *report.explanation;
  std::string text;
  if (!explanation.examined.empty()) text += causes_text(report, options);
  if (!explanation.repairs.empty()) text += repairs_text(explanation, options);
  return text;
}

}  // namespace vernier
