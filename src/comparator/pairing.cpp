#include "comparator/pairing.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace vernier {
namespace {

// As many take about a second.
constexpr std::size_t kMostLookedAt = 10'000'000;

class Partners {
 public:
  Partners(const Iteration& got, const Iteration& ref) : ref_(places_by_name(ref)), count_(ref.outputs.size()) {
    if (got.outputs.size() > kMostLookedAt / std::max<std::size_t>(count_, 1)) return;
    for (const NamedTensor& output : ref.outputs) lower_.push_back(lower_case(output.name));
  }

  std::optional<OutputPair> of(std::size_t index, const std::string& name) const {
    if (const auto same = ref_.find(name); same != ref_.end()) return OutputPair{index, same->second, ""};
    const std::string wanted = lower_case(name);
    for (std::size_t i = 0; i < lower_.size(); ++i) {
      if (lower_[i].find(wanted) != std::string::npos || wanted.find(lower_[i]) != std::string::npos) {
        return OutputPair{index, i, "the names are alike"};
      }
    }
    if (index < count_) return OutputPair{index, index, "they are at the same position"};
    return std::nullopt;
  }

 private:
  std::unordered_map<std::string_view, std::size_t> ref_;
  std::size_t count_;
  std::vector<std::string> lower_;  // names of the reference
};

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

std::unordered_map<std::string_view, std::size_t> places_by_name(const Iteration& run) {
  std::unordered_map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i < run.outputs.size(); ++i) places.emplace(run.outputs[i].name, i);
  return places;
}

Pairing pair_outputs(const Iteration& got, const Iteration& ref) {
  Pairing pairing;
  const Partners partners(got, ref);
  const auto of_got = places_by_name(got);
  const auto quoted = [](const std::string& name) { return "'" + printable(name) + "'"; };
  std::vector<bool> used(ref.outputs.size(), false);
  std::vector<std::string> left_of_got;
  for (std::size_t i = 0; i < got.outputs.size(); ++i) {
    const std::string& name = got.outputs[i].name;
    const std::optional<OutputPair> found = partners.of(i, name);
    if (!found || (!found->how.empty() && of_got.contains(ref.outputs[found->ref].name))) {
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
