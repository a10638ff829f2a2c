#include "report/text/commands.h"

#include <algorithm>
#include <array>
#include <string_view>

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

std::string data_options(const std::string& command) {
  // --data-loader-script, --image-mean, ... begin like the first two.
  static constexpr std::array<std::string_view, 7> kOptions{"--data",  "--image",       "--load-inputs", "--samples",
                                                            "--carry", "--split-batch", "--val-range"};
  std::string options;
  bool inside = false;
  for (const std::string& word : words_in(command)) {
    if (word.starts_with("--")) {
      inside = std::ranges::any_of(kOptions, [&](std::string_view option) { return word.starts_with(option); });
    } else if (word.size() > 1 && word.front() == '-' && (word[1] < '0' || word[1] > '9') && word[1] != '.') {
      inside = false;  // -o; -1 is a value
    }
    if (inside) options += (options.empty() ? "" : " ") + word;
  }
  return options;
}

}  // namespace vernier
