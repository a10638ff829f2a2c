// What is measured row by row: rows of a Softmax that a mask covers as a whole, the means that norms take off, the
// largest magnitude at each place of an activation, and how many picks change with everything low.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "analysis/subject.h"
#include "causes/facts.h"
#include "model/graph_walk.h"
#include "numerics/distribution.h"
#include "plan/plan.h"
#include "vernier/format.h"

namespace vernier {

/// A Softmax whose input holds a mask.
struct MaskedSoftmax {
  std::string name;
  Mask mask;
  Format format = Format::Float16;  // that its input is rounded to
};

struct RowFacts {
  std::map<std::string, MaskedRows> masked;       // by Softmax
  std::map<std::string, MeanTakenOff> means;      // by norm
  std::map<std::string, PlaceMagnitudes> places;  // by tensor
};

/// True for operators that take a mean off inside: LayerNormalization, InstanceNormalization and their like; and for
/// the Sub of a norm in pieces.
bool takes_mean_off(const onnx::NodeProto& node, const GraphWalk& walk);

/// Of the nodes and tensors named, which are of the main graph, on the samples of `order`. Nothing where none is named.
/// Cost: one run of the float model.
RowFacts row_facts(const Subject& subject, const std::vector<MaskedSoftmax>& softmaxes,
                   const std::vector<std::string>& norms, const std::vector<std::string>& tensors,
                   const std::vector<std::size_t>& order);

/// Of nodes of the main graph, in graph order: every ArgMax, ArgMin and TopK, and the first 16 norms and logarithms.
struct NodeFacts {
  std::vector<DecisionFacts> decisions;
  std::vector<AmplifierFacts> amplifiers;
};

/// Over the samples of `order`; norms and logarithms only with `amplifiers`. Cost: two runs, one in simulation, none if
/// there is no such node; holds what the nodes read and make in both.
NodeFacts node_facts(const Subject& subject, const Plan& all_low, const std::vector<std::size_t>& order,
                     bool amplifiers);

}  // namespace vernier
