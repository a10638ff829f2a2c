// What a search for the layers to keep found, and what it rests on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vernier/export.h"
#include "vernier/format.h"
#include "vernier/note.h"
#include "vernier/report/figures.h"
#include "vernier/search_options.h"
#include "vernier/verdict.h"

namespace vernier {

struct CertificateRow {
  std::string layer;
  double metric = 0;                   // of the kept set without this layer
  double damage = 0;                   // > 1: fails
  bool lower_bound = false;            // stopped as soon as the failure was certain
  std::size_t samples = 0;             // that decided; 0: not counted
  double confidence = 1;               // of the failure; 1: certain
  std::string output{};                // that the metric is of; empty: there is one, or it is not known
  std::optional<Format> lowered_to{};  // of a ladder: one rung down, in this format
  std::optional<double> on_samples{};  // the metric of these samples, where `metric` is a bound on new ones
};

struct RungReport {  // one format of a ladder
  Format format = Format::Float32;
  std::size_t layers = 0;  // of those that were searched, in the answer
  std::int64_t macs = 0;   // of these
};

struct RaisedLayer {
  std::string layer;
  Format format = Format::Float32;
};

struct LadderReport {               // where a search chose among several formats
  std::vector<RungReport> rungs;    // lowest first
  std::vector<RaisedLayer> raised;  // above their lowest rung, in graph order
  double cost_of_lowest = 0;        // all on their lowest rungs; the answer costs KeptSetReport::cost more
};

struct TestRow {                    // one trial of a search
  std::vector<std::string> layers;  // that ran in the high format
  Verdict verdict = Verdict::Invalid;
  double metric = 0;
  double damage = 0;
  bool lower_bound = false;                    // stopped as soon as the failure was certain
  std::string needs;                           // what it would pass with, in words; empty: not known
  std::size_t samples = 0;                     // that decided; 0: not counted (an outside check)
  double confidence = 1;                       // of the verdict; 1: certain
  std::optional<SamplingInterval> interval{};  // of the metric, where it is a share of samples with the right label
  std::optional<double> reference{}, limit{};  // that share of the float model on the same samples; what was asked
  std::optional<double> on_samples{};          // the metric of these samples, where `metric` is a bound on new ones
  std::vector<Format> raised_to{};             // of a ladder: the format of each layer
};

struct LayerGroup {                 // layers that should switch together
  std::vector<std::string> layers;  // in graph order
  std::string why;                  // "they read one quantized tensor, 'x'"
  std::size_t kept = 0;             // of them in the answer
};

struct RankingReport {                     // predictions against what was measured
  std::optional<double> ratio;             // measured / predicted damage at the last guided trial
  std::optional<double> rank_correlation;  // Spearman's, of predicted damages and those measured near the limit
  std::size_t compared = 0;                // layers it rests on
  bool mended = false;                     // replaced on the way by better ones
};

struct ParetoPoint {  // one set that was tried
  std::vector<std::string> layers;
  double cost = 0;  // borders included, in the unit of the search
  double metric = 0;
  double damage = 0;
  bool front = false;               // none that costs less has less damage
  std::vector<Format> raised_to{};  // of a ladder: the format of each layer
};

struct MinimalInstead {  // what the minimal search keeps where another one was asked for
  std::vector<std::string> layers;
  bool certified = false;
  std::size_t evaluations = 0;  // beyond those of the other search
};

struct KeptSetReport {
  /// Else figures of the requirement say nothing of a trial.
  bool by_requirement() const { return decided_by == DecidedBy::Requirement; }
  /// A program or a person looked at each model.
  bool by_outside_check() const { return decided_by == DecidedBy::Program || decided_by == DecidedBy::Person; }

  std::vector<std::string> layers;  // kept, or on a ladder above their lowest rung
  std::optional<LadderReport> ladder;
  SearchMode mode = SearchMode::Minimal;
  SearchDirection direction = SearchDirection::Forward;
  SearchEnd end = SearchEnd::Stopped;
  DecidedBy decided_by = DecidedBy::Requirement;
  bool golden = false;         // against outputs of a file, not those of the float model
  std::string objective;       // the same in words, where it is no simulated requirement: "simple, against golden.json"
  bool minimum_asked = false;  // lower_bound was asked for
  std::vector<TestRow> tests;  // every trial, in order
  std::optional<MinimalInstead> minimal;
  std::optional<TestRow> file_test;    // the written file, by that objective
  std::optional<TestRow> engine_test;  // the same on an engine, which decides where there is one
  CostUnit cost_unit = CostUnit::Layers;
  double cost = 0;  // of the set, borders included
  double room = 1;  // reports of earlier versions: above 1, certified for the allowance divided by this
  std::optional<double> cost_of_all;
  std::optional<double> lower_bound;  // no set that passes costs less, if the network is monotone
  std::vector<ParetoPoint> pareto;    // cheapest first
  std::vector<LayerGroup> groups;     // those that hold a kept layer
  std::optional<RankingReport> ranking;
  /// One sample through the network once: everything from the reference run on, as it was asked; what was known of a
  /// set's samples counts.
  std::size_t sample_inferences = 0;
  std::vector<std::string> assumed;  // what the answer rests on without a test
  /// Kept units (layers, groups) that no test left out, as that would not cost less: format boundaries cost more.
  std::size_t not_cheaper = 0;
  std::vector<std::string> proven;  // what was tested
  std::string journal;              // the file that has every trial, for a search that resumes; empty: none has
  std::size_t recalled = 0;         // evaluations that came from it
  bool resumed = false;             // it was asked to go on from that file
  bool certified = false;
  std::vector<CertificateRow> certificate;
  std::optional<double> metric;  // of the kept set, as the search simulated it; the claim is final_figures
  std::size_t evaluations = 0;   // of the full sample set, the two ends included
  std::int64_t kept_macs = 0, total_macs = 0;
  std::vector<Note> notes;
};

/// The sets that were tried, cheapest first: cost, damage, metric, number of layers, on the front or not, names.
VERNIER_API std::string pareto_to_csv(const KeptSetReport& kept);
/// The same as a drawing: cost across, damage upwards on a logarithmic scale, the front joined, the limit as a line.
VERNIER_API std::string pareto_to_svg(const KeptSetReport& kept);

}  // namespace vernier
