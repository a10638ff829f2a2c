#include "jobs/search/evidence.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "analysis/figures.h"
#include "model/graph_edit.h"
#include "model/output_channels.h"
#include "model/trip_counts.h"
#include "numerics/metrics.h"
#include "vernier/format.h"

namespace vernier {
namespace {

void fill_errors(const Evidence& evidence, const Layer& layer, LayerRow& row) {
  const auto own = evidence.own.find(layer.name);
  double own_noise = 0;
  if (own != evidence.own.end() && own->second.error.count > 0) {
    row.own_sqnr_db = sqnr_db(own->second.error);
    own_noise = own->second.error.error_energy;
    row.values = own->second.events.count;
    row.overflowed = own->second.events.overflowed;
    row.saturated = own->second.events.saturated;
    row.subnormal = own->second.events.subnormal;
    row.flushed = own->second.events.flushed;
    row.nan = own->second.error.got_nan;
  }
  ErrorStats all;
  for (const std::string& output : own == evidence.own.end() ? layer.outputs : own->second.tensors) {
    if (const auto found = evidence.propagated.find(output); found != evidence.propagated.end()) all += found->second;
  }
  if (all.count == 0) return;
  row.sqnr_db = sqnr_db(all);
  if (own != evidence.own.end() && all.finite() && all.ref_energy > 0) {
    row.propagated_db = db_of(std::max(0.0, all.error_energy - own_noise) / all.ref_energy);
  }
}

}  // namespace

double own_noise(const Evidence& evidence, const std::string& layer) {
  const auto own = evidence.own.find(layer);
  if (own == evidence.own.end()) return 0;
  const ErrorStats& error = own->second.error;
  if (!error.finite()) return 1;
  return error.ref_energy > 0 ? std::min(1.0, error.error_energy / error.ref_energy) : 0;
}

std::vector<double> left_shares(Experiment& experiment) {
  // Of layers without an own error, those inside bodies.
  constexpr double kUnknown = 0.25;
  const std::vector<std::size_t> few = experiment.few_hard_samples();
  const std::vector<Plan> ends = experiment.ends();
  std::vector<Evidence> of_rung;
  for (std::size_t rung = 0; rung + 1 < ends.size(); ++rung) {
    Evidence& evidence = of_rung.emplace_back();
    for (LayerError& error : own_error(experiment.subject(), ends[rung], experiment.weights, &few)) {
      evidence.own[error.layer] = std::move(error);
    }
  }
  std::vector<double> shares;
  std::vector<std::size_t> rungs;
  for (const Step& step : experiment.steps()) {
    const std::size_t rung = step.needs == kNoItem ? 1 : rungs[step.needs] + 1;
    rungs.push_back(rung);
    const std::string& layer = experiment.candidates()[step.candidate]->name;
    const double lowest = own_noise(of_rung.front(), layer);
    const double below = step.needs == kNoItem ? 1 : shares[step.needs];
    if (rung >= of_rung.size()) {
      shares.push_back(0);
    } else {
      shares.push_back(std::min(below, lowest > 0 ? own_noise(of_rung[rung], layer) / lowest : below * kUnknown));
    }
  }
  return shares;
}

namespace {

/// Few samples rarely change their class: the noise says more of what all samples would do.
double damage_alone(const std::map<std::string, OutputStats>& outputs, const Requirement* requirement) {
  const bool by_class = requirement != nullptr && requirement->metric == Metric::MinTop1Agreement;
  return damage_of_all(outputs, by_class ? nullptr : requirement);
}

}  // namespace

double predicted_damage(const Evidence& evidence, const std::string& layer, const Requirement* requirement) {
  const auto alone = evidence.alone.find(layer);
  if (alone != evidence.alone.end()) return damage_alone(alone->second, requirement);
  const auto presumed = evidence.presumed.find(layer);
  if (presumed != evidence.presumed.end()) return presumed->second;
  const auto own = evidence.own.find(layer);
  if (own != evidence.own.end() && !own->second.error.finite()) return std::numeric_limits<double>::infinity();
  return std::numeric_limits<double>::min() * (1 + own_noise(evidence, layer));
}

bool presume(const Evidence& other, const std::vector<std::string>& layers, const Requirement* requirement,
             Evidence& evidence) {
  const auto finite = [](const Evidence& of, const std::string& layer) {
    const auto own = of.own.find(layer);
    return own != of.own.end() && own->second.error.finite();
  };
  std::unordered_map<std::string, double> presumed;
  for (const std::string& layer : layers) {
    if (!(other.alone.contains(layer) || other.presumed.contains(layer)) || !finite(other, layer) ||
        !finite(evidence, layer))
      return false;
    const double damage = predicted_damage(other, layer, requirement);
    const double noise = own_noise(other, layer);
    if (!std::isfinite(damage) || !(noise > 0)) return false;
    presumed[layer] = damage * own_noise(evidence, layer) / noise;
  }
  evidence.presumed = std::move(presumed);
  return true;
}

std::vector<std::string> must_be_kept(const Experiment& experiment, const Evidence& evidence) {
  std::vector<std::string> layers;
  for (const Layer* layer : experiment.candidates()) {
    const auto alone = evidence.alone.find(layer->name);
    if (alone == evidence.alone.end()) continue;
    const bool finite = std::all_of(alone->second.begin(), alone->second.end(),
                                    [](const auto& output) { return output.second.pooled.finite(); });
    if (!finite) layers.push_back(layer->name);
  }
  return layers;
}

namespace {

void set_shape(const Shape& shape, onnx::ValueInfoProto& value) {
  onnx::TensorShapeProto fixed;
  for (const std::int64_t size : shape) fixed.add_dim()->set_dim_value(size);
  *value.mutable_type()->mutable_tensor_type()->mutable_shape() = fixed;
}

bool has_fixed_shape(const onnx::ValueInfoProto& value) {
  const onnx::TensorShapeProto& shape = value.type().tensor_type().shape();
  return shape.dim_size() > 0 &&
         std::ranges::all_of(shape.dim(), [](const auto& size) { return size.has_dim_value(); });
}

bool is_fixed(const Shape& shape) {
  return std::ranges::all_of(shape, [](std::int64_t size) { return size >= 0; });
}

/// Shapes inside bodies, which no run shows: what follows from those of the run outside. What a Loop carries has the
/// shape that it starts with.
class ShapesInside {
 public:
  explicit ShapesInside(const Experiment& experiment) {
    const auto inside = [](const Layer& layer) { return !layer.graph.empty(); };
    if (std::ranges::none_of(experiment.subject().layers, inside)) return;
    Model model = experiment.subject().model;
    const std::map<std::string, Shape>& seen = experiment.shapes();
    for (onnx::ValueInfoProto& input : *model.proto.mutable_graph()->mutable_input()) {
      if (const auto shape = seen.find(input.name()); shape != seen.end()) set_shape(shape->second, input);
    }
    do {
      types_ = infer_types(model);
      for (const auto& [tensor, shape] : seen) {
        const auto type = types_.find(tensor);
        if (type != types_.end() && !shape.empty()) type->second = {type->second.dtype, true, shape};
      }
    } while (give_loops_shapes(*model.proto.mutable_graph()));  // once for each Loop inside a Loop
  }

