#include "jobs/reduce/reducer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "model/subgraph.h"
#include "vernier/error.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

// How many neighbours are tried where a cut cannot be judged, before the search goes on as if it were good.
constexpr int kNeighbours = 2;
// So few are dropped one by one at once: that no single one can go has to be shown anyway.
constexpr std::size_t kFewNodes = 4;

bool is_float(const onnx::TypeProto& type) {
  const auto dtype = static_cast<Dtype>(type.tensor_type().elem_type());
  return dtype == Dtype::Float32 || dtype == Dtype::Float16 || dtype == Dtype::BFloat16 || dtype == Dtype::Float64;
}

}  // namespace

Reducer::Reducer(const Model& whole, std::map<std::string, onnx::TypeProto> types, Hooks hooks)
    : whole_(whole), hooks_(std::move(hooks)), types_(std::move(types)) {
  const onnx::GraphProto& graph = whole_.proto.graph();
  for (const onnx::ValueInfoProto& input : graph.input()) variable_.insert(input.name());
  for (const onnx::NodeProto& node : graph.node()) {
    const std::set<std::string> reads = tensors_read(node);
    // A node without inputs may draw random numbers.
    const bool varies =
        (reads.empty() && node.op_type() != "Constant") ||
        std::any_of(reads.begin(), reads.end(), [&](const std::string& name) { return variable_.contains(name); });
    if (varies) variable_.insert(node.output().begin(), node.output().end());
  }
}

std::vector<int> Reducer::ancestors(const std::vector<std::string>& outputs) const {
  return nodes_between(whole_, {}, {outputs.begin(), outputs.end()});
}

std::optional<ReducedPart> Reducer::part(std::vector<int> nodes, std::vector<std::string> outputs,
                                         const std::set<std::string>& more_frozen) {
  std::erase_if(outputs, [&](const std::string& name) {
    const auto type = types_.find(name);
    return type == types_.end() || !type->second.has_tensor_type();
  });
  const bool any_variable =
      std::any_of(outputs.begin(), outputs.end(), [&](const std::string& name) { return variable_.contains(name); });
  if (any_variable) std::erase_if(outputs, [&](const std::string& name) { return !variable_.contains(name); });
  if (nodes.empty() || outputs.empty()) return std::nullopt;
  // Of these nodes, those that the outputs need.
  std::set<std::string> needed(outputs.begin(), outputs.end());
  std::vector<int> kept;
  for (auto index = nodes.rbegin(); index != nodes.rend(); ++index) {
    const onnx::NodeProto& node = whole_.proto.graph().node(*index);
    if (std::none_of(node.output().begin(), node.output().end(),
                     [&](const std::string& name) { return needed.contains(name); })) {
      continue;
    }
    kept.push_back(*index);
    needed.merge(tensors_read(node));
  }
  std::reverse(kept.begin(), kept.end());
  ReducedPart candidate;
  candidate.nodes = std::move(kept);
  candidate.outputs = std::move(outputs);

  std::set<std::string> graph_inputs;
  for (const onnx::ValueInfoProto& input : whole_.proto.graph().input()) graph_inputs.insert(input.name());
  std::vector<std::string> freeze;
  for (const std::string& name : boundary(whole_, candidate.nodes)) {
    const auto type = types_.find(name);
    const bool unfit = type == types_.end() || !type->second.has_tensor_type() || !is_float(type->second);
    const bool inner = !graph_inputs.contains(name);
    if ((inner && (!variable_.contains(name) || (unfit && hooks_.freeze_others))) || more_frozen.contains(name)) {
      freeze.push_back(name);
    }
  }
  std::map<std::string, Tensor> constants;
  if (!freeze.empty() && hooks_.values) constants = hooks_.values(freeze);
  for (const auto& [name, value] : constants) candidate.frozen.insert(name);
  try {
    candidate.model = piece_of(whole_, candidate.nodes, candidate.outputs, types_, constants);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Input) throw;
    return std::nullopt;  // an input of unknown type: no model can be made of this part
  }
  return candidate;
}

Verdict Reducer::judge(const ReducedPart& candidate, const std::string& label) {
  const Key key{candidate.nodes, candidate.outputs, candidate.frozen};
  const auto known = judged_.find(key);
  if (known != judged_.end()) return known->second;
  if (hooks_.say) {
    hooks_.say(fmt::format("{}: {} of {} nodes, inputs {}", label, candidate.nodes.size(),
                           whole_.proto.graph().node_size(), [&] {
                             std::vector<std::string> names;
                             for (const InputInfo& input : model_inputs(candidate.model)) {
                               names.push_back(printable(input.name));
                             }
                             return list_some(names, 3);
                           }()));
  }
  return judged_[key] = hooks_.judge(candidate, label);
}

