#include "jobs/data_check/check_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/class_scores.h"
#include "analysis/subject.h"
#include "analysis/surgery.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "base/text.h"
#include "distributed/ranks.h"
#include "engines/onnxruntime/runtime.h"
#include "engines/onnxruntime/session.h"
#include "jobs/data_check/norm_statistics.h"
#include "jobs/data_check/reading_verdict.h"
#include "model/graph_edit.h"
#include "model/model.h"
#include "plan/simulate_typed.h"
#include "tasks/ranks.h"
#include "tasks/readings.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/report/check_data.h"
#include "vernier/samples.h"
#include "vernier/sinks.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// For a warning: enough that confidence does not jump by chance, few enough to cost nothing beside a diagnosis.
constexpr std::size_t kFewSamples = 6;
// Samples whose tensors are in memory at once: other work goes on beside a check for a warning.
constexpr std::size_t kSideBySide = 2;
constexpr double kClearGain = 0.25;
constexpr std::size_t kLeastValues = 64;  // fewer may all be 0 by right

bool none_is_surely_better(const InputReading& given) {
  if (given.misfit) return *given.misfit <= kLeastGain;
  return given.confidence && 1 - *given.confidence < kClearGain;
}

/// The larger of two middle ones.
double upper_median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Tensor as_float32(Tensor tensor) {
  if (tensor.dtype() == Dtype::Float32) return tensor;
  Tensor made(Dtype::Float32, tensor.shape());
  std::ranges::transform(tensor.bytes(), made.mutable_floats().begin(),
                         [](std::byte value) { return static_cast<float>(value); });
  return made;
}

/// The largest probability of an output of class scores; nullopt when it is not one row.
std::optional<double> confidence_of(const Tensor& output) {
  if (output.dtype() != Dtype::Float32 || output.count() < 2 || output.count() > 100000) return std::nullopt;
  std::int64_t longest = 0;
  for (const std::int64_t dim : output.shape()) longest = std::max(longest, dim);
  if (longest != output.count()) return std::nullopt;  // more than one row
  const std::span<const float> scores = output.floats();
  double sum = 0, most = -1e30;
  bool shares = true;
  for (const float score : scores) {
    sum += score;
    most = std::max<double>(most, score);
    shares = shares && score >= 0;
  }
  if (shares && std::abs(sum - 1) < 1e-3) return most;
  double total = 0;
  for (const float score : scores) total += std::exp(score - most);
  return 1 / total;
}

/// The first output of the network, for a sample as given.
using KnownOutput = std::function<Tensor(std::size_t sample)>;

class InputCheck {
 public:
  /// `for_warning`: nothing but what input_warning() may warn of, so that inputs which surely fit cost little. `known`:
  /// empty where nobody has run the network.
  InputCheck(const std::shared_ptr<const Runtime>& runtime, const Model& model, const SampleSource& samples,
             std::size_t most, const LabelsOfInputs& labels, const JobSinks& sinks, bool for_warning,
             KnownOutput known = {})
      : runtime_(runtime),
        model_(model),
        samples_(samples),
        size_(std::min(most, samples.size())),
        labels_(labels),
        sinks_(sinks),
        for_warning_(for_warning),
        known_(std::move(known)) {}

  CheckDataReport run() {
    open();
    look_at_inputs();
    if (const std::string empty = empty_inputs(); !empty.empty()) {
      report_.readings.emplace_back();
      report_.unlike_training = true;
      report_.finding = empty;
      report_.answer = empty + ".";
      return std::move(report_);
    }
    if (for_warning_ && norms_.empty() && !first_gives_classes()) {  // nothing tells readings apart
      report_.readings.emplace_back();
      return std::move(report_);
    }
    const std::vector<ImageChange> changes = readings();
    for (std::size_t i = 0; i < changes.size(); ++i) {
      if (sinks_.progress) sinks_.progress("reading", i + 1, changes.size());
      if (sinks_.is_interrupted()) throw Error(ErrorKind::Interrupted, "interrupted");
      report_.readings.push_back(read_as(changes[i]));
      const InputReading& given = report_.readings.front();
      if (!given.accuracy && !given.misfit && !given.confidence) break;
      if (for_warning_ && none_is_surely_better(given)) break;
    }
    judge_readings(report_, hits_, kinds_);
    return std::move(report_);
  }

