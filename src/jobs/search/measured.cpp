#include "jobs/search/measured.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <sstream>
#include <string_view>
#include <utility>

#include "analysis/known_trials.h"
#include "analysis/pictures.h"
#include "base/hash.h"
#include "base/machine.h"
#include "base/parallel.h"
#include "base/program_stamp.h"
#include "base/text.h"
#include "base/version.h"
#include "distributed/ranks.h"
#include "distributed/wire.h"
#include "engines/onnxruntime/runtime.h"
#include "jobs/search/measurement_records.h"
#include "model/contents.h"
#include "plan/plan.h"
#include "vernier/diagnose.h"
#include "vernier/error.h"

namespace vernier {
namespace {

constexpr const char* kTrials = "trials";

// Each of the two sessions holds weights of both formats.
constexpr std::size_t kMostBuiltAhead = std::size_t{64} << 20U;

/// Lines that stand for what was measured, from the build and the machine on.
class Identity {
 public:
  Identity() {
    add(vernier_version());
    add(program_stamp());
    add(machine_text());
  }
  void add(std::string_view text) {
    hash_.update(std::as_bytes(std::span(text)));
    hash_.update(std::as_bytes(std::span("\n", 1)));
  }
  void add(std::span<const std::byte> bytes) { hash_.update(bytes); }
  std::string hex() { return hash_.hex(); }

