#include "report/html/drawing.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_map>

#include "vernier/report/figures.h"

namespace vernier {
namespace {

constexpr std::size_t kMostAlone = 140;  // with the stretches between them: at most 281 boxes
constexpr std::size_t kMostBeside = 6;   // boxes of one rank; the others move down
constexpr double kBoxWidth = 148, kBoxHeight = 30, kGapX = 16, kGapY = 18, kColumnGap = 36, kMargin = 12;
constexpr double kWantedShape = 1.7;  // width by height

using Boxes = std::vector<std::vector<std::size_t>>;

/// The box of each node.
std::vector<std::size_t> box_of(const Boxes& boxes, std::size_t nodes) {
  std::vector<std::size_t> box(nodes, 0);
  for (std::size_t b = 0; b < boxes.size(); ++b) {
    for (const std::size_t node : boxes[b]) box[node] = b;
  }
  return box;
}

/// Chains: a node joins the one before it when neither stands alone and nothing else comes in or goes out between.
Boxes joined_chains(const std::vector<NetworkNode>& network, const std::vector<bool>& alone) {
  std::vector<std::size_t> readers(network.size(), 0);
  for (const NetworkNode& node : network) {
    for (const std::size_t from : node.inputs) ++readers[from];
  }
  std::vector<std::size_t> box(network.size(), 0);
  Boxes boxes;
  for (std::size_t i = 0; i < network.size(); ++i) {
    const std::vector<std::size_t>& inputs = network[i].inputs;
    if (!alone[i] && inputs.size() == 1 && readers[inputs.front()] == 1 && !alone[inputs.front()]) {
      box[i] = box[inputs.front()];
      boxes[box[i]].push_back(i);
    } else {
      box[i] = boxes.size();
      boxes.push_back({i});
    }
  }
  return boxes;
}

Boxes stretches(const std::vector<bool>& alone) {
  Boxes boxes;
  bool open = false;
  for (std::size_t i = 0; i < alone.size(); ++i) {
    if (alone[i] || !open) boxes.emplace_back();
    boxes.back().push_back(i);
    open = !alone[i];
  }
  return boxes;
}

/// Layers that deserve a box, most damaging first.
std::vector<std::size_t> damaging(const DiagnoseReport& report) {
  std::unordered_map<std::string, std::size_t> place;
  for (std::size_t i = 0; i < report.network.size(); ++i) place[report.network[i].name] = i;
  std::vector<std::size_t> kept, bad;
  for (const LayerRow& row : report.layers) {
    const auto found = place.find(row.name);
    if (found == place.end()) continue;
    const bool broken = row.own_sqnr_db && !std::isfinite(*row.own_sqnr_db) && *row.own_sqnr_db < 0;
    if (row.kept) {
      kept.push_back(found->second);
    } else if (broken || (row.share ? *row.share >= 0.005 : row.own_sqnr_db.value_or(99) < 25)) {
      bad.push_back(found->second);
    }
  }
  kept.insert(kept.end(), bad.begin(), bad.end());
  return kept;
}

struct Placed {
  std::vector<std::size_t> rank;   // of each box
  std::vector<std::size_t> slot;   // its place in the rank, from the left
  std::vector<std::size_t> slots;  // slots that each rank takes
};

/// Ranks below all that a box reads, at most kMostBeside boxes in one; then an order that keeps arrows short.
Placed place(const std::vector<std::vector<std::size_t>>& parents) {
  const std::size_t count = parents.size();
  Placed placed;
  placed.rank.assign(count, 0);
  placed.slot.assign(count, 0);
  std::vector<std::vector<std::size_t>> ranks;
  for (std::size_t box = 0; box < count; ++box) {
    std::size_t rank = 0;
    for (const std::size_t parent : parents[box]) rank = std::max(rank, placed.rank[parent] + 1);
    while (rank < ranks.size() && ranks[rank].size() >= kMostBeside) ++rank;
    if (rank >= ranks.size()) ranks.resize(rank + 1);
    ranks[rank].push_back(box);
    placed.rank[box] = rank;
  }
  placed.slots.assign(ranks.size(), 0);
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    std::vector<std::pair<double, std::size_t>> wanted;
    for (const std::size_t box : ranks[r]) {
      double sum = 0;
      for (const std::size_t parent : parents[box]) sum += static_cast<double>(placed.slot[parent]);
      wanted.emplace_back(parents[box].empty() ? 0 : sum / static_cast<double>(parents[box].size()), box);
    }
    std::stable_sort(wanted.begin(), wanted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::size_t next = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const std::size_t left = wanted.size() - i - 1;  // that still need a slot
      // Down, not to the nearest: what joins two branches would else stand a slot further right each time.
      const auto at = static_cast<std::size_t>(wanted[i].first);
      const std::size_t slot = std::max(next, std::min(at, kMostBeside - 1 - left));
      placed.slot[wanted[i].second] = slot;
      next = slot + 1;
    }
    placed.slots[r] = next;
  }
  return placed;
}

/// Widths of the columns when `rows` ranks go into each.
std::vector<std::size_t> column_slots(const std::vector<std::size_t>& slots, std::size_t rows) {
  std::vector<std::size_t> columns;
  for (std::size_t r = 0; r < slots.size(); ++r) {
    if (r % rows == 0) columns.push_back(1);
    columns.back() = std::max(columns.back(), slots[r]);
  }
  return columns;
}

double width_of(const std::vector<std::size_t>& columns) {
  double width = 2 * kMargin - kColumnGap;
  for (const std::size_t slots : columns) {
    width += static_cast<double>(slots) * (kBoxWidth + kGapX) - kGapX + kColumnGap;
  }
  return width;
}

/// Ranks in a column so that the picture comes nearest to the shape of a screen.
std::size_t rows_for(const std::vector<std::size_t>& slots) {
  std::size_t best = slots.size();
  double nearest = 1e300;
  for (std::size_t rows = std::min<std::size_t>(6, slots.size()); rows <= slots.size(); ++rows) {
    const double width = width_of(column_slots(slots, rows));
    const double height = static_cast<double>(rows) * (kBoxHeight + kGapY) - kGapY + 2 * kMargin;
    const double off = std::abs(std::log(width / height / kWantedShape));
    if (off < nearest) {
      nearest = off;
      best = rows;
    }
  }
  return best;
}

}  // namespace

