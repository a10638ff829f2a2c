#include "jobs/diagnose/layer_facts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/figures.h"
#include "analysis/layer_probe.h"
#include "analysis/reference.h"
#include "analysis/some_samples.h"
#include "base/parallel.h"
#include "causes/cause.h"
#include "jobs/diagnose/cancelled_sums.h"
#include "jobs/diagnose/constant_facts.h"
#include "jobs/diagnose/row_facts.h"
#include "jobs/diagnose/softmax_facts.h"
#include "model/graph_edit.h"
#include "model/graph_walk.h"
#include "model/operator_traits.h"
#include "numerics/grid.h"
#include "vernier/format.h"
#include "vernier/report/figures.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// An overflow of one sample in many is looked for where it is.
std::vector<std::size_t> overflowing_samples(const Experiment& experiment) {
  std::vector<std::size_t> samples = experiment.few_hard_samples();
  const std::vector<double>& noise = experiment.all_low().sample_noise;
  std::erase_if(samples, [&](std::size_t sample) { return sample >= noise.size() || std::isfinite(noise[sample]); });
  return samples;
}

class FactFinder {
 public:
  FactFinder(Measured& measured, const Evidence& evidence, const std::vector<const LayerRow*>& rows,
             std::size_t samples)
      : measured_(measured),
        experiment_(measured.experiment()),
        evidence_(evidence),
        rows_(rows),
        walk_(experiment_.subject().model),
        // Of a sequence the beginning says nothing of the rest: it counts as a whole.
        few_(experiment_.subject(),
             experiment_.subject().carries.empty() ? samples : experiment_.subject().samples->size(),
             overflowing_samples(experiment_)),
        subject_(experiment_.subject()) {
    subject_.samples = &few_;
    nodes_ = nodes_by_name(subject_.model.proto.graph());
    for (const Layer& layer : subject_.layers) layers_[layer.name] = &layer;
    measure();
  }

  std::size_t samples() const { return few_.size(); }
  std::map<std::string, HalvedHistogram> histograms() const {
    return {reference_.histograms.begin(), reference_.histograms.end()};
  }

  NetworkFacts facts() {
    NetworkFacts network;
    // One pick that changed may be all of the damage: it is in the hardest samples.
    std::vector<std::size_t> hard = experiment_.few_hard_samples();
    hard.resize(std::min(hard.size(), few_.size()));
    measure_rows(hard);
    parallel_ordered(
        rows_.size(), subject_.threads, [&](std::size_t i) { return layer(*rows_[i]); },
        [&](std::size_t, LayerFacts facts) {
          network.layers.push_back(std::move(facts));
          return true;
        });
    causes::count_alike_outliers(network.layers);
    const Lockstep& low = experiment_.all_low();
    network.output_noise = noise_share(low.outputs);
    const bool scaled = std::ranges::any_of(rows_, [](const LayerRow* row) { return needs_scale(row->format); });
    NodeFacts nodes = node_facts(experiment_.subject(), plan(), hard, scaled);
    const bool shared = std::ranges::any_of(rows_, [](const LayerRow* row) { return row->share.has_value(); });
    network.softmaxes =
        softmax_facts(experiment_.subject(), plan(), experiment_.weights, hard, [&](const std::string& layer) {
          const auto row = std::ranges::find(rows_, layer, &LayerRow::name);
          if (row == rows_.end()) return 0.0;
          const bool breaks = (*row)->sensitivity_db == -std::numeric_limits<double>::infinity();
          return (*row)->share.value_or(shared && !breaks ? 0 : 1);
        });
    network.decisions = std::move(nodes.decisions);
    network.amplifiers = std::move(nodes.amplifiers);
    return network;
  }

 private:
  const Plan& plan() const { return experiment_.all_low_plan(); }

  static bool is_half(Format format) { return format == Format::Float16 || format == Format::BFloat16; }

