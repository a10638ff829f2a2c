// Measurements of an experiment that are looked up before they are made. What a second job on the same network and the
// same samples asks again, with another limit, another cost or other layers left out, was measured by the first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/layer_probe.h"
#include "analysis/lockstep.h"
#include "analysis/match_layers.h"
#include "analysis/own_error.h"
#include "analysis/requirement.h"
#include "jobs/search/experiment.h"
#include "jobs/search/measurement_store.h"
#include "vernier/diagnose.h"

namespace vernier {

/// What a job took from the records of earlier ones, and whether a later one finds its own. Of all of its networks.
struct RecordUse {
  std::map<std::string, std::set<std::string>> taken;  // first words of names, with second ones
  bool kept = false;                                   // what it had at the last Measured::keep()
};

class Measured {
 public:
  using Outputs = std::map<std::string, OutputStats>;

  /// `store` null: everything is measured. `experiment` and `use` must outlive it.
  Measured(Experiment& experiment, std::shared_ptr<MeasurementStore> store, RecordUse& use)
      : experiment_(experiment), store_(std::move(store)), use_(use) {}
  Experiment& experiment() { return experiment_; }

  /// Whether there is a record at all.
  bool keeps() const { return store_ != nullptr; }

  /// Hands the experiment the trials that are known.
  void begin();
  /// What is known by now, to the store and to disk: behind each stage, so that a run which is killed goes on from
  /// there.
  void keep();
  /// What was not measured here, but taken from the record of an earlier job, in words; empty: nothing.
  std::string taken() const;

  /// Builds what own_errors() and run_all_low() will run, side by side: that is work of one thread each. Not where it
  /// would hold too many copies of large weights at a time, or what they measure is known.
  void build_ahead(const std::vector<Match>& matches);
  /// As own_error() of everything low.
  std::vector<LayerError> own_errors();
  /// As probe() of everything low; `few`: the experiment's subject with FewSamples, which their number tells. The
  /// reference run is made in any case.
  Reference probe(const Subject& few, const std::set<std::string>& observed, const std::vector<std::string>& layers,
                  const std::set<std::string>& tensors, Probes& probes);
  /// As layer_pictures() of everything low.
  std::vector<LayerPicture> pictures(const std::vector<std::string>& layers, const std::vector<std::size_t>& samples);
  /// As Experiment::run_all_low(). Without matches, the record is one of outputs alone.
  void run_all_low(const std::vector<Match>& matches);
  /// Sensitivity of a layer, on these samples; nullopt: it is not known.
  std::optional<Outputs> alone(const std::string& layer, const std::vector<std::size_t>& samples);
  void add_alone(const std::string& layer, const std::vector<std::size_t>& samples, const Outputs& outputs);
  /// What `measure` gives, in words; `name` stands for all that it hangs on beside the network and the samples.
  std::string words(const std::string& name, const std::function<std::string()>& measure);

 private:
  /// Of a layer in its planned format, whatever the others are in.
  std::string name_alone(const std::string& what, const std::string& layer);
  std::string alone_name(const std::string& layer, const std::vector<std::size_t>& samples);
  std::string own_name() { return "own " + low_plan(); }
  std::string low_name() { return "low " + low_plan(); }
  std::string low_plan() { return experiment_.plan_digest(experiment_.all_low_plan()); }
  /// Adds to `found` the record `name`; false where there is none.
  template <class Result>
  bool find(const std::string& name, Result& found);
  template <class Result>
  void add(const std::string& name, const Result& measured);
  MeasurementStore* store();
  template <class Result, class Measure>
  Result recorded(const std::string& name, const Measure& measure);

  Experiment& experiment_;
  std::shared_ptr<MeasurementStore> store_;
  std::string identity_;
  std::optional<OwnErrorRun> own_errors_ahead_;
  std::optional<LockstepRun> all_low_ahead_;
  RecordUse& use_;
};

/// What `measure` says of samples as they are; `of` stands for them and for the network. Null `store`, or empty `of`:
/// it is measured.
std::string words_kept_in(MeasurementStore* store, const std::string& of, const std::function<std::string()>& measure);

/// A store of the job's own, or none where what is measured hangs on more than the network, the samples and the plan:
/// several ranks, operators of the user's own, golden outputs.
std::shared_ptr<MeasurementStore> store_for(const DiagnoseOptions& options);

}  // namespace vernier
