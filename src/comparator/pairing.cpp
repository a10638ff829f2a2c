#include "comparator/pairing.h"

#include <fmt/format.h>

#include <optional>

#include "base/text.h"

namespace vernier {
namespace {

std::optional<std::size_t> index_of(const Iteration& run, const std::string& name) {
  for (std::size_t i = 0; i < run.outputs.size(); ++i) {
    if (run.outputs[i].name == name) return i;
  }
  return std::nullopt;
}

std::optional<OutputPair> partner(std::size_t index, const std::string& name, const Iteration& ref) {
  if (const auto same = index_of(ref, name)) return OutputPair{index, *same, ""};
  const std::string wanted = lower_case(name);
  for (std::size_t i = 0; i < ref.outputs.size(); ++i) {
    const std::string other = lower_case(ref.outputs[i].name);
    if (other.find(wanted) != std::string::npos || wanted.find(other) != std::string::npos) {
      return OutputPair{index, i, "the names are alike"};
    }
  }
  if (index < ref.outputs.size()) return OutputPair{index, index, "they are at the same position"};
  return std::nullopt;
}

/// "83 outputs have no partner in the reference: '245', '246' and 81 more; 1 output of the reference has none: 'q'";
/// empty: all have one.
std::string without_partner(const std::vector<std::string>& got, const std::vector<std::string>& ref) {
  const auto have = [](const std::vector<std::string>& names) { return names.size() == 1 ? "has" : "have"; };
  std::string text;
  if (!got.empty()) {
    text =
        fmt::format("{} {} no partner in the reference: {}", plural(got.size(), "output"), have(got), list_some(got));
  }
  if (!ref.empty()) {
    text += fmt::format("{}{} of the reference {} {}: {}", text.empty() ? "" : "; ", plural(ref.size(), "output"),
                        have(ref), text.empty() ? "no partner" : "none", list_some(ref));
  }
  return text;
}

}  // namespace

Pairing pair_outputs(const Iteration& got, const Iteration& ref) {
  Pairing pairing;
  const auto quoted = [](const std::string& name) { return "'" + printable(name) + "'"; };
  std::vector<bool> used(ref.outputs.size(), false);
  std::vector<std::string> left_of_got;
  for (std::size_t i = 0; i < got.outputs.size(); ++i) {
    const std::string& name = got.outputs[i].name;
    const std::optional<OutputPair> found = partner(i, name, ref);
    if (!found || (!found->how.empty() && index_of(got, ref.outputs[found->ref].name))) {
      left_of_got.push_back(quoted(name));
      continue;
    }
    used[found->ref] = true;
    pairing.pairs.push_back(*found);
  }
  std::vector<std::string> left_of_ref;
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) left_of_ref.push_back(quoted(ref.outputs[i].name));
  }
  pairing.unmatched = without_partner(left_of_got, left_of_ref);
  return pairing;
}

}  // namespace vernier
