#include "jobs/diagnose/explain.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/figures.h"
#include "causes/cause.h"
#include "causes/cause_texts.h"
#include "causes/causes.h"
#include "jobs/diagnose/layer_facts.h"
#include "numerics/metrics.h"
#include "repairs/projections.h"
#include "repairs/repair.h"
#include "vernier/format.h"

namespace vernier {
namespace {

/// A layer below this is worth a look even if nothing else says so: far below what its format gives.
double harmless_noise(Format format) {
  if (format == Format::Float16) return noise_of_db(45);
  if (format == Format::BFloat16) return noise_of_db(28);
  return noise_of_db(25);
}

/// A layer whose own result is this bad is named even where the network's output hides it: what it makes is gone.
bool hopeless(const LayerRow& row) {
  return needs_scale(row.format) && row.own_sqnr_db && noise_of_db(*row.own_sqnr_db) > noise_of_db(10);
}

/// `worst_only`: the network is fine, but a layer's own result is not finite (a mask, say), which people see and ask
/// about, or is hardly there.
std::vector<const LayerRow*> chosen_rows(const std::vector<LayerRow>& ranked, const std::set<std::string>& kept,
                                         std::size_t most, bool worst_only) {
  std::vector<const LayerRow*> chosen;
  const auto take = [&](const LayerRow& row) {
    if (!row.graph.empty() || chosen.size() >= most || std::ranges::find(chosen, &row) != chosen.end()) return;
    chosen.push_back(&row);
  };
  const auto not_finite = [](const LayerRow& row) {
    return row.own_sqnr_db.value_or(0) == -INFINITY || row.sensitivity_db.value_or(0) == -INFINITY;
  };
  for (const LayerRow& row : ranked) {
    if (kept.contains(row.name)) take(row);
  }
  for (const LayerRow& row : ranked) {
    if (not_finite(row) || (worst_only && hopeless(row))) take(row);
  }
  if (worst_only) return chosen;
  double sum = 0;
  for (const LayerRow& row : ranked) {
    if (!row.share) continue;
    if (sum > 0.9 || *row.share < 0.03) break;
    sum += *row.share;
    take(row);
  }
  std::vector<const LayerRow*> by_own;
  for (const LayerRow& row : ranked) {
    if (row.own_sqnr_db && noise_of_db(*row.own_sqnr_db) > harmless_noise(row.format)) by_own.push_back(&row);
  }
  std::ranges::stable_sort(by_own, {}, [](const LayerRow* row) { return *row->own_sqnr_db; });
  for (const LayerRow* row : by_own) take(*row);
  return chosen;
}

bool is_overflow(const Cause& cause) {
  return cause.id == "overflow" || cause.id == "overflow-read" || cause.id == "residual-overflow";
}

/// By layer and cause: the cause that its damage counts for.
using Explained = std::map<std::pair<std::string, std::string>, std::string>;

/// Of layers that read a tensor beyond the format: the cause that is named where it is made, or where what makes it
/// reads one, and so on.
void explain_overflows(const std::vector<Cause>& causes, const NetworkFacts& facts, Explained& explained) {
  std::map<std::string, std::string> named;
  for (const Cause& cause : causes) {
    if (is_overflow(cause)) named.emplace(cause.layer, cause.id);
  }
  std::map<std::string, std::string> makers;  // of what a layer reads, where one is named
  for (const LayerFacts& layer : facts.layers) {
    if (!named.contains(layer.name)) continue;
    for (const TensorFacts& input : layer.inputs) {
      const bool beyond = !input.constant && double(input.values.absmax()) > causes::largest_of(layer.format);
      if (beyond && named.contains(input.maker)) makers.emplace(layer.name, input.maker);
    }
  }
  for (const Cause& cause : causes) {
    const auto maker = is_overflow(cause) ? makers.find(cause.layer) : makers.end();
    if (maker == makers.end()) continue;
    const std::string* first = &maker->second;
    while (named.at(*first) == "overflow-read" && makers.contains(*first)) first = &makers.at(*first);
    // What is too large without what arrives is a fault of its own.
    if (named.at(cause.layer) == "overflow-read" || named.at(*first) == "residual-overflow")
      explained.emplace(std::pair(cause.layer, cause.id), named.at(*first));
  }
}

/// An epsilon that is too small for the format is lost where it is added, and where the sum is read.
void explain_lost_epsilons(const std::vector<Cause>& causes, const NetworkFacts& facts, Explained& explained) {
  std::set<std::string> lost;
  for (const Cause& cause : causes) {
    if (cause.id == "lost-epsilon") lost.insert(cause.layer);
  }
  for (const LayerFacts& layer : facts.layers) {
    for (const TensorFacts& input : layer.inputs) {
      if (lost.contains(input.maker)) explained.emplace(std::pair(layer.name, "subnormal-loss"), "lost-epsilon");
    }
  }
}

/// An output is not finite with this layer alone low: no share can say how much worse that is.
bool breaks_output(const LayerRow& row) { return row.sensitivity_db.value_or(0) == -INFINITY; }

/// What shares of the simulated damage count for in that of a file which an engine computes worse.
double left_by_engine(const Cause& cause, const NetworkFacts& facts) {
  return facts.engine_loss && cause.id != kEngineLoss ? 1 - facts.engine_loss->share() : 1;
}

/// Kinds of causes that explain the most come first: confidence times the share of the damage of the layers that they
/// stand for. What is unlikely comes last, whatever its layers do, among kinds and within each. The report, as text and
/// as a page, has this order.
/// A layer that reads what another one made too large, or too small, explains nothing: its share counts for that one.
/// What an engine alone misses is not explained by the simulation: its cause comes first.
void order_kinds(std::vector<Cause>& causes, const std::vector<LayerRow>& ranked, const NetworkFacts& facts) {
  constexpr double kNearlyAsSure = 0.1;
  struct Kind {
    double confidence = 0, share = 0;
  };
  std::map<std::string, double> surest, shares;
  for (const LayerRow& row : ranked) {
    const bool infinite = row.sensitivity_db.value_or(row.own_sqnr_db.value_or(0)) == -INFINITY;
    shares[row.name] = row.share.value_or(infinite ? 1 : 0);
  }
  for (const Cause& cause : causes) surest[cause.layer] = std::max(surest[cause.layer], cause.confidence);
  Explained explained;
  explain_overflows(causes, facts, explained);
  explain_lost_epsilons(causes, facts, explained);
  std::map<std::string, Kind> kinds;
  for (const Cause& cause : causes) {
    Kind& kind = kinds[cause.id];
    kind.confidence = std::max(kind.confidence, cause.confidence);
    if (cause.confidence < surest[cause.layer] - kNearlyAsSure) continue;
    const auto share = shares.find(cause.layer);
    const auto by = explained.find({cause.layer, cause.id});
    // The network as a whole, and what it picks, do all of the damage.
    kinds[by == explained.end() ? cause.id : by->second].share +=
        cause.share.value_or(share == shares.end() ? 1 : share->second) * left_by_engine(cause, facts);
  }
  const auto worth = [&](const Cause& cause) {
    const Kind& kind = kinds[cause.id];
    const bool decides = cause.id == kEngineLoss && facts.engine_loss->missed;
    return std::tuple(decides, kind.confidence >= causes::kLikely, kind.confidence * kind.share, kind.confidence);
  };
  std::ranges::stable_sort(causes, std::ranges::greater{}, worth);
  // Kinds that are worth the same stay apart.
  std::map<std::string, std::size_t> places;
  for (const Cause& cause : causes) places.emplace(cause.id, places.size());
  std::ranges::stable_sort(
      causes, {}, [&](const Cause& cause) { return std::pair(places[cause.id], cause.confidence < causes::kLikely); });
}

/// What a repair says of each layer.
struct Offer {
  std::set<std::string> changes, refuses;
  bool applies_to(const Repair& repair, const std::string& layer) const {
    if (changes.contains(layer)) return true;
    if (refuses.contains(layer)) return false;
    return !repair.scaled && !changes.empty();  // a mask is changed where it is made, not where it hurts
  }
};

/// Repairs that look at ranges and channels of more tensors than were measured for the causes: what they do not propose
/// here they may well propose in fix().
bool needs_more(std::string_view repair) {
  return repair == "scale-square" || repair == "clip-cube" || repair == "stable-form" || repair == "scale-attention" ||
         repair == "range" || repair == "scale-stream";
}

class Offers {
 public:
  Offers(const Experiment& experiment, const Evidence& evidence, const MeasuredFacts& found)
      : experiment_(experiment), histograms_(found.histograms), ranges_(experiment.reference().ranges) {
    // Of tensors that no product reads nothing else is known.
    for (const auto& [tensor, halves] : histograms_) {
      RangeStats range = halves[0].range();
      range += halves[1].range();
      ranges_.try_emplace(tensor, range);
    }
    for (const auto& [layer, error] : evidence.own) noise_[layer] = noise_to_signal(error.error);
    for (const LayerFacts& layer : found.network.layers) {
      for (const TensorFacts& input : layer.inputs) {
        if (!input.constant && !input.channels.empty()) channels_[input.name] = input.channels;
      }
      if (!layer.mean_error.empty()) mean_error_[layer.name] = {layer.mean_error, {}};
      if (layer.weights_noise && layer.activations_noise) {
        const double sum = *layer.weights_noise + *layer.activations_noise;
        if (sum > 0) weight_share_[layer.name] = *layer.weights_noise / sum;
      }
    }
  }

