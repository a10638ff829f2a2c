#include "analysis/layer_probe.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "analysis/channel_stats.h"
#include "analysis/own_error.h"
#include "engines/onnxruntime/recorder.h"

namespace vernier {
namespace {

// Of the names of shadows whose weights are exact.
constexpr const char* kExact = "exact/";

template <class Value>
std::vector<std::string> names_of(const std::map<std::string, Value>& map) {
  std::vector<std::string> names;
  for (const auto& [name, value] : map) names.push_back(name);
  return names;
}

class Prober final : public BesideReference {
 public:
  Prober(const Subject& few, const Plan& plan, RoundedWeights& weights, const std::map<std::string, Shape>& shapes,
         Probes& probes)
      : subject_(few),
        plan_(plan),
        weights_(weights),
        probes_(probes),
        layers_(names_of(probes.layers)),
        tensors_(names_of(probes.tensors)),
        largest_(few, {tensors_.begin(), tensors_.end()}, shapes),
        means_(MeanErrors::layers_of(few, plan, &layers_), shapes, few.samples->size()) {}

  std::vector<std::string> add_to(Model& model, std::int64_t& next_error_slot) override {
    RoundedWeights exact(/*exact=*/true);
    // All shadows before the first comparison, which renames what layers make.
    own_.emplace(model, subject_, plan_, weights_, layers_, nullptr);
    with_exact_weights_.emplace(model, subject_, plan_, exact, layers_, nullptr, kExact);
    std::vector<std::string> given_out = largest_.add_to(model, {});
    magnitudes_ = given_out.size();
    for (std::string& mean : means_.add_to(model, own_->shadows())) given_out.push_back(std::move(mean));
    own_->compare_in(model, next_error_slot);
    with_exact_weights_->compare_in(model, next_error_slot);
    return given_out;
  }

  void take(std::span<const Tensor> given_out, const std::map<std::string, RangeStats>& ranges) override {
    for (std::size_t i = 0; i < given_out.size(); ++i) {
      if (i < magnitudes_) {
        largest_.fold(i, given_out[i].floats());
      } else {
        means_.fold(i - magnitudes_, given_out[i].floats());
      }
    }
    for (const std::string& tensor : tensors_) {
      const auto range = ranges.find(tensor);
      if (range == ranges.end() || range->second.count == 0) continue;
      probes_.tensors[tensor].samples.push_back(range->second.absmax());
    }
  }

  void finish(const Recorder& total) override {
    for (const LayerError& error : own_->of(total)) probes_.layers[error.layer].own = error.error;
    for (const LayerError& error : with_exact_weights_->of(total)) {
      probes_.layers[error.layer].own_with_exact_weights = error.error;
    }
    for (auto& [layer, means] : means_.take()) probes_.layers[layer].mean_error = std::move(means.mean);
    for (auto& [tensor, channels] : largest_.take()) probes_.tensors[tensor].channels = std::move(channels);
  }

 private:
  const Subject& subject_;
  const Plan& plan_;
  RoundedWeights& weights_;
  Probes& probes_;
  const std::vector<std::string> layers_, tensors_;
  LargestMagnitudes largest_;
  MeanErrors means_;
  std::size_t magnitudes_ = 0;  // of what is given out: the first
  std::optional<OwnErrors> own_, with_exact_weights_;
};

}  // namespace

Reference probe(const Subject& few, const Plan& plan, RoundedWeights& weights, const std::set<std::string>& observed,
                const std::map<std::string, Shape>& shapes, Probes& probes) {
  Prober prober(few, plan, weights, shapes, probes);
  return run_reference(few, observed, observed, Counting::All, nullptr, &prober);
}

}  // namespace vernier
