// The network as at most 300 boxes, placed in columns that are read from top to bottom and from left to right. Layers
// that do damage, and kept ones, get a box of their own; runs of harmless layers share one.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "vernier/report/diagnose.h"
#include "vernier/report/pictures.h"

namespace vernier {

inline constexpr std::size_t kMostBoxes = 300;

struct DrawnBox {
  std::vector<std::size_t> nodes;  // places in DiagnoseReport::network, in graph order
  double x = 0, y = 0;             // upper left corner, in pixels
};

struct Drawing {
  double box_width = 0, box_height = 0;
  double width = 0, height = 0;
  std::vector<DrawnBox> boxes;                             // in graph order of their first nodes
  std::vector<std::pair<std::size_t, std::size_t>> edges;  // boxes, from and to, each pair once
};

/// Boxes of a network whose nodes `alone` stay by themselves: first chains of other nodes become one box, then, while
/// there are more than `most`, whole stretches of graph order between two nodes of `alone`. At most 140 of `alone` are
/// heeded. Edges between boxes never form a cycle. Cost: linear in nodes and arrows.
std::vector<std::vector<std::size_t>> collapsed(const std::vector<NetworkNode>& network,
                                                const std::vector<std::size_t>& alone, std::size_t most);

/// The picture of a report; empty when the report holds no network.
/// Cost: linear in nodes and arrows; placing is bounded by the number of boxes, so there is nothing to wait for.
Drawing draw_network(const DiagnoseReport& report);

}  // namespace vernier