  std::int64_t macs(const Layer& layer, const onnx::NodeProto& node) const {
    const bool known = std::ranges::all_of(tensors_of_products(layer, node), [&](const std::string& tensor) {
      const Shape shape = of(tensor);
      return !shape.empty() && is_fixed(shape);
    });
    return known ? multiply_accumulates(layer, node, [&](const std::string& tensor) { return of(tensor); }) : 0;
  }

 private:
  Shape of(const std::string& tensor) const {
    const auto type = types_.find(tensor);
    return type == types_.end() || !type->second.rank_known ? Shape() : type->second.shape;
  }

  /// True: a body knows more than before.
  bool give_loops_shapes(onnx::GraphProto& graph) {
    bool told = false;
    for (onnx::NodeProto& node : *graph.mutable_node()) {
      for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
        if (!attribute.has_g()) continue;
        onnx::GraphProto& body = *attribute.mutable_g();
        for (int i = 2; node.op_type() == "Loop" && i < std::min(node.input_size(), body.input_size()); ++i) {
          const Shape start = of(node.input(i));
          onnx::ValueInfoProto& carried = *body.mutable_input(i);
          if (start.empty() || !is_fixed(start) || has_fixed_shape(carried)) continue;
          set_shape(start, carried);
          told = true;
        }
        told = give_loops_shapes(body) || told;
      }
    }
    return told;
  }

  std::map<std::string, ValueType> types_;
};

}  // namespace

std::map<std::string, std::int64_t> macs_by_layer(const Experiment& experiment) {
  const Model& model = experiment.subject().model;
  const std::map<std::string, Shape>& shapes = experiment.shapes();
  const std::map<std::string, const onnx::NodeProto*> nodes = nodes_by_name(model.proto.graph());
  std::map<std::string, std::int64_t> macs;
  const ShapesInside inside(experiment);
  const TripCounts trips(model, [&](const std::string& tensor) {
    const auto seen = shapes.find(tensor);
    return seen == shapes.end() ? std::nullopt : std::optional(seen->second);
  });
  for (const Layer& layer : experiment.subject().layers) {
    const onnx::NodeProto& node = *nodes.at(layer.name);
    const std::int64_t once = shapes.empty()        ? 0
                              : layer.graph.empty() ? multiply_accumulates(model, layer, node, shapes)
                                                    : inside.macs(layer, node);
    macs[layer.name] = once * trips.of(layer.graph).value_or(1);
  }
  return macs;
}

std::int64_t total_macs(const Experiment& experiment) {
  std::int64_t total = 0;
  for (const auto& [layer, macs] : macs_by_layer(experiment)) total += macs;
  return total;
}

