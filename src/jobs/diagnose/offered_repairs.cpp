#include "jobs/diagnose/offered_repairs.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "numerics/metrics.h"
#include "repairs/repair.h"

namespace vernier {
namespace {

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
         repair == "smooth" || repair == "split-channels" || repair == "range" || repair == "centre-stream" ||
         repair == "scale-stream";
}

class Offers {
 public:
  Offers(const Experiment& experiment, const Evidence& evidence, const MeasuredFacts& found)
      : experiment_(experiment), histograms_(found.histograms) {
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
    const Network network{subject.model,
                          subject.layers,
                          experiment_.all_low_plan(),
                          experiment_.reference().ranges,
                          histograms_,
                          channels_,
                          mean_error_,
                          weight_share_,
                          noise_,
                          products,
                          subject.threads};
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
  std::map<std::string, std::vector<float>> channels_;
  std::map<std::string, ChannelMeans> mean_error_;
  std::map<std::string, double> weight_share_, noise_;
  std::map<std::string, Offer> offers_;
};

}  // namespace

void leave_out_idle_repairs(std::vector<Cause>& causes, const Experiment& experiment, const Evidence& evidence,
                            const MeasuredFacts& found, std::span<const CauseFinder> own) {
  Offers offers(experiment, evidence, found);
  for (Cause& cause : causes) {
    if (std::ranges::find(own, cause.id, &CauseFinder::id) != own.end()) continue;
    std::erase_if(cause.repairs, [&](const std::string& id) {
      const auto repair = std::ranges::find(all_repairs(), id, &Repair::id);
      if (repair == all_repairs().end() || needs_more(id)) return false;
      const Offer& offer = offers.of(*repair);
      return cause.layer.empty() ? offer.changes.empty() : !offer.applies_to(*repair, cause.layer);
    });
  }
}

}  // namespace vernier
