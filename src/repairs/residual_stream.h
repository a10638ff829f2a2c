// The residual stream of a transformer: the tensor that embeddings start, that each block adds to, and that norms and
// products read. A linear map of its channels can be folded into the weights that write it and those that read it, so
// that the network computes the same with another stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "repairs/repair.h"

namespace vernier {

/// A constant that a node reads, and which of its axes are channels of the stream: 0 is the last one, 1 the one before.
struct StreamConstant {
  std::string node;
  int input = 0;
  int from_end = 0;
  std::vector<std::string> factors;  // of constants: scales of each channel behind it, which are folded in
};

/// A layer whose weight reads the stream, or what a norm makes of it.
struct StreamProduct {
  std::string layer;
  StreamConstant weight;
  std::int64_t results = 0;  // it makes for each place
};

struct StreamNorm {
  std::string input, output;
  bool subtracts_mean = true;
  std::string scale_node, bias_node;  // that read them; empty: there is none
  int scale_input = 0, bias_input = 0;
  std::string epsilon_node;  // that has it or reads it; empty: none is added
  int epsilon_input = -1;    // -1: it is an attribute
  std::vector<StreamProduct> products;
};

/// A tensor that is read as it was on one side and mapped on the other. One product is added there.
struct StreamCrossing {
  std::string tensor;
  bool starts = false;           // it is made as it was; else it is made mapped
  int norm = -1;                 // the norm that made it, its scale and bias taken out; -1: it is the stream
  std::set<std::string> mapped;  // nodes that read it mapped
};

struct ResidualStream {
  std::size_t width = 0;
  std::size_t additions = 0;         // of two tensors that are not constants
  std::vector<std::string> tensors;  // that are parts of it, what is added to it among them
  std::vector<StreamConstant> writers;
  std::vector<std::string> written_by;  // layers that the writers are weights of
  std::vector<std::string> scaled_by;   // Mul nodes whose constants are `factors` of writers
  std::vector<StreamNorm> norms;
  std::vector<StreamProduct> products;  // read it without a norm
  std::vector<StreamCrossing> crossings;
  std::string why_not;  // it cannot be mapped

  std::vector<std::string> layers() const;  // all whose weights change
  bool subtracts_mean() const;              // a norm that reads it does
};

/// Streams that blocks add to, in graph order; `additions`: at least so many times. What cannot be folded at a place
/// becomes a crossing.
std::vector<ResidualStream> residual_streams(const Network& network, std::size_t additions = 1);

/// v M, in place, for a row of `width` values.
using ChannelMap = std::function<void(std::span<double> row)>;

/// Folds an orthogonal matrix into the weights of a stream. What the norms multiply and add goes into the weights
/// behind them first.
void rotate_channels(Model& model, const ResidualStream& stream, const ChannelMap& turn);

/// Takes the mean of the channels out of what writes a stream that only norms read, all of which subtract it.
void centre_channels(Model& model, const ResidualStream& stream);

}  // namespace vernier
