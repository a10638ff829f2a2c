#include "analysis/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/surgery.h"
#include "base/hash.h"
#include "distributed/wire.h"
#include "engines/onnxruntime/operators.h"
#include "numerics/distribution.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {

std::set<std::string> tensors_to_observe(const Subject& subject) {
  std::set<std::string> tensors;
  for (const Layer& layer : subject.layers) {
    if (!layer.weighted) continue;
    tensors.insert(layer.inputs.begin(), layer.inputs.end());
    tensors.insert(layer.outputs.begin(), layer.outputs.end());
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
      accumulate_range(value.floats(), reference.ranges[name]);
      const auto slot = slots.find(name);
      if (slot != slots.end()) histograms.add(static_cast<std::size_t>(slot->second), result.index, value.floats());
    }
    reference.shapes.emplace(name, value.shape());  // of the first sample
    const Shape& shape = value.shape();
    SeenShapes& seen = reference.inputs.try_emplace(name, SeenShapes{shape, shape, shape}).first->second;
    for (std::size_t i = 0; shape.size() == seen.first.size() && i < shape.size(); ++i) {
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
    for (const ValueHistogram& half : halves) {
      packer.put(half.range());
      packer.put(half.counts());
    }
  }
  const std::vector<Message> all = ranks.share(packer.take());
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (rank == ranks.rank()) continue;
    Unpacker unpacker(all[rank]);
    for (auto& [tensor, halves] : histograms) {
      if (inputs.contains(tensor)) continue;
      for (ValueHistogram& half : halves) {
        const auto range = unpacker.get<RangeStats>();
        half += ValueHistogram(range, unpacker.get_vector<std::int64_t>());
      }
    }
  }
}

/// Both ends of what samples are sure to reach, a few of each half being looked at ahead: a hundredth of them at most.
constexpr std::size_t kOneOfHalf = 200;
constexpr std::size_t kMostOfHalf = 16;

/// What lies between holds no end of either half, by slot. Empty where that would not pay, and where all values count.
std::vector<RangeStats> inner_ranges(const Subject& subject, const Session& session,
                                     const std::map<std::string, std::int64_t>& slots) {
  std::vector<RangeStats> inner(slots.size());
  const std::size_t samples = subject.samples->size();
  const std::size_t few = std::min(kMostOfHalf, samples / kOneOfHalf);
  if (few == 0 || !subject.carries.empty()) return inner;
  std::vector<std::size_t> order;
  for (const std::size_t first : {std::size_t{0}, samples / 2}) {
    for (std::size_t i = 0; i < few; ++i) order.push_back(first + i);
  }
  std::array<std::vector<RangeStats>, 2> halves{inner, inner};
  Subject quiet = subject;
  quiet.progress = nullptr;
  quiet.batch = 1;
  run_samples(quiet, session, order, Recorder(0, slots.size(), 0), "reference", [&](SampleResult result) {
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

}  // namespace

Reference run_reference(const Subject& subject, const std::set<std::string>& observed,
                        const std::set<std::string>& counted, Counting counting) {
  std::set<std::string> all = observed;
  all.insert(counted.begin(), counted.end());
  const std::vector<std::string> names(all.begin(), all.end());
  std::map<std::string, std::int64_t> slots;
  std::vector<bool> wanted;
  for (std::size_t i = 0; i < names.size(); ++i) {
    slots[names[i]] = static_cast<std::int64_t>(i);
    wanted.push_back(counted.contains(names[i]));
  }
  const std::size_t samples = subject.samples->size();
  SharedHistograms histograms(wanted, samples);

  Model model = subject.model;
  tap(*model.proto.mutable_graph(), all,
      [&](const std::string& raw, const std::string& tensor) { return observe_node(raw, tensor, slots.at(tensor)); });
  std::map<std::string, Dtype> dtypes;
  for (const InputInfo& output : model_outputs(subject.model)) dtypes[output.name] = output.dtype;
  std::vector<std::pair<std::string, Dtype>> outputs;
  for (const std::string& name : subject.judged) outputs.emplace_back(name, dtypes[name]);
  std::set<std::string> carried;
  for (const Carry& carry : subject.carries) {
    outputs.emplace_back(carry.output, dtypes[carry.output]);
    carried.insert(carry.input);
  }
  set_outputs(model, outputs);

  Reference reference;
  Recorder empty(0, names.size(), 0);
  Recorder total = empty;
  if (!counted.empty()) empty.histograms = &histograms;
  const Session session = subject.session(model);
  std::vector<RangeStats> inner(names.size());
  if (counting == Counting::Ends) inner = inner_ranges(subject, session, slots);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (wanted[i]) histograms.count_ends(i, inner[i]);
  }
  Sha256 hash;
  run_samples(subject, session, all_samples(subject), empty, "reference", [&](SampleResult result) {
    if (result.index == samples - samples / 5) {
      reference.early = reference.ranges;
      for (std::size_t i = 0; i < names.size(); ++i) reference.early.emplace(names[i], total.ranges[i]);
    }
    fold_inputs(fed_for(subject, session, result), result, carried, slots, histograms, reference, hash);
    result.outputs.resize(subject.judged.size());
    for (std::size_t i = 0; i < result.outputs.size(); ++i) {
      stats_of(reference.totals, subject, subject.judged[i])
          .add_sample(result.index, result.outputs[i], result.outputs[i]);
    }
    reference.outputs.put(result.index, result.outputs);
    total += result.recorder;
    return true;
  });
  std::set<std::string> inputs;
  for (const auto& [name, shape] : reference.shapes) inputs.insert(name);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool ends_alone = !inner[i].empty();
    const RangeStats& seen = reference.shapes.contains(names[i]) ? reference.ranges[names[i]] : total.ranges[i];
    if (wanted[i] && !(ends_alone && seen.absmax() >= kNoMask)) {
      reference.histograms.emplace(names[i], histograms.halves(i));
    }
    if (reference.shapes.contains(names[i])) continue;  // a graph input, which no Observe sees
    reference.ranges[names[i]] = total.ranges[i];
    reference.shapes[names[i]] = total.shapes[i];
  }
  reference.data_sha256 = hash.hex();
  if (subject.ranks != nullptr && !subject.ranks->alone()) {
    subject.ranks->require_same("samples", reference.data_sha256);
    if (subject.carries.empty()) join_histograms(*subject.ranks, reference.histograms, inputs);
  }
  return reference;
}

}  // namespace vernier
