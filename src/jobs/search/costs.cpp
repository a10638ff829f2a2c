#include "jobs/search/costs.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <unordered_map>

#include "base/format_definition.h"
#include "jobs/search/evidence.h"
#include "plan/weight_blocks.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// Elements of a tensor of one sample; 1 when its shape was neither seen nor can be inferred.
class Sizes {
 public:
  explicit Sizes(const Experiment& experiment)
      : shapes_(experiment.shapes()), types_(infer_types(experiment.subject().model)) {}

  double of(const std::string& tensor) const {
    if (const auto seen = shapes_.find(tensor); seen != shapes_.end()) return elements(seen->second);
    if (const auto known = types_.find(tensor); known != types_.end()) return elements(known->second.shape);
    return 1;
  }

 private:
  static double elements(const Shape& shape) {
    double count = 1;
    for (const std::int64_t dim : shape) count *= static_cast<double>(std::max<std::int64_t>(dim, 1));
    return count;
  }
  const std::map<std::string, Shape>& shapes_;
  std::map<std::string, ValueType> types_;
};

std::map<std::string, double> weight_elements(const Model& model) {
  std::map<std::string, double> counts;
  for_each_graph(model.proto.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::TensorProto& tensor : graph.initializer()) {
      double count = 1;
      for (const std::int64_t dim : tensor.dims()) count *= static_cast<double>(dim);
      counts[tensor.name()] = count;
    }
  });
  return counts;
}

/// One border for each tensor that a candidate makes: the candidates that read it, and what it holds.
std::vector<Border> borders_of(const Experiment& experiment, const Sizes& sizes) {
  std::unordered_map<std::string, std::size_t> item_of;
  for (std::size_t i = 0; i < experiment.candidates().size(); ++i) item_of[experiment.candidates()[i]->name] = i;
  std::map<std::string, std::set<std::size_t>> makers;  // of what a tensor holds, through other layers
  std::vector<std::set<std::size_t>> readers(experiment.candidates().size());
  for (const Layer& layer : experiment.subject().layers) {
    std::set<std::size_t> sources;
    for (const std::string& input : layer.inputs) {
      if (const auto made = makers.find(input); made != makers.end()) {
        sources.insert(made->second.begin(), made->second.end());
      }
    }
    const auto item = item_of.find(layer.name);
    if (item != item_of.end()) {
      for (const std::size_t source : sources) readers[source].insert(item->second);
      sources = {item->second};
    }
    for (const std::string& output : layer.outputs) makers[output] = sources;
  }
  std::vector<Border> borders;
  for (std::size_t i = 0; i < readers.size(); ++i) {
    readers[i].insert(i);
    if (readers[i].size() < 2) continue;
    double elements = 0;
    for (const std::string& output : experiment.candidates()[i]->outputs) elements += sizes.of(output);
    borders.push_back({{readers[i].begin(), readers[i].end()}, elements});
  }
  return borders;
}

/// What a layer costs in a format.
class CostInFormat {
 public:
  CostInFormat(const Experiment& experiment, CostUnit unit, const LayerTimes* times)
      : plan_(experiment.all_low_plan()),
        lowest_(plan_),
        unit_(unit),
        times_(times),
        sizes_(experiment),
        macs_(macs_by_layer(experiment)) {
    if (unit == CostUnit::Bytes) weights_ = weight_elements(experiment.subject().model);
  }

  double of(const Layer& layer, Format format) const {
    const double bits = bits_read(format, plan_.high, plan_.rules);
    if (unit_ == CostUnit::Layers) return bits;
    if (unit_ == CostUnit::Time) return microseconds(layer.name, format);
    if (unit_ == CostUnit::Macs) {
      double work = static_cast<double>(macs_.at(layer.name));
      for (const std::string& output : layer.outputs) work = std::max(work, sizes_.of(output));
      return bits * std::max(work, 1.0);
    }
    double read = 1;
    for (const std::string& input : layer.inputs) read += data_bits(format, plan_.high) / 8 * sizes_.of(input);
    for (const std::string& weight : layer.weights) {
      const auto known = weights_.find(weight);
      if (known != weights_.end()) read += bits_of(weight_format(format, plan_.rules)) / 8.0 * known->second;
    }
    return read;
  }

