// The ladder of repairs: each repair proposes changes, one pass measures what they all do to the layers' own errors,
// and those that take away a fifth of the error power stay. Layers are judged on exact inputs, so that one pass tells
// proposals of different layers apart. How they add up is another matter: errors of two layers may have cancelled, and
// what fits the samples that taught it may not fit others. So each kind of repair is judged once more by the network's
// output, on samples that taught nothing where there are such, and all of it is taken back where that is no better.
// What takes less than a fifth out of its layer's error is given one trial with all of its kind, and stays where that
// takes a fifth out of the output's. An epsilon or a mask shows in few samples, and behind the layer that it belongs
// to: such a rewrite may be accepted by the network's output as well.
// Where a requirement says what is enough, no more repairs are tried once it is met.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/reference.h"
#include "analysis/subject.h"
#include "jobs/diagnose/yardstick.h"
#include "plan/lower_simulated.h"
#include "plan/plan.h"
#include "repairs/repair.h"
#include "vernier/fix.h"
#include "vernier/report/causes.h"
#include "vernier/run.h"
#include "vernier/samples.h"

namespace vernier {

/// A network with its plan, and what repairs made of them.
struct RepairState {
  Subject subject;
  Plan plan;                            // everything low
  std::vector<std::string> candidates;  // layers that may be kept
  /// Of a run over the calibration samples: ranges, histograms, shapes. Its outputs are of the evaluation samples only
  /// where both are the same.
  std::shared_ptr<const Reference> reference;
  std::optional<OutputError> output_error;  // of this plan, where it was measured: see MeasureOutput
  std::set<std::string> given{};            // tensors of the plan whose grid a file gave, and no sample
};

/// Makes the plan of a rewritten model: formats of its layers, and scales from a new run over the samples.
using PlanAgain = std::function<void(RepairState& state)>;

/// In dB of the worst output: how near a rewritten model is to the float model, and how near that is to itself where
/// its results are rounded in another way.
struct Nearness {
  std::function<double(const RepairState& state)> of;
  std::function<double()> own;
};

/// The network's outputs with everything low, over all samples that repairs may look at.
using MeasureOutput = std::function<OutputError(const RepairState& state)>;

/// The rule of the ladder: of the error power `before`, a fifth or more is gone. Nothing helps where there was none.
bool helps(double before, double after);

/// How many layers in FP16 have results beyond it in the float model, over the samples that teach.
std::size_t count_overflowing(const RepairState& state);

/// `after` has lost at most what is noise, and less than 1 dB: enough for a network whose values fit the format again.
bool no_worse(const OutputError& before, const OutputError& after);

/// Whether noise over signal leaves nothing. What was divided by infinity is 0, so the error has the power of the
/// signal.
bool lost(double noise);

/// Whether a network is better for a kind of repair. On samples that taught it the worst output must be no farther off.
/// On others the gain has to be beyond noise: the typical sample gains more than one standard error, the worst output
/// is no farther off over all of them, and no output gets worse by more than two standard errors. Outputs that a
/// Softmax makes are compared in front of it, too. Other classes beyond noise are worse, whatever the figure; results
/// that become finite are better.
bool better(const OutputError& before, const OutputError& after);

/// Why it is not better(), where classes do not decide: with the figures that say so.
std::string no_gain_text(const OutputError& before, const OutputError& after);

/// Whether it stays in what is handed out. As better(), and the typical sample gains more than two standard errors, as
/// the best of many kinds was looked for; where a Softmax makes an output, more than one of them behind it, too. What
/// is in front of it may gain in a direction that classes do not depend on.
bool surely_better(const OutputError& before, const OutputError& after);

/// A proposal that was accepted: for who lets other samples teach the same.
struct AcceptedProposal {
  std::string repair;
  int round = 0;
  std::vector<std::string> layers;
  double damping = 0;  // GPTQ's
  bool operator==(const AcceptedProposal&) const = default;
};

/// Samples: those that repairs learn from, and those that layers are judged on.
struct LadderSamples {
  std::vector<std::size_t> learn, judge;
};

/// On how many samples layers are judged: eight, and four where one takes 10^9 multiply-accumulates or more, as each
/// has many values there. Decided by work, not by time: the same network gives the same answer everywhere.
std::size_t samples_to_judge(std::int64_t macs_of_a_sample);

/// Of `learn` 16 and of `judge` `most`, evenly; of fewer than that all.
LadderSamples ladder_samples(const std::vector<std::size_t>& learn, const std::vector<std::size_t>& judge,
                             std::size_t most);
/// Of `count` samples that are not halved: each in turn, eight at most, and of a sequence, which cannot be cut, the
/// first 64 for both.
LadderSamples ladder_samples(const Subject& subject, std::size_t count);

class RepairLadder {
 public:
  /// `samples`: that `those` are of. `no_rewrites`: why rewrites of the float model are refused; empty: they are not.
  RepairLadder(RepairState state, const SampleSource& samples, LadderSamples those, const RepairOptions& options,
               PlanAgain plan_again, Nearness nearness, MeasureOutput measure_output, std::string no_rewrites);

