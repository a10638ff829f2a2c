// Two sides for the nodes of a directed graph, at the least sum of what is cut: the minimum s-t cut, by Dinic's maximum
// flow (E. A. Dinic, Soviet Math. Doklady 11, 1970).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace vernier {

class MinimumCut {
 public:
  static constexpr std::int64_t kNever = std::int64_t{1} << 60;  // a capacity that no cut pays

  /// A node, and its number. `first`, `second`: what it costs on the side named.
  std::size_t add(std::int64_t first = 0, std::int64_t second = 0);
  /// Costs `cost` when `from` is on the first side and `to` on the second.
  void connect(std::size_t from, std::size_t to, std::int64_t cost);
  /// For each node whether it is on the first side; of several cheapest cuts the one with the fewest nodes there.
  /// Cost: O(V^2 E) in the worst case, near linear on the graphs of networks.
  std::vector<bool> first_side();

 private:
  struct Edge {
    std::size_t to;
    std::int64_t left;  // capacity; the edge back has the next number, or the one before
  };
  void add_edge(std::size_t from, std::size_t to, std::int64_t capacity);
  bool measure_depths();
  std::int64_t push_one();

  static constexpr std::size_t kSource = 0, kSink = 1;
  std::vector<Edge> edges_;
  std::vector<std::vector<std::size_t>> of_node_{2};  // numbers of edges
  std::vector<int> depth_;
  std::vector<std::size_t> next_;  // edge to be tried, of each node
};

}  // namespace vernier
