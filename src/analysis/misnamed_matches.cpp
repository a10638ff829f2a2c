#include "analysis/misnamed_matches.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "analysis/run_tensors.h"
#include "analysis/some_samples.h"
#include "model/operator_traits.h"
#include "numerics/metrics.h"
#include "plan/round_node.h"
#include "plan/simulate_typed.h"

namespace vernier {
namespace {

using Values = std::map<std::string, Tensor>;
using Types = std::map<std::string, ValueType>;

constexpr double kDisagreesDb = 10, kAgreesDb = 20;

/// Of the first sample. `tensors`: float32.
Values values_in(const Subject& subject, const Model& model, const std::set<std::string>& tensors) {
  Values values;
  if (tensors.empty()) return values;
  const FewSamples first(subject, 1);
  Subject alone = subject;
  alone.samples = &first;
  alone.ranks = nullptr;
  alone.batch = 1;
  const std::vector<std::string> names(tensors.begin(), tensors.end());
  run_tensors(alone, model, names, all_samples(alone), [&](std::size_t, const std::vector<Tensor>& got) {
    for (std::size_t i = 0; i < names.size(); ++i) values.emplace(names[i], got[i]);
    return false;
  });
  return values;
}

double agreement_db(const Values& refs, const std::string& ref, const Values& lows, const std::string& low) {
  const auto a = refs.find(ref), b = lows.find(low);
  constexpr double kNot = -1000;
  if (a == refs.end() || b == lows.end() || a->second.shape() != b->second.shape()) return kNot;
  if (a->second.dtype() != Dtype::Float32 || b->second.dtype() != Dtype::Float32) return kNot;
  ErrorStats error;
  accumulate_error(a->second.floats(), b->second.floats(), error);
  return sqnr_db(error);
}

bool is_number(const std::string& name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
}

/// Rounds them at most.
bool copies_values(const onnx::NodeProto& node) {
  return node.domain() == kDomain || is_onnx(node, "Identity") || has(node, Trait::ChangesType);
}

class Misnamed {
 public:
  Misnamed(const Subject& subject, const Model& simulated, const LayerMatches& matches)
      : subject_(subject), simulated_(simulated), matches_(matches), low_made_(makers_in(simulated)) {}

  MisnamedMatches run() {
    std::set<std::size_t> asked;
    for (std::size_t i = 0; i < matches_.pairs.size(); ++i) {
      if (made_by_another_operator(i)) asked.insert(i);
    }
    if (asked.empty()) return {};
    ref_types_ = infer_types(subject_.model);
    low_types_ = infer_simulated_types(simulated_);
    const std::set<std::size_t> wrong = that_disagree(asked);
    if (wrong.empty()) return {};
    find_right_ones(wrong);
    if (found_.right.empty()) return {};
    std::set<std::size_t> numbered;
    for (std::size_t i = 0; i < matches_.pairs.size(); ++i) {
      if (!asked.contains(i) && is_number(matches_.pairs[i].ref)) numbered.insert(i);
    }
    found_.wrong.merge(that_disagree(numbered));
    // Where numbers are names, none of those that disagree says anything; a name that a person gave does.
    const auto numbers = [&](std::size_t i) { return is_number(matches_.pairs[i].ref); };
    if (std::ranges::any_of(wrong, numbers)) found_.wrong.insert(wrong.begin(), wrong.end());
    return std::move(found_);
  }

 private:
  bool made_by_another_operator(std::size_t i) const {
    const Layer& layer = *matches_.layers[i];
    auto made = low_made_.find(matches_.pairs[i].low);
    while (made != low_made_.end() && copies_values(*made->second)) {
      made = low_made_.find(made->second->input(0));
    }
    if (made == low_made_.end() || made->second->op_type() == layer.op_type) return false;
    // A product that took over what follows it in the float model.
    return !has(*made->second, Trait::Weighted | Trait::Quantizes | Trait::ComputesOnCodes) &&
           !layer.traits.any(Trait::Clips);
  }

