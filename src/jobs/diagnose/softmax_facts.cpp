#include "jobs/diagnose/softmax_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <utility>

#include "analysis/run_tensors.h"
#include "analysis/surgery.h"
#include "causes/cause.h"
#include "jobs/diagnose/attention_scores.h"
#include "model/graph_edit.h"
#include "model/graph_walk.h"
#include "model/operator_traits.h"
#include "numerics/distribution.h"
#include "numerics/metrics.h"
#include "plan/lower_simulated.h"

namespace vernier {
namespace {

constexpr std::size_t kSamplesOfScores = 4, kMostSoftmaxes = 32, kMostShares = 4;
constexpr double kLittle = 0.01;  // of the damage: no Softmax behind it alone explains much

/// Inputs that scores come from: of a Softmax these themselves, of an operator of attention queries, keys and what else
/// counts. Empty: a node without scores, or in a form whose scores are not known.
std::vector<int> score_inputs(const onnx::NodeProto& node) {
  if (is_onnx(node, "Softmax")) return {0};
  return attends(node) ? attention_inputs(node) : std::vector<int>();
}

ScoreRows rows_of_softmax(const onnx::NodeProto& node, const Tensor& scores, int opset) {
  const Rows rows = rows_of(node, scores.shape(), opset);
  ScoreRows found;
  for (std::size_t r = 0; r < rows.count; r += step_between(rows.count)) {
    std::vector<float>& row = found.emplace_back(rows.length);
    for (std::size_t i = 0; i < rows.length; ++i) row[i] = scores.floats()[rows.start(r) + i * rows.stride];
  }
  return found;
}

/// Sums over rows, each place weighed with its probability: masked places have none.
class ScoreSums {
 public:
  void fold(const std::vector<float>& exact, const std::vector<float>& low) {
    constexpr double kNever = 1e-12;
    if (exact.empty() || exact.size() != low.size()) return;
    const std::vector<double> p = softmax(exact), q = softmax(low);
    double mean = 0, squares = 0, level = 0, changed = 0, energy = 0;
    for (std::size_t i = 0; i < p.size(); ++i) {
      changed += std::pow(p[i] - q[i], 2);
      energy += p[i] * p[i];
      const double weight = (p[i] + q[i]) / 2;
      if (!(weight > kNever)) continue;
      const double error = static_cast<double>(low[i]) - static_cast<double>(exact[i]);
      mean += weight * error;
      squares += weight * error * error;
      level += weight * std::pow(static_cast<double>(exact[i]), 2);
    }
    const bool finite = std::isfinite(changed) && std::isfinite(squares) && std::isfinite(level);
    if (!finite || std::ranges::max(exact) <= -kNoMask) {  // masked as a whole, or beyond the format
      lost_ += std::isfinite(changed) ? changed : 1;
      return;
    }
    ++rows_;
    off_ += std::max(0.0, squares - mean * mean);
    squares_ += squares;
    level_ += level;
    changed_ += changed;
    energy_ += energy;
  }

  void fill(SoftmaxFacts& facts) const {
    if (rows_ == 0 || level_ <= 0 || energy_ <= 0 || lost_ >= changed_) return;
    facts.score = std::sqrt(level_ / static_cast<double>(rows_));
    facts.off = std::sqrt(off_ / static_cast<double>(rows_));
    facts.before = squares_ / level_;
    facts.behind = changed_ / energy_;
  }

 private:
  std::int64_t rows_ = 0;
  double off_ = 0, squares_ = 0, level_ = 0, changed_ = 0, energy_ = 0;
  double lost_ = 0;  // changes in rows where no score counts: their error has other causes
};

/// Nodes that scores come through, those nearest to the Softmax first, up to the products that make them, or if these
/// are in FP32 to those of their inputs.
class ScoreMakers {
 public:
  ScoreMakers(const Model& model, const GraphWalk& walk, const Plan& plan, const onnx::NodeProto& node)
      : model_(model), walk_(walk), plan_(plan) {
    nodes.push_back(&node);
    for (const int input : score_inputs(node)) walk_back(node.input(input), 8, /*products=*/0);
  }

  std::vector<const onnx::NodeProto*> nodes;
  bool of_weights = false;  // a product with a constant makes them

 private:
  void walk_back(const std::string& tensor, int steps, int products) {
    const onnx::NodeProto* maker = walk_.maker(tensor);
    if (maker == nullptr || steps == 0 || std::ranges::find(nodes, maker) != nodes.end()) return;
    nodes.push_back(maker);
    const bool constant =
        std::ranges::any_of(maker->input(), [&](const std::string& input) { return is_initializer(model_, input); });
    if (has(*maker, Trait::Weighted) || is_onnx(*maker, "Einsum")) {
      if (products == 0) of_weights = of_weights || constant;
      if (constant || plan_.format_of(maker->name()) != Format::Float32) return;
      ++products;
    }
    for (const std::string& input : maker->input()) walk_back(input, steps - 1, products);
  }

