// A network with a plan and whatever was measured of it, for a repair to look at. Whether a proposal helps is the
// ladder's to measure, and whether a rewrite is neutral; both are tested with the program (tests/cli/fix.test).
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "repairs/repair.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier::testing {

Tensor filled(const Shape& shape, const std::function<float(int)>& value);
Tensor zeros(const Shape& shape);

/// `graph` in ONNX's text form, opset 17. `weights`: initializers with values that the text does not spell.
Model parsed(const std::string& graph, const std::map<std::string, Tensor>& weights = {});

/// The values of an initializer.
std::vector<float> values_of(const Model& model, const std::string& name);

/// All layers in one format, weights with one symmetric step each. Fill in what the repair under test reads.
struct Bench {
  Model model;
  Plan plan;
  std::vector<Layer> layers;
  std::map<std::string, RangeStats> ranges;
  std::map<std::string, HalvedHistogram> histograms;
  std::map<std::string, std::vector<float>> channels;
  std::map<std::string, ChannelMeans> mean_error;
  std::map<std::string, double> weight_share;
  std::map<std::string, double> noise;
  LayerProducts measured;
  std::function<LayerProducts(const std::vector<std::string>&)> products = [this](const std::vector<std::string>&) {
    return measured;
  };

  Bench(Model made, Format format);
  Network network() {
    return {model, layers, plan, ranges, histograms, channels, mean_error, weight_share, noise, products};
  }
};

}  // namespace vernier::testing
