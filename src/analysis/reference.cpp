#include "analysis/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/packed_histogram.h"
#include "analysis/run_identity.h"
#include "analysis/surgery.h"
#include "base/hash.h"
#include "distributed/wire.h"
#include "engines/onnxruntime/operators.h"
#include "engines/onnxruntime/runtime.h"
#include "model/graph_edit.h"
#include "model/layers.h"
#include "numerics/distribution.h"
#include "vernier/error.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {

std::set<std::string> tensors_to_observe(const Subject& subject) {
  std::set<std::string> tensors;
  const std::map<std::string, const onnx::NodeProto*> nodes = nodes_by_name(subject.model.proto.graph());
  for (const Layer& layer : subject.layers) {
    if (layer.weighted) {
      tensors.insert(layer.inputs.begin(), layer.inputs.end());
      tensors.insert(layer.outputs.begin(), layer.outputs.end());
      continue;
    }
    const std::vector<std::string> read = tensors_of_products(layer, *nodes.at(layer.name));
    for (const std::vector<std::string>* data : {&layer.inputs, &layer.outputs}) {
      for (const std::string& tensor : *data) {
        if (std::ranges::find(read, tensor) != read.end()) tensors.insert(tensor);
      }
    }
  }
  return tensors;
}

namespace {

void add_to_hash(const std::string& name, const Tensor& value, Sha256& hash) {
  const std::string header = fmt::format("{} {} {}\n", name, dtype_name(value.dtype()), shape_text(value.shape()));
  hash.update(std::as_bytes(std::span(header)));
  hash.update(value.bytes());
}

/// Graph inputs pass no operator of ours: they are folded into the reference as they are fed.
void fold_inputs(const Sample& fed, const SampleResult& result, const std::set<std::string>& carried,
                 const std::map<std::string, std::int64_t>& slots, SharedHistograms& histograms, Reference& reference,
                 Sha256& hash) {
  for (const auto& [name, value] : fed) {
    const bool is_state = carried.contains(name) && result.index > 0;  // computed, not read
    if (!is_state) add_to_hash(name, value, hash);
    if (value.dtype() == Dtype::Float32) {
      const auto slot = slots.find(name);
      const std::size_t place = slot == slots.end() ? slots.size() : static_cast<std::size_t>(slot->second);
      if (histograms.wants(place)) {
        reference.ranges[name] += histograms.add(place, result.index, value.floats());
      } else {
        accumulate_range(value.floats(), reference.ranges[name]);
      }
    }
    reference.shapes.emplace(name, value.shape());  // of the first sample
    const Shape& shape = value.shape();
    SeenShapes& seen = reference.inputs.try_emplace(name, SeenShapes{{}, shape, shape}).first->second;
    seen.each.push_back(shape);
    for (std::size_t i = 0; shape.size() == seen.least.size() && i < shape.size(); ++i) {
      seen.least[i] = std::min(seen.least[i], shape[i]);
      seen.most[i] = std::max(seen.most[i], shape[i]);
    }
  }
}

/// Each rank counted the values of the samples it ran: makes one histogram of all. Exact, as sums of counts are.
void join_histograms(Ranks& ranks, std::map<std::string, HalvedHistogram>& histograms,
                     const std::set<std::string>& inputs) {
  Packer packer;
  for (const auto& [tensor, halves] : histograms) {
    if (inputs.contains(tensor)) continue;  // each rank saw all of them
    for (const ValueHistogram& half : halves) pack_histogram(packer, half);
  }
  const std::vector<Message> all = ranks.share(packer.take());
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (rank == ranks.rank()) continue;
    Unpacker unpacker(all[rank]);
    for (auto& [tensor, halves] : histograms) {
      if (inputs.contains(tensor)) continue;
      for (ValueHistogram& half : halves) half += unpack_histogram(unpacker);
    }
  }
}

/// Both ends of what samples are sure to reach, a few of each half being looked at ahead. To count the values of a
/// sample takes a small network longer than to compute them, and a large one a quarter of that.
constexpr std::size_t kFewestToLookAhead = 4;
constexpr std::size_t kOneOfHalf = 200;
constexpr std::size_t kMostOfHalf = 16;