 private:
  bool norms_decide() const { return for_warning_ && !norms_.empty(); }
  bool first_gives_classes() const {
    const std::vector<std::string> outputs = output_names(model_);
    return !outputs.empty() && classes_.contains(outputs.front());
  }

  void open() {
    report_.data = samples_.description();
    report_.samples = size_;
    classes_ = class_scores_by_graph(model_);
    norms_ = first_norms(normalized_file(model_));  // some exporters write every weight as a Constant node
    const std::map<std::string, ValueType> types = infer_types(model_);
    std::erase_if(norms_, [&](const TrainedNorm& norm) {
      const auto type = types.find(norm.tensor);
      return type == types.end() || type->second.dtype != Dtype::Float32;
    });
  }

  /// Made by the first reading that has to run.
  const Session& session() {
    if (session_) return *session_;
    std::vector<std::pair<std::string, Dtype>> outputs;
    std::set<std::string> fed;
    for (const InputInfo& input : model_inputs(model_)) fed.insert(input.name);
    const auto add_norms = [&] {
      for (const TrainedNorm& norm : norms_) {
        if (fed.insert(norm.tensor).second) outputs.emplace_back(norm.tensor, Dtype::Float32);
      }
    };
    if (norms_decide()) add_norms();  // they stand near the inputs: nothing behind them is run
    if (outputs.empty()) {
      for (const InputInfo& output : model_outputs(model_)) {
        outputs.emplace_back(output.name, output.dtype);
        fed.insert(output.name);
      }
      add_norms();
    }
    std::vector<std::string> wanted;
    for (const auto& [name, dtype] : outputs) wanted.push_back(name);
    Model marked = cut(model_, wanted, {});
    set_outputs(marked, outputs);
    return session_.emplace(runtime_, marked,
                            SessionOptions{.optimize = small_enough_to_optimize(marked), .any_outputs = true});
  }

  void look_at_inputs() {
    for (const InputInfo& input : model_inputs(model_)) {
      if (input.dtype != Dtype::Float32 && input.dtype != Dtype::UInt8) continue;
      SeenInput seen;
      seen.name = input.name;
      seen.min = 1e300;
      seen.max = -1e300;
      std::vector<ChannelMoments> channels;
      for (std::size_t i = 0; i < size_; ++i) {
        const Tensor tensor = as_float32(samples_.at(i).at(input.name));
        values_ += tensor.floats().size();
        seen.shape = shape_text(tensor.shape());
        const int axis = image_axis(tensor.shape());
        if (axis >= 0) {
          fold_channels(tensor, channels, static_cast<std::size_t>(axis));
          pictures_.insert(input.name);
          if (image_.empty() && input.dtype == Dtype::Float32) {
            image_ = input.name;
            channels_ = tensor.shape()[static_cast<std::size_t>(axis)];
          }
        } else {
          channels.resize(1);
          for (const float value : tensor.floats()) channels[0].add(value);
        }
        for (const float value : tensor.floats()) {
          seen.min = std::min<double>(seen.min, value);
          seen.max = std::max<double>(seen.max, value);
        }
      }
      for (const ChannelMoments& one : channels) {
        seen.mean.push_back(one.mean());
        seen.deviation.push_back(one.deviation());
      }
      report_.inputs.push_back(std::move(seen));
    }
  }

