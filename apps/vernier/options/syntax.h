// How options and commands are declared, in a few words of our own: CLI11 is 10,000 lines of headers, which only
// syntax.cpp and the files that walk over all options read.
//
// Nothing is converted or validated by CLI11: its messages differ between the versions of the distributions.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace vernier::cli {

/// An option that was declared: a handle, as long as the command line lives. Empty by default.
class Option {
 public:
  Option() = default;
  explicit Option(CLI::Option* raw) : raw_(raw) {}

  /// The heading that the help shows it under; "" hides it.
  Option& group(const std::string& name);
  /// What the help shows for its value: "DB". "" shows nothing.
  Option& value_name(const std::string& name);
  Option& required(bool required = true);
  /// Its value is a file or folder that the command writes, moves or deletes (output_guard.h); else whatever it names
  /// may be read.
  Option& writes();
  /// Functions are called at each occurrence, in the order of the command line, not when all is read.
  Option& at_once();
  /// Takes from `least` to `most` values, the last occurrence those that count.
  Option& values(int least, int most);

  explicit operator bool() const { return raw_ != nullptr; }
  bool given() const;
  /// What was typed last. Only where given().
  const std::string& last() const;

 private:
  CLI::Option* raw_ = nullptr;
};

/// The most values that an option can take.
inline constexpr int kMostValues = 1 << 20;

CLI::App& add_command(CLI::App& parent, const std::string& name, const std::string& description);
/// Finds the one of that name, or adds it.
CLI::App& command_group(CLI::App& root, const std::string& name, const std::string& description);
/// -h and --help, under this heading.
void set_help_flag(CLI::App& app, const std::string& group);
/// What stands behind the options in its help.
void add_footer(CLI::App& app, const std::string& text);

Option add_flag(CLI::App& app, const std::string& names, bool& flag, const std::string& help);
/// Counts how often it stands there.
Option add_flag(CLI::App& app, const std::string& names, int& count, const std::string& help);
Option add_flag(CLI::App& app, const std::string& names, const std::function<void()>& given,
                const std::string& help = {});
/// An option with one value, which is not empty: an empty shell variable must not become what happens without the
/// option, random data for example. Errors (when parsed): Usage.
Option add_value(CLI::App& app, const std::string& names, std::string& value, const std::string& value_name,
                 const std::string& help);
Option add_value(CLI::App& app, const std::string& names, const std::function<void(const std::string&)>& given,
                 const std::string& value_name, const std::string& help, const std::string& default_text = {});
/// An option with one or more values that may be repeated.
Option add_values(CLI::App& app, const std::string& names, std::vector<std::string>& values,
                  const std::string& value_name, const std::string& help);
Option add_values(CLI::App& app, const std::string& names,
                  const std::function<void(const std::vector<std::string>&)>& given, const std::string& value_name = {},
                  const std::string& help = {});
/// A positional argument that must be there.
Option add_argument(CLI::App& app, const std::string& name, std::string& value, const std::string& help);
/// Positional arguments, as many as there are.
Option add_arguments(CLI::App& app, const std::string& name, std::vector<std::string>& values, const std::string& help);

/// For arguments as typed: "[ab]" stays a wildcard, which CLI11 would take for a list. "[a,b]" is such a list.
void keep_brackets(std::string& argument);

/// Called when it is this command that is parsed, before its options are looked at.
void before_parsing(CLI::App& app, const std::function<void()>& action);

struct GivenOption {
  std::string name;                 // "--data"
  std::string group;                // "Data"
  std::vector<std::string> values;  // as typed; none of a flag
  bool writes = false;              // declared with writes()
};
/// The options that stand on the command line, in the order of their declaration.
std::vector<GivenOption> given_options(const CLI::App& app);
/// Empty where there is none of that name.
Option find_option(CLI::App& app, const std::string& name);

}  // namespace vernier::cli
