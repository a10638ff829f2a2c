#include "jobs/diagnose/row_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include "analysis/run_tensors.h"
#include "jobs/diagnose/softmax_facts.h"
#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "numerics/metrics.h"
#include "numerics/round.h"
#include "plan/lower_simulated.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

class SoftmaxRows {
 public:
  SoftmaxRows(const MaskedSoftmax& wanted, const onnx::NodeProto& node, int opset)
      : wanted_(wanted), node_(node), opset_(opset) {}

  void fold(const Tensor& scores) {
    const Rows rows = rows_of(node_, scores.shape(), opset_);
    const QuantParams grid{wanted_.format, {}, {}, -1, 0, 0};
    std::vector<float> row(rows.length), rounded(rows.length);
    for (std::size_t r = 0; r < rows.count; ++r) {
      for (std::size_t i = 0; i < rows.length; ++i) row[i] = scores.floats()[rows.start(r) + i * rows.stride];
      round_to(grid, row, rounded);
      const std::vector<double> exact = softmax(row);
      const std::vector<double> low = softmax(rounded);
      double noise = 0;
      for (std::size_t i = 0; i < exact.size(); ++i) noise += std::pow(exact[i] - low[i], 2);
      if (!std::isfinite(noise)) noise = 1;  // of a row that is lost: as much as there is in it
      noise_ += noise;
      ++rows_;
      const float most = std::ranges::max(row);
      if (!(most <= wanted_.mask.high) || !std::isfinite(most)) continue;
      ++masked_;
      masked_noise_ += noise;
      level_ += std::abs(static_cast<double>(most));
    }
  }

  MaskedRows facts() const {
    return {wanted_.name,
            node_.input(0),
            masked_,
            rows_,
            masked_ == 0 ? 0 : level_ / static_cast<double>(masked_),
            noise_ > 0 ? masked_noise_ / noise_ : 0};
  }

 private:
  const MaskedSoftmax wanted_;
  const onnx::NodeProto& node_;
  int opset_;
  std::int64_t rows_ = 0, masked_ = 0;
  double noise_ = 0, masked_noise_ = 0, level_ = 0;
};

/// Sums of the values that a norm takes one mean of.
struct Group {
  double sum = 0, squares = 0;
  std::int64_t count = 0;
};

class NormGroups {
 public:
  /// `axes`: of the ReduceMean of a norm in pieces; of operators empty.
  NormGroups(const onnx::NodeProto& node, std::vector<std::int64_t> axes) : node_(node), axes_(std::move(axes)) {}

  void fold(const Tensor& data) {
    const Shape& shape = data.shape();
    const std::size_t count = data.floats().size();
    if (shape.size() < 2 || count == 0) return;
    std::size_t length = 0;
    if (node_.op_type() == "LayerNormalization") {
      std::int64_t axis = attribute_int(node_, "axis", -1);
      if (axis < 0) axis += static_cast<std::int64_t>(shape.size());
      length = elements_from(shape, static_cast<std::size_t>(std::max<std::int64_t>(axis, 0)));
    } else if (node_.op_type() == "InstanceNormalization") {
      length = elements_from(shape, 2);
    } else if (node_.op_type() == "GroupNormalization") {
      const std::int64_t groups = attribute_int(node_, "num_groups", 1);
      length = elements_from(shape, 1) / static_cast<std::size_t>(std::max<std::int64_t>(groups, 1));
    } else if (node_.op_type() == "Sub") {
      length = elements_of_last(shape);
      if (length == 0) return;
    }
    if (length > 0) {
      for (std::size_t first = 0; first + length <= count; first += length) {
        Group& group = groups_.emplace_back();
        for (std::size_t i = first; i < first + length; ++i) add(group, data.floats()[i]);
      }
      return;
    }
    // Of a BatchNormalization, and of the mean and variance of each channel.
    const auto channels = static_cast<std::size_t>(shape[1]);
    const std::size_t inner = elements_from(shape, 2);
    groups_.resize(std::max(groups_.size(), channels));
    for (std::size_t i = 0; i < count; ++i) add(groups_[i / inner % channels], data.floats()[i]);
  }