/// What lies between holds no end of either half, by slot. Empty where that would not pay, and where all values count.
std::vector<RangeStats> inner_ranges(const Subject& subject, const Session& session,
                                     const std::map<std::string, std::int64_t>& slots) {
  std::vector<RangeStats> inner(slots.size());
  const std::size_t samples = subject.samples->size();
  if (samples < kFewestToLookAhead || !subject.carries.empty()) return inner;
  const std::size_t few = std::clamp<std::size_t>(samples / kOneOfHalf, 1, kMostOfHalf);
  std::vector<std::size_t> order;
  for (const std::size_t first : {std::size_t{0}, samples / 2}) {
    for (std::size_t i = 0; i < few; ++i) order.push_back(first + i);
  }
  std::array<std::vector<RangeStats>, 2> halves{inner, inner};
  Subject quiet = subject;
  quiet.progress = nullptr;
  set_batch(quiet, 1);
  run_samples(quiet, session, order, Recorder(0, slots.size(), 0), "float model", [&](SampleResult result) {
    std::vector<RangeStats>& half = halves.at(result.index < samples / 2 ? 0 : 1);
    for (std::size_t i = 0; i < half.size(); ++i) half[i] += result.recorder.ranges[i];
    for (const auto& [name, value] : fed_for(subject, session, result)) {
      const auto slot = slots.find(name);
      if (slot == slots.end() || value.dtype() != Dtype::Float32) continue;
      accumulate_range(value.floats(), half[static_cast<std::size_t>(slot->second)]);
    }
    return true;
  });
  for (std::size_t i = 0; i < inner.size(); ++i) {
    const RangeStats &a = halves[0][i], &b = halves[1][i];
    if (a.empty() || b.empty() || std::max(a.absmax(), b.absmax()) >= kNoMask) continue;
    inner[i].min = std::min(std::max(a.min, b.min), 0.0F);
    inner[i].max = std::max(std::min(a.max, b.max), 0.0F);
  }
  return inner;
}

/// One run: samples are taken in order, so that what it has after some of them is what a run of these alone has.
class ReferenceRun {
  static constexpr std::size_t kMostOutputs = std::size_t{128} << 20U;  // bytes that are kept of a run

 public:
  ReferenceRun(const Subject& subject, const std::set<std::string>& observed, const std::set<std::string>& counted,
               Counting counting, BesideReference* beside)
      : subject_(subject),
        observed_(observed),
        counting_(counting),
        beside_(beside),
        samples_(subject.samples->size()) {
    observed_.insert(counted.begin(), counted.end());
    names_.assign(observed_.begin(), observed_.end());
    for (std::size_t i = 0; i < names_.size(); ++i) {
      slots_[names_[i]] = static_cast<std::int64_t>(i);
      wanted_.push_back(counted.contains(names_[i]));
    }
    inner_.resize(names_.size());
    for (const Carry& carry : subject.carries) carried_.insert(carry.input);
    part_ = std::max<std::size_t>(1, subject.threads);
  }

  Reference run(PartialRuns* partial) {
    const Session session = subject_.session(observed_model());
    begin_anew();
    const bool alone = subject_.ranks == nullptr || subject_.ranks->alone();
    if (!subject_.carries.empty() || !alone || subject_.batch > 1) partial = nullptr;
    const bool goes_on = partial != nullptr && continue_from(partial->begin(identity()), session);
    if (goes_on) partial->went_on(place());
    if (!goes_on && counting_ == Counting::Ends) inner_ = inner_ranges(subject_, session, slots_);
    if (!goes_on) count_ends();
    while (done_ < samples_) {
      run_part(session, partial == nullptr ? samples_ - done_ : part_);
      if (partial == nullptr || done_ == samples_ || output_bytes_ > kMostOutputs || !partial->due()) continue;
      partial->save(packed(), place());
    }
    if (beside_ != nullptr) beside_->finish(total_);
    return finished();
  }

 private:
  void begin_anew() {
    reference_ = {};
    total_ = empty_recorder();
    histograms_.emplace(wanted_, samples_);
    hash_.emplace();
    done_ = 0;
    output_bytes_ = 0;
  }

  std::string place() const { return fmt::format("sample {} of {}", done_, samples_); }

  Recorder empty_recorder() const { return {static_cast<std::size_t>(error_slots_), names_.size(), 0}; }

  Model observed_model() {
    Model model = subject_.model;
    if (beside_ != nullptr) {
      error_slots_ = static_cast<std::int64_t>(names_.size());  // a slot has one shape, of Observe or of Compare
      given_out_ = beside_->add_to(model, error_slots_);
    }
    tap(*model.proto.mutable_graph(), observed_, [&](const std::string& raw, const std::string& tensor) {
      return observe_node(raw, tensor, slots_.at(tensor));
    });
    std::map<std::string, Dtype> dtypes;
    for (const InputInfo& output : model_outputs(subject_.model)) dtypes[output.name] = output.dtype;
    std::vector<std::pair<std::string, Dtype>> outputs;
    for (const std::string& name : subject_.judged) outputs.emplace_back(name, dtypes[name]);
    for (const Carry& carry : subject_.carries) outputs.emplace_back(carry.output, dtypes[carry.output]);
    for (const std::string& name : given_out_) outputs.emplace_back(name, Dtype::Float32);
    set_outputs(model, outputs);
    return model;
  }