  void measure() {
    std::set<std::string> wanted, quantized, read_or_made;
    bool scaled = false;
    for (const LayerRow* row : rows_) {
      const Layer& layer = *layers_.at(row->name);
      wanted.insert(layer.inputs.begin(), layer.inputs.end());
      wanted.insert(layer.outputs.begin(), layer.outputs.end());
      read_or_made.insert(layer.inputs.begin(), layer.inputs.end());
      read_or_made.insert(layer.outputs.begin(), layer.outputs.end());
      for (const onnx::NodeProto* sum : sums_behind(walk_, layer.outputs.front())) {
        std::ranges::copy_if(sum->input(), std::inserter(wanted, wanted.end()),
                             [&](const std::string& operand) { return !is_initializer(subject_.model, operand); });
        wanted.insert(sum->output(0));
      }
      if (needs_scale(row->format)) {
        quantized.insert(layer.inputs.begin(), layer.inputs.end());
        for (const std::string& input : layer.inputs) wanted.merge(branches_of(input));
        if (const auto angles = angles_behind(layer.outputs.front())) wanted.insert(*angles);
      }
      scaled = scaled || needs_scale(row->format);
    }
    if (!scaled) {
      reference_ = run_reference(subject_, wanted, wanted);
      return;
    }
    std::vector<std::string> layers;
    for (const LayerRow* row : rows_) layers.push_back(row->name);
    reference_ = measured_.probe(subject_, wanted, layers, read_or_made, found_);
    for (auto& [tensor, seen] : found_.tensors) {
      if (!quantized.contains(tensor)) seen.samples.clear();
    }
  }

  /// Three quarters of the values are far below the largest.
  bool has_outliers(const std::string& tensor) const {
    const auto counted = reference_.histograms.find(tensor);
    if (counted == reference_.histograms.end()) return false;
    ValueHistogram all = counted->second[0];
    all += counted->second[1];
    const Distribution values = distribution_of(all);
    return static_cast<double>(values.absmax()) > 10 * causes::magnitude_at(values, 0.75);
  }

  /// Inputs whose channels are their last dimension, where some channels, or values of all, stand out.
  std::set<std::string> with_outliers(const Layer& layer) const {
    std::set<std::string> tensors;
    if (layer.traits.any(Trait::Convolves)) return tensors;
    const onnx::NodeProto& node = *nodes_.at(layer.name);
    for (const std::string& input : layer.inputs) {
      // The rows of a right operand are channels that are summed over, and no places.
      if (node.input_size() > 1 && input == node.input(1) && input != node.input(0)) continue;
      const auto seen = found_.tensors.find(input);
      if (seen == found_.tensors.end()) continue;
      if (!causes::large_channels(seen->second.channels).empty() || has_outliers(input)) tensors.insert(input);
    }
    return tensors;
  }

  /// Of the layers examined in float16 and bfloat16, and of what reads their results; of quantized inputs with
  /// outliers.
  void measure_rows(const std::vector<std::size_t>& hard) {
    std::map<std::string, MaskedSoftmax> softmaxes;
    std::set<std::string> norms, tensors;
    for (const LayerRow* row : rows_) {
      if (needs_scale(row->format)) tensors.merge(with_outliers(*layers_.at(row->name)));
      if (!is_half(row->format)) continue;
      std::vector<const onnx::NodeProto*> looked_at{nodes_.at(row->name)};
      for (const GraphWalk::Use& use : walk_.uses(layers_.at(row->name)->outputs.front()))
        looked_at.push_back(use.node);
      for (const onnx::NodeProto* node : looked_at) {
        if (takes_mean_off(*node, walk_)) norms.insert(node->name());
        if (!is_onnx(*node, "Softmax") && !is_onnx(*node, "LogSoftmax")) continue;
        const std::optional<Mask> mask = activation(node->input(0)).mask;
        if (mask) softmaxes[node->name()] = {node->name(), *mask, row->format};
      }
    }
    std::vector<MaskedSoftmax> masked;
    for (const auto& [name, softmax] : softmaxes) masked.push_back(softmax);
    row_facts_ =
        row_facts(experiment_.subject(), masked, {norms.begin(), norms.end()}, {tensors.begin(), tensors.end()}, hard);
  }

  void add_rows(const onnx::NodeProto& node, LayerFacts& facts) const {
    std::vector<const onnx::NodeProto*> looked_at{&node};
    for (const GraphWalk::Use& use : walk_.uses(node.output(0))) looked_at.push_back(use.node);
    for (const onnx::NodeProto* one : looked_at) {
      const auto masked = row_facts_.masked.find(one->name());
      if (masked != row_facts_.masked.end() && !facts.masked_rows) facts.masked_rows = masked->second;
      const auto mean = row_facts_.means.find(one->name());
      if (mean != row_facts_.means.end() && !facts.mean) facts.mean = mean->second;
    }
  }

  /// What a Concat joined into `tensor`; empty: something else made it.
  std::set<std::string> branches_of(const std::string& tensor) const {
    const onnx::NodeProto* maker = walk_.maker(tensor);
    while (maker != nullptr && has(*maker, Trait::Moves)) maker = walk_.maker(maker->input(0));
    std::set<std::string> found;
    if (maker == nullptr || !has(*maker, Trait::Joins)) return found;
    for (const std::string& input : maker->input()) {
      if (!is_initializer(subject_.model, input)) found.insert(input);
    }
    return found;
  }