Verdict Reducer::verdict_of(std::optional<ReducedPart> candidate, const std::string& label) {
  if (!candidate) return Verdict::Invalid;
  const Verdict verdict = judge(*candidate, label);
  const bool smaller = candidate->nodes.size() <= bad_.nodes.size();
  if (verdict == Verdict::Bad && (bad_.nodes.empty() || smaller)) {
    bad_ = std::move(*candidate);
    presumed_ = false;
  }
  return verdict;
}

bool Reducer::take(std::optional<ReducedPart> candidate, const std::string& label) {
  return verdict_of(std::move(candidate), label) == Verdict::Bad;
}

Verdict Reducer::reproduce() {
  std::vector<std::string> outputs;
  for (const onnx::ValueInfoProto& output : whole_.proto.graph().output()) outputs.push_back(output.name());
  ReducedPart all;
  for (int i = 0; i < whole_.proto.graph().node_size(); ++i) all.nodes.push_back(i);
  all.outputs = outputs;
  all.model = whole_;
  return verdict_of(std::move(all), "whole");
}

bool Reducer::start_from(const std::vector<int>& nodes, const std::vector<std::string>& outputs) {
  std::optional<ReducedPart> candidate = part(nodes, outputs);
  if (!candidate) return false;
  bad_ = std::move(*candidate);
  presumed_ = true;
  return true;
}

bool Reducer::confirm() {
  if (!presumed_) return true;
  presumed_ = false;
  if (judge(bad_, "outputs") == Verdict::Bad) return true;
  bad_ = {};
  return false;
}

void Reducer::reduce_outputs(bool linear) {
  const std::vector<int> nodes = bad_.nodes;
  const int count = static_cast<int>(nodes.size());
  const auto bad_until = [&](int at) {
    std::vector<int> first(nodes.begin(), nodes.begin() + at + 1);
    return verdict_of(part(first, results(whole_, first)), "outputs");
  };
  int shortest = count - 1;  // this beginning is bad
  if (linear) {
    for (int at = 0; at < shortest; ++at) {
      if (bad_until(at) == Verdict::Bad) shortest = at;
    }
  } else {
    for (int good = -1; shortest - good > 1;) {
      const int middle = good + (shortest - good) / 2;
      int at = middle;
      Verdict verdict = bad_until(at);
      while (verdict != Verdict::Bad && verdict != Verdict::Good && at + 1 < shortest && at < middle + kNeighbours) {
        verdict = bad_until(++at);
      }
      (verdict == Verdict::Bad ? shortest : good) = at;
    }
  }
  const onnx::NodeProto& last = whole_.proto.graph().node(nodes[static_cast<std::size_t>(shortest)]);
  const std::vector<std::string> own(last.output().begin(), last.output().end());
  take(part(ancestors(own), own), "outputs");
}

std::optional<ReducedPart> Reducer::ending(const ReducedPart& start, std::size_t first) {
  const std::vector<int> nodes(start.nodes.begin() + static_cast<std::ptrdiff_t>(first), start.nodes.end());
  std::set<std::string> made;
  for (const int index : nodes) {
    const onnx::NodeProto& node = whole_.proto.graph().node(index);
    made.insert(node.output().begin(), node.output().end());
  }
  std::vector<std::string> outputs;
  for (const std::string& name : start.outputs) {
    if (made.contains(name)) outputs.push_back(name);
  }
  return part(nodes, outputs);
}

void Reducer::reduce_inputs(bool linear) {
  const ReducedPart start = bad_;
  const auto bad_at = [&](std::size_t first) { return verdict_of(ending(start, first), "inputs"); };
  const std::size_t count = start.nodes.size();
  if (linear) {
    for (std::size_t first = count; first-- > 1;) {
      if (bad_at(first) == Verdict::Bad) break;
    }
  } else {
    std::size_t bad = 0;
    for (std::size_t good = count; good - bad > 1;) {
      const std::size_t middle = bad + (good - bad) / 2;
      std::size_t at = middle;
      Verdict verdict = bad_at(at);
      while (verdict != Verdict::Bad && verdict != Verdict::Good && at > bad + 1 && at + kNeighbours > middle) {
        verdict = bad_at(--at);
      }
      (verdict == Verdict::Bad ? bad : good) = at;
    }
  }
  freeze_branches();
}