  MeanTakenOff facts() const {
    MeanTakenOff found{node_.name(), node_.op_type(), node_.input(0), 0, 0, 1};
    const double epsilon =
        node_.op_type() == "Sub" ? 1e-12 : static_cast<double>(attribute_float(node_, "epsilon", 1e-5F));
    double sum = 0, worst = 0;
    std::size_t groups = 0;
    for (const Group& group : groups_) {
      if (group.count < 2) continue;
      const double mean = group.sum / static_cast<double>(group.count);
      const double variance = std::max(0.0, group.squares / static_cast<double>(group.count) - mean * mean) + epsilon;
      const double growth = (mean * mean + variance) / variance;
      sum += growth;
      ++groups;
      if (growth <= worst) continue;
      worst = growth;
      found.mean = mean;
      found.spread = std::sqrt(variance);
    }
    if (groups > 0) found.factor = std::sqrt(sum / static_cast<double>(groups));
    return found;
  }

 private:
  static std::size_t elements_from(const Shape& shape, std::size_t axis) {
    std::size_t count = 1;
    for (std::size_t i = axis; i < shape.size(); ++i) count *= static_cast<std::size_t>(shape[i]);
    return count;
  }
  /// Where the axes are the last dimensions, the elements that one mean is of; 0 elsewhere.
  std::size_t elements_of_last(const Shape& shape) const {
    std::set<std::int64_t> dimensions;
    for (const std::int64_t axis : axes_) {
      dimensions.insert(axis < 0 ? axis + static_cast<std::int64_t>(shape.size()) : axis);
    }
    const std::size_t first = shape.size() - std::min(dimensions.size(), shape.size());
    if (dimensions.empty() || *dimensions.begin() != static_cast<std::int64_t>(first)) return 0;
    return elements_from(shape, first);
  }
  static void add(Group& group, float value) {
    if (!std::isfinite(value)) return;
    group.sum += static_cast<double>(value);
    group.squares += static_cast<double>(value) * static_cast<double>(value);
    ++group.count;
  }

  const onnx::NodeProto& node_;
  const std::vector<std::int64_t> axes_;
  std::vector<Group> groups_;
};

/// Largest magnitudes along the last dimension, of one sample after the other.
class Places {
 public:
  void fold(const Tensor& data) {
    const Shape& shape = data.shape();
    if (shape.size() < 2 || shape.back() < 1 || data.count() == 0) return;
    const auto width = static_cast<std::size_t>(shape.back());
    const auto magnitude = [](float value) { return std::abs(value); };
    std::vector<float> largest;
    std::vector<std::size_t> channels;  // that make the places so large
    for (std::size_t first = 0; first < data.floats().size(); first += width) {
      const std::span<const float> place = data.floats().subspan(first, width);
      const auto most = std::ranges::max_element(place, {}, magnitude);
      largest.push_back(magnitude(*most));
      channels.push_back(static_cast<std::size_t>(most - place.begin()));
    }
    std::vector<float> sorted = largest;
    std::ranges::sort(sorted);
    const float median = sorted[sorted.size() / 2];
    elsewhere_.resize(width);
    in_channel_.resize(width);
    there_.resize(width);
    for (std::size_t place = 0; place < largest.size(); ++place) {
      if (largest[place] > 10 * median) {
        ++facts_.large;
        ++in_channel_[channels[place]];
        there_[channels[place]] = std::max(there_[channels[place]], largest[place]);
        continue;
      }
      for (std::size_t c = 0; c < width; ++c)
        elsewhere_[c] = std::max(elsewhere_[c], magnitude(data.floats()[place * width + c]));
    }
    facts_.places += static_cast<std::int64_t>(largest.size());
    facts_.largest = std::max(facts_.largest, static_cast<double>(sorted.back()));
    facts_.typical = std::max(facts_.typical, static_cast<double>(median));
  }
  PlaceMagnitudes facts() const {
    PlaceMagnitudes facts = facts_;
    if (elsewhere_.empty()) return facts;
    std::vector<float> sorted = elsewhere_;
    std::ranges::sort(sorted);
    for (std::size_t c = 0; c < elsewhere_.size(); ++c) {
      const bool large = elsewhere_[c] > 5 * sorted[sorted.size() / 2] && 10 * elsewhere_[c] > there_[c];
      if (large) facts.in_channels += in_channel_[c];
    }
    return facts;
  }

 private:
  PlaceMagnitudes facts_;
  std::vector<float> elsewhere_;          // largest magnitude of each channel, at places that are not large
  std::vector<float> there_;              // and at those that are
  std::vector<std::int64_t> in_channel_;  // large places by the channel that makes them so
};

