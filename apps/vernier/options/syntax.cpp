#include "options/syntax.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstddef>

#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier::cli {
namespace {

/// CLI11 takes "[ab]" for a list of values. keep_brackets() puts this before a wildcard, and it is removed again.
constexpr char kWildcard = '\x1e';

CLI::Option* with_brackets(CLI::Option* option) {
  return option->transform(
      [](const std::string& text) { return text.substr(!text.empty() && text.front() == kWildcard ? 1 : 0); }, "");
}

}  // namespace

void keep_brackets(std::string& argument) {
  const std::size_t start = argument.starts_with("--") ? argument.find('=') + 1 : 0;
  const bool brackets = argument.substr(start).starts_with('[') && argument.ends_with(']');
  if (brackets && argument.find(',', start) == std::string::npos) argument.insert(start, 1, kWildcard);
}

Option& Option::group(const std::string& name) {
  raw_->group(name);
  return *this;
}

Option& Option::value_name(const std::string& name) {
  raw_->type_name(name);
  return *this;
}

Option& Option::required(bool required) {
  raw_->required(required);
  return *this;
}

// CLI11 knows files of settings, which we have not, and which options stand in them: that mark is free.
Option& Option::writes() {
  raw_->configurable(false);
  return *this;
}

Option& Option::at_once() {
  raw_->trigger_on_parse();
  return *this;
}

Option& Option::values(int least, int most) {
  raw_->expected(least, most)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  return *this;
}

bool Option::given() const { return raw_ != nullptr && raw_->count() > 0; }

const std::string& Option::last() const { return raw_->results().back(); }

CLI::App& add_command(CLI::App& parent, const std::string& name, const std::string& description) {
  return *parent.add_subcommand(name, description);
}

CLI::App& command_group(CLI::App& root, const std::string& name, const std::string& description) {
  for (CLI::App* there : root.get_subcommands([](CLI::App*) { return true; })) {
    if (there->get_name() == name) return *there;
  }
  CLI::App& group = *root.add_subcommand(name, description);
  group.set_help_all_flag("--help-all")->group("");  // hidden: the same as --help
  return group;
}

void set_help_flag(CLI::App& app, const std::string& group) {
  app.set_help_flag("-h,--help", "Print this help")->group(group);
  app.set_help_all_flag("--help-all", "Print every option; --help prints the most used ones")->group(group);
}

void add_footer(CLI::App& app, const std::string& text) { app.footer(text); }

Option add_flag(CLI::App& app, const std::string& names, bool& flag, const std::string& help) {
  return Option(app.add_flag(names, flag, help));
}

Option add_flag(CLI::App& app, const std::string& names, int& count, const std::string& help) {
  return Option(app.add_flag(names, count, help));
}

Option add_flag(CLI::App& app, const std::string& names, const std::function<void()>& given, const std::string& help) {
  return Option(app.add_flag_callback(names, given, help));
}

Option add_value(CLI::App& app, const std::string& names, std::string& value, const std::string& value_name,
                 const std::string& help) {
  CLI::Option* option = with_brackets(app.add_option(names, value, help)->type_name(value_name));
  option->capture_default_str();
  option->each([option](const std::string& text) {
    if (text.empty()) throw Error(ErrorCode::BadValue, fmt::format("{}: its value is empty", option->get_name()));
  });
  return Option(option);
}

Option add_value(CLI::App& app, const std::string& names, const std::function<void(const std::string&)>& given,
                 const std::string& value_name, const std::string& help, const std::string& default_text) {
  CLI::Option* option = with_brackets(app.add_option_function<std::string>(names, given, help)->type_name(value_name));
  if (!default_text.empty()) option->default_str(default_text);
  return Option(option);
}

Option add_values(CLI::App& app, const std::string& names, std::vector<std::string>& values,
                  const std::string& value_name, const std::string& help) {
  return Option(with_brackets(app.add_option(names, values, help)->type_name(value_name)));
}

Option add_values(CLI::App& app, const std::string& names,
                  const std::function<void(const std::vector<std::string>&)>& given, const std::string& value_name,
                  const std::string& help) {
  const auto take = [given](const CLI::results_t& values) {
    given(values);
    return true;
  };
  return Option(with_brackets(app.add_option(names, take, help)->expected(1, kMostValues)->type_name(value_name)));
}

Option add_argument(CLI::App& app, const std::string& name, std::string& value, const std::string& help) {
  return Option(with_brackets(app.add_option(name, value, help)->required()->type_name("")));
}

Option add_arguments(CLI::App& app, const std::string& name, std::vector<std::string>& values,
                     const std::string& help) {
  return Option(with_brackets(app.add_option(name, values, help)->type_name("")));
}

void before_parsing(CLI::App& app, const std::function<void()>& action) {
  app.preparse_callback([action](std::size_t) { action(); });
}

std::vector<GivenOption> given_options(const CLI::App& app) {
  std::vector<GivenOption> given;
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0) continue;
    // What is hidden has no name in CLI11's own words.
    const bool hidden = option->get_name().empty() && !option->get_lnames().empty();
    given.push_back({hidden ? "--" + option->get_lnames().front() : option->get_name(), option->get_group(),
                     option->get_expected_max() == 0 ? std::vector<std::string>{} : option->results(),
                     !option->get_configurable()});
  }
  return given;
}

Option find_option(CLI::App& app, const std::string& name) { return Option(app.get_option_no_throw(name)); }

}  // namespace vernier::cli
