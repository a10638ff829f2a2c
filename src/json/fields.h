// Structs from and to JSON, by their lists of fields (field.h). Beside structs: truth values, numbers, texts, formats,
// enums that have words, vectors, maps by name, pairs as arrays of two (written only), and optionals as fields.
//
//   numbers that are not finite   "inf", "-inf", "nan"; the words of Python are read too (python_json.h)
//   float                         the shortest digits that read back as the same float through a double
//   enums, formats                their words
//
// Readers refuse what they do not know: a field that is missing, unknown, or of another type, naming its place in the
// document ("report.json: layers[3].share is a string, ..."), unknown words with the nearest that there are. Null is
// taken for an optional that is absent.
#pragma once

#include <concepts>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "json/field.h"
#include "json/json.h"
#include "vernier/format.h"
#include "vernier/note.h"
#include "vernier/tensor.h"
#include "vernier/words.h"

namespace vernier {

/// A place in a document, for messages: "report.json: layers[3].share". Refers to the one that it is in, and to its
/// key.
class Place {
 public:
  explicit Place(const std::string& file) : file_(&file) {}
  explicit Place(std::string&& file) = delete;  // it is not kept

  Place at(std::string_view key) const { return Place(*this, key, 0); }
  Place at(std::size_t index) const { return Place(*this, {}, index); }

  /// Errors: Input, "FILE: PATH WHY".
  [[noreturn]] void refuse(const std::string& why, const std::string& hint = {}) const;
  /// "is a string, a number is wanted".
  [[noreturn]] void refuse_kind(const Json& found, const char* wanted) const;
  /// "is 'blue', one of red, green is wanted", with the nearest of these as the hint.
  [[noreturn]] void refuse_word(const std::string& found, std::span<const std::string_view> words) const;

 private:
  Place(const Place& parent, std::string_view key, std::size_t index)
      : file_(parent.file_), parent_(&parent), key_(key), index_(index) {}
  std::string path() const;

  const std::string* file_;
  const Place* parent_ = nullptr;
  std::string_view key_;  // empty: an item, and its index says which
  std::size_t index_ = 0;
};

template <class T>
concept HasFields = requires {
  Fields<T>::list;
};

namespace json_detail {

template <class T>
constexpr bool kIsOptional = false;
template <class T>
constexpr bool kIsOptional<std::optional<T>> = true;

/// The members of one object: which there are, which were asked for, and which nobody knows.
class ObjectReader {
 public:
  /// Errors: Input when it is no object.
  ObjectReader(const Json& json, const Place& place);
  /// Null where there is none, or where it is null.
  const Json* take(const char* key, const char* former);
  /// That one is wanted, and not there.
  void miss(const char* key);
  /// Errors: Input when a member was not asked for, unless there may be others, and when one was missed.
  void finish(bool open) const;