/// Of the ReduceMean that a Sub takes off; empty for other operators.
std::vector<std::int64_t> axes_of_mean(const Model& model, const GraphWalk& walk, const onnx::NodeProto& node) {
  if (node.op_type() != "Sub") return {};
  const onnx::NodeProto& mean = *walk.maker(node.input(1));
  const auto given = mean.input_size() > 1 ? initializer(model, mean.input(1)) : std::nullopt;
  if (!given || given->dtype() != Dtype::Int64) return attribute_ints(mean, "axes");
  return {given->int64s().begin(), given->int64s().end()};
}

/// A node of which the first input and one output are compared between the float network and everything low.
struct Watched {
  std::string node, op_type;
  std::string read, made;  // of the float network
};

/// What gives places, by the output that has them.
std::vector<Watched> picks_of(const Model& model) {
  std::vector<Watched> picks;
  for (const onnx::NodeProto& node : model.proto.graph().node()) {
    if (!has(node, Trait::GivesPlaces)) continue;
    const int places = has(node, Trait::Selects) ? 1 : 0;
    if (places >= node.output_size() || node.output(places).empty()) continue;
    picks.push_back({node.name(), node.op_type(), node.input(0), node.output(places)});
  }
  return picks;
}

/// Whether a node brings groups of values to one size: an operator, or a Div by a norm of what it divides.
bool evens_out(const onnx::NodeProto& node, const GraphWalk& walk) {
  if (is_onnx(node, {"Log", "LayerNormalization", "InstanceNormalization", "GroupNormalization", "RMSNormalization",
                     "LpNormalization", "MeanVarianceNormalization"}))
    return true;
  if (!is_onnx(node, "Div")) return false;
  const onnx::NodeProto* size = walk.maker(node.input(1));
  while (size != nullptr && is_onnx(*size, {"Clip", "Max", "Add", "Expand"})) size = walk.maker(size->input(0));
  return size != nullptr && is_onnx(*size, {"Sqrt", "ReduceL2"});
}

std::vector<Watched> amplifiers_of(const Model& model) {
  constexpr std::size_t kMost = 16;
  const GraphWalk walk(model);
  std::vector<Watched> found;
  for (const onnx::NodeProto& node : model.proto.graph().node()) {
    if (found.size() < kMost && evens_out(node, walk))
      found.push_back({node.name(), node.op_type(), node.input(0), node.output(0)});
  }
  return found;
}

/// For each sample and node what it reads and what it makes, as float32.
std::vector<std::vector<Tensor>> values_of(const Subject& subject, Model model, const std::vector<Watched>& watched,
                                           const std::vector<std::size_t>& order) {
  std::vector<std::string> tensors;
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  const auto as_float = [&](const std::string& tensor, const std::string& name) {
    *graph.add_node() = cast_node(tensor, name, Dtype::Float32);
    tensors.push_back(name);
  };
  std::unordered_map<std::string, std::string> read_by;  // in a lowered graph not what the original reads
  for (const onnx::NodeProto& node : graph.node()) {
    if (node.input_size() > 0) read_by[node.name()] = node.input(0);
  }
  for (std::size_t i = 0; i < watched.size(); ++i) {
    as_float(read_by.at(watched[i].node), fmt::format("watched/{}/read", i));
    as_float(watched[i].made, fmt::format("watched/{}/made", i));
  }
  std::vector<std::vector<Tensor>> values;
  run_tensors(subject, std::move(model), tensors, order, [&](std::size_t, const std::vector<Tensor>& got) {
    values.push_back(got);
    return true;
  });
  return values;
}

}  // namespace

bool takes_mean_off(const onnx::NodeProto& node, const GraphWalk& walk) {
  if (is_onnx(node, "Sub")) {
    const onnx::NodeProto* mean = walk.maker(node.input(1));
    return mean != nullptr && is_onnx(*mean, "ReduceMean") && mean->input(0) == node.input(0);
  }
  return std::ranges::any_of(std::array{"LayerNormalization", "InstanceNormalization", "GroupNormalization",
                                        "BatchNormalization", "MeanVarianceNormalization"},
                             [&](const char* op) { return is_onnx(node, op); });
}

