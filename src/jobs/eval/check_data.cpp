// `vernier check data`: the samples as given, and changed in the usual ways, through the float model.

#include "vernier/check_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "analysis/surgery.h"
#include "base/text.h"
#include "engines/onnxruntime/runtime.h"
#include "engines/onnxruntime/session.h"
#include "io/labels.h"
#include "jobs/common/sources.h"
#include "model/model.h"
#include "tasks/ranks.h"
#include "tasks/readings.h"
#include "vernier/error.h"
#include "vernier/report/check_data.h"
#include "vernier/run.h"
#include "vernier/samples.h"
#include "vernier/sinks.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr std::size_t kMostNorms = 8;
constexpr std::size_t kMostSamples = 16, kMostLabelled = 64;
constexpr double kFewRight = 0.5;  // of a network that was trained more of the labels are right
// A misfit of half a nat a channel is a mean off by one deviation: what training never saw. Data like that of training
// stays far below.
constexpr double kMisfit = 0.5;
// Readings nearer to each other than this are equally good: the samples are few.
constexpr double kSameMisfit = 1.1, kSameConfidence = 0.02;
const char* const kSwapped = "red and blue swapped";

/// Sums of one channel.
struct Moments {
  double count = 0, sum = 0, squares = 0;
  void add(double value) { ++count, sum += value, squares += value * value; }
  double mean() const { return sum / count; }
  double deviation() const { return std::sqrt(std::max(0.0, squares / count - mean() * mean())); }
};

/// A BatchNormalization with constant statistics.
struct Norm {
  std::string node, tensor;
  std::vector<float> mean, variance;
  float epsilon = 1e-5F;
};

std::vector<Norm> norms_of(const Model& model) {
  std::vector<Norm> norms;
  for (const onnx::NodeProto& node : model.proto.graph().node()) {
    if (norms.size() == kMostNorms) break;
    if (node.op_type() != "BatchNormalization" || node.input_size() < 5) continue;
    const auto mean = initializer(model, node.input(3)), variance = initializer(model, node.input(4));
    if (!mean || !variance || mean->dtype() != Dtype::Float32 || variance->dtype() != Dtype::Float32 ||
        mean->count() != variance->count()) {
      continue;
    }
    Norm norm{node.name(), node.input(0), {}, {}, 1e-5F};
    norm.mean.assign(mean->floats().begin(), mean->floats().end());
    norm.variance.assign(variance->floats().begin(), variance->floats().end());
    if (const auto* epsilon = find_attribute(node, "epsilon")) norm.epsilon = epsilon->f();
    norms.push_back(std::move(norm));
  }
  return norms;
}

/// Channels along dimension 1, as BatchNormalization sees them.
void fold(const Tensor& tensor, std::vector<Moments>& channels, std::size_t axis = 1) {
  const Shape& shape = tensor.shape();
  if (shape.size() <= axis || tensor.dtype() != Dtype::Float32) return;
  std::int64_t inner = 1;
  for (std::size_t d = axis + 1; d < shape.size(); ++d) inner *= shape[d];
  channels.resize(static_cast<std::size_t>(shape[axis]));
  const std::span<const float> values = tensor.floats();
  for (std::size_t i = 0; i < values.size(); ++i) {
    channels[i / static_cast<std::size_t>(inner) % channels.size()].add(values[i]);
  }
}

SeenNorm compared(const Norm& norm, const std::vector<Moments>& seen) {
  SeenNorm result{norm.node, 0, 0, 0};
  std::size_t used = 0;
  for (std::size_t c = 0; c < std::min(seen.size(), norm.mean.size()); ++c) {
    const double trained = std::sqrt(std::max(0.0F, norm.variance[c]) + norm.epsilon);
    const double got = std::max(seen[c].deviation(), 1e-3 * trained);
    if (!std::isfinite(got) || seen[c].count == 0) continue;
    const double shift = (seen[c].mean() - norm.mean[c]) / trained;
    const double ratio = got / trained;
    result.shift += std::abs(shift);
    result.ratio += std::log(ratio);
    // Divergence of N(seen) from N(trained): 1/2 (r^2 + shift^2 - 1) - log r.
    result.misfit += 0.5 * (ratio * ratio + shift * shift - 1) - std::log(ratio);
    ++used;
  }
  const auto n = static_cast<double>(std::max<std::size_t>(used, 1));
  result.shift /= n;
  result.ratio = std::exp(result.ratio / n);
  result.misfit /= n;
  return result;
}

/// The largest probability of an output that looks like classes; nullopt for others.
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

