#include "json/fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <utility>
#include <variant>

#include "base/text.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/marks.h"

namespace vernier {

std::string Place::path() const {
  if (parent_ == nullptr) return {};
  std::string path = parent_->path();
  if (key_.empty()) return fmt::format("{}[{}]", path, index_);
  return path.empty() ? printable(key_) : path + "." + printable(key_);
}

void Place::refuse(const std::string& why, const std::string& hint) const {
  const std::string where = path();
  throw Error(ErrorCode::JsonFile, fmt::format("{}: {}{}{}", *file_, where, where.empty() ? "" : " ", why), hint);
}

void Place::refuse_kind(const Json& found, const char* wanted) const {
  refuse(fmt::format("is {}, {} is wanted", found.kind_text(), wanted));
}

void Place::refuse_word(const std::string& found, std::span<const std::string_view> words) const {
  const std::vector<std::string> all(words.begin(), words.end());
  const std::vector<std::string> near = nearest_names(found, all);
  refuse(fmt::format("is '{}', one of {} is wanted", printable(found), fmt::join(all, ", ")),
         near.empty() ? "" : "nearest: " + list_some(near));
}

Json in_command_words(Json texts) {
  if (texts.is_text()) return command_words(texts.text());
  if (!texts.is_array()) return texts;
  for (Json& text : texts.items()) text = in_command_words(std::move(text));
  return texts;
}

namespace json_detail {

ObjectReader::ObjectReader(const Json& json, const Place& place) : json_(json), place_(place) {
  if (!json.is_object()) place.refuse_kind(json, "an object");
}

const Json* ObjectReader::take(const char* key, const char* former) {
  known_.push_back(key);
  const Json* found = json_.find(key);
  if (former != nullptr) {
    known_.push_back(former);
    if (found == nullptr) found = json_.find(former);
  }
  return found != nullptr && found->is_null() ? nullptr : found;
}

void ObjectReader::miss(const char* key) {
  if (missed_ == nullptr) missed_ = key;
}

// A key that is spelt wrong is unknown, and another is missing: the first of the two says more.
void ObjectReader::finish(bool open) const {
  for (const Json::Member& member : json_.members()) {
    if (open) break;
    const auto is = [&](const char* known) { return member.key == known; };
    if (std::ranges::any_of(known_, is)) continue;
    const std::vector<std::string> names(known_.begin(), known_.end());
    const std::vector<std::string> near = nearest_names(member.key, names);
    place_.at(member.key).refuse("is unknown", near.empty() ? "" : "nearest: " + list_some(near));
  }
  if (missed_ != nullptr) place_.at(missed_).refuse(json_.contains(missed_) ? "is null" : "is missing");
}

std::size_t read_word(const Json& json, const Place& place, std::span<const std::string_view> words) {
  std::string text;
  read_json(json, place, text);
  const auto found = std::ranges::find(words, text);
  if (found == words.end()) place.refuse_word(text, words);
  return static_cast<std::size_t>(found - words.begin());
}

const Json::Array& items_of(const Json& json, const Place& place) {
  if (!json.is_array()) place.refuse_kind(json, "an array");
  return json.items();
}

const Json::Object& members_of(const Json& json, const Place& place) {
  if (!json.is_object()) place.refuse_kind(json, "an object");
  return json.members();
}

void require_integer(const Json& json, const Place& place) {
  if (!json.is_integer()) place.refuse_kind(json, "an integer");
}

void refuse_out_of_range(const Json& json, const Place& place) {
  place.refuse(fmt::format("is {}, which is out of range", json_text(json)));
}

}  // namespace json_detail

Json json_of(float value) {
  // Doubles that are whole numbers would be written as 1.0; -0 has a sign that integers have not.
  if (value == std::trunc(value) && std::abs(value) < 1e15F && !(value == 0 && std::signbit(value))) {
    return static_cast<std::int64_t>(value);
  }
  if (!std::isfinite(value)) return static_cast<double>(value);
  const double shortest = std::strtod(fmt::format("{}", value).c_str(), nullptr);
  return static_cast<float>(shortest) == value ? shortest : static_cast<double>(value);
}

Json json_of(Dtype value) { return dtype_name(value); }

Json json_of(const Note& note) {
  Json object = Json::Object{{"code", note.code}};
  for (const NoteField& field : note.fields) {
    object.add(field.name, std::visit([](const auto& value) { return json_of(value); }, field.value));
  }
  if (note.code.empty()) object.add("text", note.text);
  return object;
}

void read_json(const Json& json, const Place& place, Note& value) {
  if (json.is_text()) {
    value = Note(json.text());
    return;
  }
  value = {};
  for (const Json::Member& member : json_detail::members_of(json, place)) {
    if (member.key == "code") {
      read_json(member.value, place.at(member.key), value.code);
    } else if (member.key == "text") {
      read_json(member.value, place.at(member.key), value.text);
    } else if (member.value.is_boolean()) {
      value.fields.emplace_back(member.key, member.value.boolean());
    } else if (member.value.is_integer()) {
      value.fields.emplace_back(member.key, member.value.integer<std::int64_t>());
    } else if (member.value.is_number()) {
      value.fields.emplace_back(member.key, member.value.number());
    } else if (member.value.is_text()) {
      value.fields.emplace_back(member.key, member.value.text());
    } else {
      std::vector<std::string> names;
      read_json(member.value, place.at(member.key), names);
      value.fields.emplace_back(member.key, std::move(names));
    }
  }
}

bool json_detail::any_code(const std::vector<Note>& notes) {
  return std::ranges::any_of(notes, [](const Note& note) { return !note.code.empty(); });
}

Json json_detail::codes_of(const std::vector<Note>& notes) {
  Json codes = json_of(notes);
  for (Json& note : codes.items()) {
    for (Json::Member& member : note.members()) member.value = in_command_words(std::move(member.value));
  }
  return codes;
}

void json_detail::read_codes(const Json& codes, const Place& place, std::vector<Note>& notes) {
  std::vector<Note> coded;
  read_json(codes, place, coded);
  if (coded.size() != notes.size()) {
    place.refuse(fmt::format("has {} entries for {}", coded.size(), plural(notes.size(), "text")));
  }
  for (std::size_t i = 0; i < notes.size(); ++i) {
    coded[i].text = std::move(notes[i].text);
    notes[i] = std::move(coded[i]);
  }
}

void read_json(const Json& json, const Place& place, bool& value) {
  if (!json.is_boolean()) place.refuse_kind(json, "true or false");
  value = json.boolean();
}

void read_json(const Json& json, const Place& place, double& value) {
  if (json.is_number()) {
    value = json.number();
    return;
  }
  const std::string text = json.is_text() ? json.text() : "";
  if (text == "nan" || text == "NaN") {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (text == "inf" || text == "Infinity") {
    value = std::numeric_limits<double>::infinity();
  } else if (text == "-inf" || text == "-Infinity") {
    value = -std::numeric_limits<double>::infinity();
  } else {
    place.refuse_kind(json, "a number, \"inf\", \"-inf\" or \"nan\"");
  }
}

void read_json(const Json& json, const Place& place, float& value) {
  double number = 0;
  read_json(json, place, number);
  value = static_cast<float>(number);
}

void read_json(const Json& json, const Place& place, std::string& value) {
  if (!json.is_text()) place.refuse_kind(json, "a string");
  value = json.text();
}

void read_json(const Json& json, const Place& place, Format& value) {
  std::string name;
  read_json(json, place, name);
  const std::optional<Format> format = parse_format(name);
  if (!format) place.refuse_word(name, words_of(value));
  value = *format;
}

}  // namespace vernier