  TensorFacts activation(const std::string& name) const {
    TensorFacts tensor;
    tensor.name = name;
    if (const auto counted = reference_.histograms.find(name); counted != reference_.histograms.end()) {
      ValueHistogram all = counted->second[0];
      all += counted->second[1];
      tensor.infinite = all.range().nonfinite;
      tensor.values = distribution_of(all);
      tensor.mask = take_any_mask(tensor.values);
      // A range is called too wide for what all samples hold, not for what a few do.
      const auto all_seen = experiment_.reference().ranges.find(name);
      if (all_seen != experiment_.reference().ranges.end() && !tensor.mask && !all_seen->second.empty()) {
        tensor.values.min = std::min(tensor.values.min, all_seen->second.min);
        tensor.values.max = std::max(tensor.values.max, all_seen->second.max);
      }
      tensor.first_half = counted->second[0].range().absmax();
      tensor.second_half = counted->second[1].range().absmax();
    }
    if (const auto seen = found_.tensors.find(name); seen != found_.tensors.end()) {
      tensor.samples = seen->second.samples;
      tensor.channels = seen->second.channels;
    }
    if (const auto rows = row_facts_.places.find(name); rows != row_facts_.places.end()) tensor.places = rows->second;
    for (const std::string& branch : branches_of(name)) {
      const auto seen = reference_.histograms.find(branch);
      if (seen == reference_.histograms.end()) continue;
      ValueHistogram all = seen->second[0];
      all += seen->second[1];
      const Distribution values = distribution_of(all);
      const double mean = causes::energy_of(values) / static_cast<double>(std::max<std::int64_t>(values.count, 1));
      tensor.branches.push_back({branch, static_cast<double>(values.absmax()), std::sqrt(mean)});
    }
    return tensor;
  }

  /// An Add of two results, one of which others read as well: around a block, or behind it.
  bool adds_branch(const onnx::NodeProto& node) const {
    if (!is_onnx(node, "Add") || walk_.maker(node.input(0)) == nullptr || walk_.maker(node.input(1)) == nullptr)
      return false;
    return std::ranges::any_of(node.input(), [&](const std::string& in) { return walk_.readers(in).size() > 1; });
  }

  /// What such an Add adds a block's result to, and the block reads: embeddings, for one.
  bool starts_stream(const std::string& tensor) const {
    const std::vector<const onnx::NodeProto*>& readers = walk_.readers(tensor);
    return readers.size() > 1 && std::ranges::any_of(readers, [&](const auto* reader) { return adds_branch(*reader); });
  }

  /// `tensor` comes from such an Add through norms and what moves values.
  bool comes_from_stream(const std::string& tensor, std::set<std::string>& seen) const {
    constexpr std::size_t kMost = 40;  // a norm in pieces has some ten
    const onnx::NodeProto* maker = walk_.maker(tensor);
    if (maker == nullptr || seen.size() > kMost || !seen.insert(maker->name()).second) return false;
    if (adds_branch(*maker) || starts_stream(tensor)) return true;
    const auto layer = layers_.find(maker->name());
    if (layer != layers_.end() && layer->second->weighted) return false;
    return std::ranges::any_of(maker->input(), [&](const std::string& in) { return comes_from_stream(in, seen); });
  }

  /// Of the factors that a BatchNormalization behind `node` gives its channels; 0: there is none.
  double norm_spread(const onnx::NodeProto& node) const {
    for (const onnx::NodeProto* norm : walk_.readers(node.output(0))) {
      if (norm->op_type() != "BatchNormalization" || norm->input_size() < 5) continue;
      const auto gain = initializer(subject_.model, norm->input(1));
      const auto variance = initializer(subject_.model, norm->input(4));
      if (!gain || !variance || gain->dtype() != Dtype::Float32 || variance->dtype() != Dtype::Float32) continue;
      double most = 0;
      double least = std::numeric_limits<double>::infinity();
      for (std::size_t c = 0; c < std::min(gain->floats().size(), variance->floats().size()); ++c) {
        const double factor = std::abs(static_cast<double>(gain->floats()[c])) /
                              std::sqrt(static_cast<double>(variance->floats()[c]) + 1e-5);
        if (factor > 0) least = std::min(least, factor);
        most = std::max(most, factor);
      }
      return most > 0 ? most / least : 0;
    }
    return 0;
  }

