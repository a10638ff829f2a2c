// Cutting a model down while it keeps failing. Sees the graph and a judge; what judges is the job's business.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/model.h"
#include "search/oracle.h"
#include "vernier/tensor.h"

namespace vernier {

/// A part of the whole model.
struct ReducedPart {
  std::vector<int> nodes;            // of the whole, ascending
  std::vector<std::string> outputs;  // tensors that these make
  std::set<std::string> frozen;      // inputs of the part that are constants
  Model model;
};

class Reducer {
 public:
  struct Hooks {
    /// `label` says which phase asks: "outputs", "inputs", "nodes".
    std::function<Verdict(const ReducedPart& candidate, const std::string& label)> judge;
    /// Values of tensors of the whole on the first sample, by name; those that cannot be had are left out.
    std::function<std::map<std::string, Tensor>(const std::vector<std::string>& names)> values;
    /// Freeze tensors that are not float; else they become inputs, too.
    bool freeze_others = true;
    std::function<void(const std::string&)> say;
  };

  Reducer(const Model& whole, std::map<std::string, onnx::TypeProto> types, Hooks hooks);

  /// The verdict on the whole. Called first.
  Verdict reproduce();

  /// Earlier outputs: the shortest beginning of the node list that is bad, then only the outputs of its last node.
  void reduce_outputs(bool linear);
  /// Later inputs: the shortest end of what is left, and branches frozen.
  void reduce_inputs(bool linear);
  /// Drops groups of nodes, ever smaller ones, until no single node can go.
  void drop_nodes();
  /// Begins with the part that ends at these outputs, which was seen to be bad inside the whole, so that no check is
  /// spent on it unless nothing smaller is bad: see confirm(). False when no model can be made of it.
  bool start_from(const std::vector<int>& nodes, const std::vector<std::string>& outputs);
  /// Judges the part of start_from() when it still is the smallest one. False when it is not bad by itself; then there
  /// is no bad part.
  bool confirm();
  /// The smallest bad part is that of start_from(), and was not judged.
  bool presumed() const { return presumed_; }
  /// Takes the part with these nodes when it is bad.
  bool try_nodes(const std::vector<int>& nodes, const std::vector<std::string>& outputs, const std::string& label);
  /// The inputs of the part that are float and that its first node does not read become constants where it stays bad.
  void freeze_branches();

  const ReducedPart& smallest_bad() const { return bad_; }
  /// The good part nearest in size to the smallest bad one; nullopt when none was good.
  std::optional<ReducedPart> nearest_good();
  /// Each node of the smallest bad part was dropped once, and what was left was not bad.
  bool is_minimal() const { return minimal_; }

  struct Repeated {
    std::size_t asked = 0;     // times
    std::size_t unjudged = 0;  // nodes without which the part could not be judged: nothing was seen of them
    std::string flipped;       // the first part that was bad once and not again, or the other way round; empty: none
  };
  /// Asks again what the answer rests on: the smallest bad part, and each that lacks one of its nodes; the first of
  /// them until at least `least` answers came. After drop_nodes().
  Repeated repeat(std::size_t least);

  /// Nodes of the whole that `outputs` need.
  std::vector<int> ancestors(const std::vector<std::string>& outputs) const;

 private:
  struct Key {
    std::vector<int> nodes;
    std::vector<std::string> outputs;
    std::set<std::string> frozen;
    auto operator<=>(const Key&) const = default;
  };
  std::optional<ReducedPart> part(std::vector<int> nodes, std::vector<std::string> outputs,
                                  const std::set<std::string>& more_frozen = {});
  std::optional<ReducedPart> ending(const ReducedPart& start, std::size_t first);
  /// Outputs of the smallest bad part when only `rest` of its nodes stay: those that it makes still, and tensors that
  /// only nodes gone have read.
  std::vector<std::string> outputs_without(const std::vector<int>& rest) const;
  Verdict judge(const ReducedPart& candidate, const std::string& label);
  bool take(std::optional<ReducedPart> candidate, const std::string& label);
  Verdict verdict_of(std::optional<ReducedPart> candidate, const std::string& label);

  Model whole_;
  Hooks hooks_;
  std::map<std::string, onnx::TypeProto> types_;
  std::set<std::string> variable_;  // tensors that depend on a graph input
  std::map<Key, Verdict> judged_;
  ReducedPart bad_;
  bool minimal_ = false;
  bool presumed_ = false;
};

}  // namespace vernier
