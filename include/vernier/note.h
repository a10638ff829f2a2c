// A note or a warning of a job: a code that says which one it is, and the values that belong to it. It holds no
// sentence. note_text() (report/note_text.h) makes one, from the one catalogue of them, so no decision rests on words.
//
//   report.warnings.push_back({"values-not-finite", {{"tensor", name}, {"count", 3}, {"of", 100}}});
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace vernier {

using NoteValue = std::variant<bool, std::int64_t, double, std::string, std::vector<std::string>>;

/// A named value: a name as its file has it, a count, a figure, a list of names.
struct NoteField {
  NoteField(std::string field, bool truth) : name(std::move(field)), value(truth) {}
  NoteField(std::string field, std::integral auto count)
      : name(std::move(field)), value(static_cast<std::int64_t>(count)) {}
  NoteField(std::string field, std::floating_point auto figure)
      : name(std::move(field)), value(static_cast<double>(figure)) {}
  NoteField(std::string field, const char* word) : name(std::move(field)), value(std::string(word)) {}
  NoteField(std::string field, std::string word) : name(std::move(field)), value(std::move(word)) {}
  NoteField(std::string field, std::string_view word) : name(std::move(field)), value(std::string(word)) {}
  NoteField(std::string field, std::vector<std::string> words) : name(std::move(field)), value(std::move(words)) {}
  bool operator==(const NoteField&) const = default;

  std::string name;
  NoteValue value;
};

struct Note {
  Note() = default;
  Note(std::string which, std::initializer_list<NoteField> values) : code(std::move(which)), fields(values) {}
  /// A sentence alone, as reports of earlier versions have it.
  explicit Note(std::string sentence) : text(std::move(sentence)) {}
  bool operator==(const Note&) const = default;

  /// Null where there is none of this name.
  const NoteValue* find(std::string_view name) const {
    for (const NoteField& field : fields) {
      if (field.name == name) return &field.value;
    }
    return nullptr;
  }
  /// The text of that name; empty where there is none.
  std::string text_of(std::string_view name) const {
    const NoteValue* const value = find(name);
    const auto* const words = value == nullptr ? nullptr : std::get_if<std::string>(value);
    return words == nullptr ? std::string() : *words;
  }

  std::string code;  // "values-not-finite"; empty: `text` is all there is
  std::vector<NoteField> fields;
  std::string text;  // as the report that it was read from has it
};

inline void append(std::vector<Note>& notes, const std::vector<Note>& more) {
  notes.insert(notes.end(), more.begin(), more.end());
}

}  // namespace vernier
