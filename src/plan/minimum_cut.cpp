#include "plan/minimum_cut.h"

#include <algorithm>

namespace vernier {

std::size_t MinimumCut::add(std::int64_t first, std::int64_t second) {
  const std::size_t node = of_node_.size();
  of_node_.emplace_back();
  if (second > 0) add_edge(kSource, node, second);
  if (first > 0) add_edge(node, kSink, first);
  return node - 2;
}

void MinimumCut::connect(std::size_t from, std::size_t to, std::int64_t cost) {
  if (cost > 0) add_edge(from + 2, to + 2, cost);
}

void MinimumCut::add_edge(std::size_t from, std::size_t to, std::int64_t capacity) {
  of_node_[from].push_back(edges_.size());
  edges_.push_back({to, capacity});
  of_node_[to].push_back(edges_.size());
  edges_.push_back({from, 0});
}

bool MinimumCut::measure_depths() {
  depth_.assign(of_node_.size(), -1);
  depth_[kSource] = 0;
  std::vector<std::size_t> queue{kSource};
  for (std::size_t i = 0; i < queue.size(); ++i) {
    for (const std::size_t edge : of_node_[queue[i]]) {
      const auto& [to, left] = edges_[edge];
      if (left <= 0 || depth_[to] >= 0) continue;
      depth_[to] = depth_[queue[i]] + 1;
      queue.push_back(to);
    }
  }
  return depth_[kSink] >= 0;
}

/// Flow along one path of the depths, by hand and not by recursion: networks are deep.
std::int64_t MinimumCut::push_one() {
  std::vector<std::size_t> path;  // edges
  std::size_t node = kSource;
  while (node != kSink) {
    std::size_t& next = next_[node];
    const auto usable = [&](std::size_t edge) {
      return edges_[edge].left > 0 && depth_[edges_[edge].to] == depth_[node] + 1;
    };
    while (next < of_node_[node].size() && !usable(of_node_[node][next])) ++next;
    if (next < of_node_[node].size()) {
      path.push_back(of_node_[node][next]);
      node = edges_[path.back()].to;
      continue;
    }
    if (path.empty()) return 0;
    const std::size_t back = path.back() ^ 1U;
    path.pop_back();
    node = edges_[back].to;
    ++next_[node];
  }
  std::int64_t flow = kNever;
  for (const std::size_t edge : path) flow = std::min(flow, edges_[edge].left);
  for (const std::size_t edge : path) {
    edges_[edge].left -= flow;
    edges_[edge ^ 1U].left += flow;
  }
  return flow;
}

std::vector<bool> MinimumCut::first_side() {
  while (measure_depths()) {
    next_.assign(of_node_.size(), 0);
    while (push_one() > 0) {
    }
  }
  std::vector<bool> first;
  for (std::size_t node = 2; node < depth_.size(); ++node) first.push_back(depth_[node] >= 0);
  return first;
}

}  // namespace vernier
