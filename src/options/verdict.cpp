#include "vernier/verdict.h"

#include <array>

namespace vernier {

std::span<const std::string_view> words_of(Verdict /*which*/) {
  static constexpr std::array<std::string_view, 5> kWords{"good", "bad", "invalid", "timed-out", "unstable"};
  return kWords;
}

std::span<const std::string_view> words_of(SearchEnd /*which*/) {
  static constexpr std::array<std::string_view, 6> kWords{"certified",  "found",   "nothing-needed",
                                                          "impossible", "stopped", "unstable"};
  return kWords;
}

std::span<const std::string_view> words_of(DecidedBy /*which*/) {
  static constexpr std::array<std::string_view, 7> kWords{"requirement", "engine",  "labels", "script",
                                                          "comparison",  "program", "person"};
  return kWords;
}

}  // namespace vernier
