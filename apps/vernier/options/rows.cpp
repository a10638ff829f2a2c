#include "options/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier::cli {

OptionNames::OptionNames(const char* words) : names(words) {
  if (const std::size_t space = names.find(' '); space != std::string::npos) {
    value = names.substr(space + 1);
    names.resize(space);
  }
  const std::size_t start = std::min(names.find("--"), names.size());
  option = names.substr(start, names.find(',', start) - start);
}

const std::string& Texts::last(std::string_view option) const {
  static const std::string none;
  const std::vector<std::string>& typed = all(option);
  return typed.empty() ? none : typed.back();
}

const std::vector<std::string>& Texts::all(std::string_view option) const {
  static const std::vector<std::string> none;
  const auto typed = texts_.find(option);
  return typed == texts_.end() ? none : typed->second;
}

void Texts::add(const std::string& option, const std::vector<std::string>& values) {
  std::vector<std::string>& typed = texts_[option];
  typed.insert(typed.end(), values.begin(), values.end());
}

std::uint64_t whole(double bound) {
  if (bound <= 0) return 0;
  return bound < 0x1p63 ? static_cast<std::uint64_t>(bound) : std::numeric_limits<std::uint64_t>::max();
}

Option add_words(CLI::App& app, const table::Words& words, Arity arity, const std::string& shown, const char* group,
                 const IntoTexts& into) {
  const OptionNames named(words.names);
  const std::string& option = named.option;
  Option added;
  if (arity == Arity::Flag) {
    added = add_flag(
        app, named.names, [into, option] { into().add(option, {""}); }, words.help);
  } else if (arity == Arity::Many) {
    added = add_values(
        app, named.names, [into, option](const std::vector<std::string>& texts) { into().add(option, texts); },
        named.value, words.help);
  } else {
    const auto take = [into, option](const std::string& text) {
      if (text.empty()) throw Error(ErrorCode::BadValue, fmt::format("{}: its value is empty", option));
      into().add(option, {text});
    };
    added = add_value(app, named.names, take, named.value, words.help, shown);
  }
  if (words.writes) added.writes();
  return added.group(group);
}

}  // namespace vernier::cli