  bool has_stored_weight(const std::string& layer) const {
    const auto& layers = experiment_.subject().layers;
    const auto found = std::ranges::find(layers, layer, &Layer::name);
    return found == layers.end() || (found->weighted && !found->weights.empty());
  }

  /// Layers without a stored weight that factors of channels can go around.
  bool multiplies_queries_and_keys(const std::string& layer) {
    if (!products_) products_ = queries_and_keys(experiment_.subject().model, experiment_.all_low_plan());
    return std::ranges::find(*products_, layer, &QueriesAndKeys::product) != products_->end();
  }

  const Offer& of(const Repair& repair) {
    const auto [place, fresh] = offers_.try_emplace(std::string(repair.id));
    Offer& offer = place->second;
    if (!fresh) return offer;
    // What it would measure, it would change.
    const std::function<LayerProducts(const std::vector<std::string>&)> products =
        [&](const std::vector<std::string>& layers) {
          offer.changes.insert(layers.begin(), layers.end());
          return LayerProducts();
        };
    const Subject& subject = experiment_.subject();
    const Network network{subject.model, subject.layers, experiment_.all_low_plan(),
                          ranges_,       histograms_,    channels_,
                          mean_error_,   weight_share_,  noise_,
                          products,      subject.threads};
    for (int round = 0; round < repair.rounds; ++round) {
      for (const Proposal& proposal : repair.propose(network, round)) {
        auto& layers = proposal.why_not.empty() ? offer.changes : offer.refuses;
        layers.insert(proposal.layers.begin(), proposal.layers.end());
      }
    }
    return offer;
  }

