// The table of options: one row an option, in tables by the struct that holds their values. From a row follow the
// option of the command line with its parsing, help and completion (apps/vernier/options/rows.h), the argument of
// Python with its signature and docstring (arguments.h), the binding of the member, and docs/options.md.
//
// A row with a member says all there is: its type parses the text. A row without one is an option that decides a value
// together with others; the command, or the function of Python, reads it by itself.
#pragma once

#include <cstddef>
#include <limits>
#include <tuple>

namespace vernier::table {

inline constexpr double kAny = std::numeric_limits<double>::infinity();

/// What is said of an option. Texts are constants.
struct Words {
  const char* names = "";    // "-o,--output FILE": ours, aliases, what peers call it, and its value with the unit
  const char* help = "";     // one sentence, and the default; without names: Python alone
  const char* choices = "";  // words that shells complete, where the member's type does not list them
  const char* shown = "";    // by_hand: the default, as --print-command types it
  bool many = false;         // takes several values, as a member that is a list does anyway
  bool off = false;          // a flag that makes its member false
  bool by_hand = false;      // the command turns the text into the value
  bool unsaid = false;       // --print-command does not type its default, which may not stand there
  bool writes = false;       // its value is a file or folder that is written
  double least = -kAny, most = kAny;
  const char* argument = "";  // of Python; with no `jobs` only what texts say there: 'low="int8"'
  const char* jobs = "";      // functions that take it
  const char* doc = "";       // of their docstrings
  bool common = false;        // in the signature of long functions, which have the others as **options
  const char* type = "";      // annotation and default, where the member's type does not say them
  const char* initial = "";
};

template <class Options, class Value>
struct Member {
  using Type = Value Options::*;
};
template <class Options>
struct Member<Options, void> {
  using Type = std::nullptr_t;
};

template <class Options, class Value>
struct Row {
  typename Member<Options, Value>::Type member{};
  Words words{};

  constexpr Row from(double least, double most = kAny) const {
    return with([&](Words& said) { said.least = least, said.most = most; });
  }
  constexpr Row choices(const char* listed) const {
    return with([&](Words& said) { said.choices = listed; });
  }
  constexpr Row many() const {
    return with([](Words& said) { said.many = true; });
  }
  constexpr Row off() const {
    return with([](Words& said) { said.off = true; });
  }
  constexpr Row by_hand(const char* shown = "") const {
    return with([&](Words& said) { said.by_hand = true, said.shown = shown; });
  }
  constexpr Row unsaid() const {
    return with([](Words& said) { said.unsaid = true; });
  }
  constexpr Row writes() const {
    return with([](Words& said) { said.writes = true; });
  }
  constexpr Row python(const char* argument, const char* jobs = "", const char* doc = "") const {
    return with([&](Words& said) { said.argument = argument, said.jobs = jobs, said.doc = doc; });
  }
  constexpr Row common() const {
    return with([](Words& said) { said.common = true; });
  }
  constexpr Row typed(const char* type, const char* initial) const {
    return with([&](Words& said) { said.type = type, said.initial = initial; });
  }
  /// Other names or another help: of a command that says it in its own words.
  constexpr Row named(const char* names, const char* help) const {
    return with([&](Words& said) { said.names = names, said.help = help; });
  }

 private:
  constexpr Row with(const auto& change) const {
    Row changed = *this;
    change(changed.words);
    return changed;
  }
};

template <class Options, class Value>
constexpr Row<Options, Value> row(Value Options::*member, const char* names = "", const char* help = "") {
  return {member, {.names = names, .help = help}};
}
template <class Options>
constexpr Row<Options, void> row(const char* names, const char* help = "") {
  return {nullptr, {.names = names, .help = help}};
}

template <class Options, class... Values>
struct Table {
  const char* name;   // of the struct
  const char* group;  // the heading in the help
  std::tuple<Row<Options, Values>...> rows;

  constexpr void each(const auto& visit) const {
    std::apply([&](const auto&... row) { (visit(row), ...); }, rows);
  }
};

template <class Options, class... Values>
constexpr Table<Options, Values...> table(const char* name, const char* group, const Row<Options, Values>&... rows) {
  return {name, group, {rows...}};
}

}  // namespace vernier::table