class DataCheck {
 public:
  DataCheck(const CheckDataOptions& options, const JobSinks& sinks) : options_(options), sinks_(sinks) {}

  CheckDataReport run() {
    open();
    look_at_inputs();
    const std::vector<ImageChange> changes = readings();
    for (std::size_t i = 0; i < changes.size(); ++i) {
      if (sinks_.progress) sinks_.progress("reading", i + 1, changes.size());
      if (sinks_.interrupted && sinks_.interrupted()) throw Error(ErrorKind::Interrupted, "interrupted");
      report_.readings.push_back(read_as(changes[i]));
    }
    decide();
    return std::move(report_);
  }

 private:
  void open() {
    model_ = read_model(options_.model);
    SourceOptions source = options_.measure.data;
    if (source.limit == 0) source.limit = options_.labels.empty() ? kMostSamples : kMostLabelled;
    samples_ = samples_for(model_, source, sinks_);
    report_.file = options_.model.string();
    report_.data = samples_->description();
    report_.samples = samples_->size();
    if (samples_->is_random()) {
      throw Error(ErrorKind::Usage, "check data looks at your inputs, and none were given", "--data SOURCE");
    }
    if (!options_.labels.empty()) {
      labels_ = read_labels(options_.labels);
      if (labels_.size() < samples_->size()) {
        throw Error(ErrorKind::Input, fmt::format("{}: {} for {}", printable(options_.labels.string()),
                                                  plural(labels_.size(), "label"), plural(samples_->size(), "sample")));
      }
    }
    norms_ = norms_of(model_);
    const std::map<std::string, ValueType> types = infer_types(model_);
    std::erase_if(norms_, [&](const Norm& norm) {
      const auto type = types.find(norm.tensor);
      return type == types.end() || type->second.dtype != Dtype::Float32;
    });
    std::vector<std::pair<std::string, Dtype>> outputs;
    std::set<std::string> fed;
    for (const InputInfo& input : model_inputs(model_)) fed.insert(input.name);
    for (const InputInfo& output : model_outputs(model_)) {
      outputs.emplace_back(output.name, output.dtype);
      fed.insert(output.name);
    }
    for (const Norm& norm : norms_) {
      if (fed.insert(norm.tensor).second) outputs.emplace_back(norm.tensor, Dtype::Float32);
    }
    Model marked = model_;
    set_outputs(marked, outputs);
    session_.emplace(Runtime::load(), marked, SessionOptions{.optimize = true, .threads = 2});
  }

