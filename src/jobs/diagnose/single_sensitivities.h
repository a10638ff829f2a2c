// The step of a diagnosis that measures each candidate's sensitivity alone.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "jobs/search/evidence.h"
#include "jobs/search/experiment.h"
#include "jobs/search/measured.h"
#include "vernier/note.h"

namespace vernier {

/// Layers whose sensitivity can be measured alone: none inside a body.
std::vector<std::string> measurable_layers(const Experiment& experiment);

/// What SingleSensitivities::measure() will take at most, in sample-inferences of the whole network.
double expected_sample_inferences(const Experiment& experiment);

/// All arguments must outlive it.
class SingleSensitivities {
 public:
  /// `inferences`: what all of them took so far, in sample-inferences of the whole network.
  SingleSensitivities(Experiment& experiment, Evidence& evidence, Measured& measured, double& inferences)
      : experiment_(experiment), evidence_(evidence), measured_(measured), inferences_(inferences) {}

  /// On two to four samples, as many as ten seconds of work allow: mostly the hardest under all-low. Of a network of so
  /// many nodes that all layers would take minutes, those with the largest own errors. Fills Evidence::alone.
  void measure();
  /// For a search, which needs those that matter: of many layers each on the hardest sample alone, and the worst third
  /// as measure(). Fills Evidence::presumed for the others.
  void measure_worst();
  /// Of an answer's layers, where Evidence::presumed says something of all others.
  void measure_kept(const std::vector<std::string>& kept);
  /// That layers were left out; nothing: none was.
  std::optional<Note> left_out() const;
  /// When the ranking turned out poor: where none was measured, measure_worst(), then all as measure(), then on three
  /// times as many. False when there are no more, or samples are a sequence.
  bool measure_more();

 private:
  void measure_on(std::size_t samples, const std::vector<std::string>& layers);
  void measure_by_trials();
  std::vector<std::string> names() const;

  Experiment& experiment_;
  Evidence& evidence_;
  Measured& measured_;
  double& inferences_;
  std::size_t samples_ = 0;  // that the sensitivities rest on
  std::size_t others_ = 0;   // layers that were measured on one sample alone, or of which another network tells
  bool kept_alone_ = false;
};

}  // namespace vernier
