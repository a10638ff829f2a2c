// Help texts. Our own layout instead of CLI11's, which changes between the versions of the distributions: help is
// covered by golden files, and the same everywhere.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace vernier::cli {

class HelpFormatter : public CLI::FormatterBase {
 public:
  /// Usage, description, arguments, options by group in the order they were added, subcommands, footer. Where that is
  /// more than two screens only the options that are used most, unless the mode is All. As wide as the terminal, from
  /// 60 to 120 columns; 100 elsewhere.
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
};

/// Options of the first example of a footer: "--data", "-o". The short help has all of them.
std::vector<std::string> options_of_example(const std::string& footer);

/// "-o, --output FILE", as the help shows it.
std::string names_of(const CLI::Option& option);

/// `text` in lines of at most `width` columns, broken at spaces; lines after the first start with `indent` spaces.
/// The first is thought to start there already. Words longer than a line stay whole.
std::string wrap(std::string_view text, std::size_t indent, std::size_t width);

/// `text` with its lines broken to the width of make_help(). Commands stay on one line: they are there to be pasted.
/// Lines that follow start below what stands behind a label and two spaces.
std::string fit_to_terminal(const std::string& text);

}  // namespace vernier::cli
