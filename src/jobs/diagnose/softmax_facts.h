// What the Softmaxes of a network make of the error of their scores, with everything low: the operator, and the one
// inside of operators that compute attention as a whole.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "analysis/subject.h"
#include "causes/facts.h"
#include "plan/lower_simulated.h"
#include "plan/plan.h"
#include "vernier/tensor.h"

namespace vernier {

/// Rows of a Softmax: `length` elements, `stride` apart.
struct Rows {
  std::size_t count = 0, length = 0, stride = 1;
  std::size_t start(std::size_t row) const { return row / stride * length * stride + row % stride; }
};

Rows rows_of(const onnx::NodeProto& softmax, const Shape& shape, int opset);

/// exp(x - max) over its sum; NaN where no value is above -inf.
std::vector<double> softmax(const std::vector<float>& row);

/// Of the damage, that a layer does; 0: not among the worst. 1: no damage is known.
using ShareOf = std::function<double(const std::string& layer)>;

/// Of the first 32 Softmaxes of the main graph whose scores come through layers of the damage, on a few samples of
/// `order`; empty for networks that carry a state. Cost: nothing where there are none; else a run of both networks at
/// once, and one more for each of the four that magnify errors most, for their share.
std::vector<SoftmaxFacts> softmax_facts(const Subject& subject, const Plan& all_low, RoundedWeights& weights,
                                        const std::vector<std::size_t>& order, const ShareOf& share_of);

}  // namespace vernier
