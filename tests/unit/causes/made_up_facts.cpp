#include "made_up_facts.h"

#include <algorithm>
#include <utility>

#include "numerics/histogram.h"

namespace vernier::testing {
namespace {

Distribution of_values(const std::vector<float>& values) {
  ValueHistogram histogram;
  histogram.add(values);
  return distribution_of(histogram);
}

}  // namespace

std::vector<float> ramp(float size, int count) {
  std::vector<float> values;
  for (int i = 0; i < count; ++i) {
    values.push_back(size * (2 * static_cast<float>(i) / static_cast<float>(count - 1) - 1));
  }
  return values;
}

TensorFacts tensor(const std::string& name, const std::vector<float>& values) {
  TensorFacts facts;
  facts.name = name;
  facts.values = of_values(values);
  return facts;
}

TensorFacts on_grid(TensorFacts facts, float absmax) {
  facts.grid = QuantParams{Format::Int8, {absmax / 127}, {}, -1, 0, 0};
  return facts;
}

LayerFacts layer(const std::string& op_type, Format format) {
  LayerFacts facts;
  facts.name = "layer";
  facts.op_type = op_type;
  facts.format = format;
  facts.own_noise = 1e-2;
  facts.output_rms = 1;
  return facts;
}

LayerFacts conv(TensorFacts data) {
  LayerFacts facts = layer("Conv", Format::Int8);
  facts.inputs = {std::move(data)};
  return facts;
}

LayerFacts with_weight(TensorFacts weight, float absmax) {
  LayerFacts facts = layer("Conv", Format::Int8);
  weight.constant = weight.weight = true;
  facts.inputs = {on_grid(std::move(weight), absmax)};
  facts.weights_noise = 0.05;
  facts.activations_noise = 0.001;
  return facts;
}

std::vector<Cause> causes_of(const LayerFacts& facts) {
  NetworkFacts network;
  network.layers = {facts};
  network.needed = true;
  return find_causes(network);
}

std::string first_cause(const LayerFacts& facts) {
  const std::vector<Cause> causes = causes_of(facts);
  return causes.empty() ? "" : causes.front().id;
}

bool names(const LayerFacts& facts, const char* id) {
  const std::vector<Cause> causes = causes_of(facts);
  return std::ranges::any_of(causes, [&](const Cause& cause) { return cause.id == id; });
}

LayerFacts with_outlier_channel(float largest) {
  TensorFacts data = tensor("x", ramp(1, 10000));
  for (int i = 0; i < 100; ++i) data.values.bins.push_back({40, 41, 5});
  data.values.max = 40;
  data.values.count += 500;
  data.channels.assign(64, 1.0F);
  data.channels[7] = largest;
  return conv(on_grid(data, 40));
}

}  // namespace vernier::testing
