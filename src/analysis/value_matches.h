// Twins by value: what a tensor of a typed file stands for where names say nothing. Exporters number their tensors, and
// two exports of one network number them differently.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/match_layers.h"
#include "analysis/simulated_graph.h"
#include "analysis/subject.h"
#include "analysis/types_of_both.h"
#include "model/model.h"
#include "vernier/tensor.h"

namespace vernier {

/// tanh(x) is erf(x / sqrt(2)) to 21 dB, and x + 0.0447 x^3 of a GELU is x to 23.
inline constexpr double kAgreesDb = 25;
/// What computes a tensor whose readers get the float model's values.
inline constexpr const char* kOwn = "/own";

/// The SQNR in dB; far below 0 where the two cannot be compared.
double agreement_db(const Tensor& ref, const Tensor& low);

/// Looks at the first sample. The file computes each tensor from the float model's values of those that were matched
/// before, so that an error counts where it is made and nowhere behind. All arguments must outlive it.
class ValueMatches {
 public:
  ValueMatches(const Subject& subject, const SimulatedGraph& graph, const TypesOfBoth& types);

  /// Whether all tensors of the float model can be held at once: 512 MiB, as far as shapes follow from the inputs'.
  bool fits() const;

  /// A tensor stands for the one that it agrees with best, from 25 dB on. Behind a layer that computes something else,
  /// matching goes on where the file has a product with a like weight, and where a tensor of the file, given the values
  /// of one of the float model, makes what is behind it agree. What is left is matched by structure. Outputs stand for
  /// those of their names. Layers as in match_layers().
  /// Cost: runs of one sample, each in a session of its own: 32 of the whole file or little more, and behind layers
  /// that compute something else 256 of some nodes, and of each node that is looked behind one more, of the same nodes.
  LayerMatches matches(bool moves);

  /// The SQNR of each pair in dB, cut to 0 to 40; 0 as well where the shapes differ. After matches().
  std::vector<double> agreement(const LayerMatches& matches);

 private:
  using Values = std::map<std::string, Tensor>;

  /// Tensors that are matched, of both sides.
  struct Known {
    explicit Known(const LayerMatches& matches);
    std::set<std::string> refs, lows;
  };
  /// A tensor of the float model whose values one of the file may stand for.
  struct Guess {
    std::string ref, low;
    std::size_t distance = 0;  // from what is matched in front of both
  };
  /// Of a guess: what agrees behind it.
  struct Support {
    int tensors = 0;
    double db = 0;  // on average
  };
  struct Zone;

  Values values_in(const Model& model, const std::vector<std::string>& tensors);
  const Values& of_float_model();
  Model on_float_values(const std::vector<Match>& pairs) const;
  /// Layers of the float model that outputs of the file are named after, by what makes them there.
  std::map<std::string, std::string> named_outputs() const;
  void add_outputs(LayerMatches& matches) const;
  /// Adds what agrees on the values of what is matched already.
  void add_alike(LayerMatches& matches);
  void add(LayerMatches& matches, const std::string& ref, const std::string& low) const;
  bool may_stand_for(const std::string& ref, const std::string& low) const;

  /// Lets products of the file with weights like those of the float model's read what these read. Adds what agrees.
  bool add_products(LayerMatches& matches);
  void find_like_products();
  std::optional<Match> what_both_read(const onnx::NodeProto& ref, const onnx::NodeProto& low) const;

  /// Behind what is matched, the tensor of the file whose values, taken from the float model, make those behind agree.
  bool add_bridges(LayerMatches& matches);
  std::vector<std::string> open_behind(const std::set<std::string>& sources, const Known& known,
                                       std::size_t most) const;
  std::vector<Guess> guesses_behind(const onnx::NodeProto& node, const std::set<std::string>& sources,
                                    const Known& known) const;
  Zone zone_of(const std::vector<Guess>& guesses, const LayerMatches& matches, const Known& known);
  Support agreeing_with(const Guess& guess, const Zone& zone, const Known& known);
  /// Tensors of the file behind `tensor`, as far as the first ones that are matched; the nearest first.
  std::vector<std::string> behind(const std::string& tensor, const Known& known, std::size_t most) const;

  const Subject& subject_;
  const SimulatedGraph& graph_;
  const TypesOfBoth& types_;
  std::map<std::string, const Layer*> layers_;  // by what they make
  Values refs_;
  int sessions_ = 0;
  std::map<std::string, Shape> low_shapes_;                                 // as the first run showed them
  std::map<std::string, std::vector<const onnx::NodeProto*>> low_readers_;  // of the file, through transparent nodes
  std::map<std::string, std::vector<std::string>> ref_readers_;             // what is made of a tensor
  Makers ref_made_;
  std::optional<std::vector<std::pair<const onnx::NodeProto*, const onnx::NodeProto*>>> like_products_;
  std::set<const onnx::NodeProto*> tried_;  // nodes of the file behind which a bridge was looked for
  int tries_ = 0;
};

/// The sum of what agreement() gives.
double total(const std::vector<double>& agreement);

}  // namespace vernier
