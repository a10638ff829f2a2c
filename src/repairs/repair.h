// Repairs: cheaper answers to a bad layer than keeping it in high precision. A repair looks at the network, its plan
// and what was measured of its tensors, and proposes changes; it runs nothing. The ladder
// (jobs/diagnose/repair_ladder.h) tries each proposal and accepts what helps. One repair is one file here and one line
// in the table of repairs.cpp.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/progress.h"
#include "model/layers.h"
#include "model/model.h"
#include "numerics/channel_means.h"
#include "numerics/gptq.h"
#include "numerics/histogram.h"
#include "plan/plan.h"
#include "vernier/experiments.h"

namespace vernier {

/// By layer, over disjoint samples.
using LayerProducts = std::map<std::string, std::vector<InputProducts>>;

/// What a repair sees. Maps hold what was measured so far, by tensor or layer; anything may be absent.
struct Network {
  const Model& model;  // float, prepared
  const std::vector<Layer>& layers;
  const Plan& plan;
  const std::map<std::string, RangeStats>& ranges;
  const std::map<std::string, HalvedHistogram>& histograms;
  /// Largest magnitude in each channel of an activation that a weighted layer reads, and of queries and keys.
  const std::map<std::string, std::vector<float>>& channel_absmax;
  /// Mean of low - float in each output channel of a weighted layer, on exact inputs.
  const std::map<std::string, ChannelMeans>& mean_error;
  /// How much of a weighted layer's own error power is gone with exact weights: 0 to 1, below 0 where errors cancelled.
  /// Empty where repairs are repeated.
  const std::map<std::string, double>& weight_share;
  /// Own error power over signal of each low layer, on exact inputs.
  const std::map<std::string, double>& noise;
  /// Measures the products of the inputs of the layers named when asked: too large to have for all at once. Of each
  /// layer two, over one half of the samples and the other; one of a single sample, of a sequence, and where repairs
  /// are repeated.
  const std::function<LayerProducts(const std::vector<std::string>& layers)>& products;
  std::size_t threads = 1;
  /// GPTQ's, by layer, where what was accepted is learned again: other layers are left out. Null: it is to be chosen.
  const std::map<std::string, double>* damping = nullptr;
  double rounding_work = 0;  // most multiply-adds that GPTQ may take; 0: no limit
  /// Of single layers: those with the most of it for their work are rounded first. Null: those with the least work.
  const std::map<std::string, double>* damage = nullptr;
  const std::set<std::string>* given = nullptr;  // tensors whose range a file gave; null: none
  Progress progress{};                           // of proposals that take long

  const onnx::NodeProto* node(const std::string& layer) const;
};

/// Float32 outputs of a rewrite against those without, in dB of the worst output.
inline constexpr double kNeutralDb = 100;

/// One change that stands or falls as a whole.
struct Proposal {
  std::vector<std::string> layers;                    // those whose error it changes
  std::map<std::string, QuantParams> grids;           // of the plan's tensors
  std::map<std::string, RepairedConstant> constants;  // of the low side
  /// Of the float model: equal in exact arithmetic, proven by a run. Empty: the float model stays.
  std::function<void(Model&)> rewrite;
  std::string what;         // in words: "step 0.0344 in place of 0.0404"
  std::string why_not;      // does not apply to these layers: why; nothing else is filled then
  int opset = 0;            // that the rewrite needs: the model is raised to it first
  std::string otherwise{};  // what is left where the model cannot be raised to it
  bool by_output = false;   // its layers become others: the network's output alone says whether it helps
  /// The network's output may say so as well, if its layers do not gain enough.
  bool or_by_output = false;
  double neutral_db = kNeutralDb;  // that a rewrite has to reach
  double damping = 0;              // GPTQ's, as it was chosen
};

struct Repair {
  std::string_view id;
  std::string_view text;            // one line for people
  std::string_view cost = "none";   // at run time, for people
  bool scaled = true;               // for formats with a scale; false: float16 and bfloat16
  bool when_asked = false;          // only where --allow names it
  bool needs_noise = false;         // reads Network::noise
  bool needs_channels = false;      // reads Network::channel_absmax
  bool needs_bias_error = false;    // reads Network::mean_error
  bool needs_weight_share = false;  // reads Network::weight_share
  bool adds_up = false;             // takes away mean errors, which add up over layers where others average out
  int rounds = 1;  // alternatives, tried one after the other: each has to beat what was accepted before
  std::function<std::vector<Proposal>(const Network&, int round)> propose{};
};

/// In the order in which they are tried: cheapest, and what others build on, first.
std::span<const Repair> all_repairs();

/// What a caller's repair proposes. Errors: Usage, Input, for what it may not.
std::vector<Proposal> own_proposals(const RepairMethod& method, const Network& network);

// One file each.
std::vector<Proposal> recover_weight_grid(const Network& network, int round);
std::vector<Proposal> move_weight_zeros(const Network& network, int round);
std::vector<Proposal> scales_per_channel(const Network& network, int round);
std::vector<Proposal> cross_layer_equalization(const Network& network, int round);
std::vector<Proposal> smooth_quant(const Network& network, int round);
std::vector<Proposal> rotate_streams(const Network& network, int round);
std::vector<Proposal> centre_streams(const Network& network, int round);
std::vector<Proposal> scale_streams(const Network& network, int round);
std::vector<Proposal> unfold_norms(const Network& network, int round);
std::vector<Proposal> outlier_channel_splitting(const Network& network, int round);
std::vector<Proposal> swap_ranges(const Network& network, int round);
std::vector<Proposal> gptq_rounding(const Network& network, int round);
std::vector<Proposal> correct_biases(const Network& network, int round);
std::vector<Proposal> clamp_masks(const Network& network, int round);
std::vector<Proposal> raise_epsilons(const Network& network, int round);
std::vector<Proposal> fuse_norms(const Network& network, int round);
std::vector<Proposal> scale_squares(const Network& network, int round);
std::vector<Proposal> fuse_gelus(const Network& network, int round);
std::vector<Proposal> stable_forms(const Network& network, int round);
std::vector<Proposal> clip_cubes(const Network& network, int round);
std::vector<Proposal> scale_attentions(const Network& network, int round);

}  // namespace vernier
