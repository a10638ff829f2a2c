// One JSON value, our own: null, a truth value, a number, a text, an array, or an object that keeps its order. What
// reads and writes JSON anywhere in the program holds these. Structs with a list of fields go from and to it by
// themselves (fields.h). Parsing is nlohmann's, and its header is read by this folder alone: it costs seconds wherever
// it is included.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace vernier {

/// A value is not what its reader takes for granted: "is a string, a number is wanted". For the border to programs that
/// we wrote both sides of; what users give is read by fields.h, whose errors name the place.
class JsonError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Json {
 public:
  enum class Kind { Null, Boolean, Integer, Number, Text, Array, Object };
  struct Member;
  using Array = std::vector<Json>;
  using Object = std::vector<Member>;  // in file order; no key twice

  Json() noexcept;  // null
  Json(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(const Json& other);
  Json& operator=(Json&& other) noexcept;
  ~Json();

  Json(std::same_as<bool> auto value) : Json(Truth{value}) {}
  Json(double value);  // may be infinite or no number: json_text says how that is written
  Json(std::string value);
  Json(std::string_view value);
  Json(const char* value);
  template <std::integral Int>
  requires(!std::same_as<Int, bool>) Json(Int value) {
    if constexpr (std::is_signed_v<Int>) {
      set_integer(value);
    } else {
      set_unsigned(value);
    }
  }
  Json(Array items);
  Json(Object members);

  static Json array();
  static Json object();

  Kind kind() const noexcept;
  bool is_null() const noexcept { return kind() == Kind::Null; }
  bool is_boolean() const noexcept { return kind() == Kind::Boolean; }
  bool is_integer() const noexcept { return kind() == Kind::Integer; }
  bool is_number() const noexcept { return is_integer() || kind() == Kind::Number; }  // integers included
  bool is_text() const noexcept { return kind() == Kind::Text; }
  bool is_array() const noexcept { return kind() == Kind::Array; }
  bool is_object() const noexcept { return kind() == Kind::Object; }
  /// "a string", "an object", for messages.
  const char* kind_text() const noexcept;

  /// Errors of all of these: JsonError where the value is of another kind.
  bool boolean() const;
  double number() const;  // of an integer, too
  const std::string& text() const;
  const Array& items() const;
  Array& items();
  const Object& members() const;
  Object& members();
  /// Errors: JsonError as well where the integer does not fit.
  template <std::integral Int>
  Int integer() const {
    const std::optional<Int> value = integer_within<Int>();
    if (!value) refuse_integer();
    return *value;
  }
  /// The integer; nullopt where it does not fit. Errors: JsonError where there is none.
  template <std::integral Int>
  std::optional<Int> integer_within() const {
    if (is_unsigned()) return narrowed<Int>(as_unsigned());
    return narrowed<Int>(as_integer());
  }

  /// Items or members; 0 for all other kinds.
  std::size_t size() const noexcept;
  bool empty() const noexcept { return size() == 0; }

  /// Null where there is no such member, or no object.
  const Json* find(std::string_view key) const noexcept;
  Json* find(std::string_view key) noexcept;
  bool contains(std::string_view key) const noexcept { return find(key) != nullptr; }
  /// Errors: JsonError where there is none.
  const Json& at(std::string_view key) const;
  const Json& at(std::size_t index) const;
  Json& at(std::string_view key);
  Json& at(std::size_t index);

  /// The member of that key, which is made where there is none; null becomes an object. Cost: linear in the members.
  Json& operator[](std::string_view key);
  /// Behind the others; null becomes an array.
  Json& add(Json item);
  /// Behind the others, without a look at whether the key is there already; null becomes an object.
  Json& add(std::string key, Json value);
  /// Nothing where there is no such member.
  void erase(std::string_view key);

  /// Numbers by their value, 1 and 1.0 alike; objects whatever their order.
  bool operator==(const Json& other) const;

 private:
  struct Truth {
    bool value;
  };
  explicit Json(Truth value);
  void set_integer(std::int64_t value);
  void set_unsigned(std::uint64_t value);
  bool is_unsigned() const noexcept;
  std::int64_t as_integer() const;
  std::uint64_t as_unsigned() const;
  [[noreturn]] void refuse_integer() const;
  template <std::integral Int, std::integral From>
  static std::optional<Int> narrowed(From value) {
    if (!std::in_range<Int>(value)) return std::nullopt;
    return static_cast<Int>(value);
  }

  // The unsigned ones are those that no signed one can hold. What is larger than a number lies elsewhere: documents of
  // others are lists of millions of numbers.
  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::unique_ptr<std::string>,
               std::unique_ptr<Array>, std::unique_ptr<Object>>
      value_;
};

struct Json::Member {
  std::string key;
  Json value;
};

/// Errors: Input, "WHERE: is not JSON: parse error at line 1, column 2: ...", also where it is nested deeper than any
/// document of ours. Of a key that comes twice the last value stands, unless `unique_keys` refuses it.
Json parse_json(std::string_view text, const std::string& where, bool unique_keys = false);

/// The same for a text that may be anything: nullopt when it is no JSON.
std::optional<Json> try_parse_json(std::string_view text);

/// How a document is laid out.
struct JsonLayout {
  std::size_t indent = 0;   // spaces a level; 0: the whole document on one line
  std::size_t levels = 64;  // that are broken into lines; what is deeper inside stands on one line
  bool spaces = true;       // behind the commas and colons of such a line
  bool ascii = false;       // all other characters as \uXXXX
  bool python = false;      // numbers as Python writes them: Infinity, -Infinity and NaN, and 1e-05 as its repr has it
};

/// Reports: a line for each value. Compact: no spaces at all. One line: as Python writes it, and people read it best.
inline constexpr JsonLayout kPrettyJson{.indent = 2};
inline constexpr JsonLayout kCompactJson{.spaces = false};
inline constexpr JsonLayout kOneLineJson{};

/// The text, without a line end behind it. What is no UTF-8 becomes U+FFFD: names from damaged files must not end a
/// job. Numbers that are not finite are "inf", "-inf" and "nan", since JSON has no words for them; fields.h reads them
/// again.
std::string json_text(const Json& value, const JsonLayout& layout = kCompactJson);

/// A text in quotes, as it stands in JSON; `ascii` as in JsonLayout.
std::string json_quoted(std::string_view text, bool ascii = false);

}  // namespace vernier