  static double data_bits(Format format, Format high) {
    return bits_of(definition_of(format).weights_alone ? high : format);
  }

 private:
  double microseconds(const std::string& layer, Format format) const {
    const auto rung = times_->rungs.find(format);
    const LayerTimes::OfLayers& wanted = format == lowest_.of(layer)   ? times_->low
                                         : rung == times_->rungs.end() ? times_->high
                                                                       : rung->second;
    // A layer that is fused away in one of them counts as where its time is known, so that no step is free.
    for (const LayerTimes::OfLayers* layers : {&wanted, &times_->high, &times_->low}) {
      if (const auto known = layers->find(layer); known != layers->end()) return known->second;
    }
    return 0;
  }

  const Plan& plan_;
  PlannedFormats lowest_;
  CostUnit unit_;
  const LayerTimes* times_;
  Sizes sizes_;
  std::map<std::string, std::int64_t> macs_;
  std::map<std::string, double> weights_;
};

}  // namespace

double bits_read(Format format, Format high, const QuantizationRules& rules) {
  return (CostInFormat::data_bits(format, high) + bits_of(weight_format(format, rules))) / 2;
}

CostModel ladder_costs(const Experiment& experiment, CostUnit unit, const LayerTimes* times) {
  const CostInFormat cost(experiment, unit, times);
  const PlannedFormats formats(experiment.all_low_plan());
  CostModel costs;
  for (const Step& step : experiment.steps()) {
    const Layer& layer = *experiment.candidates()[step.candidate];
    const Format below = step.needs == kNoItem ? formats.of(layer.name) : experiment.steps()[step.needs].format;
    // Where a rung reads no more than the one below it costs a little all the same: there must be a reason to leave it.
    costs.items.push_back(std::max(1e-3, cost.of(layer, step.format) - cost.of(layer, below)));
  }
  return costs;
}

double cost_of_lowest(const Experiment& experiment, CostUnit unit, const LayerTimes* times) {
  const CostInFormat cost(experiment, unit, times);
  const PlannedFormats formats(experiment.all_low_plan());
  double sum = 0;
  for (const Layer* layer : experiment.candidates()) sum += cost.of(*layer, formats.of(layer->name));
  return sum;
}

CostModel cost_model(const Experiment& experiment, CostUnit unit, const LayerTimes* times) {
  const Sizes sizes(experiment);
  CostModel costs;
  costs.borders = borders_of(experiment, sizes);
  const std::map<std::string, double> weights =
      unit == CostUnit::Bytes ? weight_elements(experiment.subject().model) : std::map<std::string, double>{};
  const std::map<std::string, std::int64_t> macs =
      unit == CostUnit::Macs ? macs_by_layer(experiment) : std::map<std::string, std::int64_t>{};
  const PlannedFormats formats(experiment.all_low_plan());
  for (const Layer* layer : experiment.candidates()) {
    double cost = 1;
    if (unit == CostUnit::Macs) {
      // What has no multiply-accumulates works on its elements all the same.
      for (const std::string& output : layer->outputs) cost = std::max(cost, sizes.of(output));
      cost = std::max(cost, static_cast<double>(macs.at(layer->name)));
    } else if (unit == CostUnit::Bytes) {
      const double saved = std::max(0, bits_of(experiment.all_low_plan().high) - bits_of(formats.of(layer->name)));
      for (const std::string& weight : layer->weights) {
        if (const auto known = weights.find(weight); known != weights.end()) cost += saved / 8 * known->second;
      }
      if (layer->cache) cost += saved / 8 * sizes.of(layer->inputs.front());
    } else if (unit == CostUnit::Time && times != nullptr) {
      const auto high = times->high.find(layer->name);
      const auto low = times->low.find(layer->name);
      // A layer that is not slower in the high format still costs a little: the search must have a reason to lower it.
      if (high != times->high.end() && low != times->low.end()) cost = std::max(0.1, high->second - low->second);
    }
    costs.items.push_back(cost);
  }
  for (Border& border : costs.borders) {
    if (unit == CostUnit::Layers) border.cost = 0.5 / (static_cast<double>(costs.borders.size()) + 1);
    if (unit == CostUnit::Bytes) border.cost *= 4;
    if (unit == CostUnit::Time && times != nullptr) border.cost *= times->per_converted_element;
  }
  return costs;
}

}  // namespace vernier
