#include "report/export/pareto.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/layout.h"
#include "base/text.h"
#include "report/export/csv.h"
#include "report/text/numbers.h"
#include "report/text/sections.h"
#include "vernier/report/kept_set.h"
#include "vernier/report/text.h"

namespace vernier {
namespace {

/// Damage on a scale of decades, where nothing and everything have a place too.
double decades(double damage) { return std::log10(std::clamp(damage, 1e-6, 1e9)); }

struct Frame {
  double left = 70, top = 30, width = 560, height = 320;
  double most_cost = 1, low = -2, high = 1;  // decades of damage

  double x(double cost) const { return left + width * cost / most_cost; }
  double y(double damage) const { return top + height * (high - decades(damage)) / (high - low); }
};

std::string line(double x1, double y1, double x2, double y2, const char* style) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x1, y1, x2, y2, style);
}

std::string label(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, text);
}

}  // namespace

std::string_view cost_unit_text(const KeptSetReport& kept) {
  if (kept.cost_unit == CostUnit::Time) return "microseconds";
  if (!kept.ladder) return word_of(kept.cost_unit);
  return kept.cost_unit == CostUnit::Layers ? "bits, summed over the layers"
         : kept.cost_unit == CostUnit::Macs ? "multiply-accumulates times bits"
                                            : "bytes read";
}

std::string cost_text(const KeptSetReport& kept) {
  if (kept.ladder) {
    const double lowest = kept.ladder->cost_of_lowest;
    return fmt::format("{:.6g} {}; all layers in the lowest format: {:.6g}, in the highest: {:.6g}", lowest + kept.cost,
                       cost_unit_text(kept), lowest, lowest + kept.cost_of_all.value_or(0));
  }
  // In layers borders only break ties.
  if (kept.cost_unit == CostUnit::Layers) return plural(kept.layers.size(), "layer");
  std::string text = fmt::format("{:.6g} {}, format boundaries included", kept.cost, cost_unit_text(kept));
  if (kept.cost_of_all && *kept.cost_of_all > 0) {
    text += fmt::format("; keeping everything: {:.6g}", *kept.cost_of_all);
  }
  return text;
}

std::string pareto_table(const KeptSetReport& kept, const TextOptions& options) {
  if (kept.pareto.empty()) return {};
  Table table;
  table.column("cost", Align::Right);
  table.column("kept", Align::Right);
  table.column("result", Align::Right);
  table.column("of the allowed error", Align::Right);
  for (const ParetoPoint& point : kept.pareto) {
    if (!point.front) continue;
    table.row({fmt::format("{:.6g}", point.cost), std::to_string(point.layers.size()),
               std::isfinite(point.metric) ? fmt::format("{:.4g}", point.metric) : "exact",
               fmt::format("{:.3g}x", point.damage)});
  }
  return heading(fmt::format("Accuracy against cost ({}), of {} tried", cost_unit_text(kept),
                             plural(kept.pareto.size(), "set")),
                 options) +
         table.text(options.width, options.whole_names);
}

std::string pareto_to_csv(const KeptSetReport& kept) {
  std::string text =
      csv_line({fmt::format("cost_{}", word_of(kept.cost_unit)), "damage", "metric", "kept", "front", "layers"});
  for (const ParetoPoint& point : kept.pareto) {
    std::string names;
    for (const std::string& layer : point.layers) names += (names.empty() ? "" : ";") + layer;
    text += csv_line({point.cost, point.damage, point.metric, point.layers.size(), point.front ? "yes" : "no", names});
  }
  return text;
}

std::string pareto_to_svg(const KeptSetReport& kept) {
  Frame frame;
  double most = 0;
  for (const ParetoPoint& point : kept.pareto) {
    most = std::max(most, point.cost);
    if (point.damage <= 0) continue;  // everything kept: at the lower edge, wherever that is
    frame.low = std::min(frame.low, std::floor(decades(point.damage)));
    frame.high = std::max(frame.high, std::ceil(decades(point.damage)));
  }
  if (most > 0) frame.most_cost = most;
  std::string svg =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"660\" height=\"410\" viewBox=\"0 0 660 410\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"660\" height=\"410\" fill=\"white\"/>\n";
  const double right = frame.left + frame.width;
  const double bottom = frame.top + frame.height;
  for (double decade = frame.low; decade <= frame.high; ++decade) {
    const double y = frame.y(std::pow(10.0, decade));
    svg += line(frame.left, y, right, y, "stroke=\"#ddd\"");
    svg += label(frame.left - 8, y + 4, "end", fmt::format("{:g}", std::pow(10.0, decade)));
  }
  for (int tick = 0; tick <= 4; ++tick) {
    const double cost = frame.most_cost * tick / 4;
    svg += label(frame.x(cost), bottom + 18, "middle", fmt::format("{:.4g}", cost));
  }
  svg += line(frame.left, frame.y(1), right, frame.y(1), "stroke=\"#c00\" stroke-dasharray=\"6 4\"");
  svg += label(right, frame.y(1) - 6, "end", "the limit");
  svg += line(frame.left, bottom, right, bottom, "stroke=\"black\"");
  svg += line(frame.left, frame.top, frame.left, bottom, "stroke=\"black\"");
  std::string path;
  for (const ParetoPoint& point : kept.pareto) {
    const double x = frame.x(point.cost);
    const double y = std::clamp(frame.y(point.damage), frame.top, bottom);
    if (point.front) path += fmt::format("{}{:.1f},{:.1f}", path.empty() ? "" : " ", x, y);
    svg += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\"><title>{} kept, cost {:.6g}, damage "
        "{:.4g}</title></circle>\n",
        x, y, point.front ? "#06c" : "#aaa", point.layers.size(), point.cost, point.damage);
  }
  svg += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"#06c\"/>\n", path);
  svg += label(frame.left + frame.width / 2, 400, "middle", fmt::format("cost: {}", word_of(kept.cost_unit)));
  svg += label(frame.left - 60, 18, "start", "damage (share of the allowed error)");
  return svg + "</svg>\n";
}

}  // namespace vernier
