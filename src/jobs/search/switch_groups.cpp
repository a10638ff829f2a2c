#include "jobs/search/switch_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "vernier/format.h"

namespace vernier {
namespace {

std::unordered_map<std::string, std::size_t> positions_of(const Experiment& experiment) {
  std::unordered_map<std::string, std::size_t> position;
  for (std::size_t i = 0; i < experiment.candidates().size(); ++i) position[experiment.candidates()[i]->name] = i;
  return position;
}

bool is_scaled(const Experiment& experiment, const std::string& layer) {
  return needs_scale(experiment.all_low_plan().format_of(layer));
}

class Finder {
 public:
  explicit Finder(const Experiment& experiment) : experiment_(experiment), position_(positions_of(experiment)) {
    for (const Layer& layer : experiment.subject().layers) look_at(layer);
  }

  std::vector<LayerGroup> groups() {
    for (const auto& [tensor, readers] : readers_) {
      add(readers, fmt::format("they read the same quantized tensor, '{}'", printable(tensor)));
    }
    std::stable_sort(found_.begin(), found_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<LayerGroup> groups;
    for (auto& [members, group] : found_) groups.push_back(std::move(group));
    return groups;
  }

 private:
  void look_at(const Layer& layer) {
    std::set<std::size_t> sources;
    std::set<std::size_t> meeting;
    for (const std::string& input : layer.inputs) {
      const auto made = makers_.find(input);
      if (made == makers_.end()) continue;
      sources.insert(made->second.begin(), made->second.end());
      if (made->second.size() == 1) meeting.insert(*made->second.begin());
    }
    if (layer.op_type == "Add" || layer.op_type == "Sum" || layer.op_type == "Concat") {
      add(meeting, fmt::format("their results meet in {} '{}'", layer.op_type, printable(layer.name)));
    }
    if (const auto candidate = position_.find(layer.name); candidate != position_.end()) {
      if (is_scaled(experiment_, layer.name)) {
        for (const std::string& input : layer.inputs) readers_[input].insert(candidate->second);
      }
      sources = {candidate->second};
    }
    for (const std::string& output : layer.outputs) makers_[output] = sources;
  }

  void add(const std::set<std::size_t>& members, const std::string& why) {
    std::set<std::size_t> scaled;
    for (const std::size_t member : members) {
      if (is_scaled(experiment_, experiment_.candidates()[member]->name)) scaled.insert(member);
    }
    if (scaled.size() < 2) return;
    LayerGroup group;
    for (const std::size_t member : scaled) group.layers.push_back(experiment_.candidates()[member]->name);
    group.why = why;
    found_.emplace_back(std::vector<std::size_t>(scaled.begin(), scaled.end()), std::move(group));
  }

  const Experiment& experiment_;
  std::unordered_map<std::string, std::size_t> position_;
  std::map<std::string, std::set<std::size_t>> makers_;   // the candidates that a tensor comes of
  std::map<std::string, std::set<std::size_t>> readers_;  // the candidates that quantize a tensor
  std::vector<std::pair<std::vector<std::size_t>, LayerGroup>> found_;
};

}  // namespace

std::vector<LayerGroup> switch_groups(const Experiment& experiment) { return Finder(experiment).groups(); }

Units::Units(const Experiment& experiment, bool whole_groups) {
  const std::size_t count = experiment.steps().size();
  std::vector<std::size_t> first(count);  // the first member of each one's unit
  std::iota(first.begin(), first.end(), std::size_t{0});
  const auto root = [&first](std::size_t member) {
    while (first[member] != member) member = first[member];
    return member;
  };
  if (whole_groups) {  // without a ladder: a step is a candidate
    const std::unordered_map<std::string, std::size_t> position = positions_of(experiment);
    for (const LayerGroup& group : switch_groups(experiment)) {
      for (const std::string& layer : group.layers) {
        const std::size_t a = root(position.at(layer));
        const std::size_t b = root(position.at(group.layers.front()));
        first[std::max(a, b)] = std::min(a, b);
      }
    }
  }
  unit_of_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (root(i) == i) {
      unit_of_[i] = members_.size();
      members_.emplace_back();
      names_.emplace_back();
    } else {
      unit_of_[i] = unit_of_[root(i)];
    }
    members_[unit_of_[i]].push_back(i);
    std::string& name = names_[unit_of_[i]];
    name += (name.empty() ? "" : " + ") + experiment.step_name(i);
  }
}

KeptSet Units::steps(const KeptSet& set) const {
  KeptSet all;
  for (const std::size_t unit : set) all.insert(all.end(), members_[unit].begin(), members_[unit].end());
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace vernier
