// A part of a network that may compute with values 2^k times as large and still hand out what it did before. What it
// reads is multiplied by 2^k on the way in; the factor is taken out where it is least trouble: it cancels in a
// quotient, goes into a constant that multiplies anyway, becomes a number that is added behind a logarithm, or a Mul
// takes it out.
//   x / sqrt(mean(x^2) + e)  =  y / sqrt(mean(y^2) + 4^k e),             y = 2^k x
//   log(x^2 + e)             =  log(y^2 + 4^k e) - 2k log(2)
//   sum(x) / n               =  sum(y) / (2^k n)
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/graph_walk.h"
#include "model/model.h"
#include "repairs/repair.h"

namespace vernier {

/// The main graph's nodes by name and by what they read, bodies inside them included.
class NodeIndex {
 public:
  explicit NodeIndex(const Model& model);
  /// Places of nodes in the graph's order.
  const std::vector<std::size_t>& readers(const std::string& tensor) const;
  std::size_t place(const std::string& name) const { return places_.at(name); }
  const onnx::NodeProto& node(std::size_t place) const { return *nodes_[place]; }
  const onnx::NodeProto& node(const std::string& name) const { return node(place(name)); }

 private:
  std::vector<const onnx::NodeProto*> nodes_;
  std::map<std::string, std::size_t> places_;
  std::map<std::string, std::vector<std::size_t>> readers_;
};

/// What to begin with.
struct RegionStart {
  std::map<std::string, int> sources;  // tensors that get the factor, and their degrees (factor_degrees.h)
  std::set<std::string> nodes;         // that read them so
  /// Nodes behind which the factor is not taken out yet: what it is to help lies farther on.
  std::set<std::string> passed;
};

struct ScaledRegion {
  std::map<std::string, int> sources;
  std::map<std::string, int> nodes;     // inside, by name, and the degree of their results
  std::set<std::string> tensors;        // made inside and read inside, with the factor
  std::set<std::string> logarithms;     // nodes: a number added behind takes the factor out
  std::set<std::string> folded;         // nodes whose constant takes the factor out
  std::map<std::string, int> restored;  // tensors made inside that a Mul takes the factor out of, and their degrees
  std::map<std::string, int> reached;   // all that has the factor, sources and restored ones among them
  std::string why_not;                  // why there is none
};

/// From one node on: what it reads first is scaled. Of a product the other input, where only that is made by weights,
/// which can take the factor in.
RegionStart start_at(const Model& model, const GraphWalk& walk, const onnx::NodeProto& node);

/// Back from a Log or a Sqrt, through what passes a factor on, up to what is squared.
RegionStart start_in_front_of(const Model& model, const GraphWalk& walk, const onnx::NodeProto& end);

/// Grows a region from `start`. A tensor that fits float16 as it is, with a degree of 1 or less, ends it.
ScaledRegion scaled_region(const Network& network, const GraphWalk& walk, const NodeIndex& index, RegionStart start);

/// The largest k with which no tensor of the region is beyond `largest`, as far as their ranges are known.
int power_for(const Network& network, const ScaledRegion& region, double largest);

/// Rewrites the model so that the region computes with 2^power.
void scale_region(Model& model, const ScaledRegion& region, int power);

}  // namespace vernier