 private:
  const Experiment& experiment_;
  std::map<std::string, HalvedHistogram> histograms_;
  std::map<std::string, RangeStats> ranges_;
  std::map<std::string, std::vector<float>> channels_;
  std::map<std::string, ChannelMeans> mean_error_;
  std::map<std::string, double> weight_share_, noise_;
  std::map<std::string, Offer> offers_;
  std::optional<std::vector<QueriesAndKeys>> products_;
};

/// Takes repairs out of `causes` that have nothing to change at the layer, or say why they cannot. Of the repairs for
/// float16 and bfloat16 only those go that nothing in the network asks for. Causes of the caller's, `own`, keep what
/// they offer. Runs nothing.
/// Cost: what the repairs take to look at the layers of `found`.
void leave_out_idle_repairs(std::vector<Cause>& causes, const Experiment& experiment, const Evidence& evidence,
                            const MeasuredFacts& found, std::span<const CauseFinder> own) {
  Offers offers(experiment, evidence, found);
  for (Cause& cause : causes) {
    if (std::ranges::find(own, cause.id, &CauseFinder::id) != own.end()) continue;
    std::erase_if(cause.repairs, [&](const std::string& id) {
      const auto repair = std::ranges::find(all_repairs(), id, &Repair::id);
      if (id == "smooth" && !cause.layer.empty() && !offers.has_stored_weight(cause.layer))
        return !offers.multiplies_queries_and_keys(cause.layer);
      if (repair == all_repairs().end() || needs_more(id)) return false;
      const Offer& offer = offers.of(*repair);
      return cause.layer.empty() ? offer.changes.empty() : !offer.applies_to(*repair, cause.layer);
    });
  }
}

}  // namespace

bool needs_explanation(const Experiment& experiment, const std::vector<LayerRow>& ranked, bool missed) {
  if (missed) return true;
  const double noise = noise_share(experiment.all_low().outputs);
  return std::ranges::any_of(ranked, [&](const LayerRow& row) { return noise > harmless_noise(row.format); });
}

Explanation explain(Measured& measured, const Evidence& evidence, const std::vector<LayerRow>& ranked,
                    const std::set<std::string>& kept, const ExplainOptions& options) {
  Explanation explanation;
  const bool fine = !needs_explanation(measured.experiment(), ranked, options.missed || !kept.empty());
  const std::vector<const LayerRow*> rows = chosen_rows(ranked, kept, options.most_layers, fine);
  if (fine && rows.empty() && options.lost_limits.empty() && !options.engine_loss) return explanation;
  const MeasuredFacts found = measure_facts(measured, evidence, rows, options.samples);
  NetworkFacts facts = found.network;
  facts.needed = true;
  facts.top1_agreement = options.top1_agreement;
  facts.unseen_noise = options.unseen_noise;
  facts.lost_limits = options.lost_limits;
  facts.engine_loss = options.engine_loss;
  if (fine) facts.softmaxes.clear();
  for (const LayerRow& row : ranked) {
    facts.largest_share = std::max(facts.largest_share, row.share.value_or(0));
    if (const double usual = causes::usual_noise(row.format); row.own_sqnr_db && usual > 0) {
      const double noise = noise_of_db(*row.own_sqnr_db);
      facts.worst_own_noise = std::max(facts.worst_own_noise, noise);
      facts.worst_beyond_usual = std::max(facts.worst_beyond_usual, noise / usual);
    }
    facts.depth += row.format != Format::Float32 ? 1 : 0;
  }
  explanation.samples = found.samples;
  for (const LayerFacts& layer : facts.layers) {
    explanation.examined.push_back(layer.name);
    explanation.blame.push_back(blame_of(layer));
  }
  explanation.causes = find_causes(facts, options.own);
  leave_out_idle_repairs(explanation.causes, measured.experiment(), evidence, found, options.own);
  order_kinds(explanation.causes, ranked, facts);
  for (Cause& cause : explanation.causes) {
    const auto row = std::ranges::find(ranked, cause.layer, &LayerRow::name);
    if (row != ranked.end() && !cause.share) cause.share = breaks_output(*row) ? INFINITY : row->share;
    const double left = left_by_engine(cause, facts);
    if (cause.share && left < 1) *cause.share = left > 0 ? *cause.share * left : 0;
  }
  if (fine) std::erase_if(explanation.causes, [](const Cause& cause) { return cause.layer.empty(); });
  for (const LayerRow* row : rows) {
    const double usual = causes::usual_noise(row->format);
    const bool explained = std::ranges::find(explanation.causes, row->name, &Cause::layer) != explanation.causes.end();
    if (!explained && row->own_sqnr_db && noise_of_db(*row->own_sqnr_db) <= usual)
      explanation.ordinary.push_back(row->name);
  }
  for (const Cause& cause : explanation.causes) {
    for (const std::string& repair : cause.repairs) {
      if (std::ranges::find(explanation.proposals, repair) == explanation.proposals.end()) {
        explanation.proposals.push_back(repair);
      }
    }
  }
  return explanation;
}

}  // namespace vernier
