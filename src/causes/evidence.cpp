// Facts as a caller's cause sees them.
#include <vector>

#include "causes/causes.h"
#include "causes/facts.h"
#include "numerics/distribution.h"
#include "vernier/experiments.h"

namespace vernier {
namespace {

std::vector<TensorEvidence> evidence_of(const std::vector<TensorFacts>& tensors) {
  std::vector<TensorEvidence> all;
  for (const TensorFacts& tensor : tensors) {
    TensorEvidence& one = all.emplace_back();
    one.values = seen_values(tensor.name, tensor.grid ? tensor.grid->format : Format::Float32, tensor.values);
    one.constant = tensor.constant;
    one.channel_absmax = tensor.channels;
    one.sample_absmax = tensor.samples;
    if (tensor.grid) one.scales = tensor.grid->scale;
  }
  return all;
}

}  // namespace

LayerEvidence evidence_of(const LayerFacts& layer) {
  LayerEvidence seen;
  seen.name = layer.name;
  seen.op_type = layer.op_type;
  seen.format = layer.format;
  seen.inputs = evidence_of(layer.inputs);
  seen.outputs = evidence_of(layer.outputs);
  seen.own_noise = layer.own_noise;
  seen.inherited_noise = layer.inherited_noise;
  seen.effect_noise = layer.effect_noise;
  seen.weights_noise = layer.weights_noise;
  seen.activations_noise = layer.activations_noise;
  seen.overflowed = layer.overflowed;
  seen.flushed = layer.flushed;
  seen.subnormal = layer.subnormal;
  seen.rounded = layer.rounded;
  seen.mean_error = layer.mean_error;
  seen.output_rms = layer.output_rms;
  seen.terms = layer.terms;
  seen.depthwise = layer.depthwise;
  seen.first = layer.first;
  seen.last = layer.last;
  seen.read_by = layer.read_by;
  seen.made_by = layer.made_by;
  return seen;
}

}  // namespace vernier