  void count_ends() {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (wanted_[i]) histograms_->count_ends(i, inner_[i]);
    }
  }

  /// The next samples; their number grows until a part takes as long as makes its ends, where threads wait for each
  /// other, cheap.
  void run_part(const Session& session, std::size_t most) {
    constexpr auto kEnough = std::chrono::milliseconds(500);
    std::vector<std::size_t> order(std::min(most, samples_ - done_));
    std::iota(order.begin(), order.end(), done_);
    const std::size_t before = done_;
    Subject subject = subject_;
    if (subject_.progress) {
      subject.progress = [this, before](const std::string& phase, std::size_t done, std::size_t) {
        subject_.progress(phase, before + done, samples_);
      };
    }
    Recorder empty = empty_recorder();
    if (std::ranges::find(wanted_, true) != wanted_.end()) empty.histograms = &*histograms_;
    const auto start = std::chrono::steady_clock::now();
    run_samples(subject, session, order, empty, "float model", [&](SampleResult result) {
      take(session, std::move(result));
      return true;
    });
    if (std::chrono::steady_clock::now() - start < kEnough) part_ *= 2;
  }

  void take(const Session& session, SampleResult result) {
    if (result.index == samples_ - samples_ / 5) {
      reference_.early = reference_.ranges;
      for (std::size_t i = 0; i < names_.size(); ++i) reference_.early.emplace(names_[i], total_.ranges[i]);
    }
    const Sample fed = fed_for(subject_, session, result);
    fold_inputs(fed, result, carried_, slots_, *histograms_, reference_, *hash_);
    if (beside_ != nullptr) tell_beside(fed, result);
    result.outputs.resize(subject_.judged.size());
    take_outputs(result.index, result.outputs);
    total_ += result.recorder;
    ++done_;
  }

  void tell_beside(const Sample& fed, const SampleResult& result) const {
    std::map<std::string, RangeStats> ranges;
    for (std::size_t i = 0; i < names_.size(); ++i) ranges[names_[i]] = result.recorder.ranges[i];
    for (const auto& [name, value] : fed) {
      if (value.dtype() == Dtype::Float32) accumulate_range(value.floats(), ranges[name] = {});
    }
    beside_->take(std::span(result.outputs).last(given_out_.size()), ranges);
  }

  void take_outputs(std::size_t sample, const std::vector<Tensor>& outputs) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      stats_of(reference_.totals, subject_, subject_.judged[i]).add_sample(sample, outputs[i], outputs[i]);
      output_bytes_ += outputs[i].byte_size();
    }
    reference_.outputs.put(sample, outputs);
  }

  Reference finished() {
    std::set<std::string> inputs;
    for (const auto& [name, shape] : reference_.shapes) inputs.insert(name);
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const bool ends_alone = !inner_[i].empty();
      const bool is_input = reference_.shapes.contains(names_[i]);  // which no Observe sees
      const RangeStats& seen = is_input ? reference_.ranges[names_[i]] : total_.ranges[i];
      if (wanted_[i] && !(ends_alone && seen.absmax() >= kNoMask)) {
        reference_.histograms.emplace(names_[i], histograms_->halves(i));
      }
      if (is_input) continue;
      reference_.ranges[names_[i]] = total_.ranges[i];
      reference_.shapes[names_[i]] = total_.shapes[i];
    }
    reference_.data_sha256 = hash_->hex();
    if (subject_.ranks != nullptr && !subject_.ranks->alone()) {
      subject_.ranks->require_same("samples", reference_.data_sha256);
      if (subject_.carries.empty()) join_histograms(*subject_.ranks, reference_.histograms, inputs);
    }
    return std::move(reference_);
  }

  /// All that results hang on but the samples, whose hash is in what is saved.
  std::string identity() const {
    std::string text = run_identity(subject_) + fmt::format("{} samples", samples_);
    text += counting_ == Counting::Ends ? ", ends\n" : "\n";
    for (std::size_t i = 0; i < names_.size(); ++i) text += names_[i] + (wanted_[i] ? " counted\n" : "\n");
    return text;
  }

  std::string packed() const {
    Packer packer;
    packer.put(done_);
    packer.put(hash_->hex_so_far());
    for (const auto* ranges : {&reference_.ranges, &reference_.early}) {
      packer.put(ranges->size());
      for (const auto& [name, range] : *ranges) {
        packer.put(name);
        packer.put(range);
      }
    }
    packer.put(reference_.shapes.size());
    for (const auto& [name, shape] : reference_.shapes) {
      packer.put(name);
      packer.put(shape);
    }
    packer.put(reference_.inputs.size());
    for (const auto& [name, seen] : reference_.inputs) {
      packer.put(name);
      packer.put(seen.each.size());
      for (const Shape& shape : seen.each) packer.put(shape);
      for (const Shape* shape : {&seen.least, &seen.most}) packer.put(*shape);
    }
    packer.put(total_.ranges);
    for (const Shape& shape : total_.shapes) packer.put(shape);
    packer.put(inner_);
    for (std::size_t sample = 0; sample < done_; ++sample) {
      for (const Tensor& output : reference_.outputs.get(sample)) packer.put(output);
    }
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (!wanted_[i]) continue;
      for (const ValueHistogram& half : histograms_->halves(i)) pack_histogram(packer, half);
    }
    const Message bytes = packer.take();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  /// False, and nothing has begun, where there is nothing, or the samples are others.
  bool continue_from(const std::optional<std::string>& saved, const Session& session) {
    if (!saved) return false;
    try {
      Unpacker unpacker(std::as_bytes(std::span(*saved)));
      const auto done = unpacker.get<std::size_t>();
      const std::string hash = unpacker.get_text();
      if (done > samples_) return false;
      for (std::size_t sample = 0; sample < done; ++sample) {
        SampleResult read;
        read.index = sample;
        for (const auto& [name, value] : fed_for(subject_, session, read)) add_to_hash(name, value, *hash_);
      }
      if (hash_->hex_so_far() != hash) {
        begin_anew();
        return false;
      }
      unpack(unpacker, done);
      return true;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::Internal) throw;
      begin_anew();
      return false;
    }
  }

  void unpack(Unpacker& unpacker, std::size_t done) {
    for (auto* ranges : {&reference_.ranges, &reference_.early}) {
      for (auto left = unpacker.get<std::size_t>(); left > 0; --left) {
        const std::string name = unpacker.get_text();
        (*ranges)[name] = unpacker.get<RangeStats>();
      }
    }
    for (auto left = unpacker.get<std::size_t>(); left > 0; --left) {
      const std::string name = unpacker.get_text();
      reference_.shapes[name] = unpacker.get_vector<Shape::value_type>();
    }
    for (auto left = unpacker.get<std::size_t>(); left > 0; --left) {
      SeenShapes& seen = reference_.inputs[unpacker.get_text()];
      for (auto shapes = unpacker.get<std::size_t>(); shapes > 0; --shapes) {
        seen.each.push_back(unpacker.get_vector<Shape::value_type>());
      }
      for (Shape* shape : {&seen.least, &seen.most}) *shape = unpacker.get_vector<Shape::value_type>();
    }
    total_.ranges = unpacker.get_vector<RangeStats>();
    for (Shape& shape : total_.shapes) shape = unpacker.get_vector<Shape::value_type>();
    inner_ = unpacker.get_vector<RangeStats>();
    count_ends();
    for (std::size_t sample = 0; sample < done; ++sample) {
      std::vector<Tensor> outputs(subject_.judged.size());
      for (Tensor& output : outputs) output = unpacker.get_tensor();
      take_outputs(sample, outputs);
    }
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (!wanted_[i]) continue;
      for (const std::size_t half : {0, 1}) histograms_->add(i, half, unpack_histogram(unpacker));
    }
    done_ = done;
  }

  const Subject& subject_;
  std::set<std::string> observed_;
  Counting counting_;
  BesideReference* beside_;  // null: nothing
  std::size_t samples_;
  std::vector<std::string> names_;  // by slot
  std::map<std::string, std::int64_t> slots_;
  std::vector<bool> wanted_;
  std::set<std::string> carried_;
  std::vector<RangeStats> inner_;
  std::int64_t error_slots_ = 0;
  std::vector<std::string> given_out_;  // by what is beside

  Reference reference_;
  Recorder total_;
  std::optional<SharedHistograms> histograms_;
  std::optional<Sha256> hash_;  // of the samples
  std::size_t done_ = 0;
  std::size_t output_bytes_ = 0;
  std::size_t part_ = 1;
};

}  // namespace

Reference run_reference(const Subject& subject, const std::set<std::string>& observed,
                        const std::set<std::string>& counted, Counting counting, PartialRuns* partial,
                        BesideReference* beside) {
  return telling_way_on(partial,
                        [&] { return ReferenceRun(subject, observed, counted, counting, beside).run(partial); });
}

}  // namespace vernier