RowFacts row_facts(const Subject& subject, const std::vector<MaskedSoftmax>& softmaxes,
                   const std::vector<std::string>& norms, const std::vector<std::string>& tensors,
                   const std::vector<std::size_t>& order) {
  RowFacts facts;
  if (softmaxes.empty() && norms.empty() && tensors.empty()) return facts;
  const auto nodes = nodes_by_name(subject.model.proto.graph());
  const int opset = default_opset(subject.model.proto);
  std::vector<SoftmaxRows> rows;
  std::vector<NormGroups> groups;
  const GraphWalk walk(subject.model);
  Model model = subject.model;
  std::vector<Places> places(tensors.size());
  std::vector<std::string> outputs;
  const auto read = [&](const std::string& tensor) {  // which may be an input of the graph, or of another type
    outputs.push_back(fmt::format("rows/{}", outputs.size()));
    *model.proto.mutable_graph()->add_node() = cast_node(tensor, outputs.back(), Dtype::Float32);
  };
  for (const MaskedSoftmax& softmax : softmaxes) {
    const onnx::NodeProto& node = *nodes.at(softmax.name);
    rows.emplace_back(softmax, node, opset);
    read(node.input(0));
  }
  for (const std::string& norm : norms) {
    const onnx::NodeProto& node = *nodes.at(norm);
    groups.emplace_back(node, axes_of_mean(subject.model, walk, node));
    read(node.input(0));
  }
  for (const std::string& tensor : tensors) read(tensor);
  run_tensors(subject, std::move(model), outputs, order, [&](std::size_t, const std::vector<Tensor>& got) {
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i].fold(got[i]);
    for (std::size_t i = 0; i < groups.size(); ++i) groups[i].fold(got[rows.size() + i]);
    for (std::size_t i = 0; i < places.size(); ++i) places[i].fold(got[rows.size() + groups.size() + i]);
    return true;
  });
  for (std::size_t i = 0; i < rows.size(); ++i) facts.masked[softmaxes[i].name] = rows[i].facts();
  for (std::size_t i = 0; i < groups.size(); ++i) facts.means[norms[i]] = groups[i].facts();
  for (std::size_t i = 0; i < places.size(); ++i) facts.places[tensors[i]] = places[i].facts();
  return facts;
}

NodeFacts node_facts(const Subject& subject, const Plan& all_low, const std::vector<std::size_t>& order,
                     bool amplifiers) {
  std::vector<Watched> watched = picks_of(subject.model);
  const std::size_t picks = watched.size();
  if (amplifiers) std::ranges::move(amplifiers_of(subject.model), std::back_inserter(watched));
  if (watched.empty()) return {};
  RoundedWeights weights;
  const auto exact = values_of(subject, subject.model, watched, order);
  const auto low = values_of(subject, lower_simulated(subject.model, subject.layers, all_low, weights), watched, order);
  NodeFacts facts;
  for (std::size_t i = 0; i < watched.size(); ++i) {
    ErrorStats read, made;
    std::size_t values = 0, changed = 0;
    for (std::size_t sample = 0; sample < std::min(exact.size(), low.size()); ++sample) {
      const Tensor &read_exact = exact[sample][2 * i], &made_exact = exact[sample][2 * i + 1];
      const Tensor &read_low = low[sample][2 * i], &made_low = low[sample][2 * i + 1];
      if (read_exact.shape() != read_low.shape() || made_exact.shape() != made_low.shape()) continue;
      accumulate_error(read_exact.floats(), read_low.floats(), read);
      accumulate_error(made_exact.floats(), made_low.floats(), made);
      for (std::size_t k = 0; k < made_exact.floats().size(); ++k) {
        changed += made_exact.floats()[k] != made_low.floats()[k] ? 1 : 0;
      }
      values += made_exact.floats().size();
    }
    const Watched& node = watched[i];
    if (values == 0 || read.ref_energy == 0 || !read.finite()) continue;
    if (i < picks) {
      const double share = static_cast<double>(changed) / static_cast<double>(values);
      facts.decisions.push_back({node.node, node.op_type, share, read.error_energy / read.ref_energy});
    } else if (made.ref_energy != 0 && made.finite()) {
      facts.amplifiers.push_back({node.node, node.op_type, node.read, noise_to_signal(read), noise_to_signal(made)});
    }
  }
  return facts;
}

}  // namespace vernier
