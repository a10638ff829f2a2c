#include "report/text/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/counts.h"

namespace vernier {
namespace {

bool higher_is_better(Metric metric) {
  return metric == Metric::MinSqnrDb || metric == Metric::MinCosine || metric == Metric::MinTop1Agreement;
}

std::string with_digits(Metric metric, double value, int extra) {
  switch (metric) {
    case Metric::MinSqnrDb:
      return fmt::format("{:.{}f}", value, 1 + extra);
    case Metric::MinCosine:
      return fmt::format("{:.{}f}", value, 4 + extra);
    case Metric::MinTop1Agreement:
      return fmt::format("{:.{}f}", value * 100, 1 + extra);
    case Metric::MaxAbsError:
    case Metric::MaxMse:
      break;
  }
  return fmt::format("{:.{}g}", value, 3 + extra);
}

const char* unit_of(Metric metric) {
  return metric == Metric::MinSqnrDb ? " dB" : metric == Metric::MinTop1Agreement ? " %" : "";
}

}  // namespace

std::string db_text(std::optional<double> db) {
  if (!db) return "-";
  if (std::isnan(*db)) return "nan";
  if (std::isinf(*db)) return *db > 0 ? "exact" : "-inf";
  if (std::abs(*db) < 0.05) return "0.0";  // never "-0.0"
  return fmt::format("{:.1f}", *db);
}

std::string metric_text(Metric metric, double value, std::optional<double> limit) {
  if (!std::isfinite(value)) {
    if (metric == Metric::MinSqnrDb && value > 0) return "exact";
    return fmt::format("{}{}", value, unit_of(metric));
  }
  const double scale = metric == Metric::MinTop1Agreement ? 100 : 1;
  std::string text;
  for (int extra = 0; extra <= 6; ++extra) {
    text = with_digits(metric, value, extra);
    const double printed = std::strtod(text.c_str(), nullptr);
    if (printed == 0 && text.front() == '-') text.erase(0, 1);               // never "-0.0"
    if (metric == Metric::MinCosine && printed >= 1 && value < 1) continue;  // 1 means no difference
    if (!limit) break;
    const auto passes = [&](double x, double bound) { return higher_is_better(metric) ? x >= bound : x <= bound; };
    if (passes(printed, *limit * scale) == passes(value, *limit)) break;
  }
  return text + unit_of(metric);
}

std::string limit_text(Metric metric, double limit) {
  // Twelve digits: what a user types, without the dust of a multiplication by 100.
  return fmt::format("{:.12g}{}", metric == Metric::MinTop1Agreement ? limit * 100 : limit, unit_of(metric));
}

std::string times_text(double factor) {
  if (factor >= 1e9) return "> 1e+09x";
  if (factor >= 999.5) {
    const double rounded = std::strtod(fmt::format("{:.3g}", factor).c_str(), nullptr);
    return fmt::format("{:.{}f}x", rounded, 0);
  }
  int digits = factor < 9.995 ? 2 : 1;
  std::string text = fmt::format("{:.{}f}", factor, digits);
  while (digits < 6 && factor != 1 && std::strtod(text.c_str(), nullptr) == 1) {
    text = fmt::format("{:.{}f}", factor, ++digits);
  }
  return text + "x";
}

std::string ms_text(double ms) { return fmt::format("{:.{}f}", ms, ms < 9.995 ? 2 : 1); }

std::string percent_text(std::optional<double> share) {
  if (!share) return "-";
  const double percent = *share * 100;
  if (percent > 0 && percent < 0.05) return "<0.1 %";
  return fmt::format("{:.1f} %", percent);
}

std::string short_count_text(std::int64_t count) {
  if (count < 1000) return std::to_string(count);
  if (count < 10'000) return fmt::format("{},{:03}", count / 1000, count % 1000);
  const auto [value, unit] = scaled_count(count);
  return fmt::format("{:.{}f}{}", value, value < 9.95 ? 1 : 0, unit);
}

std::string bytes_text(std::int64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  const auto [value, unit] = scaled_count(bytes);
  return fmt::format("{:.{}f} {}B", value, value < 99.95 ? 1 : 0, unit);
}

std::string cosine_text(double cosine) {
  if (!std::isfinite(cosine)) return fmt::format("{}", cosine);
  if (cosine > 0.9999995 && cosine < 1) return ">0.999999";
  return fmt::format("{:.6f}", std::trunc(cosine * 1e6) / 1e6);
}

std::string formats_text(const std::vector<Format>& formats) {
  std::string text;
  for (std::size_t i = 0; i < formats.size(); ++i) {
    if (i > 0) text += i + 1 == formats.size() ? " and " : ", ";
    text += format_title(formats[i]);
  }
  return text;
}

std::string scheme_words(std::string_view scheme) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789-";
  std::string text;
  while (!scheme.empty()) {
    const std::size_t end = std::min(scheme.find_first_not_of(kLetters), scheme.size());
    const std::string_view word = scheme.substr(0, end);
    const std::optional<Format> format = parse_format(word);
    text += format && format_name(*format) == word ? format_title(*format) : word;
    const std::size_t next = std::min(scheme.find_first_of(kLetters, end), scheme.size());
    text += scheme.substr(end, next - end);
    scheme.remove_prefix(next);
  }
  return text;
}

}  // namespace vernier