 private:
  Sha256 hash_;
};

/// All that figures of one network hang on beside the plan's formats and scales.
std::string identity_of(const Experiment& experiment) {
  const Subject& subject = experiment.subject();
  Identity identity;
  const auto add = [&](std::string_view text) { identity.add(text); };
  add(subject.runtime->version());
  add(experiment.reference().data_sha256);
  add(subject.optimizes() ? "optimized" : "as it is");
  for (const std::string& output : subject.judged) {
    const auto axis = subject.class_axes.find(output);
    add(output + (axis == subject.class_axes.end() ? "" : " " + std::to_string(axis->second.axis)));
  }
  for (const Carry& carry : subject.carries) add(carry.output + ":" + carry.input);
  // A repaired network is judged against the outputs of another one than a file with the same content.
  for (const auto& [output, totals] : experiment.judged_against().totals) {
    add(fmt::format("{} {}", output, totals.pooled.ref_energy));
  }
  const Plan& all_low = experiment.all_low_plan();
  Plan rules;
  rules.model_sha256 = all_low.model_sha256;
  rules.target = all_low.target;
  rules.high = all_low.high;
  rules.rules = all_low.rules;
  rules.arithmetic = all_low.arithmetic;
  rules.other_grids = all_low.other_grids;
  add(plan_to_json(rules));
  for (const auto& [name, constant] : all_low.constants) {
    add(name);
    add(constant.layer);
    add(fmt::format("{}", fmt::join(constant.values.shape(), " ")));
    identity.add(constant.values.bytes());
  }
  add(content_sha256(subject.model));
  return identity.hex();
}

}  // namespace

template <class Result>
bool Measured::find(const std::string& name, Result& found) {
  if (store_ == nullptr) return false;
  const Message* known = store()->find(name);
  if (known == nullptr) return false;
  if (store_->is_earlier(name)) {
    std::istringstream words(name);
    std::string first, second;
    words >> first >> second;
    use_.taken[first].insert(second);
  }
  Unpacker unpacker(*known);
  records::get(unpacker, found);
  return true;
}

template <class Result>
void Measured::add(const std::string& name, const Result& measured) {
  if (store_ == nullptr) return;
  Packer packer;
  records::put(packer, measured);
  store()->put(name, packer.take());
}

/// The record `name`; measured and added where it is not there.
template <class Result, class Measure>
Result Measured::recorded(const std::string& name, const Measure& measure) {
  Result found;
  if (find(name, found)) return found;
  found = measure();
  add(name, found);
  return found;
}

MeasurementStore* Measured::store() {
  if (store_ != nullptr) store_->open(identity_);  // jobs within this one open others
  return store_.get();
}

void Measured::begin() {
  if (store_ == nullptr) return;
  identity_ = identity_of(experiment_);
  if (const Message* known = store()->find(kTrials)) {
    Unpacker unpacker(*known);
    records::Trials trials;
    records::get(unpacker, trials);
    experiment_.set_known_trials(std::move(trials));
  }
}

void Measured::keep() {
  if (store_ == nullptr) return;
  Packer packer;
  records::put(packer, experiment_.known_trials());
  Message trials = packer.take();
  const Message* before = store()->find(kTrials);
  if (before == nullptr || *before != trials) store_->put(kTrials, std::move(trials));
  use_.kept = store_->save();
}

std::string Measured::taken() const {
  std::vector<std::string> list;
  const auto add = [&](const char* record, const std::string& words) {
    if (use_.taken.contains(record)) list.push_back(words);
  };
  add("own", "local errors");
  add("low", "everything low");
  const auto alone = use_.taken.find("alone");
  // Of fix there may be those of two networks.
  if (alone != use_.taken.end()) list.push_back(fmt::format("sensitivities of layers ({})", alone->second.size()));
  const std::size_t trials = experiment_.recalled_trials();
  if (trials > 0) list.push_back("trials of " + plural(trials, "set"));
  if (use_.taken.contains("probe") || use_.taken.contains("magnitudes")) list.emplace_back("causes");
  add("file", "the verification of the same file");
  add("pictures", "pictures");
  return fmt::format("{}", fmt::join(list, ", "));
}

void Measured::build_ahead(const std::vector<Match>& matches) {
  const Subject& subject = experiment_.subject();
  const auto known = [&](const std::string& name) { return store_ != nullptr && store()->find(name) != nullptr; };
  const bool on_gpu = subject.runtime->gpu() != nullptr;  // where sessions share the weights
  if (subject.threads < 2 || (!on_gpu && bytes_beside(subject.model) > kMostBuiltAhead)) return;
  if (known(own_name()) || known(low_name())) return;
  parallel_ordered(
      2, subject.threads,
      [&](std::size_t i) {
        if (i == 0) own_errors_ahead_.emplace(subject, experiment_.all_low_plan(), experiment_.weights);
        if (i == 1) all_low_ahead_.emplace(experiment_.lockstep_of_all_low(matches));
        return i;
      },
      [](std::size_t, std::size_t) { return true; });
}

std::vector<LayerError> Measured::own_errors() {
  const Subject& subject = experiment_.subject();
  auto errors = recorded<std::vector<LayerError>>(own_name(), [&] {
    if (own_errors_ahead_) return own_errors_ahead_->run(all_samples(subject));
    return own_error(subject, experiment_.all_low_plan(), experiment_.weights);
  });
  own_errors_ahead_.reset();
  return errors;
}

void Measured::run_all_low(const std::vector<Match>& matches) {
  // A record with layers has the outputs, too.
  const bool outputs_alone = matches.empty() && (store_ == nullptr || store()->find(low_name()) == nullptr);
  experiment_.set_all_low(recorded<Lockstep>(outputs_alone ? low_name() + " outputs" : low_name(), [&] {
    if (matches.empty()) return experiment_.outputs_of_all_low();
    if (all_low_ahead_) return all_low_ahead_->run();
    return experiment_.lockstep_of_all_low(matches).run();
  }));
  all_low_ahead_.reset();
}

Reference Measured::probe(const Subject& few, const std::set<std::string>& observed,
                          const std::vector<std::string>& layers, const std::set<std::string>& tensors,
                          Probes& probes) {
  const std::string of_few = " of " + std::to_string(few.samples->size());
  Probes unknown;
  for (const std::string& layer : layers) {
    LayerProbe known;
    if (find(name_alone("probe" + of_few, layer), known)) {
      probes.layers[layer] = std::move(known);
    } else {
      unknown.layers[layer] = {};
    }
  }
  for (const std::string& tensor : tensors) {
    Magnitudes known;
    if (find("magnitudes" + of_few + " " + tensor, known)) {
      probes.tensors[tensor] = std::move(known);
    } else {
      unknown.tensors[tensor] = {};
    }
  }
  if (unknown.layers.empty() && unknown.tensors.empty()) return run_reference(few, observed, observed);
  Reference reference =
      vernier::probe(few, experiment_.all_low_plan(), experiment_.weights, observed, experiment_.shapes(), unknown);
  for (auto& [layer, seen] : unknown.layers) {
    add(name_alone("probe" + of_few, layer), probes.layers[layer] = std::move(seen));
  }
  for (auto& [tensor, seen] : unknown.tensors) {
    add("magnitudes" + of_few + " " + tensor, probes.tensors[tensor] = std::move(seen));
  }
  return reference;
}

std::vector<LayerPicture> Measured::pictures(const std::vector<std::string>& layers,
                                             const std::vector<std::size_t>& samples) {
  std::string name = "pictures " + low_plan();
  for (const std::size_t sample : samples) name += " " + std::to_string(sample);
  for (const std::string& layer : layers) name += " " + layer;
  return recorded<std::vector<LayerPicture>>(name, [&] {
    return layer_pictures(experiment_.subject(), experiment_.all_low_plan(), experiment_.weights, layers, samples,
                          experiment_.shapes());
  });
}

std::string Measured::words(const std::string& name, const std::function<std::string()>& measure) {
  return recorded<std::string>(name, measure);
}

std::string Measured::name_alone(const std::string& what, const std::string& layer) {
  Plan plan;
  plan.layers = {{layer, experiment_.all_low_plan().format_of(layer)}};
  return what + " " + experiment_.plan_digest(plan);
}

std::string Measured::alone_name(const std::string& layer, const std::vector<std::size_t>& samples) {
  std::string name = name_alone("alone", layer);
  for (const std::size_t sample : samples) name += " " + std::to_string(sample);
  return name;
}

std::optional<Measured::Outputs> Measured::alone(const std::string& layer, const std::vector<std::size_t>& samples) {
  Outputs outputs;
  if (!find(alone_name(layer, samples), outputs)) return std::nullopt;
  return outputs;
}

void Measured::add_alone(const std::string& layer, const std::vector<std::size_t>& samples, const Outputs& outputs) {
  add(alone_name(layer, samples), outputs);
}

std::string words_kept_in(MeasurementStore* store, const std::string& of, const std::function<std::string()>& measure) {
  if (store == nullptr || of.empty()) return measure();
  Identity identity;
  identity.add(of);
  store->open(identity.hex());
  std::string words;
  if (const Message* known = store->find("words")) {
    Unpacker unpacker(*known);
    records::get(unpacker, words);
    return words;
  }
  words = measure();
  Packer packer;
  records::put(packer, words);
  store->put("words", packer.take());
  store->save();
  return words;
}

std::shared_ptr<MeasurementStore> store_for(const DiagnoseOptions& options) {
  if (!job_ranks().alone() || !options.measure.custom_operators.empty() || !options.search.golden.empty())
    return nullptr;
  return std::make_shared<MeasurementStore>(options.cache_folder);
}

}  // namespace vernier
