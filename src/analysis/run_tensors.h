// Runs a model over samples for the values of some of its tensors.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "analysis/subject.h"
#include "vernier/tensor.h"

namespace vernier {

/// Sees the tensors of one sample, in the order in which they were named; false ends the run.
using VisitTensors = std::function<bool(std::size_t sample, const std::vector<Tensor>& got)>;

/// Runs `model`, the subject's own or one lowered from it, over the samples of `order`. `tensors`: of its main graph,
/// float32 unless they are outputs of the subject's, each named once. Carried outputs are fed back.
void run_tensors(const Subject& subject, Model model, const std::vector<std::string>& tensors,
                 const std::vector<std::size_t>& order, const VisitTensors& visit);

/// The same, of what `digest` makes of each sample where it ran; carried outputs are not among its outputs.
void run_tensors(const Subject& subject, Model model, const std::vector<std::string>& tensors,
                 const std::vector<std::size_t>& order, const Digest& digest,
                 const std::function<bool(SampleResult)>& take);

/// Of the first sample, on this rank alone, in the order in which they are named. `model` and `tensors`: as above.
std::vector<Tensor> tensors_of_first_sample(const Subject& subject, Model model,
                                            const std::vector<std::string>& tensors);

/// Makes `tensors`, and behind them the carried outputs that are not among them, what `model` gives.
void give_tensors(const Subject& subject, const std::vector<std::string>& tensors, Model& model);

}  // namespace vernier