  const Model& model_;
  const GraphWalk& walk_;
  const Plan& plan_;
};

class Softmaxes {
 public:
  Softmaxes(const Subject& subject, const Plan& all_low, RoundedWeights& weights, std::vector<std::size_t> order)
      : subject_(subject),
        plan_(all_low),
        weights_(weights),
        order_(std::move(order)),
        opset_(default_opset(subject.model.proto)) {
    order_.resize(std::min(order_.size(), kSamplesOfScores));
  }

  /// Whether some are worth a run: behind layers of the damage.
  bool any(const ShareOf& share_of) {
    if (order_.empty() || !subject_.carries.empty()) return false;
    const GraphWalk walk(subject_.model);
    for (const onnx::NodeProto& node : subject_.model.proto.graph().node()) {
      if (nodes_.size() == kMostSoftmaxes || score_inputs(node).empty()) continue;
      const ScoreMakers makers(subject_.model, walk, plan_, node);
      const auto matters = [&](const onnx::NodeProto* maker) { return share_of(maker->name()) >= kLittle; };
      if (std::ranges::any_of(makers.nodes, matters)) nodes_.push_back(&node);
    }
    return !nodes_.empty();
  }

  std::vector<SoftmaxFacts> measure(const ShareOf& share_of) {
    both_ = join(subject_.model, lower_simulated(subject_.model, subject_.layers, plan_, weights_), {}, subject_.judged,
                 subject_.carries);
    const auto in_both = nodes_by_name(both_.proto.graph());
    std::erase_if(nodes_, [&](const onnx::NodeProto* node) {
      const auto low = in_both.find(kLow + node->name());
      return low == in_both.end() || low->second->op_type() != node->op_type();
    });
    std::vector<SoftmaxFacts> found(nodes_.size());
    const std::map<std::string, double> noise = run(both_, true, found);
    const GraphWalk walk(subject_.model);
    std::vector<std::size_t> magnifying;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      name_layer(ScoreMakers(subject_.model, walk, plan_, *nodes_[i]), share_of, found[i]);
      const bool is_low = found[i].format != Format::Float32;  // or something in front of it is
      if (is_low && causes::magnifies_error(found[i])) magnifying.push_back(i);
    }
    std::ranges::stable_sort(magnifying, std::ranges::greater{}, [&](std::size_t i) { return found[i].behind; });
    magnifying.resize(std::min(magnifying.size(), kMostShares));
    for (const std::size_t i : magnifying) found[i].share = share_with_exact_scores(i, noise);
    return found;
  }

 private:
  /// Noise over signal of each output.
  std::map<std::string, double> run(Model model, bool scores, std::vector<SoftmaxFacts>& found) {
    const auto by_name = nodes_by_name(both_.proto.graph());
    std::vector<std::string> outputs;
    const auto read = [&](const std::string& tensor) {
      outputs.push_back(fmt::format("scores/{}", outputs.size()));
      *model.proto.mutable_graph()->add_node() = cast_node(tensor, outputs.back(), Dtype::Float32);
    };
    for (const onnx::ValueInfoProto& output : both_.proto.graph().output()) read(output.name());
    const std::size_t judged = outputs.size() / 2;  // those of the low network behind those of the float one
    for (std::size_t i = 0; scores && i < nodes_.size(); ++i) {
      for (const std::string& name : {nodes_[i]->name(), kLow + nodes_[i]->name()}) {
        for (const int input : score_inputs(*nodes_[i])) read(by_name.at(name)->input(input));
      }
    }
    std::vector<ErrorStats> errors(judged);
    std::vector<ScoreSums> sums(nodes_.size());
    run_tensors(subject_, std::move(model), outputs, order_, [&](std::size_t, const std::vector<Tensor>& got) {
      for (std::size_t i = 0; i < judged; ++i) {
        if (got[i].shape() == got[judged + i].shape())
          accumulate_error(got[i].floats(), got[judged + i].floats(), errors[i]);
      }
      std::size_t at = 2 * judged;
      for (std::size_t i = 0; scores && i < nodes_.size(); ++i) {
        const std::size_t count = score_inputs(*nodes_[i]).size();
        const std::span<const Tensor> all(got);
        const ScoreRows exact = rows(*nodes_[i], all.subspan(at, count));
        const ScoreRows low = rows(*nodes_[i], all.subspan(at + count, count));
        for (std::size_t r = 0; r < std::min(exact.size(), low.size()); ++r) sums[i].fold(exact[r], low[r]);
        at += 2 * count;
      }
      return true;
    });
    for (std::size_t i = 0; scores && i < nodes_.size(); ++i) sums[i].fill(found[i]);
    std::map<std::string, double> noise;
    for (std::size_t i = 0; i < judged; ++i)
      noise[both_.proto.graph().output(static_cast<int>(i)).name()] = noise_to_signal(errors[i]);
    return noise;
  }

