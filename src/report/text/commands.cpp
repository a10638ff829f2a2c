#include "report/text/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/quote.h"
#include "base/text.h"

namespace vernier {

std::vector<std::string> words_in(const std::string& command) {
  std::vector<std::string> words(1);
  bool quoted = false;
  for (const char c : command) {
    if (c == '\'') quoted = !quoted;
    if (c == ' ' && !quoted) {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

namespace {

/// The options of `command` that `wanted` holds of, with their values.
template <class Wanted>
std::string options_of(const std::string& command, const Wanted& wanted) {
  std::string options;
  bool inside = false;
  for (const std::string& word : words_in(command)) {
    if (word.starts_with("--")) {
      inside = wanted(std::string_view(word).substr(0, word.find('=')));
    } else if (word.size() > 1 && word.front() == '-' && (word[1] < '0' || word[1] > '9') && word[1] != '.') {
      inside = false;  // -o; -1 is a value
    }
    if (inside) options += (options.empty() ? "" : " ") + word;
  }
  return options;
}

}  // namespace

std::string data_options(const std::string& command) {
  // --data-loader-script, --image-mean, ... begin like the first two.
  static constexpr std::array<std::string_view, 7> kOptions{"--data",  "--image",       "--load-inputs", "--samples",
                                                            "--carry", "--split-batch", "--val-range"};
  return options_of(command, [](std::string_view given) {
    return std::ranges::any_of(kOptions, [&](std::string_view option) { return given.starts_with(option); });
  });
}

std::string judging_options(const std::string& command) {
  static constexpr std::array<std::string_view, 17> kOptions{
      "--target",     "--outputs",       "--top1-axis",    "--no-output-parts",   "--margin", "--accumulate",
      "--tf32",       "--labels",        "--min-top1",     "--min-top5",          "--min",    "--max",
      "--custom-ops", "--metric-script", "--label-offset", "--custom-op-library", "--plugins"};
  return options_of(command,
                    [](std::string_view given) { return std::ranges::find(kOptions, given) != kOptions.end(); });
}

std::string same_judging(const std::string& command, const std::optional<Requirement>& requirement) {
  std::string text;
  for (const Limit& limit : requirement ? requirement->limits : std::vector<Limit>{}) {
    if (text.empty()) text = fmt::format(" --{}", word_of(requirement->metric));
    text += " " + shell_quote((limit.output.empty() ? "" : limit.output + ":") + fmt::format("{:.12g}", limit.value));
  }
  const std::string judging = printable(judging_options(command));
  return text + (judging.empty() ? "" : " " + judging);
}

}  // namespace vernier