  void look_at_inputs() {
    for (const InputInfo& input : model_inputs(model_)) {
      if (input.dtype != Dtype::Float32) continue;
      SeenInput seen;
      seen.name = input.name;
      seen.min = 1e300;
      seen.max = -1e300;
      std::vector<Moments> channels;
      for (std::size_t i = 0; i < samples_->size(); ++i) {
        const Tensor tensor = samples_->at(i).at(input.name);
        seen.shape = shape_text(tensor.shape());
        const int axis = image_axis(tensor.shape());
        if (axis >= 0) {
          fold(tensor, channels, static_cast<std::size_t>(axis));
          if (image_.empty()) {
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
      for (const Moments& one : channels) {
        seen.mean.push_back(one.mean());
        seen.deviation.push_back(one.deviation());
      }
      report_.inputs.push_back(std::move(seen));
    }
  }

  std::vector<ImageChange> readings() const {
    for (const SeenInput& input : report_.inputs) {
      if (input.name == image_) return image_changes(input.min, input.max, channels_);
    }
    return {ImageChange{}};
  }

  InputReading read_as(const ImageChange& change) {
    InputReading reading;
    reading.change = change.words;
    reading.do_this = change.options;
    steps_[change.words] = steps_of(change);
    std::vector<std::vector<Moments>> seen(norms_.size());
    double confidence = 0;
    std::size_t confident = 0, right = 0;
    for (std::size_t i = 0; i < samples_->size(); ++i) {
      Sample sample = samples_->at(i);
      if (!change.words.empty()) sample[image_] = changed(sample.at(image_), change);
      const std::vector<Tensor> outputs = session_->run(sample);
      for (std::size_t n = 0; n < norms_.size(); ++n) {
        for (std::size_t o = 0; o < outputs.size(); ++o) {
          if (session_->output_names()[o] == norms_[n].tensor) fold(outputs[o], seen[n]);
        }
        if (const auto given = sample.find(norms_[n].tensor); given != sample.end()) fold(given->second, seen[n]);
      }
      const Tensor& first = outputs.front();
      if (const std::optional<double> sure = confidence_of(first)) {
        confidence += *sure;
        ++confident;
      }
      if (labels_.empty() || first.dtype() != Dtype::Float32) continue;
      const std::int64_t label = labels_[i] + options_.label_offset;
      if (label < 0 || label >= first.count()) {
        throw Error(
            ErrorKind::Input,
            fmt::format("label {} of sample {} is outside the {} classes of the output", label, i, first.count()),
            "--label-offset N is added to every label");
      }
      const bool hit = place_of(first.floats(), static_cast<std::size_t>(label)) == 0;
      hits_[change.words].push_back(hit);
      right += hit ? 1 : 0;
    }
    const auto all = static_cast<double>(samples_->size());
    if (confident == samples_->size()) reading.confidence = confidence / all;
    if (!labels_.empty()) reading.accuracy = static_cast<double>(right) / all;
    std::vector<double> misfits;
    for (std::size_t n = 0; n < norms_.size(); ++n) {
      const SeenNorm norm = compared(norms_[n], seen[n]);
      if (change.words.empty()) report_.norms.push_back(norm);
      misfits.push_back(std::isfinite(norm.misfit) ? norm.misfit : 1e9);
    }
    if (!misfits.empty()) {
      std::nth_element(misfits.begin(), misfits.begin() + static_cast<std::ptrdiff_t>(misfits.size() / 2),
                       misfits.end());
      reading.misfit = misfits[misfits.size() / 2];
    }
    return reading;
  }

  /// Of two readings of the same samples: more are right in the first, by more than so many deviations of chance among
  /// those that differ (the sign test).
  static bool more_right(const std::vector<bool>& a, const std::vector<bool>& b, double deviations) {
    double gained = 0, lost = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      gained += a[i] && !b[i] ? 1 : 0;
      lost += b[i] && !a[i] ? 1 : 0;
    }
    return gained - lost > deviations * std::sqrt(gained + lost);
  }

  /// What one kind of evidence says of a reading against the inputs as given.
  struct Judge {
    std::string by;
    std::function<double(const InputReading&)> score;        // larger is better
    std::function<bool(const InputReading&)> surely, maybe;  // better than as given
    std::function<bool(const InputReading& best, const InputReading&)> as_good;
    std::function<std::string(const InputReading&)> figures;
    std::string would_decide;
  };

  Judge by_labels(const InputReading& given) const {
    return {"labels",
            [](const InputReading& r) { return *r.accuracy; },
            [this](const InputReading& r) { return more_right(hits_.at(r.change), hits_.at(""), 2); },
            [this](const InputReading& r) { return more_right(hits_.at(r.change), hits_.at(""), 1); },
            [this](const InputReading& best, const InputReading& r) {
              return !more_right(hits_.at(best.change), hits_.at(r.change), 1);
            },
            [given](const InputReading& r) {
              return fmt::format("{:.1f} % right, {:.1f} % as given", 100 * *r.accuracy, 100 * *given.accuracy);
            },
            "More samples with labels would decide."};
  }

  Judge by_statistics(const InputReading& given) const {
    return {"BatchNormalization statistics",
            [](const InputReading& r) { return -*r.misfit; },
            [given](const InputReading& r) {
              return *r.misfit < std::min(kMisfit, 0.6 * *given.misfit) && *given.misfit - *r.misfit > 0.05;
            },
            [given](const InputReading& r) { return kSameMisfit * *r.misfit < *given.misfit; },
            [](const InputReading& best, const InputReading& r) { return *r.misfit <= kSameMisfit * *best.misfit; },
            [given](const InputReading& r) {
              return fmt::format(
                  "the first BatchNormalizations then see {:.3g} nats off what training saw, {:.3g} as "
                  "given",
                  *r.misfit, *given.misfit);
            },
            given.confidence ? "Labels (--labels) would decide, more samples may."
                             : "How training read its images would decide, more samples may."};
  }

  Judge by_confidence(const InputReading& given) const {
    return {"confidence",
            [](const InputReading& r) { return r.confidence.value_or(0); },
            [given](const InputReading& r) { return r.confidence.value_or(0) > *given.confidence + 0.15; },
            [given](const InputReading& r) { return r.confidence.value_or(0) > *given.confidence + kSameConfidence; },
            [](const InputReading& best, const InputReading& r) {
              return r.confidence.value_or(0) >= best.confidence.value_or(0) - kSameConfidence;
            },
            [given](const InputReading& r) {
              return fmt::format("the network is then sure of {:.1f} % on average, of {:.1f} % as given",
                                 100 * r.confidence.value_or(0), 100 * *given.confidence);
            },
            "Labels (--labels) would decide, more samples may."};
  }

  /// Sorts the readings behind the first, best first. Of those as good as the best within noise, the one that changes
  /// least; null where there are none.
  const InputReading* choose(const Judge& judge) {
    std::vector<InputReading>& all = report_.readings;
    std::stable_sort(all.begin() + 1, all.end(),
                     [&](const InputReading& a, const InputReading& b) { return judge.score(a) > judge.score(b); });
    if (all.size() < 2) return nullptr;
    const InputReading* chosen = &all[1];
    for (const InputReading& reading : all) {
      const bool stands_in = !reading.change.empty() && judge.as_good(all[1], reading) &&
                             judge.surely(reading) == judge.surely(all[1]) &&
                             judge.maybe(reading) == judge.maybe(all[1]);
      if (stands_in && steps_.at(reading.change) < steps_.at(chosen->change)) chosen = &reading;
    }
    return chosen;
  }

  void decide() {
    const InputReading given = report_.readings.front();
    if (!given.accuracy && !given.misfit && !given.confidence) {
      report_.answer =
          "Nothing to judge by: the file has no BatchNormalization left, its output is no class, and there are no "
          "labels.";
      return;
    }
    const Judge judge = given.accuracy ? by_labels(given) : given.misfit ? by_statistics(given) : by_confidence(given);
    report_.decided_by = judge.by;
    const InputReading* best = choose(judge);
    const double right = std::max(given.accuracy.value_or(1), best == nullptr ? 0 : best->accuracy.value_or(0));
    const bool clear = best != nullptr && judge.surely(*best) && right >= kFewRight;
    const bool by_misfit = given.misfit && !given.accuracy;
    report_.unlike_training = !clear && by_misfit && *given.misfit > kMisfit;
    if (clear) {
      report_.better = best->change;
      report_.answer = fmt::format("The inputs fit better with {}: {}.", best->change, judge.figures(*best));
      if (report_.decided_by == "confidence") report_.answer += " Confidence alone is a hint: check it with labels.";
    } else if (report_.unlike_training) {
      report_.answer = fmt::format(
          "The inputs are unlike what the network was trained on ({:.2f} nats off at its first BatchNormalizations), "
          "and no usual change makes them fit.",
          *given.misfit);
    } else if (right < kFewRight) {
      report_.answer = fmt::format(
          "It cannot be told whether the inputs are right: at most {:.1f} % of the labels are, under any reading. Are "
          "the labels the network's classes, counted as it counts them (--label-offset)?",
          100 * right);
    } else if (best != nullptr && judge.maybe(*best)) {
      report_.perhaps = best->change;
      report_.answer = fmt::format(
          "It cannot be told from these samples whether the inputs are right: they fit better, but not surely, with "
          "{} ({}). {}",
          best->change, judge.figures(*best), judge.would_decide);
    } else if (best == nullptr) {
      report_.answer = "It cannot be told whether the inputs are right: there is no usual change to compare them with.";
    } else {
      report_.answer =
          fmt::format("The inputs look right: no usual change fits surely better, by {}.", report_.decided_by);
      if (report_.decided_by == "confidence") report_.answer += " Confidence alone is a hint: check it with labels.";
    }
    if (!clear && by_misfit) warn_of_colours(given);
  }

  void warn_of_colours(const InputReading& given) {
    for (const InputReading& reading : report_.readings) {
      if (reading.change != kSwapped || report_.perhaps == kSwapped) continue;
      if (*reading.misfit >= kSameMisfit * *given.misfit) continue;
      report_.warnings.emplace_back(
          "red and blue swapped fits as well: these statistics do not tell the order of channels (labels would)");
    }
  }

  const CheckDataOptions& options_;
  const JobSinks& sinks_;
  CheckDataReport report_;
  Model model_;
  std::shared_ptr<const SampleSource> samples_;
  std::vector<std::int64_t> labels_;
  std::map<std::string, std::vector<bool>> hits_;  // of each reading, sample by sample
  std::map<std::string, int> steps_;               // of each reading: how many things it changes
  std::vector<Norm> norms_;
  std::optional<Session> session_;
  std::string image_;
  std::int64_t channels_ = 0;
};

}  // namespace

CheckDataReport check_data(const CheckDataOptions& options, const JobSinks& sinks) {
  return DataCheck(options, sinks).run();
}

}  // namespace vernier
