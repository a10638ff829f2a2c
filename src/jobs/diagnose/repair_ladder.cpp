#include "jobs/diagnose/repair_ladder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <span>

#include "analysis/channel_stats.h"
#include "analysis/figures.h"
#include "analysis/input_products.h"
#include "analysis/lost_agreement.h"
#include "analysis/own_error.h"
#include "analysis/paired_gain.h"
#include "analysis/some_samples.h"
#include "base/text.h"
#include "engines/onnxruntime/session.h"
#include "model/prepare.h"
#include "numerics/grid.h"
#include "numerics/metrics.h"
#include "vernier/error.h"
#include "vernier/format.h"

namespace vernier {
namespace {

constexpr double kAccepted = 0.8;    // of the error power that was
constexpr std::size_t kSamples = 8;  // that layers are judged on
constexpr std::size_t kMostToLearn = 16;
constexpr double kEnough = 0.9;  // of the allowance: as where nothing has to be repaired in the first place
constexpr std::size_t kSequence = 64;

void take(Plan& plan, const Proposal& proposal) {
  for (const auto& [tensor, grid] : proposal.grids) plan.tensors[tensor] = grid;
  for (const auto& [name, constant] : proposal.constants) plan.constants[name] = constant;
}

/// The library's, and those of the caller's (`scaled`: for the formats that the plan has) in front of what every other
/// repair would undo: the correction of biases.
/// Ranges that a file gave are repaired first: a rewrite learns all of them again, and would look good for that alone.
std::vector<Repair> repairs_with(const std::vector<RepairMethod>& own, bool scaled, bool ranges_first) {
  std::vector<Repair> all(all_repairs().begin(), all_repairs().end());
  const auto place = std::ranges::find_if(all, &Repair::needs_bias_error);
  std::vector<Repair> rows;
  for (const RepairMethod& method : own) {
    Repair& row = rows.emplace_back();
    row.id = method.id;
    row.text = method.text;
    row.scaled = scaled;
    row.needs_noise = row.needs_channels = row.adds_up = true;
    row.propose = [&method](const Network& network, int /*round*/) { return own_proposals(method, network); };
  }
  all.insert(place, rows.begin(), rows.end());
  if (ranges_first) std::ranges::stable_partition(all, [](const Repair& repair) { return repair.id == "range"; });
  return all;
}

/// Of the typical sample, all outputs together.
Gain gain_of_all(const std::vector<std::vector<double>>& before, const std::vector<std::vector<double>>& after) {
  std::vector<double> all_before(before.front().size()), all_after(all_before.size());
  for (std::size_t output = 0; output < after.size(); ++output) {
    for (std::size_t i = 0; i < all_after.size(); ++i) {
      all_before[i] += before[output][i];
      all_after[i] += after[output][i];
    }
  }
  return typical_gain(all_before, all_after);
}

/// Beyond two standard errors of the typical sample.
bool hurts_an_output(const OutputError& before, const OutputError& after) {
  for (std::size_t output = 0; output < after.log_noise.size(); ++output) {
    const Gain gain = typical_gain(before.log_noise[output], after.log_noise[output]);
    if (gain.nats + 2 * gain.scatter < 0) return true;
  }
  return false;
}

RepairTried not_taken(const Repair& repair, std::vector<std::string> layers, std::string why) {
  return {std::string(repair.id), std::move(layers), {}, {}, {}, false, std::move(why)};
}

bool plans_scaled(const Plan& plan) {
  return std::ranges::any_of(plan.layers, [](const PlannedLayer& layer) { return needs_scale(layer.format); });
}

}  // namespace

bool helps(double before, double after) { return std::isfinite(after) && before > 0 && after <= kAccepted * before; }

std::size_t count_overflowing(const RepairState& state) {
  const PlannedFormats formats(state.plan);
  const auto overflows = [&](const std::string& tensor) {
    const auto range = state.reference->ranges.find(tensor);
    return range != state.reference->ranges.end() && range->second.absmax() > kLargestFloat16;
  };
  const auto& nodes = state.subject.model.proto.graph().node();
  return static_cast<std::size_t>(std::ranges::count_if(nodes, [&](const onnx::NodeProto& node) {
    return formats.of(node.name()) == Format::Float16 && std::ranges::any_of(node.output(), overflows);
  }));
}

bool no_worse(const OutputError& before, const OutputError& after) {
  if (agreement_change(before.moved, after.moved).costs() || hurts_an_output(before, after)) return false;
  return kAccepted * after.telling <= before.telling && kAccepted * after.noise <= before.noise;
}

bool lost(double noise) { return !(noise < 0.9); }

bool better(const OutputError& before, const OutputError& after) {
  if (agreement_change(before.moved, after.moved).costs()) return false;
  if (!std::isfinite(before.telling)) return true;  // nothing is known of what stays infinite; the search will keep it
  if (!(after.noise <= before.noise && after.telling <= before.telling)) return false;
  if (after.log_noise.empty()) return true;
  if (hurts_an_output(before, after)) return false;
  const Gain gain = gain_of_all(before.log_noise, after.log_noise);
  return gain.nats > gain.scatter;
}

std::string no_gain_text(const OutputError& before, const OutputError& after) {
  const auto step = [](double from, double to) { return fmt::format("{:.1f} to {:.1f} dB", db_of(from), db_of(to)); };
  if (after.telling <= before.telling && after.noise <= before.noise) {
    return std::string(hurts_an_output(before, after) ? "better as a whole, but one output surely gets worse: "
                                                      : "on held-out samples the gain is within noise: ") +
           step(before.telling, after.telling);
  }
  if (after.telling <= before.telling) {
    return fmt::format("better in front of the Softmax ({}), but worse at the output ({})",
                       step(before.telling, after.telling), step(before.noise, after.noise));
  }
  return "the whole network gets worse: " + step(before.telling, after.telling);
}

bool surely_better(const OutputError& before, const OutputError& after) {
  if (!better(before, after)) return false;
  if (!std::isfinite(before.telling) || after.log_noise.empty()) return true;
  const Gain behind = gain_of_all(before.output_log_noise, after.output_log_noise);
  return gain_of_all(before.log_noise, after.log_noise).sure() > 0 && behind.nats > behind.scatter;
}

std::size_t samples_to_judge(std::int64_t macs_of_a_sample) {
  constexpr std::int64_t kLarge = 1'000'000'000;
  return macs_of_a_sample < kLarge ? kSamples : kSamples / 2;
}

LadderSamples ladder_samples(const std::vector<std::size_t>& learn, const std::vector<std::size_t>& judge,
                             std::size_t most) {
  return {evenly(learn, kMostToLearn), evenly(judge, most)};
}

LadderSamples ladder_samples(const Subject& subject, std::size_t count) {
  LadderSamples samples;
  if (!subject.carries.empty()) {
    for (std::size_t i = 0; i < std::min(count, kSequence); ++i) samples.learn.push_back(i);
    samples.judge = samples.learn;
    return samples;
  }
  const std::size_t wanted = std::min(count, 2 * kSamples);
  for (std::size_t k = 0; k < wanted; ++k) {
    (k % 2 == 0 ? samples.judge : samples.learn).push_back(k * count / wanted);
  }
  if (samples.learn.empty()) samples.learn = samples.judge;
  return samples;
}

std::vector<RepairName> repair_names() {
  std::vector<RepairName> names;
  for (const Repair& repair : all_repairs())
    names.push_back({std::string(repair.id), std::string(repair.text), std::string(repair.cost)});
  return names;
}

RepairLadder::RepairLadder(RepairState state, const SampleSource& samples, LadderSamples those,
                           const RepairOptions& options, PlanAgain plan_again, Nearness nearness,
                           MeasureOutput measure_output, std::string no_rewrites)
    : now_{std::move(state)},
      samples_(samples),
      options_(options),
      plan_again_(std::move(plan_again)),
      nearness_(std::move(nearness)),
      measure_output_(std::move(measure_output)),
      no_rewrites_(std::move(no_rewrites)),
      those_(std::move(those)) {
  products_ = [this](const std::vector<std::string>& layers) {
    // A sequence cannot be cut.
    const bool together = damping_ || !now_.state.subject.carries.empty() || those_.learn.size() < 2;
    std::vector<std::vector<std::size_t>> parts(together ? 1 : 2);
    for (std::size_t i = 0; i < those_.learn.size(); ++i) parts[i % parts.size()].push_back(those_.learn[i]);
    return input_products(subject_of(now_.state), layers, now_.state.reference->shapes, parts);
  };
}

Subject RepairLadder::subject_of(const RepairState& state) const {
  Subject subject = state.subject;
  subject.samples = &samples_;
  return subject;
}

Network RepairLadder::network() {
  static const std::map<std::string, std::vector<float>> kUnread;
  return {now_.state.subject.model,
          now_.state.subject.layers,
          now_.state.plan,
          now_.state.reference->ranges,
          now_.state.reference->histograms,
          now_.channels ? *now_.channels : kUnread,
          mean_error_,
          weight_share_,
          now_.noise,
          products_,
          now_.state.subject.threads,
          damping_ ? &*damping_ : nullptr,
          options_.rounding_work,
          options_.damage.empty() ? nullptr : &options_.damage,
          now_.state.given.empty() ? nullptr : &now_.state.given,
          now_.state.subject.progress};
}

std::map<std::string, double> RepairLadder::own_noise(const RepairState& state, const std::vector<std::string>* layers,
                                                      bool exact_weights) {
  RoundedWeights weights(exact_weights);
  std::map<std::string, double> noise;
  for (const LayerError& error : own_error(subject_of(state), state.plan, weights, &those_.judge, layers)) {
    noise[error.layer] = noise_to_signal(error.error);
  }
  return noise;
}

void RepairLadder::run() {
  now_.noise = own_noise(now_.state);
  for (const Repair& repair : repairs_with(options_.own, plans_scaled(now_.state.plan), !now_.state.given.empty())) {
    const auto named = [&](const std::vector<std::string>& ids) {
      return std::ranges::find(ids, repair.id) != ids.end();
    };
    if (named(options_.forbid) || (!options_.allow.empty() && !named(options_.allow))) continue;
    if (repair.when_asked && !named(options_.allow)) continue;
    const bool useful = std::ranges::any_of(now_.state.plan.layers, [&](const PlannedLayer& layer) {
      return repair.scaled ? needs_scale(layer.format)
                           : layer.format == Format::Float16 || layer.format == Format::BFloat16;
    });
    if (!useful) continue;
    if (now_.state.output_error && now_.state.output_error->damage <= kEnough) {
      tried_.push_back(not_taken(repair, {}, "not tried: the network meets the requirement without it"));
    } else {
      try_or_skip(repair);
    }
  }
}

/// A repair that cannot be measured is not taken; the others, and the answer, stand.
void RepairLadder::try_or_skip(const Repair& repair) {
  if (repair.needs_channels) learn_channels();  // in front of what may be taken back
  const Climbed start = now_;
  const std::size_t rows = tried_.size();
  try {
    try_repair(repair, start);
  } catch (const Error& error) {
    // What a function of the caller's does wrong is for the caller to hear.
    if (error.kind() != ErrorKind::Backend && error.kind() != ErrorKind::Internal) throw;
    now_ = start;
    tried_.resize(rows);
    tried_.push_back(not_taken(repair, {}, fmt::format("not measured: {}", error.what())));
  }
}

const OutputError& RepairLadder::output_error() {
  if (!now_.state.output_error) now_.state.output_error = measure_output_(now_.state);
  if (!first_error_) first_error_ = now_.state.output_error;
  return *now_.state.output_error;
}

/// All of a kind stands or falls with the network: what its layers gain may be an error that cancelled another.
void RepairLadder::try_repair(const Repair& repair, const Climbed& start) {
  const std::size_t first = tried_.size();
  const OutputError before = output_error();
  hidden_ = false;
  for (int round = 0; round < repair.rounds; ++round) {
    const std::size_t accepted = now_.accepted.size();
    try_round(repair, round);
    // Each round of a rewrite learns all scales anew: where the output loses by one, another is not tried.
    const bool rewrote = now_.state.reference != start.state.reference;
    const bool more = repair.scaled && round + 1 < repair.rounds && rewrote && now_.accepted.size() > accepted;
    if (more && !better(before, output_error())) break;
  }
  const std::span<RepairTried> rows(tried_.begin() + static_cast<std::ptrdiff_t>(first), tried_.end());
  if (std::ranges::none_of(rows, &RepairTried::accepted)) return;

  const OutputError after = output_error();
  const AgreementChange classes = agreement_change(before.moved, after.moved);
  if (better(before, after) || (hidden_ && lost(before.telling))) return;
  const bool fits_again = now_.rewritten && count_overflowing(now_.state) < count_overflowing(start.state);
  if (fits_again && no_worse(before, after)) return;
  for (RepairTried& row : rows) {
    if (!row.accepted) continue;
    row.accepted = false;
    row.why += classes.costs() ? fmt::format("; {}: more than noise", change_text(classes, after.moved_words))
                               : "; " + no_gain_text(before, after);
  }
  now_ = start;
  now_.state.output_error = before;
}

void RepairLadder::learn_channels() {
  if (!now_.channels)
    now_.channels = channel_magnitudes(subject_of(now_.state), now_.state.reference->shapes, those_.learn);
}

void RepairLadder::learn_for(const Repair& repair) {
  if (repair.needs_channels) learn_channels();
  if (repair.needs_bias_error) {
    RoundedWeights weights;
    mean_error_ =
        mean_errors(subject_of(now_.state), now_.state.plan, weights, now_.state.reference->shapes, those_.learn);
  }
  if (repair.needs_weight_share && !damping_) {  // what is repeated was worth it
    const std::map<std::string, double> others = own_noise(now_.state, nullptr, /*exact_weights=*/true);
    for (const auto& [layer, noise] : now_.noise) {
      const auto other = others.find(layer);
      if (other != others.end() && noise > 0) weight_share_[layer] = 1 - other->second / noise;
    }
  }
}

void RepairLadder::accept(const Repair& repair, int round, const Proposal& proposal) {
  now_.accepted.push_back({std::string(repair.id), round, proposal.layers, proposal.damping});
  for (const auto& [tensor, grid] : proposal.grids) now_.grids[tensor] = grid;
}

void RepairLadder::repeat(const std::vector<AcceptedProposal>& accepted) {
  damping_.emplace();
  for (const AcceptedProposal& one : accepted) {
    if (one.damping > 0) damping_->emplace(one.layers.front(), one.damping);
  }
  const std::vector<Repair> repairs =
      repairs_with(options_.own, plans_scaled(now_.state.plan), !now_.state.given.empty());
  const bool by_noise = std::ranges::any_of(accepted, [&](const AcceptedProposal& one) {
    const auto repair = std::ranges::find(repairs, one.repair, &Repair::id);
    return repair != repairs.end() && repair->needs_noise;
  });
  if (by_noise) now_.noise = own_noise(now_.state);
  for (const Repair& repair : repairs) {
    for (int round = 0; round < repair.rounds; ++round) {
      const bool any = std::ranges::any_of(
          accepted, [&](const AcceptedProposal& one) { return one.repair == repair.id && one.round == round; });
      if (any) repeat_round(repair, round, accepted);
    }
  }
}

void RepairLadder::repeat_round(const Repair& repair, int round, const std::vector<AcceptedProposal>& accepted) {
  learn_for(repair);
  const std::vector<Proposal> proposals = repair.propose(network(), round);
  std::vector<const Proposal*> chosen;
  for (const Proposal& proposal : proposals) {
    const bool wanted = proposal.why_not.empty() && std::ranges::any_of(accepted, [&](const AcceptedProposal& one) {
                          return one.repair == repair.id && one.round == round && one.layers == proposal.layers;
                        });
    if (wanted) chosen.push_back(&proposal);
  }
  if (chosen.empty()) return;
  if (chosen.front()->rewrite) {
    RepairState trial;
    rewrite(raised_for(chosen), chosen, trial);
    if (const double reached = nearness_.of(trial); !(reached >= required_db(chosen, reached))) return;
    now_.state = std::move(trial);
    now_.channels.reset();
    now_.rewritten = true;
  }
  for (const Proposal* proposal : chosen) {
    if (!proposal->rewrite) take(now_.state.plan, *proposal);
    accept(repair, round, *proposal);
  }
}

void RepairLadder::try_round(const Repair& repair, int round) {
  learn_for(repair);
  std::vector<Proposal> proposals;
  for (Proposal& proposal : repair.propose(network(), round)) {
    if (proposal.why_not.empty() && proposal.rewrite && !no_rewrites_.empty()) proposal.why_not = no_rewrites_;
    if (proposal.why_not.empty()) {
      proposals.push_back(std::move(proposal));
      continue;
    }
    if (round == 0) tried_.push_back(not_taken(repair, proposal.layers, proposal.why_not));
  }
  if (proposals.empty()) return;
  if (proposals.front().rewrite) return try_rewrites(repair, round, proposals);

  RepairState trial{now_.state.subject, now_.state.plan, {}, {}, {}};
  std::vector<std::string> changed;
  for (const Proposal& proposal : proposals) {
    take(trial.plan, proposal);
    changed.insert(changed.end(), proposal.layers.begin(), proposal.layers.end());
  }
  const std::map<std::string, double> noise = own_noise(trial, &changed);
  std::vector<RepairTried> rows;
  std::vector<std::size_t> small;
  for (std::size_t i = 0; i < proposals.size(); ++i) {
    const Proposal& proposal = proposals[i];
    const double before = sum_over(now_.noise, proposal.layers);
    const double after = sum_over(noise, proposal.layers);
    rows.push_back(row_of(repair, proposal, before, after));
    if (rows.back().accepted) {
      take(now_.state.plan, proposal);
      now_.state.output_error.reset();
    } else if (proposal.by_output || (repair.adds_up && after < before)) {
      small.push_back(i);
    }
  }
  try_small_gains(proposals, small, rows);
  for (std::size_t i = 0; i < proposals.size(); ++i) {
    if (rows[i].accepted) {
      accept(repair, round, proposals[i]);
      for (const std::string& layer : proposals[i].layers) {
        if (const auto found = noise.find(layer); found != noise.end()) now_.noise[layer] = found->second;
      }
    }
    tried_.push_back(std::move(rows[i]));
  }
}

/// What takes less than a fifth out of its layer's error may, with its like, take a fifth out of the output's where it
/// takes away mean errors, which add up. Of others, less than a fifth of each is less than a fifth of all.
void RepairLadder::try_small_gains(const std::vector<Proposal>& proposals, const std::vector<std::size_t>& small,
                                   std::vector<RepairTried>& rows) {
  if (small.empty()) return;
  const double before = output_error().telling;
  Plan without = now_.state.plan;
  for (const std::size_t i : small) take(now_.state.plan, proposals[i]);
  const OutputError error = measure_output_(now_.state);
  const double after = error.telling;
  const bool gains = helps(before, after);
  for (const std::size_t i : small) {
    rows[i].accepted = gains;
    if (!gains && !proposals[i].by_output) continue;
    if (proposals[i].by_output) {
      rows[i].before_db = db_of(before);
      rows[i].after_db = db_of(after);
    }
    rows[i].why = fmt::format("{}; with {} of its kind the output of the network changes from {:.1f} dB to {:.1f} dB{}",
                              proposals[i].what, small.size() - 1, db_of(before), db_of(after),
                              gains ? "" : ", but it has to gain 1 dB");
  }
  if (gains) {
    now_.state.output_error = error;
  } else {
    now_.state.plan = std::move(without);
  }
}

double sum_over(const std::map<std::string, double>& noise, const std::vector<std::string>& layers) {
  double sum = 0;
  for (const std::string& layer : layers) {
    if (const auto found = noise.find(layer); found != noise.end()) sum += found->second;
  }
  return sum;
}

double RepairLadder::required_db(const std::vector<const Proposal*>& proposals, double reached) const {
  constexpr double kLeast = 40;  // below, the float model says nothing
  const double wanted = neutral_db_of(proposals);
  return reached >= wanted ? wanted : std::clamp(nearness_.own(), kLeast, wanted);
}

double neutral_db_of(const std::vector<const Proposal*>& proposals) {
  double wanted = kNeutralDb;
  for (const Proposal* proposal : proposals) wanted = std::max(wanted, proposal->neutral_db);
  return wanted;
}

RepairTried row_of(const Repair& repair, const Proposal& proposal, double before, double after) {
  RepairTried row;
  row.id = repair.id;
  row.layers = proposal.layers;
  if (proposal.by_output) return row;
  const auto count = static_cast<double>(std::max<std::size_t>(proposal.layers.size(), 1));
  row.before_db = db_of(before / count);
  row.after_db = db_of(after / count);
  row.accepted = helps(before, after);
  row.why = proposal.what;
  if (!row.accepted) {
    row.why += std::isfinite(before) && before > 0
                   ? fmt::format("; its error power fell by {:.0f} %, and 20 % are required",
                                 std::max(0.0, 100 * (1 - after / before)))
                   : std::string("; its error was already 0, or is still not finite");
  }
  return row;
}

}  // namespace vernier