 private:
  const Json& json_;
  const Place& place_;
  std::vector<const char*> known_;
  const char* missed_ = nullptr;  // the first
};

std::size_t read_word(const Json& json, const Place& place, std::span<const std::string_view> words);
const Json::Array& items_of(const Json& json, const Place& place);
const Json::Object& members_of(const Json& json, const Place& place);
void require_integer(const Json& json, const Place& place);
[[noreturn]] void refuse_out_of_range(const Json& json, const Place& place);

}  // namespace json_detail

// ---- writing

/// Texts for people, one or an array of them: what they mark (vernier/marks.h) in words of the command.
Json in_command_words(Json texts);

/// A double that is written with the digits of this float; a whole number where it is one, as 1 and not 1.0.
Json json_of(float value);
Json json_of(Dtype value);
/// {"code": "values-not-finite", "tensor": "x", "count": 3}: its fields are members. Of a sentence alone {"code": "",
/// "text": ...}.
Json json_of(const Note& note);
inline Json json_of(Json value) { return value; }

template <class T>
Json json_of(const T& value);
template <class T>
Json json_of(const std::vector<T>& values);
template <class T>
Json json_of(const std::map<std::string, T>& values);
template <class First, class Second>
Json json_of(const std::pair<First, Second>& values);

namespace json_detail {

bool any_code(const std::vector<Note>& notes);
/// Their texts in words of the command.
Json codes_of(const std::vector<Note>& notes);

// The owner of a field may be a base of the struct.
template <class Struct, class Owner, class Value>
void put(Json& object, const Struct& owner, const Field<Owner, Value>& field) {
  if (field.present != nullptr && !field.present(owner)) return;
  const Value& member = owner.*(field.member);
  if constexpr (kIsOptional<Value>) {
    if (member) object.add(field.key, json_of(*member));
  } else {
    object.add(field.key, json_of(member));
  }
}

template <class Struct, class Owner, class Value>
void put(Json& object, const Struct& owner, const Prose<Owner, Value>& field) {
  Json members = Json::object();
  put(members, owner, static_cast<const Field<Owner, Value>&>(field));
  for (Json::Member& member : members.members()) object.add(field.key, in_command_words(std::move(member.value)));
}

template <class Struct, class Owner, class Value>
void put(Json& object, const Struct& owner, const Nullable<Owner, Value>& field) {
  const Value& member = owner.*(field.member);
  object.add(field.key, member ? json_of(*member) : Json());
}

template <class Struct, class Owner>
void put(Json& object, const Struct& owner, const Remarks<Owner>& field) {
  if (field.present != nullptr && !field.present(owner)) return;
  const std::vector<Note>& notes = owner.*(field.member);
  object.add(field.key, in_command_words(json_of(field.texts(notes))));
  if (any_code(notes)) object.add(field.codes, codes_of(notes));
}

template <class Owner, class Function>
void put(Json& object, const Owner& owner, const Derived<Function>& field) {
  const auto value = field.value(owner);
  if constexpr (kIsOptional<std::remove_const_t<decltype(value)>>) {
    if (value) object.add(field.key, json_of(*value));
  } else {
    object.add(field.key, json_of(value));
  }
}

}  // namespace json_detail

template <class T>
Json json_of(const T& value) {
  if constexpr (HasFields<T>) {
    Json object = Json::object();
    std::apply([&](const auto&... field) { (json_detail::put(object, value, field), ...); }, Fields<T>::list);
    return object;
  } else if constexpr (Worded<T>) {
    return word_of(value);
  } else {
    return value;
  }
}

template <class T>
Json json_of(const std::vector<T>& values) {
  Json::Array items;
  items.reserve(values.size());
  for (const auto& value : values) items.push_back(json_of(value));
  return items;
}

template <class T>
Json json_of(const std::map<std::string, T>& values) {
  Json::Object members;
  members.reserve(values.size());
  for (const auto& [key, value] : values) members.push_back({key, json_of(value)});
  return members;
}

template <class First, class Second>
Json json_of(const std::pair<First, Second>& values) {
  return Json::Array{json_of(values.first), json_of(values.second)};
}

// ---- reading: all Errors are Input

void read_json(const Json& json, const Place& place, bool& value);
void read_json(const Json& json, const Place& place, double& value);
void read_json(const Json& json, const Place& place, float& value);
void read_json(const Json& json, const Place& place, std::string& value);
void read_json(const Json& json, const Place& place, Format& value);
inline void read_json(const Json& json, const Place& /*place*/, Json& value) { value = json; }
/// As json_of() has it, or a sentence alone.
void read_json(const Json& json, const Place& place, Note& value);

template <class T>
void read_json(const Json& json, const Place& place, T& value);
template <class T>
void read_json(const Json& json, const Place& place, std::vector<T>& values);
template <class T>
void read_json(const Json& json, const Place& place, std::map<std::string, T>& values);

namespace json_detail {

/// Gives sentences that were read the codes and fields that belong to them, in the same order.
void read_codes(const Json& codes, const Place& place, std::vector<Note>& notes);

template <class Struct, class Owner, class Value>
void take(ObjectReader& reader, const Place& place, Struct& owner, const Field<Owner, Value>& field) {
  const Json* const found = reader.take(field.key, field.former);
  if (found == nullptr) {
    if (!kIsOptional<Value> && field.present == nullptr) reader.miss(field.key);
    return;
  }
  Value& member = owner.*(field.member);
  if constexpr (kIsOptional<Value>) {
    read_json(*found, place.at(field.key), member.emplace());
  } else {
    read_json(*found, place.at(field.key), member);
  }
}

template <class Struct, class Owner, class Value>
void take(ObjectReader& reader, const Place& place, Struct& owner, const Nullable<Owner, Value>& field) {
  if (const Json* const found = reader.take(field.key, nullptr)) {
    read_json(*found, place.at(field.key), (owner.*(field.member)).emplace());
  }
}

template <class Struct, class Owner>
void take(ObjectReader& reader, const Place& place, Struct& owner, const Remarks<Owner>& field) {
  const Json* const texts = reader.take(field.key, nullptr);
  const Json* const codes = reader.take(field.codes, nullptr);
  if (texts == nullptr && field.present == nullptr) reader.miss(field.key);
  if (texts == nullptr) return;
  std::vector<Note>& notes = owner.*(field.member);
  read_json(*texts, place.at(field.key), notes);
  if (codes != nullptr) read_codes(*codes, place.at(field.codes), notes);
}

template <class Owner, class Function>
void take(ObjectReader& reader, const Place& /*place*/, Owner& /*owner*/, const Derived<Function>& field) {
  static_cast<void>(reader.take(field.key, nullptr));
}

}  // namespace json_detail

template <class T>
void read_json(const Json& json, const Place& place, T& value) {
  if constexpr (HasFields<T>) {
    json_detail::ObjectReader reader(json, place);
    std::apply([&](const auto&... field) { (json_detail::take(reader, place, value, field), ...); }, Fields<T>::list);
    reader.finish(requires { Fields<T>::open; });
  } else if constexpr (Worded<T>) {
    value = static_cast<T>(json_detail::read_word(json, place, words_of(value)));
  } else {
    static_assert(std::integral<T>, "a type without a list of fields");
    json_detail::require_integer(json, place);
    const std::optional<T> number = json.integer_within<T>();
    if (!number) json_detail::refuse_out_of_range(json, place);
    value = *number;
  }
}

template <class T>
void read_json(const Json& json, const Place& place, std::vector<T>& values) {
  const Json::Array& items = json_detail::items_of(json, place);
  values.resize(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) read_json(items[i], place.at(i), values[i]);
}

template <class T>
void read_json(const Json& json, const Place& place, std::map<std::string, T>& values) {
  for (const Json::Member& member : json_detail::members_of(json, place)) {
    read_json(member.value, place.at(member.key), values[member.key]);
  }
}

/// The whole document. Errors: Input when it is no JSON, or anything in it is not as the fields say.
template <class T>
T parse_as(std::string_view text, const std::string& where) {
  const Json json = parse_json(text, where);
  T value;
  read_json(json, Place(where), value);
  return value;
}

}  // namespace vernier