  /// Images of one value show a network nothing, whatever it was trained on, nor do zeros at all of its inputs. Empty:
  /// there are others.
  std::string empty_inputs() const {
    for (const SeenInput& input : report_.inputs) {
      if (!pictures_.contains(input.name) || input.min != input.max) continue;
      return fmt::format("Every value of input '{}' is {:g}: these samples hold no images", printable(input.name),
                         input.min);
    }
    const bool zeros = std::ranges::all_of(report_.inputs, [](const SeenInput& input) { return input.max == 0; }) &&
                       std::ranges::all_of(report_.inputs, [](const SeenInput& input) { return input.min == 0; });
    if (!zeros || values_ < kLeastValues || report_.inputs.size() != model_inputs(model_).size()) return {};
    return fmt::format(
        "Every value of {} is 0: these samples do not test the network",
        report_.inputs.size() == 1 ? fmt::format("input '{}'", printable(report_.inputs[0].name)) : "all inputs");
  }

  std::vector<ImageChange> readings() const {
    for (const SeenInput& input : report_.inputs) {
      if (input.name != image_) continue;
      std::vector<ImageChange> changes = image_changes(input.min, input.max, channels_);
      if (!smoother_in_other_layout(samples_.at(0).at(image_))) std::erase_if(changes, &ImageChange::relayout);
      return changes;
    }
    return {ImageChange{}};
  }

  InputReading read_as(const ImageChange& change) {
    InputReading reading;
    reading.change = change.words;
    reading.do_this = change.options;
    ReadingKind& kind = kinds_[change.words];
    kind = {steps_of(change), rescales(change), enlarges(change)};
    kind.scale =
        std::accumulate(change.factor.begin(), change.factor.end(), 0.0) / static_cast<double>(change.factor.size());
    std::vector<std::vector<ChannelMoments>> seen(norms_.size());
    double confidence = 0;
    std::size_t confident = 0, right = 0;
    bool tells = true;
    const bool is_known = known_ && change.words.empty() && norms_.empty();
    const Session* const network = is_known ? nullptr : &session();
    const auto read = [&](std::size_t i) {
      Sample sample = samples_.at(i);
      if (!change.words.empty()) sample[image_] = changed(sample.at(image_), change);
      std::vector<Tensor> outputs = is_known ? std::vector{known_(i)} : network->run(sample);
      return std::pair(std::move(sample), std::move(outputs));
    };
    const auto take = [&](std::size_t i, const std::pair<Sample, std::vector<Tensor>>& ran) {
      const auto& [sample, outputs] = ran;
      for (std::size_t n = 0; n < norms_.size(); ++n) {
        for (std::size_t o = 0; o < outputs.size(); ++o) {
          if (network->output_names()[o] == norms_[n].tensor) fold_channels(outputs[o], seen[n]);
        }
        if (const auto given = sample.find(norms_[n].tensor); given != sample.end())
          fold_channels(given->second, seen[n]);
      }
      if (norms_decide()) return true;
      const Tensor& first = outputs.front();
      const auto sure = first_gives_classes() ? confidence_of(first) : std::nullopt;
      if (sure) {
        confidence += *sure;
        ++confident;
      } else if (norms_.empty() && labels_.labels.empty()) {
        tells = false;
        return false;
      }
      if (labels_.labels.empty() || first.dtype() != Dtype::Float32) return true;
      const std::int64_t label = labels_.labels[i] + labels_.offset;
      if (label < 0 || label >= first.count()) {
        throw Error(
            ErrorCode::Labels,
            fmt::format("label {} of sample {} is outside the {} classes of the output", label, i, first.count()),
            "‹label-offset› N is added to every label");
      }
      const bool hit = place_of(first.floats(), static_cast<std::size_t>(label)) == 0;
      hits_[change.words].push_back(hit);
      right += hit ? 1 : 0;
      return true;
    };
    parallel_ordered(size_, kSideBySide, read, take);
    if (!tells) return reading;  // nothing tells readings of such a network apart
    const auto all = static_cast<double>(size_);
    if (confident == size_) reading.confidence = confidence / all;
    if (!labels_.labels.empty()) reading.accuracy = static_cast<double>(right) / all;
    std::vector<double> misfits, shifts;
    for (std::size_t n = 0; n < norms_.size(); ++n) {
      const SeenNorm norm = compared_with(norms_[n], seen[n]);
      if (change.words.empty()) report_.norms.push_back(norm);
      misfits.push_back(std::isfinite(norm.misfit) ? norm.misfit : 1e9);
      shifts.push_back(std::isfinite(norm.shift) ? norm.shift : 1e9);
    }
    if (!misfits.empty()) {
      reading.misfit = upper_median(misfits);
      kind.shift = upper_median(shifts);
    }
    return reading;
  }