void Reducer::freeze_branches() {
  const std::vector<InputInfo> inputs = model_inputs(bad_.model);
  if (inputs.size() < 2 || bad_.nodes.empty()) return;
  const std::set<std::string> first_reads = tensors_read(whole_.proto.graph().node(bad_.nodes.front()));
  for (const InputInfo& input : inputs) {
    if (first_reads.contains(input.name)) continue;
    std::set<std::string> frozen = bad_.frozen;
    frozen.insert(input.name);
    std::optional<ReducedPart> candidate = part(bad_.nodes, bad_.outputs, frozen);
    if (!candidate || !candidate->frozen.contains(input.name)) continue;
    if (judge(*candidate, "inputs") != Verdict::Bad) continue;
    bad_ = std::move(*candidate);
    presumed_ = false;
  }
}

bool Reducer::try_nodes(const std::vector<int>& nodes, const std::vector<std::string>& outputs,
                        const std::string& label) {
  return take(part(nodes, outputs.empty() ? results(whole_, nodes) : outputs), label);
}

std::vector<std::string> Reducer::outputs_without(const std::vector<int>& rest) const {
  const onnx::GraphProto& graph = whole_.proto.graph();
  std::set<std::string> read_before;
  std::set<std::string> read_now;
  for (const int index : bad_.nodes) read_before.merge(tensors_read(graph.node(index)));
  for (const int index : rest) read_now.merge(tensors_read(graph.node(index)));
  std::vector<std::string> outputs;
  for (const int index : rest) {
    for (const std::string& name : graph.node(index).output()) {
      const bool was_output = std::find(bad_.outputs.begin(), bad_.outputs.end(), name) != bad_.outputs.end();
      if (was_output || (read_before.contains(name) && !read_now.contains(name))) outputs.push_back(name);
    }
  }
  return outputs;
}

void Reducer::drop_nodes() {
  for (std::size_t groups = bad_.nodes.size() <= kFewNodes ? kFewNodes : 2;;) {
    const std::vector<int> nodes = bad_.nodes;
    if (nodes.size() < 2) break;
    groups = std::min(groups, nodes.size());
    bool dropped = false;
    for (std::size_t group = 0; group < groups && !dropped; ++group) {
      const std::size_t from = group * nodes.size() / groups;
      const std::size_t to = (group + 1) * nodes.size() / groups;
      std::vector<int> rest;
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (i < from || i >= to) rest.push_back(nodes[i]);
      }
      const std::size_t before = bad_.nodes.size();
      dropped = take(part(rest, outputs_without(rest), bad_.frozen), "nodes") && bad_.nodes.size() < before;
    }
    if (dropped) {
      groups = std::max<std::size_t>(2, groups - 1);
    } else if (groups == nodes.size()) {
      break;
    } else {
      groups *= 2;
    }
  }
  minimal_ = true;
}

Reducer::Repeated Reducer::repeat(std::size_t least) {
  Repeated repeated;
  const auto differs = [&](const ReducedPart& candidate, Verdict before, const std::string& what) {
    ++repeated.asked;
    if ((hooks_.judge(candidate, "again") == Verdict::Bad) == (before == Verdict::Bad)) return false;
    repeated.flipped = what;
    return true;
  };
  for (const int gone : bad_.nodes) {
    if (bad_.nodes.size() < 2) break;
    std::vector<int> rest = bad_.nodes;
    std::erase(rest, gone);
    const std::optional<ReducedPart> without = part(rest, outputs_without(rest), bad_.frozen);
    const auto known = without ? judged_.find({without->nodes, without->outputs, without->frozen}) : judged_.end();
    if (known == judged_.end() || (known->second != Verdict::Good && known->second != Verdict::Bad)) {
      ++repeated.unjudged;
      continue;
    }
    if (differs(*without, known->second,
                fmt::format("the part without node '{}'", printable(whole_.proto.graph().node(gone).name())))) {
      return repeated;
    }
  }
  do {
    if (differs(bad_, Verdict::Bad, "the smallest bad part")) return repeated;
  } while (repeated.asked < least);
  return repeated;
}

std::optional<ReducedPart> Reducer::nearest_good() {
  const Key* best = nullptr;
  const auto distance = [&](const Key& key) {
    const auto a = static_cast<std::ptrdiff_t>(key.nodes.size());
    return std::abs(a - static_cast<std::ptrdiff_t>(bad_.nodes.size()));
  };
  for (const auto& [key, verdict] : judged_) {
    if (verdict == Verdict::Good && (best == nullptr || distance(key) < distance(*best))) best = &key;
  }
  if (best == nullptr) return std::nullopt;
  return part(best->nodes, best->outputs, best->frozen);
}

}  // namespace vernier
