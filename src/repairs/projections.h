// Products of an activation and a weight that factors of channels can go into, and the tensors that they make.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/graph_walk.h"
#include "repairs/repair.h"

namespace vernier {

/// A MatMul or Gemm whose result nothing reads but what is asked about, with the Add of a bias behind it.
struct Projection {
  std::string layer;
  std::string tensor;  // that it makes, before a bias that is added behind it
  std::string weight;  // [.., channels], or [channels, ..] where `by_rows`
  bool by_rows = false;
  std::string bias;       // [channels], but for dimensions of 1; empty: none
  std::string bias_node;  // that reads it
};

/// What makes `tensor`, whose last dimension are so many channels. Nothing: it is no such product, others read a part
/// of it, or its weights are multiples of one step, which factors would break.
std::optional<Projection> projection_of(const Model& model, const GraphWalk& walk,
                                        const std::map<std::string, int>& readers, const std::string& tensor,
                                        std::size_t channels);

/// Multiplies channel c of what it makes by factor(c).
void scale_projection(Model& model, const Projection& projection, const std::function<float(std::size_t)>& factor);

/// Queries and keys: what makes them, for a MatMul of both.
struct QueriesAndKeys {
  std::string product;
  Projection queries, keys;
  std::size_t width = 0;     // of a head
  std::size_t turned = 0;    // channels of a head that positions turn, in pairs; 0: none
  bool neighbours = false;   // these pairs are neighbours; else of the two halves
  std::size_t channels = 0;  // heads * width
};

/// Those whose channels are multiplied one by one with nothing in between but moves, numbers and rotations of
/// positions.
std::vector<QueriesAndKeys> queries_and_keys(const Model& model, const Plan& plan);

/// SmoothQuant between the two: queries are divided by the factors that keys are multiplied by.
std::vector<Proposal> smooth_attentions(const Network& network, double alpha);

}  // namespace vernier