Boxes collapsed(const std::vector<NetworkNode>& network, const std::vector<std::size_t>& alone, std::size_t most) {
  std::vector<bool> heeded(network.size(), false);
  for (std::size_t i = 0; i < std::min(alone.size(), kMostAlone); ++i) heeded[alone[i]] = true;
  Boxes all;
  for (std::size_t i = 0; i < network.size(); ++i) all.push_back({i});
  if (all.size() <= most / 4) return all;  // small enough to show whole
  Boxes chains = joined_chains(network, heeded);
  return chains.size() <= most ? chains : stretches(heeded);
}

Drawing draw_network(const DiagnoseReport& report) {
  Drawing drawing;
  if (report.network.empty()) return drawing;
  // The report may come from a file that anybody wrote: arrows go forward, or nowhere.
  std::vector<NetworkNode> network = report.network;
  for (std::size_t i = 0; i < network.size(); ++i) {
    std::erase_if(network[i].inputs, [&](std::size_t from) { return from >= i; });
  }
  const Boxes boxes = collapsed(network, damaging(report), kMostBoxes);
  const std::vector<std::size_t> box = box_of(boxes, network.size());
  // Only the first node of a box reads others, or the box is a stretch of graph order: parents have lower numbers.
  std::vector<std::vector<std::size_t>> parents(boxes.size());
  for (std::size_t i = 0; i < network.size(); ++i) {
    for (const std::size_t from : network[i].inputs) {
      if (box[from] != box[i]) parents[box[i]].push_back(box[from]);
    }
  }
  for (std::vector<std::size_t>& list : parents) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  const Placed placed = place(parents);
  const std::size_t rows = rows_for(placed.slots);
  const std::vector<std::size_t> columns = column_slots(placed.slots, rows);
  std::vector<double> left(columns.size(), kMargin);
  for (std::size_t c = 1; c < columns.size(); ++c) {
    left[c] = left[c - 1] + static_cast<double>(columns[c - 1]) * (kBoxWidth + kGapX) - kGapX + kColumnGap;
  }
  drawing.box_width = kBoxWidth;
  drawing.box_height = kBoxHeight;
  drawing.width = width_of(columns);
  drawing.height =
      static_cast<double>(std::min(rows, placed.slots.size())) * (kBoxHeight + kGapY) - kGapY + 2 * kMargin;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const std::size_t rank = placed.rank[i];
    drawing.boxes.push_back({boxes[i], left[rank / rows] + static_cast<double>(placed.slot[i]) * (kBoxWidth + kGapX),
                             kMargin + static_cast<double>(rank % rows) * (kBoxHeight + kGapY)});
    for (const std::size_t parent : parents[i]) drawing.edges.emplace_back(parent, i);
  }
  return drawing;
}

}  // namespace vernier
