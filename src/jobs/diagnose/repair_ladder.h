// The ladder of repairs: each repair proposes changes, one pass measures what they all do to the layers' own errors,
// and those that take away a fifth of the error power stay. Layers are judged on exact inputs, so that one pass tells
// proposals of different layers apart. How they add up is another matter: errors of two layers may have cancelled. So
// each kind of repair has to leave the network's output at least as near as it was, in one evaluation, or all of it is
// taken back. What takes less than a fifth out of its layer's error is given one trial with all of its kind, and stays
// where that takes a fifth out of the output's. An epsilon or a mask shows in few samples, and behind the layer that it
// belongs to: such a rewrite may be accepted by the network's output as well.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/reference.h"
#include "analysis/subject.h"
#include "plan/lower_simulated.h"
#include "plan/plan.h"
#include "repairs/repair.h"
#include "vernier/fix.h"
#include "vernier/report/causes.h"
#include "vernier/run.h"
#include "vernier/samples.h"

namespace vernier {

/// How far a network's output is from the float model's.
struct OutputError {
  double noise = 0;                      // over signal, of the worst output
  std::vector<double> sample_log_noise;  // of each sample; empty: the samples are those that the figures come from
  /// Of each sample: see rows_moved(); 0 and 1 where labels say what is right and wrong.
  std::vector<std::int64_t> moved = {};
  std::string moved_words = "same top-1";  // what is lost where one moves: "a right label"
};

/// A network with its plan, and what repairs made of them.
struct RepairState {
  Subject subject;
  Plan plan;                            // everything low
  std::vector<std::string> candidates;  // layers that may be kept
  /// Of a run over the calibration samples: ranges, histograms, shapes. Its outputs are of the evaluation samples only
  /// where both are the same.
  Reference reference;
  std::optional<OutputError> output_error;  // of this plan, where it was measured: see MeasureOutput
};

/// Makes the plan of a rewritten model: formats of its layers, and scales from a new run over the samples, whose
/// outputs are compared with those of the float model. Returns how near they are, in dB of the worst output.
using PlanAgain = std::function<double(RepairState& state)>;

/// The network's outputs with everything low, over all samples that repairs may look at.
using MeasureOutput = std::function<OutputError(const RepairState& state)>;

/// The rule of the ladder: of the error power `before`, a fifth or more is gone. Nothing helps where there was none.
bool helps(double before, double after);

/// Whether a network is worse for a kind of repair. Its pooled figure may hang on one sample: where the typical sample
/// does not say so surely, what the layers gained counts for more. Other classes beyond noise are worse, whatever the
/// figure.
bool surely_worse(const OutputError& before, const OutputError& after);

class RepairLadder {
 public:
  /// `samples`: that layers are measured on, one half for repairs to learn from, the other to judge them; those of
  /// calibration where there are such, so that the network is evaluated on samples that nothing was fitted to.
  /// `plan_again` empty: rewrites of the float model are refused, for that reason: `no_rewrites`.
  RepairLadder(RepairState state, const SampleSource& samples, const RepairOptions& options, PlanAgain plan_again,
               MeasureOutput measure_output, std::string no_rewrites);

  /// All repairs that are allowed and that the plan's formats have a use for.
  void run();

  const std::vector<RepairTried>& tried() const { return tried_; }
  bool rewritten() const { return rewritten_; }  // the float model is another
  bool doubted() const { return doubted_; }      // a kind was kept although the figure of the output was worse
  RepairState& state() { return state_; }

 private:
  /// What a repair may change, as it was.
  struct Before {
    Plan plan;
    std::optional<OutputError> output_error;
    std::map<std::string, double> noise;
    std::map<std::string, std::vector<float>> channels;
    std::map<std::string, QuantParams> grids;
    bool rewritten = false;
  };
  Before before_repair() const;
  void take_back(const Before& before);

  const OutputError& output_error();
  /// With `layers` in float32.
  double output_noise_without(RepairState& state, const std::set<std::string>& layers);
  void try_or_skip(const Repair& repair);
  void try_repair(const Repair& repair);
  void try_round(const Repair& repair, int round);
  void try_small_gains(const std::vector<Proposal>& proposals, const std::vector<std::size_t>& small,
                       std::vector<RepairTried>& rows);
  void try_rewrites(const Repair& repair, const std::vector<Proposal>& proposals);
  std::map<std::string, double> own_noise(const RepairState& state, bool exact_weights = false);
  Network network();
  Subject subject_of(const RepairState& state) const;  // with the samples that layers are measured on

  RepairState state_;
  const SampleSource& samples_;
  const RepairOptions& options_;
  PlanAgain plan_again_;
  MeasureOutput measure_output_;
  std::string no_rewrites_;
  std::vector<std::size_t> learn_, judge_;  // samples: what figures are learned from, and what they are judged on
  std::map<std::string, double> noise_;     // noise over signal of each layer
  std::map<std::string, std::vector<float>> channels_;
  std::map<std::string, std::vector<double>> mean_error_;
  std::map<std::string, double> weight_share_;
  std::function<std::map<std::string, InputProducts>(const std::vector<std::string>&)> products_;
  std::map<std::string, QuantParams> grids_;   // accepted, to be put back after a rewrite
  std::optional<RepairState> before_rewrite_;  // of the kind that is being tried
  std::vector<RepairTried> tried_;
  bool rewritten_ = false;
  bool doubted_ = false;
};

}  // namespace vernier