namespace {

/// `counted`: weights that count already.
void add_deciding_products(const Experiment& experiment, const std::map<std::string, const onnx::NodeProto*>& nodes,
                           std::set<std::string> counted, LoweredWork& work) {
  std::set<std::string> layers;
  for (const Layer& layer : experiment.subject().layers) layers.insert(layer.name);
  std::size_t products = 0;
  std::int64_t bytes = 0;
  for (const auto& [name, node] : nodes) {
    if (layers.contains(name) || !has_weight_axis(*node) || node->input_size() < 2) continue;
    const std::optional<Tensor> weight = initializer(experiment.subject().model, node->input(1));
    if (!weight || weight->dtype() != Dtype::Float32) continue;
    ++products;
    if (counted.insert(node->input(1)).second) bytes += static_cast<std::int64_t>(weight->byte_size());
  }
  if (100 * bytes < work.total_weight_bytes + bytes || bytes == 0) return;
  work.deciding = products;
  work.total_weight_bytes += bytes;
}

}  // namespace

std::optional<LoweredWork> lowered_work(const Experiment& experiment) {
  if (experiment.shapes().empty()) return std::nullopt;
  const Model& model = experiment.subject().model;
  const PlannedFormats formats(experiment.all_low_plan());
  const std::map<std::string, const onnx::NodeProto*> nodes = nodes_by_name(model.proto.graph());
  const std::map<std::string, std::int64_t> macs = macs_by_layer(experiment);
  LoweredWork work;
  std::set<std::string> counted;
  for (const Layer& layer : experiment.subject().layers) {
    if (layer.follows) continue;
    const Format format = formats.of(layer.name);
    const bool low = format != experiment.all_low_plan().high && format != Format::Float32;
    const std::int64_t here = macs.at(layer.name);
    work.total_macs += here;
    if (low) work.macs += here;
    const bool stores_codes = layer.traits.any(Trait::StoresCodes | Trait::ComputesOnCodes);
    if (!low && here > 0) {
      ++(stores_codes ? work.on_codes : layer.traits.any(Trait::Recurrent) ? work.recurrent : work.others);
    }
    for (const std::string& input : nodes.at(layer.name)->input()) {
      const std::optional<Tensor> weight = input.empty() ? std::nullopt : initializer(model, input);
      if (!weight || !counted.insert(input).second) continue;
      work.total_weight_bytes += static_cast<std::int64_t>(weight->byte_size());
      if (low && std::ranges::find(layer.weights, input) != layer.weights.end()) {
        work.weight_bytes += static_cast<std::int64_t>(weight->byte_size());
      }
    }
  }
  add_deciding_products(experiment, nodes, std::move(counted), work);
  return work;
}

namespace {

/// Sums over the samples as they stand for all: most of them were chosen because they are hard.
std::map<std::string, OutputStats> weighted(std::map<std::string, OutputStats> outputs,
                                            const std::vector<double>& weights) {
  for (auto& [name, stats] : outputs) {
    if (stats.each.size() != weights.size() || !stats.pooled.finite()) continue;
    stats.pooled.ref_energy = stats.pooled.error_energy = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      stats.pooled.ref_energy += weights[i] * stats.each[i].ref_energy;
      stats.pooled.error_energy += weights[i] * stats.each[i].error_energy;
    }
  }
  return outputs;
}

/// As predicted_damage(), of all samples.
double shown_damage(const Evidence& evidence, const std::string& layer, const Requirement* requirement) {
  const auto alone = evidence.alone.find(layer);
  return alone == evidence.alone.end() ? predicted_damage(evidence, layer, requirement)
                                       : damage_alone(weighted(alone->second, evidence.alone_weights), requirement);
}

}  // namespace

std::vector<LayerRow> ranked_rows(const Experiment& experiment, const Evidence& evidence) {
  const Plan& plan = experiment.all_low_plan();
  const PlannedFormats formats(plan);
  const std::map<std::string, std::int64_t> macs = macs_by_layer(experiment);
  std::vector<LayerRow> rows;
  std::vector<double> damages;
  double sum = 0;
  for (const Layer& layer : experiment.subject().layers) {
    if (layer.follows) continue;
    LayerRow row;
    row.format = formats.of(layer.name);
    const bool candidate = experiment.is_candidate(layer.name);
    if (!candidate && row.format == plan.high) continue;
    row.name = layer.name;
    row.op_type = layer.op_type;
    row.graph = layer.graph;
    if (!experiment.shapes().empty()) row.macs = macs.at(layer.name);
    fill_errors(evidence, layer, row);
    const double damage = shown_damage(evidence, layer.name, experiment.requirement());
    const auto alone = evidence.alone.find(layer.name);
    if (candidate && alone != evidence.alone.end()) {
      row.sensitivity_db = db_of(noise_share(alone->second));
      if (std::isfinite(damage)) row.share = damage;  // of the sum, once that is known
    }
    if (candidate && std::isfinite(damage)) sum += damage;
    damages.push_back(damage);
    rows.push_back(std::move(row));
  }
  for (LayerRow& row : rows) {
    if (row.share) row.share = sum > 0 ? std::optional(*row.share / sum) : std::nullopt;
  }

  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return damages[a] > damages[b]; });
  std::vector<LayerRow> ranked;
  for (const std::size_t i : order) ranked.push_back(std::move(rows[i]));
  return ranked;
}

}  // namespace vernier
