// What preparing a layer with a BatchNormalization behind it does to its error in low precision.
#pragma once

#include <stdexcept>
#include <vector>

#include "analysis/reference.h"
#include "analysis/some_samples.h"
#include "analysis/trials.h"
#include "model/prepare.h"
#include "numerics/metrics.h"
#include "plan/calibrate.h"
#include "plan/scheme.h"
#include "tiny_networks.h"
#include "vernier/format.h"
#include "vernier/precision.h"

namespace vernier::testing {

/// SQNR of output `y` with every layer low that can be, in dB. `fold`: whether normalizations may be folded.
inline double all_low_db(const Model& model, const SampleSource& samples, Format format, bool per_channel, bool fold) {
  PrecisionOptions precision;
  precision.even_if_slower = true;
  precision.low = {format};
  precision.rules.weights_per_channel = per_channel;
  PrepareOptions options = preparation_of(precision);
  options.fold_batch_norm = fold;
  const Prepared prepared = prepare(model, options, [](const Model&, const Sample&) -> std::vector<Tensor> {
    throw std::logic_error("nothing to evaluate here");
  });
  const Subject subject = subject_of(prepared.model, samples);
  Plan plan = assign_formats(subject.model, subject.layers, precision).plan;
  const Reference reference = run_reference(subject, tensors_to_calibrate(subject.model, subject.layers, plan));
  calibrate_plan(plan, subject.model, subject.layers, reference.ranges);
  RoundedWeights weights;
  return sqnr_db(run_trial(subject, plan, reference, weights, nullptr, all_samples(subject), false)
                     .outputs.begin()
                     ->second.pooled);
}

}  // namespace vernier::testing
