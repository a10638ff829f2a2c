#include "analysis/reached_outputs.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

namespace vernier {

bool OutputSet::meets(const OutputSet& other) const {
  for (std::size_t i = 0; i < words_.size(); ++i) {
    if ((words_[i] & other.words_[i]) != 0) return true;
  }
  return false;
}

OutputSet& OutputSet::operator|=(const OutputSet& other) {
  std::ranges::transform(words_, other.words_, words_.begin(), std::bit_or());
  return *this;
}

ReachedOutputs::ReachedOutputs(const onnx::GraphProto& graph, const std::vector<std::string>& outputs)
    : none_(outputs.size()) {
  for (std::size_t i = 0; i < outputs.size(); ++i) sets_.try_emplace(outputs[i], none_).first->second.add(i);
  for (int n = graph.node_size() - 1; n >= 0; --n) {  // sorted: all readers of a tensor come before its maker
    const auto& made = graph.node(n).output();
    const OutputSet reached = from_any(std::vector<std::string>(made.begin(), made.end()));
    for (const std::string& read : tensors_read(graph.node(n))) sets_.try_emplace(read, none_).first->second |= reached;
  }
}

const OutputSet& ReachedOutputs::from(const std::string& name) const {
  const auto found = sets_.find(name);
  return found == sets_.end() ? none_ : found->second;
}

OutputSet ReachedOutputs::from_any(const std::vector<std::string>& names) const {
  OutputSet all = none_;
  for (const std::string& name : names) all |= from(name);
  return all;
}

std::vector<std::vector<std::size_t>> groups_that_never_meet(const std::vector<OutputSet>& sets, std::size_t outputs) {
  constexpr std::ptrdiff_t kLooked = 64;
  std::vector<std::pair<OutputSet, std::vector<std::size_t>>> groups;  // what they reach, and their members
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const auto first = groups.end() - std::min<std::ptrdiff_t>(kLooked, std::ssize(groups));
    auto group = std::find_if(first, groups.end(), [&](const auto& other) { return !other.first.meets(sets[i]); });
    if (group == groups.end()) group = groups.insert(groups.end(), {OutputSet(outputs), {}});
    group->first |= sets[i];
    group->second.push_back(i);
  }
  std::vector<std::vector<std::size_t>> members;
  for (auto& group : groups) members.push_back(std::move(group.second));
  return members;
}

}  // namespace vernier
