// Which tensor of a typed file stands for which layer output of its float model.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "analysis/subject.h"
#include "analysis/surgery.h"

namespace vernier {

/// A layer without a match, and why.
struct MissingLayer {
  std::string layer;
  std::string why;
  bool merged = false;  // into the next layer, which is compared
};

/// Layer outputs of the float model that the file has too: by tensor name, else by node name and output index, else by
/// structure: the same operator on inputs that were matched. Where names are doubtful and values explain more, by value
/// (value_matches.h). Tensors of other shapes or of float64 are not compared.
/// When the file keeps a low version beside the float one, the node's own output is what the layer computed.
struct LayerMatches {
  std::vector<Match> pairs;
  std::vector<const Layer*> layers;  // parallel
  std::vector<MissingLayer> missing;
  std::size_t inside_bodies = 0;  // of these
  std::size_t by_structure = 0;   // matched though names differ

  void add(Match match, const Layer& layer);
  /// The caller says why the layer is missing then.
  void remove(std::size_t pair);
};

/// The node of the main graph that makes each tensor. Valid while `model` is.
using Makers = std::map<std::string, const onnx::NodeProto*>;
Makers makers_in(const Model& model);

/// The nodes that compute `tensor` from tensors in `known`, from graph inputs and constants; the nearest first, 64 at
/// most.
std::vector<const onnx::NodeProto*> nodes_behind(const Makers& made_by, const std::string& tensor,
                                                 const std::set<std::string>& known);

/// For reports: each with its `layer` and `why`.
std::vector<Note> notes_of(const std::vector<MissingLayer>& missing);

/// `simulated`: the typed file as simulate_typed() makes it, of the same opset as subject.model. With `moves` also
/// those that only move or select values.
LayerMatches match_layers(const Subject& subject, const Model& simulated, bool moves = false);

}  // namespace vernier
