// Rows of the table (apps/table) as options of a command: what was typed is kept as text, then read into the struct.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "options/parse_values.h"
#include "options/syntax.h"
#include "table/row.h"
#include "table/values.h"
#include "vernier/device.h"
#include "vernier/format.h"
#include "vernier/tensor.h"
#include "vernier/words.h"

namespace vernier::cli {

/// "--budget N|TIME" -> {"--budget", "N|TIME"}; "-o,--output DIR" -> {"-o,--output", "DIR"}.
struct OptionNames {
  explicit OptionNames(const char* names);
  std::string names, value;
  std::string option;  // the name that messages use
};

/// What was typed, by the options' first long names.
class Texts {
 public:
  bool given(std::string_view option) const { return texts_.contains(option); }
  /// What was typed last; empty where nothing was.
  const std::string& last(std::string_view option) const;
  const std::vector<std::string>& all(std::string_view option) const;

  void add(const std::string& option, const std::vector<std::string>& values);

 private:
  std::map<std::string, std::vector<std::string>, std::less<>> texts_;
};

/// Where each occurrence goes as it is parsed.
class IntoTexts {
 public:
  IntoTexts(Texts& texts) : where_([&texts]() -> Texts& { return texts; }) {}  // NOLINT(google-explicit-constructor)
  explicit IntoTexts(std::function<Texts&()> where) : where_(std::move(where)) {}
  Texts& operator()() const { return where_(); }

 private:
  std::function<Texts&()> where_;
};

enum class Arity { Flag, One, Many };
/// An option that no struct has a member for, or whose value the command reads. `shown`: its default.
Option add_words(CLI::App& app, const table::Words& words, Arity arity, const std::string& shown, const char* group,
                 const IntoTexts& into);

template <class Options, class Value>
Option add_row(CLI::App& app, const table::Row<Options, Value>& row, const char* group, const IntoTexts& into) {
  const bool many = row.words.many || table::kIsList<Value>;
  const Arity arity = OptionNames(row.words.names).value.empty() ? Arity::Flag : many ? Arity::Many : Arity::One;
  std::string shown = row.words.shown;
  if constexpr (!std::is_void_v<Value>) {
    if (!row.words.by_hand && !row.words.unsaid) shown = table::text_of(Options{}.*row.member);
  }
  return add_words(app, row.words, arity, shown, group, into);
}

/// All rows that the command line has.
template <class Table>
void add_rows(CLI::App& app, const Table& table, const IntoTexts& into, const char* group = nullptr) {
  table.each([&](const auto& row) {
    if (*row.words.names != '\0') add_row(app, row, group ? group : table.group, into);
  });
}

/// A bound of whole numbers.
std::uint64_t whole(double bound);

/// Errors: Usage.
template <class Value>
void read_value(const table::Words& words, const std::vector<std::string>& texts, Value& value) {
  const std::string option = OptionNames(words.names).option;
  const std::string& text = texts.back();
  if constexpr (std::is_same_v<Value, bool>) {
    value = !words.off;
  } else if constexpr (std::is_same_v<Value, Format>) {
    value = parse_format_name(option, text);
  } else if constexpr (Worded<Value>) {
    value = parse_choice<Value>(option, text);
  } else if constexpr (std::is_same_v<Value, Device>) {
    value = parse_device_name(option, text);
  } else if constexpr (std::is_same_v<Value, ByteSize>) {
    value = parse_byte_size(option, text);
  } else if constexpr (std::is_unsigned_v<Value> || std::is_same_v<Value, int>) {
    value = static_cast<Value>(parse_count(option, text, whole(words.least), whole(words.most)));
  } else if constexpr (std::is_integral_v<Value>) {
    value = static_cast<Value>(parse_number(option, text));
  } else if constexpr (std::is_floating_point_v<Value>) {
    value = parse_number(option, text);
  } else if constexpr (table::kIsOptional<Value>) {
    read_value(words, texts, value.emplace());
  } else if constexpr (std::is_same_v<Value, std::vector<float>>) {
    value = parse_channels(option, texts);
  } else if constexpr (std::is_same_v<Value, std::map<std::string, Shape>>) {
    for (auto& [name, shape] : parse_input_shapes(option, texts, Dims::MayBeOpen)) value[name] = std::move(shape);
  } else if constexpr (std::is_same_v<Value, std::map<std::string, std::pair<double, double>>>) {
    for (const std::string& each : texts) {
      const auto [name, range] = parse_value_range(option, each);
      value[name] = range;
    }
  } else if constexpr (std::is_same_v<Value, std::vector<std::pair<std::string, std::string>>>) {
    for (const std::string& each : texts) value.push_back(parse_pair(option, each, OptionNames(words.names).value));
  } else if constexpr (std::is_same_v<Value, std::vector<std::pair<std::string, Format>>>) {
    for (const std::string& each : texts) {
      auto [name, format] = parse_pair(option, each, OptionNames(words.names).value);
      value.emplace_back(std::move(name), parse_format_name(option, format));
    }
  } else if constexpr (std::is_same_v<Value, std::vector<std::string>> ||
                       std::is_same_v<Value, std::vector<std::filesystem::path>>) {
    value.assign(texts.begin(), texts.end());
  } else if constexpr (std::is_assignable_v<Value&, std::string>) {
    value = text;
  }  // others are read by hand
}

/// What was typed for one row, into any value of the member's type. Errors: Usage.
template <class Options, class Value>
void read_value(const table::Row<Options, Value>& row, const Texts& texts, Value& value) {
  const std::vector<std::string>& typed = texts.all(OptionNames(row.words.names).option);
  if (!typed.empty()) read_value(row.words, typed, value);
}

/// What was typed, into the members; rows that are read by hand are left out. Errors: Usage.
template <class Options, class... Values>
void read_rows(const table::Table<Options, Values...>& table, const Texts& texts, Options& options) {
  table.each([&]<class Value>(const table::Row<Options, Value>& row) {
    if constexpr (!std::is_void_v<Value>) {
      if (!row.words.by_hand) read_value(row, texts, options.*row.member);
    }
  });
}

}  // namespace vernier::cli
