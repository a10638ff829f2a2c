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

}  // namespace

Pairing pair_outputs(const Iteration& got, const Iteration& ref) {
  Pairing pairing;
  std::vector<bool> used(ref.outputs.size(), false);
  for (std::size_t i = 0; i < got.outputs.size(); ++i) {
    const std::string& name = got.outputs[i].name;
    const std::optional<OutputPair> found = partner(i, name, ref);
    if (!found) {
      pairing.unmatched.push_back(fmt::format("output '{}' has no partner in the reference", printable(name)));
      continue;
    }
    const std::string& other = ref.outputs[found->ref].name;
    if (!found->how.empty() && index_of(got, other)) {
      pairing.unmatched.push_back(fmt::format("output '{}' has no partner in the reference: '{}' has its own there",
                                              printable(name), printable(other)));
      continue;
    }
    used[found->ref] = true;
    pairing.pairs.push_back(*found);
  }
  std::vector<std::string> left;
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) left.push_back("'" + printable(ref.outputs[i].name) + "'");
  }
  if (!left.empty()) {
    pairing.unmatched.push_back(
        fmt::format("{} of the reference only: {}", plural(left.size(), "output"), list_some(left)));
  }
  return pairing;
}

}  // namespace vernier