  ScoreRows rows(const onnx::NodeProto& node, std::span<const Tensor> read) {
    if (is_onnx(node, "Softmax")) return rows_of_softmax(node, read[0], opset_);
    const int mask = mask_input(node);
    return attention_rows(node, read, mask >= 0 && holds_truth(node.input(mask)));
  }

  bool holds_truth(const std::string& tensor) {
    if (types_.empty()) types_ = infer_types(subject_.model);
    const auto type = types_.find(tensor);
    return type != types_.end() && type->second.dtype == Dtype::Bool;
  }

  /// Of the low layers that the scores come through, the one that does most damage.
  void name_layer(const ScoreMakers& makers, const ShareOf& share_of, SoftmaxFacts& facts) const {
    facts.node = facts.layer = makers.nodes.front()->name();
    double most = -1;
    for (const onnx::NodeProto* node : makers.nodes) {
      const Format format = plan_.format_of(node->name());
      if (format == Format::Float32 || share_of(node->name()) <= most) continue;
      most = share_of(node->name());
      facts.layer = node->name();
      facts.format = format;
    }
    facts.of_weights = makers.of_weights && is_onnx(*makers.nodes.front(), "Softmax");
  }

  /// Of the worst output's noise, what is gone if this Softmax alone reads the scores of the float network.
  double share_with_exact_scores(std::size_t i, const std::map<std::string, double>& noise) {
    Model model = both_;
    for (onnx::NodeProto& node : *model.proto.mutable_graph()->mutable_node()) {
      if (node.name() != kLow + nodes_[i]->name()) continue;
      for (const int input : score_inputs(*nodes_[i])) node.set_input(input, nodes_[i]->input(input));
    }
    std::vector<SoftmaxFacts> none;
    const std::map<std::string, double> left = run(std::move(model), false, none);
    const auto worst = std::ranges::max_element(noise, {}, [](const auto& output) { return output.second; });
    if (worst == noise.end() || !std::isfinite(worst->second) || worst->second <= 0) return 0;
    return std::clamp(1 - left.at(worst->first) / worst->second, 0.0, 1.0);
  }

  const Subject& subject_;
  const Plan& plan_;
  RoundedWeights& weights_;
  std::vector<std::size_t> order_;
  int opset_;
  std::vector<const onnx::NodeProto*> nodes_;
  Model both_;
  std::map<std::string, ValueType> types_;
};

}  // namespace

Rows rows_of(const onnx::NodeProto& softmax, const Shape& shape, int opset) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  std::int64_t axis = attribute_int(softmax, "axis", opset < 13 ? 1 : -1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank || element_count(shape) == 0) return {};
  Rows rows;
  if (opset < 13) {  // one row of all dimensions from `axis` on
    rows.length = 1;
    for (auto i = static_cast<std::size_t>(axis); i < shape.size(); ++i) {
      rows.length *= static_cast<std::size_t>(shape[i]);
    }
  } else {
    rows.length = static_cast<std::size_t>(shape[static_cast<std::size_t>(axis)]);
    for (auto i = static_cast<std::size_t>(axis) + 1; i < shape.size(); ++i) {
      rows.stride *= static_cast<std::size_t>(shape[i]);
    }
  }
  rows.count = static_cast<std::size_t>(element_count(shape)) / rows.length;
  return rows;
}

std::vector<double> softmax(const std::vector<float>& row) {
  const auto most = static_cast<double>(std::ranges::max(row));
  std::vector<double> result(row.size());
  double sum = 0;
  for (std::size_t i = 0; i < row.size(); ++i) sum += result[i] = std::exp(static_cast<double>(row[i]) - most);
  for (double& value : result) value /= sum;
  return result;
}

std::vector<SoftmaxFacts> softmax_facts(const Subject& subject, const Plan& all_low, RoundedWeights& weights,
                                        const std::vector<std::size_t>& order, const ShareOf& share_of) {
  Softmaxes softmaxes(subject, all_low, weights, order);
  return softmaxes.any(share_of) ? softmaxes.measure(share_of) : std::vector<SoftmaxFacts>();
}

}  // namespace vernier
