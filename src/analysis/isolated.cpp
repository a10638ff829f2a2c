#include "analysis/isolated.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "engines/onnxruntime/operators.h"
#include "model/graph_edit.h"
#include "plan/round_node.h"

namespace vernier {
namespace {

constexpr const char* kOwn = "own/";
/// A piece with more nodes than a layer and its rounding takes is no layer.
constexpr std::size_t kMostNodes = 64;

/// Copies pieces of the low model into the reference's graph.
class Pieces {
 public:
  Pieces(Model& model, const Model& low, const std::vector<Match>& matches) : model_(model), low_(low) {
    for (const onnx::NodeProto& node : low.proto.graph().node()) {
      for (const std::string& output : node.output()) made_by_[output] = &node;
    }
    for (const Match& match : matches) reference_.emplace(match.low, match.ref);
    for (const onnx::ValueInfoProto& input : model.proto.graph().input()) inputs_.insert(input.name());
  }

  /// The name of the copy of `target` that is computed from reference tensors; empty when there is none.
  std::string add(const std::string& target) {
    nodes_.clear();
    names_.clear();
    prefix_ = kOwn + std::to_string(count_++) + "/";
    target_ = target;
    const std::string name = copied(target);
    if (name.empty()) return {};
    for (onnx::NodeProto& node : nodes_) *model_.proto.mutable_graph()->add_node() = std::move(node);
    return name;
  }

 private:
  std::string copied(const std::string& tensor) {
    if (tensor.empty()) return tensor;
    if (tensor != target_) {
      if (const auto ref = reference_.find(tensor); ref != reference_.end()) return as_read(tensor, ref->second);
    }
    if (const auto known = names_.find(tensor); known != names_.end()) return known->second;
    if (inputs_.contains(tensor)) return tensor;
    if (is_initializer(low_, tensor)) return constant(tensor);
    const auto made = made_by_.find(tensor);
    if (made == made_by_.end() || nodes_.size() >= kMostNodes) return {};
    onnx::NodeProto node = *made->second;
    if (has_body(node)) return {};
    for (std::string& input : *node.mutable_input()) {
      if (input.empty()) continue;
      input = copied(input);
      if (input.empty()) return {};
    }
    node.set_name(prefix_ + node.name());
    for (std::string& output : *node.mutable_output()) {
      if (output.empty()) continue;
      names_[output] = prefix_ + output;
      output = prefix_ + output;
    }
    nodes_.push_back(std::move(node));
    return names_.at(tensor);
  }

  /// The reference's value as readers of `tensor` get it: rounded, where a Round makes it.
  std::string as_read(const std::string& tensor, const std::string& reference) {
    const auto made = made_by_.find(tensor);
    if (made == made_by_.end() || made->second->domain() != kDomain) return reference;
    std::string& name = names_[tensor];
    if (!name.empty()) return name;
    name = prefix_ + tensor;
    onnx::NodeProto round = *made->second;
    round.set_name(prefix_ + round.name());
    round.set_input(0, reference);
    round.set_output(0, name);
    nodes_.push_back(std::move(round));
    return name;
  }

  std::string constant(const std::string& tensor) {
    std::string name = std::string(kOwn) + "constant/" + tensor;
    if (constants_.insert(tensor).second) {
      set_initializer(model_, *model_.proto.mutable_graph(), name, initializer(low_, tensor).value());
    }
    return name;
  }

  Model& model_;
  const Model& low_;
  std::map<std::string, const onnx::NodeProto*> made_by_;
  std::map<std::string, std::string> reference_;  // tensor of the low model -> what the reference has there
  std::set<std::string> inputs_, constants_;
  std::size_t count_ = 0;
  // of the piece at hand
  std::vector<onnx::NodeProto> nodes_;
  std::map<std::string, std::string> names_;
  std::string prefix_, target_;
};

}  // namespace

std::vector<std::optional<ErrorStats>> isolated_errors(const Subject& subject, const Model& low,
                                                       const std::vector<Match>& matches) {
  Model model = subject.model;
  for (const onnx::OperatorSetIdProto& opset : low.proto.opset_import()) {
    if (!opset.domain().empty()) set_opset(model.proto, opset.domain(), static_cast<int>(opset.version()));
  }
  std::set<std::string> made;
  for (const onnx::NodeProto& node : subject.model.proto.graph().node()) {
    made.insert(node.output().begin(), node.output().end());
  }
  Pieces pieces(model, low, matches);
  struct Place {
    std::size_t match;
    std::string own;
    std::int64_t slot;
  };
  std::map<std::string, Place> places;  // by tensor of the reference
  std::set<std::string> compared;
  for (std::size_t i = 0; i < matches.size(); ++i) {
    if (!made.contains(matches[i].ref) || places.contains(matches[i].ref)) continue;
    const std::string own = pieces.add(matches[i].low);
    if (own.empty()) continue;
    places[matches[i].ref] = {i, own, static_cast<std::int64_t>(places.size())};
    compared.insert(matches[i].ref);
  }
  tap(*model.proto.mutable_graph(), compared, [&](const std::string& raw, const std::string& tensor) {
    return compare_node(raw, places.at(tensor).own, tensor, "", places.at(tensor).slot);
  });
  const Recorder empty(places.size(), 0, 0);
  Recorder total = empty;
  const Session session = subject.session(model);
  run_samples(subject, session, all_samples(subject), empty, "local error", [&](SampleResult result) {
    total += result.recorder;
    return true;
  });
  std::vector<std::optional<ErrorStats>> errors(matches.size());
  for (const auto& [tensor, place] : places) errors[place.match] = total.errors[static_cast<std::size_t>(place.slot)];
  return errors;
}

}  // namespace vernier
