// The step of the ladder that rewrites nodes: all proposals at once, then those that helped.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/figures.h"
#include "analysis/judged_views.h"
#include "base/text.h"
#include "engines/onnxruntime/session.h"
#include "jobs/diagnose/repair_ladder.h"
#include "model/prepare.h"
#include "vernier/error.h"
#include "vernier/format.h"

namespace vernier {
namespace {

std::set<std::string> not_finite(const std::map<std::string, double>& noise) {
  std::set<std::string> layers;
  for (const auto& [layer, share] : noise) {
    if (!std::isfinite(share)) layers.insert(layer);
  }
  return layers;
}

/// Noise of layers where some of `proposals` stay, `after` being with all and `before` with none of them. A layer's own
/// error is on exact inputs, so that it depends on its own proposal only. nullopt: some layer has part in two of them.
std::optional<std::map<std::string, double>> noise_with_some(const std::vector<Proposal>& proposals,
                                                             const std::vector<const Proposal*>& accepted,
                                                             const std::map<std::string, double>& before,
                                                             std::map<std::string, double> after) {
  std::set<std::string> seen;
  for (const Proposal& proposal : proposals) {
    const bool stays = std::ranges::find(accepted, &proposal) != accepted.end();
    for (const std::string& layer : proposal.layers) {
      if (!seen.insert(layer).second) return std::nullopt;
      const auto was = before.find(layer);
      if (stays || !after.contains(layer)) continue;
      if (was == before.end()) return std::nullopt;
      after[layer] = was->second;
    }
  }
  return after;
}

}  // namespace

double RepairLadder::output_noise_without(RepairState& state, const std::set<std::string>& layers) {
  Plan plan = state.plan;
  for (PlannedLayer& layer : state.plan.layers) {
    if (layers.contains(layer.name)) layer.format = Format::Float32;
  }
  const double noise = measure_output_(state).telling;
  state.plan = std::move(plan);
  return noise;
}

std::map<std::string, double> RepairLadder::noise_of_named(const RepairState& trial,
                                                           const std::vector<Proposal>& proposals) {
  std::vector<std::string> named;
  for (const Proposal& proposal : proposals) named.insert(named.end(), proposal.layers.begin(), proposal.layers.end());
  std::map<std::string, double> noise = now_.noise;
  for (const auto& [layer, share] : own_noise(trial, &named)) noise[layer] = share;
  return noise;
}

std::optional<Model> RepairLadder::raised_for(const std::vector<const Proposal*>& proposals) const {
  int opset = 0;
  for (const Proposal* proposal : proposals) opset = std::max(opset, proposal->opset);
  if (opset <= default_opset(now_.state.subject.model.proto)) return std::nullopt;
  PrepareOptions raise;
  raise.min_opset = opset;
  return prepare(now_.state.subject.model, raise, evaluator(now_.state.subject.runtime)).model;
}

void RepairLadder::rewrite(const std::optional<Model>& raised, const std::vector<const Proposal*>& chosen,
                           RepairState& trial) {
  trial.subject = now_.state.subject;
  if (raised) trial.subject.model = *raised;
  for (const Proposal* proposal : chosen) proposal->rewrite(trial.subject.model);
  trial.subject.layers = measured_layers(trial.subject.model);
  plan_again_(trial);
  for (const auto& [tensor, grid] : now_.grids) {
    const bool changed = std::ranges::any_of(chosen, [&](const Proposal* proposal) {
      return std::ranges::any_of(proposal->layers, [&](const std::string& layer) {
        const onnx::NodeProto* node = network().node(layer);
        return node != nullptr && std::ranges::find(node->input(), tensor) != node->input().end();
      });
    });
    const auto fresh = trial.plan.tensors.find(tensor);
    // A scale for each channel does not fit where the channels are others now.
    const bool fits = fresh != trial.plan.tensors.end() &&
                      (grid.scale.size() == 1 || grid.scale.size() == fresh->second.scale.size());
    if (!changed && fits) fresh->second = grid;
  }
  trial.plan.constants = now_.state.plan.constants;
  trial.output_error.reset();
}

void RepairLadder::try_rewrites(const Repair& repair, int round, const std::vector<Proposal>& proposals) {
  std::vector<const Proposal*> chosen;
  for (const Proposal& proposal : proposals) chosen.push_back(&proposal);
  std::optional<Model> raised;
  try {
    raised = raised_for(chosen);
  } catch (const Error& error) {
    const int opset = std::ranges::max(proposals, {}, &Proposal::opset).opset;
    for (const Proposal& proposal : proposals) {
      std::string why = fmt::format("it needs opset {}: {}", opset, error.what());
      if (!proposal.otherwise.empty()) why += "; " + proposal.otherwise;
      tried_.push_back({std::string(repair.id), proposal.layers, {}, {}, {}, false, std::move(why)});
    }
    return;
  }
  RepairState trial;
  rewrite(raised, chosen, trial);
  const bool by_layers = repair.scaled && std::ranges::none_of(proposals, [](const Proposal& proposal) {
                           return proposal.by_output || proposal.or_by_output;
                         });
  std::map<std::string, double> noise = by_layers ? noise_of_named(trial, proposals) : own_noise(trial);
  std::vector<RepairTried> rows;
  std::vector<const Proposal*> accepted;
  for (const Proposal& proposal : proposals) {
    rows.push_back(row_of(repair, proposal, sum_over(now_.noise, proposal.layers), sum_over(noise, proposal.layers)));
    if (rows.back().accepted) accepted.push_back(&proposal);
  }
  if (!by_layers && accepted.size() < chosen.size()) {
    double before = output_error().telling;
    const OutputError error = measure_output_(trial);
    double after = error.telling;
    std::string without;
    const std::set<std::string> others = not_finite(noise);
    const bool hidden = lost(before) && lost(after) && !others.empty();
    if (hidden) {
      // Another fault hides what these repairs do: both are measured without it.
      before = output_noise_without(now_.state, others);
      after = output_noise_without(trial, others);
      without = fmt::format(" with {} in FP32, because of infinite or NaN results", plural(others.size(), "layer"));
    }
    const std::size_t overflowing = count_overflowing(now_.state), left = count_overflowing(trial);
    const bool fits_again = left < overflowing && !helps(after, before) && no_worse(output_error(), error);
    const bool gains = helps(before, after) || fits_again;
    hidden_ = hidden_ || (hidden && gains);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].accepted || !(gains || proposals[i].by_output)) continue;
      rows[i].accepted = gains;
      rows[i].before_db = db_of(before);
      rows[i].after_db = db_of(after);
      std::string verdict = gains ? "" : ", but it has to gain 1 dB";
      if (fits_again) verdict = fmt::format(", and {} fewer overflow", plural(overflowing - left, "layer"));
      rows[i].why = fmt::format("{}; the output of the network changes from {:.1f} dB to {:.1f} dB{}{}",
                                proposals[i].what, db_of(before), db_of(after), without, verdict);
    }
    if (gains) {
      accepted = chosen;
      trial.output_error = error;
    }
  }
  if (!accepted.empty() && accepted.size() < chosen.size()) {
    rewrite(raised, accepted, trial);
    // A rewrite for a scaled format changes the grids of the layers that it names, and of no others.
    std::optional<std::map<std::string, double>> known;
    if (repair.scaled) known = noise_with_some(proposals, accepted, now_.noise, noise);
    noise = known ? std::move(*known) : own_noise(trial);
  }
  std::optional<double> neutral_db;
  if (!accepted.empty()) neutral_db = nearness_.of(trial);
  const double wanted_db = neutral_db ? required_db(accepted, *neutral_db) : 0;
  const bool neutral = neutral_db && *neutral_db >= wanted_db;
  for (RepairTried& row : rows) {
    row.neutral_db = neutral_db;
    if (row.accepted && !neutral) {
      row.accepted = false;
      row.why += fmt::format("; but the FP32 outputs change too: {:.1f} dB, and {:.0f} dB are required", *neutral_db,
                             wanted_db);
    }
    tried_.push_back(std::move(row));
  }
  if (!neutral) return;
  now_.state = std::move(trial);
  now_.noise = std::move(noise);
  now_.channels.reset();
  for (const Proposal* proposal : accepted) accept(repair, round, *proposal);
  now_.rewritten = true;
}

}  // namespace vernier