  /// All repairs that are allowed and that the plan's formats have a use for, until OutputError::damage is small
  /// enough.
  void run();
  /// Takes what is `accepted`, as these samples teach it, and judges nothing. What they do not propose is left out.
  void repeat(const std::vector<AcceptedProposal>& accepted);

  const std::vector<RepairTried>& tried() const { return tried_; }
  const std::vector<AcceptedProposal>& accepted() const { return now_.accepted; }
  bool rewritten() const { return now_.rewritten; }  // the float model is another
  RepairState& state() { return now_.state; }
  /// Before any repair; nothing: it was not measured.
  const std::optional<OutputError>& first_error() const { return first_error_; }

 private:
  /// What repairs may change: what is taken back is a copy of it, made before.
  struct Climbed {
    RepairState state;
    std::map<std::string, double> noise{};  // noise over signal of each layer
    std::optional<std::map<std::string, std::vector<float>>>
        channels{};                              // of the network as it is; absent: not measured
    std::map<std::string, QuantParams> grids{};  // accepted, to be put back after a rewrite
    std::vector<AcceptedProposal> accepted{};
    bool rewritten = false;
  };

  const OutputError& output_error();
  /// What `reached` has to be: neutral_db_of(), or the float model's own rounding noise, where that is more.
  double required_db(const std::vector<const Proposal*>& proposals, double reached) const;
  /// With `layers` in float32.
  double output_noise_without(RepairState& state, const std::set<std::string>& layers);
  void try_or_skip(const Repair& repair);
  void try_repair(const Repair& repair, const Climbed& start);
  void try_round(const Repair& repair, int round);
  void try_small_gains(const std::vector<Proposal>& proposals, const std::vector<std::size_t>& small,
                       std::vector<RepairTried>& rows);
  void try_rewrites(const Repair& repair, int round, const std::vector<Proposal>& proposals);
  void learn_channels();
  void learn_for(const Repair& repair);
  void repeat_round(const Repair& repair, int round, const std::vector<AcceptedProposal>& accepted);
  void accept(const Repair& repair, int round, const Proposal& proposal);
  /// The model, raised to the opset that they need. Errors: as prepare().
  std::optional<Model> raised_for(const std::vector<const Proposal*>& proposals) const;
  /// `trial` becomes the network with `chosen`.
  void rewrite(const std::optional<Model>& raised, const std::vector<const Proposal*>& chosen, RepairState& trial);
  /// Of `layers`; null: of all.
  std::map<std::string, double> own_noise(const RepairState& state, const std::vector<std::string>* layers = nullptr,
                                          bool exact_weights = false);
  /// Of a rewrite for a scaled format, which changes the grids of the layers that it names, and of no others.
  std::map<std::string, double> noise_of_named(const RepairState& trial, const std::vector<Proposal>& proposals);
  Network network();
  Subject subject_of(const RepairState& state) const;  // with the samples that layers are measured on

  Climbed now_;
  const SampleSource& samples_;
  const RepairOptions& options_;
  PlanAgain plan_again_;
  Nearness nearness_;
  MeasureOutput measure_output_;
  std::string no_rewrites_;
  const LadderSamples those_;
  std::map<std::string, ChannelMeans> mean_error_;
  std::map<std::string, double> weight_share_;
  std::function<LayerProducts(const std::vector<std::string>&)> products_;
  std::optional<std::map<std::string, double>> damping_;  // of what is learned again
  std::optional<OutputError> first_error_;
  bool hidden_ = false;  // what this kind does was measured without another fault, which leaves nothing of the output
  std::vector<RepairTried> tried_;
};

/// Error power of these layers together; those without any count nothing.
double sum_over(const std::map<std::string, double>& noise, const std::vector<std::string>& layers);

/// What the float32 outputs have to reach with all of these rewrites.
double neutral_db_of(const std::vector<const Proposal*>& proposals);

/// `before`, `after`: error power of the proposal's layers together. Accepted where helps() says so. A proposal that is
/// judged by the network's output gets no figures here.
RepairTried row_of(const Repair& repair, const Proposal& proposal, double before, double after);

}  // namespace vernier