  /// The grid of an activation, which is the same in all runs.
  std::optional<QuantParams> steady_grid(const std::string& tensor) const {
    const auto grid = plan().tensors.find(tensor);
    if (grid == plan().tensors.end() || grid->second.dynamic) return std::nullopt;
    return grid->second;
  }

  void add_inputs(const Layer& layer, const onnx::NodeProto& node, LayerFacts& facts) const {
    for (const std::string& name : node.input()) {
      if (std::ranges::find(layer.inputs, name) != layer.inputs.end()) {
        TensorFacts tensor = activation(name);
        tensor.grid = steady_grid(name);
        facts.inputs.push_back(std::move(tensor));
        const onnx::NodeProto* maker = walk_.maker(name);
        if (maker != nullptr) facts.made_by.push_back(maker->op_type());
        while (maker != nullptr && has(*maker, Trait::Moves)) maker = walk_.maker(maker->input(0));
        if (maker != nullptr) facts.inputs.back().maker = maker->name();
      } else if (std::ranges::find(layer.weights, name) != layer.weights.end()) {
        const bool weight = layer.weighted && node.input_size() > 1 && name == node.input(1);
        facts.inputs.push_back(constant_facts(subject_.model, plan(), name, node, weight));
      }
    }
  }

  /// The Sin or Cos that reads `tensor`, behind what moves or joins it.
  std::string angle_of(const std::string& tensor) const {
    for (const auto& [user, read] : walk_.uses(tensor)) {
      if (user->op_type() == "Sin" || user->op_type() == "Cos") return user->op_type();
      if (has(*user, Trait::Joins)) return angle_of(user->output(0));
    }
    return {};
  }

  /// What the Sin or Cos behind `tensor` reads, behind what moves, joins, adds up or scales it.
  std::optional<std::string> angles_behind(const std::string& tensor, int steps = 8) const {
    for (const auto& [user, read] : walk_.uses(tensor)) {
      if (is_onnx(*user, "Sin") || is_onnx(*user, "Cos")) return read;
      static constexpr std::array<std::string_view, 7> kLinear{"Mul", "Div", "Add", "Sub", "Neg", "Abs", "CumSum"};
      const bool linear = user->domain().empty() && std::ranges::find(kLinear, user->op_type()) != kLinear.end();
      if (steps == 0 || !(linear || has(*user, Trait::Joins))) continue;
      if (auto found = angles_behind(user->output(0), steps - 1)) return found;
    }
    return std::nullopt;
  }

  /// Root mean square of a tensor that was counted; nullopt: it was not, or it holds a mask.
  std::optional<double> rms_of(const std::optional<std::string>& tensor) const {
    if (!tensor || !reference_.histograms.contains(*tensor)) return std::nullopt;
    const TensorFacts facts = activation(*tensor);
    if (facts.mask || facts.infinite > 0) return std::nullopt;
    const Distribution& values = facts.values;
    return std::sqrt(causes::energy_of(values) / static_cast<double>(std::max<std::int64_t>(values.count, 1)));
  }