  static bool is_float(const Types& types, const std::string& tensor) {
    const auto type = types.find(tensor);
    return type != types.end() && type->second.dtype == Dtype::Float32;
  }

  std::set<std::size_t> that_disagree(const std::set<std::size_t>& asked) {
    std::set<std::string> refs, lows;
    for (const std::size_t i : asked) {
      const Match& match = matches_.pairs[i];
      if (!is_float(ref_types_, match.ref) || !is_float(low_types_, match.low)) continue;
      refs.insert(match.ref);
      lows.insert(match.low);
    }
    const Values of_refs = values_in(subject_, subject_.model, refs);
    Values of_lows = values_in(subject_, simulated_, lows);
    std::set<std::size_t> found;
    for (const std::size_t i : asked) {
      const Match& match = matches_.pairs[i];
      if (!of_refs.contains(match.ref) || !of_lows.contains(match.low)) continue;
      if (agreement_db(of_refs, match.ref, of_lows, match.low) < kDisagreesDb) found.insert(i);
    }
    lows_.merge(of_lows);
    return found;
  }

  /// Looks at all layers of the float model, some at a time.
  void find_right_ones(const std::set<std::size_t>& wrong) {
    constexpr std::size_t kAtOnce = 64;
    std::set<std::string> some;
    for (const Layer& layer : subject_.layers) {
      for (const std::string& output : layer.outputs) {
        if (layer.graph.empty() && is_float(ref_types_, output)) some.insert(output);
      }
      if (some.size() >= kAtOnce || &layer == &subject_.layers.back()) {
        compare_with(values_in(subject_, subject_.model, some), wrong);
        some.clear();
      }
    }
  }

  void compare_with(const Values& refs, const std::set<std::size_t>& wrong) {
    for (const std::size_t i : wrong) {
      const Match& match = matches_.pairs[i];
      for (const auto& [tensor, value] : refs) {
        if (tensor == match.ref || agreement_db(refs, tensor, lows_, match.low) < kAgreesDb) continue;
        const bool lost = !is_misnamed(tensor) && !is_read_by(match.low, matches_.layers[i]->op_type);
        if (lost && reads(match.ref, tensor)) continue;
        found_.right.push_back({tensor, match.low});
        found_.wrong.insert(i);
        break;
      }
    }
  }

  /// Whether the layer that makes `ref` reads `tensor`.
  bool reads(const std::string& ref, const std::string& tensor) const {
    return std::ranges::any_of(subject_.model.proto.graph().node(), [&](const onnx::NodeProto& node) {
      return std::ranges::find(node.output(), ref) != node.output().end() &&
             std::ranges::find(node.input(), tensor) != node.input().end();
    });
  }

  /// Whether the file has such an operator behind `tensor`, rounded perhaps.
  bool is_read_by(const std::string& tensor, const std::string& op_type) const {
    return std::ranges::any_of(simulated_.proto.graph().node(), [&](const onnx::NodeProto& node) {
      if (std::ranges::find(node.input(), tensor) == node.input().end()) return false;
      return node.op_type() == op_type || (copies_values(node) && is_read_by(node.output(0), op_type));
    });
  }

  bool is_misnamed(const std::string& ref) const {
    for (std::size_t i = 0; i < matches_.pairs.size(); ++i) {
      if (matches_.pairs[i].ref == ref) return made_by_another_operator(i);
    }
    return false;
  }

  const Subject& subject_;
  const Model& simulated_;
  const LayerMatches& matches_;
  const Makers low_made_;
  Types ref_types_, low_types_;
  Values lows_;
  MisnamedMatches found_;
};

}  // namespace

MisnamedMatches find_misnamed(const Subject& subject, const Model& simulated, const LayerMatches& matches) {
  return Misnamed(subject, simulated, matches).run();
}

}  // namespace vernier
