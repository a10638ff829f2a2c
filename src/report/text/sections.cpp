#include "report/text/sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "report/text/numbers.h"
#include "report/told.h"
#include "vernier/report/note_text.h"

namespace vernier {
namespace {

struct EventKind {
  const char* heading;
  const char* short_heading;
  std::int64_t LayerRow::*count;
  const char* meaning;
};

constexpr std::array<EventKind, 5> kEvents{{
    {"overflow", "over", &LayerRow::overflowed, "overflow: became infinite"},
    {"saturated", "sat", &LayerRow::saturated, "saturated: clipped to the end of the range"},
    {"subnormal", "subn", &LayerRow::subnormal, "subnormal: lost digits near zero"},
    {"underflow", "under", &LayerRow::flushed, "underflow: became zero"},
    {"NaN", "NaN", &LayerRow::nan, "NaN: became not a number"},
}};

bool occurs(const std::vector<LayerRow>& rows, const EventKind& kind) {
  return std::any_of(rows.begin(), rows.end(), [&](const LayerRow& row) { return row.*(kind.count) != 0; });
}

}  // namespace

std::string labelled(const std::string& label, const std::string& value, std::size_t width) {
  if (value.empty()) return {};
  return wrap(value, width, fmt::format("{:<13} ", label));
}

std::string heading(const std::string& text, const TextOptions& options) {
  return "\n" + painted(wrap(text, options.width), Paint::Bold, options.color);
}

EventColumns::EventColumns(const std::vector<LayerRow>& rows) {
  for (const EventKind& kind : kEvents) used_.push_back(occurs(rows, kind));
}

void EventColumns::add_headings(Table& table) const {
  for (const EventKind& kind : kEvents) table.column(kind.heading, Align::Right, kind.short_heading);
}

void EventColumns::add_cells(const LayerRow& row, std::vector<std::string>& cells) const {
  for (std::size_t i = 0; i < kEvents.size(); ++i) {
    cells.push_back(!used_[i] ? "" : row.values > 0 ? short_count_text(row.*(kEvents[i].count)) : "-");
  }
}

std::string event_legend(const std::vector<LayerRow>& rows) {
  std::string text;
  for (const EventKind& kind : kEvents) {
    if (!occurs(rows, kind)) continue;
    if (!text.empty()) text += "; ";
    text += kind.meaning;
  }
  return text.empty() ? text : "Counts are values of all samples. " + text + ".";
}

std::string time_text(const std::vector<PhaseTime>& phases, bool each) {
  double total = 0;
  std::vector<PhaseTime> sums;  // a step that was taken twice is one to a reader
  for (const PhaseTime& phase : phases) {
    total += phase.seconds;
    const auto known =
        std::find_if(sums.begin(), sums.end(), [&](const PhaseTime& sum) { return sum.phase == phase.phase; });
    if (known == sums.end()) {
      sums.push_back(phase);
    } else {
      known->seconds += phase.seconds;
    }
  }
  std::string parts;
  for (const PhaseTime& sum : sums) {
    parts += fmt::format("{}{} {:.1f}", parts.empty() ? "" : ", ", printable(sum.phase), sum.seconds);
  }
  if (phases.empty()) return {};
  return each ? fmt::format("{:.1f} s: {}", total, parts) : fmt::format("{:.1f} s", total);
}

std::string runner_text(const std::string& runner, bool on_gpu) {
  if (runner.find("sim") == std::string::npos) return printable(runner);
  return fmt::format("{}: simulated on {}{}", printable(runner), on_gpu ? "a GPU" : "the CPU",
                     runner.starts_with("trt-sim") ? ", by documented TensorRT rules, not run on TensorRT" : "");
}

std::string short_hash(const std::string& sha256) { return printable(sha256.substr(0, 12)); }

std::string pairs_text(const TypedReport& typed) {
  const auto counted = [](std::int64_t count, const char* noun) {
    return plural(static_cast<std::size_t>(count), noun);
  };
  if (!typed.quantized_weights) return counted(typed.quantize_pairs, "quantize/dequantize pair");
  const std::int64_t weights = *typed.quantized_weights, biases = typed.quantized_biases.value_or(0);
  std::string text = counted(typed.quantize_pairs - weights - biases, "activation pair");
  if (weights > 0) text += ", " + counted(weights, "quantized weight");
  if (biases > 0) text += fmt::format(", {} quantized bias{}", biases, biases == 1 ? "" : "es");
  return text;
}

std::string weights_text(const TypedReport& typed) {
  std::string text =
      fmt::format("{}, were {}", bytes_text(typed.weight_bytes), bytes_text(typed.original_weight_bytes));
  if (typed.quantize_pairs == 0) return text;
  std::vector<std::pair<std::string, std::vector<std::string>>> lists;  // by type
  for (const LargeFloatWeight& weight : typed.float_weights) {
    const std::string type = scheme_words(weight.dtype);
    std::string one = "'" + printable(weight.name) + "'";
    if (!weight.read_by.empty()) one += fmt::format(" of {}", fmt::join(weight.read_by, " and "));
    const auto known = std::ranges::find(lists, type, [](const auto& list) { return list.first; });
    std::vector<std::string>& of_type =
        known == lists.end() ? lists.emplace_back(type, std::vector<std::string>()).second : known->second;
    of_type.push_back(one + " " + bytes_text(weight.bytes));
  }
  for (const auto& [type, weights] : lists) {
    text += fmt::format("; large {} weight{}: {}", type, weights.size() == 1 ? "" : "s", fmt::join(weights, ", "));
  }
  return text;
}

std::string defects_section(const std::vector<FoundDefect>& defects, const TextOptions& options,
                            const std::string& where) {
  if (defects.empty()) return {};
  std::string text = heading("Defects" + where, options);
  for (const FoundDefect& defect : defects) {
    text += wrap(fmt::format("{}: {}", printable(defect.node), told(defect.text)), options.width,
                 "  " + defect.kind + ": ");
    if (!defect.cure.empty()) text += wrap(told(defect.cure), options.width, "    fix: ");
  }
  return text;
}

std::string notes_text(const std::vector<Note>& notes, const TextOptions& options, const std::string& label) {
  std::string text;
  for (const Note& note : notes) text += wrap(told(note_text(note)), options.width, label);
  return text;
}

std::string remarks(const std::vector<Note>& warnings, const std::vector<Note>& notes, const TextOptions& options) {
  std::string text;
  for (const Note& warning : warnings) {
    if (options.shown != nullptr && std::ranges::find(*options.shown, warning) != options.shown->end()) continue;
    text += painted(wrap(told(note_text(warning)), options.width, "warning: "), Paint::Warning, options.color);
  }
  text += notes_text(notes, options, "note: ");
  return text.empty() ? text : "\n" + text;
}

}  // namespace vernier
