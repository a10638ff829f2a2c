// What was measured of single layers, joined by name: how much damage each is expected to do, and the ranked table.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/own_error.h"
#include "jobs/search/experiment.h"
#include "vernier/report/figures.h"
#include "vernier/report/work.h"
#include "vernier/requirement.h"

namespace vernier {

struct Evidence {
  std::unordered_map<std::string, LayerError> own;                            // on reference inputs
  std::unordered_map<std::string, ErrorStats> propagated;                     // by tensor, everything low
  std::unordered_map<std::string, std::map<std::string, OutputStats>> alone;  // judged outputs, only this layer low
  std::vector<double> alone_weights;  // for how many of all samples each of these stands, in order; empty: alike
  /// Damage of single layers that was told (presume()), or is of one sample. What was measured counts more.
  std::unordered_map<std::string, double> presumed;
};

/// Fills `evidence.presumed` from a network with the same layers in another scheme: what a layer does to the outputs
/// grows with its own error, as noise powers and damages do. `own` of both must be measured. False, and nothing is
/// filled, where that does not tell of each of `layers`: one is not in `other`, or is not finite, or has no error
/// there.
bool presume(const Evidence& other, const std::vector<std::string>& layers, const Requirement* requirement,
             Evidence& evidence);

/// Noise over signal of a layer's own result, 0 to 1; 1 when it is not finite, 0 when it was not measured.
double own_noise(const Evidence& evidence, const std::string& layer);

/// Damage of running only `layer` low (analysis/requirement.h). What reaches the output decides: a mask of -1e9 becomes
/// -inf in float16, and its Softmax gives the same zeros. Where no effect was measured, +inf when the layer's own
/// result is not finite, else (it is inside a body, or one of many thousands) next to nothing, so that it comes last,
/// by its own error.
double predicted_damage(const Evidence& evidence, const std::string& layer, const Requirement* requirement);

/// Candidates that alone make an output not finite where the reference is: none of them can run low as it is, in any
/// set. Known before the search, from the sensitivities.
std::vector<std::string> must_be_kept(const Experiment& experiment, const Evidence& evidence);

/// By step of a ladder: the noise of its layer's own result in that format, as a share of the noise in its lowest one;
/// 0 to 1. Cost: the own errors of each rung, on a few samples.
std::vector<double> left_shares(Experiment& experiment);

/// A row for each layer that does arithmetic and is not in the high format, or could be: most damaging first. `share`
/// is of the summed finite damages.
/// Cost: linear in layers, and one sort.
std::vector<LayerRow> ranked_rows(const Experiment& experiment, const Evidence& evidence);

/// Multiply-accumulates of one sample, of each layer of the network, low or not; all 0 before a run was complete.
std::map<std::string, std::int64_t> macs_by_layer(const Experiment& experiment);
std::int64_t total_macs(const Experiment& experiment);

/// What part of the network's work everything low does in low formats; nullopt before a run was complete.
std::optional<LoweredWork> lowered_work(const Experiment& experiment);

}  // namespace vernier
