#include "json/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace vernier {
namespace {

[[noreturn]] void refuse_kind(const Json& value, const char* wanted) {
  throw JsonError(fmt::format("is {}, {} is wanted", value.kind_text(), wanted));
}

bool same_number(const Json& one, const Json& other) {
  if (!one.is_integer() || !other.is_integer()) return one.number() == other.number();
  const std::optional<std::int64_t> signed_one = one.integer_within<std::int64_t>();
  return signed_one == other.integer_within<std::int64_t>() &&
         (signed_one || one.integer<std::uint64_t>() == other.integer<std::uint64_t>());
}

bool same_members(const Json& one, const Json& other) {
  return one.size() == other.size() && std::ranges::all_of(one.members(), [&](const Json::Member& member) {
           const Json* const there = other.find(member.key);
           return there != nullptr && *there == member.value;
         });
}

}  // namespace

Json::Json() noexcept = default;
Json::Json(const Json& other) {
  const auto copy = [this]<class T>(const T& value) {
    if constexpr (std::is_trivially_copyable_v<T>) {
      value_ = value;
    } else {
      value_ = std::make_unique<typename T::element_type>(*value);
    }
  };
  std::visit(copy, other.value_);
}
Json::Json(Json&& other) noexcept = default;
Json& Json::operator=(const Json& other) { return *this = Json(other); }
Json& Json::operator=(Json&& other) noexcept = default;
Json::~Json() = default;

Json::Json(Truth value) : value_(value.value) {}
Json::Json(double value) : value_(value) {}
Json::Json(std::string value) : value_(std::make_unique<std::string>(std::move(value))) {}
Json::Json(std::string_view value) : Json(std::string(value)) {}
Json::Json(const char* value) : Json(std::string(value)) {}
Json::Json(Array items) : value_(std::make_unique<Array>(std::move(items))) {}
Json::Json(Object members) : value_(std::make_unique<Object>(std::move(members))) {}

Json Json::array() { return Array(); }
Json Json::object() { return Object(); }

void Json::set_integer(std::int64_t value) { value_ = value; }
void Json::set_unsigned(std::uint64_t value) {
  if (std::in_range<std::int64_t>(value)) {
    value_ = static_cast<std::int64_t>(value);
  } else {
    value_ = value;
  }
}

Json::Kind Json::kind() const noexcept {
  constexpr Kind kKinds[] = {Kind::Null,   Kind::Boolean, Kind::Integer, Kind::Integer,
                             Kind::Number, Kind::Text,    Kind::Array,   Kind::Object};
  return kKinds[value_.index()];
}

const char* Json::kind_text() const noexcept {
  switch (kind()) {
    case Kind::Null:
      return "null";
    case Kind::Boolean:
      return "a boolean";
    case Kind::Integer:
    case Kind::Number:
      return "a number";
    case Kind::Text:
      return "a string";
    case Kind::Array:
      return "an array";
    case Kind::Object:
      break;
  }
  return "an object";
}

bool Json::is_unsigned() const noexcept { return std::holds_alternative<std::uint64_t>(value_); }
std::uint64_t Json::as_unsigned() const { return std::get<std::uint64_t>(value_); }
std::int64_t Json::as_integer() const {
  if (!is_integer()) refuse_kind(*this, "an integer");
  return std::get<std::int64_t>(value_);
}
void Json::refuse_integer() const { throw JsonError(fmt::format("is {}, which is out of range", json_text(*this))); }

bool Json::boolean() const {
  if (!is_boolean()) refuse_kind(*this, "true or false");
  return std::get<bool>(value_);
}

double Json::number() const {
  if (kind() == Kind::Number) return std::get<double>(value_);
  if (!is_integer()) refuse_kind(*this, "a number");
  return is_unsigned() ? static_cast<double>(as_unsigned()) : static_cast<double>(as_integer());
}

const std::string& Json::text() const {
  if (!is_text()) refuse_kind(*this, "a string");
  return *std::get<std::unique_ptr<std::string>>(value_);
}

const Json::Array& Json::items() const {
  if (!is_array()) refuse_kind(*this, "an array");
  return *std::get<std::unique_ptr<Array>>(value_);
}
Json::Array& Json::items() { return const_cast<Array&>(std::as_const(*this).items()); }

const Json::Object& Json::members() const {
  if (!is_object()) refuse_kind(*this, "an object");
  return *std::get<std::unique_ptr<Object>>(value_);
}
Json::Object& Json::members() { return const_cast<Object&>(std::as_const(*this).members()); }

std::size_t Json::size() const noexcept {
  if (const auto* items = std::get_if<std::unique_ptr<Array>>(&value_)) return (*items)->size();
  if (const auto* members = std::get_if<std::unique_ptr<Object>>(&value_)) return (*members)->size();
  return 0;
}

const Json* Json::find(std::string_view key) const noexcept {
  const auto* members = std::get_if<std::unique_ptr<Object>>(&value_);
  if (members == nullptr) return nullptr;
  const auto found = std::ranges::find(**members, key, &Member::key);
  return found == (*members)->end() ? nullptr : &found->value;
}
Json* Json::find(std::string_view key) noexcept { return const_cast<Json*>(std::as_const(*this).find(key)); }

const Json& Json::at(std::string_view key) const {
  if (!is_object()) refuse_kind(*this, "an object");
  if (const Json* const value = find(key)) return *value;
  throw JsonError(fmt::format("has no \"{}\"", key));
}
const Json& Json::at(std::size_t index) const {
  if (index < items().size()) return items()[index];
  throw JsonError(fmt::format("has {} items, number {} is wanted", items().size(), index + 1));
}
Json& Json::at(std::string_view key) { return const_cast<Json&>(std::as_const(*this).at(key)); }
Json& Json::at(std::size_t index) { return const_cast<Json&>(std::as_const(*this).at(index)); }

Json& Json::operator[](std::string_view key) {
  if (is_null()) *this = object();
  if (Json* const value = find(key)) return *value;
  return members().emplace_back(Member{std::string(key), {}}).value;
}

Json& Json::add(Json item) {
  if (is_null()) *this = array();
  return items().emplace_back(std::move(item));
}

Json& Json::add(std::string key, Json value) {
  if (is_null()) *this = object();
  return members().emplace_back(Member{std::move(key), std::move(value)}).value;
}

void Json::erase(std::string_view key) {
  if (is_object()) std::erase_if(members(), [&](const Member& member) { return member.key == key; });
}

bool Json::operator==(const Json& other) const {
  if (is_number() && other.is_number()) return same_number(*this, other);
  if (kind() != other.kind()) return false;
  switch (kind()) {
    case Kind::Null:
    case Kind::Integer:
    case Kind::Number:
      return true;  // numbers were compared above
    case Kind::Boolean:
      return boolean() == other.boolean();
    case Kind::Text:
      return text() == other.text();
    case Kind::Array:
      return items() == other.items();
    case Kind::Object:
      break;
  }
  return same_members(*this, other);
}

}  // namespace vernier