  void add_surroundings(const Layer& layer, const onnx::NodeProto& node, LayerFacts& facts) const {
    for (const auto& [user, tensor] : walk_.uses(layer.outputs.front())) {
      facts.read_by.push_back(user->op_type());
      if (user->op_type() != "Sigmoid" && user->op_type() != "HardSigmoid") continue;
      for (const onnx::NodeProto* behind : walk_.readers(user->output(0))) {
        if (behind->op_type() != "Mul") continue;
        const auto result = reference_.shapes.find(layer.outputs.front());
        for (const std::string& other : behind->input()) {
          const onnx::NodeProto* maker = walk_.maker(other);
          if (other == user->output(0) || maker == &node || result == reference_.shapes.end()) continue;
          const Shape& shape = result->second;
          facts.gates = shape.size() == 4 && shape[2] * shape[3] == 1;
        }
      }
    }
    facts.norm_spread = norm_spread(node);
    facts.adds_branch = adds_branch(node);
    for (const TensorFacts& input : facts.inputs) {
      std::set<std::string> seen;
      facts.reads_stream = facts.reads_stream || (!input.constant && comes_from_stream(input.name, seen));
    }
    facts.angle_of = angle_of(layer.outputs.front());
    facts.cancelled = cancelled_behind(subject_.model, walk_, layer.outputs.front(),
                                       [this](const std::string& tensor) { return rms_of(tensor); });
    facts.distances = distances_of(subject_.model, walk_, node);
    if (needs_scale(facts.format)) facts.angle_rms = rms_of(angles_behind(layer.outputs.front()));
    const Shape* out = nullptr;
    if (const auto shape = reference_.shapes.find(layer.outputs.front()); shape != reference_.shapes.end()) {
      out = &shape->second;
    }
    const bool convolution = layer.traits.any(Trait::Convolves);
    if (out != nullptr && !out->empty()) {
      facts.channels = static_cast<std::size_t>(convolution && out->size() > 1 ? (*out)[1] : out->back());
    }
    if (layer.weighted && out != nullptr) {
      const std::int64_t results = std::max<std::int64_t>(element_count(*out), 1);
      facts.terms = static_cast<std::size_t>(
          multiply_accumulates(subject_.model, layer, *nodes_.at(layer.name), reference_.shapes) / results);
    }
    if (out != nullptr && (layer.op_type == "Softmax" || layer.op_type == "LogSoftmax")) {
      const auto axis = attribute_int(node, "axis", -1);
      const auto at = static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(out->size()) : axis);
      if (at < out->size()) facts.terms = static_cast<std::size_t>((*out)[at]);
    }
    facts.depthwise = convolution && attribute_int(node, "group", 1) > 1 &&
                      attribute_int(node, "group", 1) == static_cast<std::int64_t>(facts.channels);
    if (layer.op_type == "Add" || layer.op_type == "Max" || layer.op_type == "Clip") {
      const bool protects = std::ranges::any_of(facts.read_by, [](const std::string& op) {
        return op == "Sqrt" || op == "Div" || op == "Log" || op == "Reciprocal" || op == "Pow";
      });
      for (const TensorFacts& input : facts.inputs) {
        if (protects && input.constant && input.values.count == 1 && input.values.max > 0 && !input.mask) {
          facts.epsilon = std::min(facts.epsilon.value_or(input.values.max), input.values.max);
        }
      }
    }
  }

  LayerFacts layer(const LayerRow& row) const {
    const Layer& layer = *layers_.at(row.name);
    const onnx::NodeProto& node = *nodes_.at(row.name);
    LayerFacts facts;
    facts.name = row.name;
    facts.op_type = row.op_type;
    facts.format = row.format;
    facts.share = row.share.value_or(0);
    add_inputs(layer, node, facts);
    for (const std::string& output : layer.outputs) {
      facts.outputs.push_back(activation(output));
      facts.outputs.back().grid = steady_grid(output);
    }
    if (const auto own = evidence_.own.find(row.name); own != evidence_.own.end()) {
      const LayerError& error = own->second;
      facts.own_noise = noise_to_signal(error.error);
      facts.output_energy = error.error.ref_energy;
      facts.error_energy = error.error.error_energy;
      facts.output_rms =
          std::sqrt(error.error.ref_energy / static_cast<double>(std::max<std::int64_t>(error.error.count, 1)));
      facts.overflowed = error.events.overflowed;
      facts.flushed = error.events.flushed;
      facts.subnormal = error.events.subnormal;
      facts.rounded = error.events.count;
    }
    if (row.propagated_db) facts.inherited_noise = noise_of_db(*row.propagated_db);
    if (row.sensitivity_db) facts.effect_noise = noise_of_db(*row.sensitivity_db);
    if (const auto found = found_.layers.find(row.name); found != found_.layers.end()) {
      const LayerProbe& seen = found->second;
      if (layer.weighted && seen.own.count > 0) {
        facts.activations_noise = noise_to_signal(seen.own_with_exact_weights);
        facts.weights_noise = std::max(0.0, noise_to_signal(seen.own) - *facts.activations_noise);
      }
      facts.mean_error = seen.mean_error;
    }
    if (layer.weighted && needs_scale(row.format) && node.input_size() > 1)
      add_integer_sums(subject_.model, plan(), node, facts);
    add_surroundings(layer, node, facts);
    add_rows(node, facts);
    return facts;
  }

  Measured& measured_;
  Experiment& experiment_;
  const Evidence& evidence_;
  const std::vector<const LayerRow*>& rows_;
  GraphWalk walk_;
  FewSamples few_;
  Subject subject_;
  std::map<std::string, const onnx::NodeProto*> nodes_;
  std::unordered_map<std::string, const Layer*> layers_;
  Reference reference_;
  Probes found_;
  RowFacts row_facts_;
};

}  // namespace

MeasuredFacts measure_facts(Measured& measured, const Evidence& evidence, const std::vector<const LayerRow*>& rows,
                            std::size_t samples) {
  FactFinder finder(measured, evidence, rows, samples);
  NetworkFacts facts = finder.facts();
  return {std::move(facts), finder.samples(), finder.histograms()};
}

}  // namespace vernier