  std::shared_ptr<const Runtime> runtime_;
  const Model& model_;
  const SampleSource& samples_;
  std::size_t size_;
  LabelsOfInputs labels_;
  const JobSinks& sinks_;
  bool for_warning_;
  KnownOutput known_;
  CheckDataReport report_;
  ReadingHits hits_;
  ReadingKinds kinds_;
  std::vector<TrainedNorm> norms_;
  std::set<std::string> classes_;  // outputs that are class scores by the graph: how sure the network is
  std::optional<Session> session_;
  std::set<std::string> pictures_;  // inputs that are images
  std::size_t values_ = 0;          // of all inputs in all samples
  std::string image_;               // that is read in other ways
  std::int64_t channels_ = 0;
};

}  // namespace

CheckDataReport check_inputs(const std::shared_ptr<const Runtime>& runtime, const Model& model,
                             const SampleSource& samples, const LabelsOfInputs& labels, const JobSinks& sinks) {
  return InputCheck(runtime, model, samples, samples.size(), labels, sinks, /*for_warning=*/false).run();
}

namespace {

bool may_be_warned_of(const Loaded& loaded) {
  return !loaded.samples->is_random() && loaded.subject.carries.empty() && job_ranks().first();
}

}  // namespace

std::string input_warning_identity(const Loaded& loaded) {
  if (!may_be_warned_of(loaded) || loaded.original->sha256.empty()) return {};
  Sha256 hash;
  const auto add = [&](std::string_view text) { hash.update(std::as_bytes(std::span(text))); };
  add(loaded.original->sha256);
  for (std::size_t i = 0; i < std::min(kFewSamples, loaded.samples->size()); ++i) {
    for (const auto& [name, tensor] : loaded.samples->at(i)) {
      add(fmt::format("\n{} {} {}\n", name, dtype_name(tensor.dtype()), shape_text(tensor.shape())));
      hash.update(tensor.bytes());
    }
  }
  return hash.hex();
}

std::optional<Note> input_warning(const Loaded& loaded, const JobSinks& sinks, const OutputStore* known) {
  if (!may_be_warned_of(loaded)) return std::nullopt;
  KnownOutput first_output;
  const std::vector<std::string> outputs = output_names(*loaded.original);
  const std::vector<std::string>& judged = loaded.subject.judged;
  const auto first = outputs.empty() ? judged.end() : std::ranges::find(judged, outputs.front());
  if (known != nullptr && first != judged.end()) {
    first_output = [known, place = static_cast<std::size_t>(first - judged.begin())](std::size_t sample) {
      return known->get(sample)[place];
    };
  }
  JobSinks quiet;
  quiet.interrupted = sinks.interrupted;
  CheckDataReport report;
  try {
    report = InputCheck(loaded.subject.runtime, *loaded.original, *loaded.samples, kFewSamples, {}, quiet,
                        /*for_warning=*/true, std::move(first_output))
                 .run();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::Interrupted) throw;
    return std::nullopt;  // what is wrong with the network or its samples is told by those who need them
  }
  if (!report.better && !report.unlike_training) return std::nullopt;
  if (report.decided_by == "confidence") {  // which jumps by chance over so few: squeezenet's by 0.22, over four
    const double gain = report.readings[1].confidence.value_or(0) - report.readings.front().confidence.value_or(0);
    if (report.samples < kFewSamples || gain < kClearGain) return std::nullopt;
  }
  const auto better = std::ranges::find(report.readings, report.better.value_or(""), &InputReading::change);
  const std::string remedy =
      report.better && !report.undecided && better != report.readings.end() ? better->do_this : "";
  return Note{"inputs-doubtful", {{"finding", report.finding}, {"remedy", remedy}, {"samples", report.samples}}};
}

}  // namespace vernier
