#include "vernier/report/note_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "base/counts.h"
#include "base/text.h"
#include "report/text/note_catalogue.h"
#include "vernier/format.h"

namespace vernier {
namespace {

std::atomic<bool> shows_codes = false;

bool is_one(const NoteValue& value) {
  if (const auto* truth = std::get_if<bool>(&value)) return *truth;
  if (const auto* count = std::get_if<std::int64_t>(&value)) return *count == 1;
  const auto* list = std::get_if<std::vector<std::string>>(&value);
  return list != nullptr && list->size() == 1;
}

std::size_t count_of(const NoteValue& value) {
  if (const auto* list = std::get_if<std::vector<std::string>>(&value)) return list->size();
  const auto* count = std::get_if<std::int64_t>(&value);
  return count == nullptr ? 0 : static_cast<std::size_t>(*count);
}

/// "it|all #"
std::string one_of_two(std::string_view choices, const NoteValue& value) {
  const std::size_t bar = choices.find('|');
  std::string chosen(is_one(value) ? choices.substr(0, bar) : choices.substr(bar + 1));
  if (const std::size_t at = chosen.find('#'); at != std::string::npos) {
    chosen.replace(at, 1, count_text(static_cast<std::int64_t>(count_of(value))));
  }
  return chosen;
}

/// "quoted 3"
std::string list_text(std::vector<std::string> names, std::string_view how) {
  if (names.empty()) return "nothing";
  if (how == "text") return fmt::format("{}", fmt::join(names, ", "));
  if (how.starts_with("quoted")) {
    for (std::string& name : names) name = "'" + name + "'";
    how.remove_prefix(std::min(how.size(), std::string_view("quoted ").size()));
    if (how.empty()) how = "all";
  }
  std::size_t limit = how == "all" ? names.size() : 5;
  std::from_chars(how.data(), how.data() + how.size(), limit);
  return list_some(names, limit);
}

/// "FP32" of "float32"; a type that is no format of ours as it is.
std::string format_text(const std::string& name) {
  const std::optional<Format> format = parse_format(name);
  return format ? std::string(format_title(*format)) : printable(name);
}

std::string value_text(const NoteValue& value, std::string_view how) {
  if (how.starts_with('#')) return plural(count_of(value), std::string(how.substr(1)));
  if (how.starts_with('?')) return one_of_two(how.substr(1), value);
  if (const auto* text = std::get_if<std::string>(&value)) {
    return how == "text" ? *text : how == "format" ? format_text(*text) : printable(*text);
  }
  if (const auto* list = std::get_if<std::vector<std::string>>(&value)) return list_text(*list, how);
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
  const auto* count = std::get_if<std::int64_t>(&value);
  if (count != nullptr && how == "count") return count_text(*count);
  if (count != nullptr && how.empty()) return std::to_string(*count);
  // A figure that is a whole number may come from a file as an integer.
  const double figure = count != nullptr ? static_cast<double>(*count) : std::get<double>(value);
  // A file may have a number where a text belongs.
  const bool formats = how.empty() || how.find_first_of("aefg") == how.size() - 1;
  return fmt::format(fmt::runtime(formats ? fmt::format("{{:{}}}", how) : "{}"), figure);
}

bool says_nothing(const NoteValue* value) {
  if (value == nullptr) return true;
  const auto* text = std::get_if<std::string>(value);
  const auto* list = std::get_if<std::vector<std::string>>(value);
  return (text != nullptr && text->empty()) || (list != nullptr && list->empty());
}

/// `form` with the fields of the note in place; nullopt where it has none of that name, and in a part that may be left
/// out, also where that field is empty.
std::optional<std::string> filled(std::string_view form, const Note& note, bool is_part) {
  std::string text;
  while (!form.empty()) {
    const char first = form.front();
    const bool doubled = form.size() > 1 && form[1] == first;
    const bool special = first == '{' || first == '}' || first == '[' || first == ']';
    if (!special || doubled) {
      text += first;
      form.remove_prefix(special ? 2 : 1);
      continue;
    }
    const std::size_t end = form.find(first == '{' ? '}' : ']');
    const std::string_view inner = form.substr(1, end - 1);
    form.remove_prefix(end + 1);
    if (first == '[') {
      text += filled(inner, note, true).value_or("");
      continue;
    }
    const std::size_t colon = inner.find(':');
    const NoteValue* value = note.find(inner.substr(0, colon));
    if (is_part ? says_nothing(value) : value == nullptr) return std::nullopt;
    text += value_text(*value, colon == std::string_view::npos ? "" : inner.substr(colon + 1));
  }
  return text;
}

}  // namespace

void show_codes_of_notes(bool on) { shows_codes = on; }

std::string note_text(const Note& note) {
  if (shows_codes) return note.code;
  const auto entry = std::ranges::find(note_templates(), std::string_view(note.code), &NoteTemplate::code);
  if (entry == note_templates().end()) return note.text;
  return filled(entry->text, note, false).value_or(note.text);
}

std::vector<std::string> note_texts(const std::vector<Note>& notes) {
  std::vector<std::string> texts;
  for (const Note& note : notes) texts.push_back(note_text(note));
  return texts;
}

}  // namespace vernier
