#include "jobs/verify/output_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "analysis/hiding_pairs.h"
#include "analysis/judged_views.h"
#include "analysis/run_tensors.h"
#include "base/hash.h"
#include "base/text.h"
#include "model/graph_walk.h"
#include "numerics/metrics.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr std::size_t kSamplesForConstants = 8;
constexpr std::int64_t kMostChannels = 1024;
constexpr float kVaries = 1e-4F;  // of the largest value: less is rounding

bool counts(Dtype dtype) {
  return dtype != Dtype::Float32 && dtype != Dtype::Float16 && dtype != Dtype::BFloat16 && dtype != Dtype::Float64 &&
         dtype != Dtype::Undefined && dtype != Dtype::String;
}

std::vector<std::vector<std::string>> hashes(const Subject& subject, const Model& model,
                                             const std::vector<std::string>& names) {
  std::vector<std::vector<std::string>> found(names.size());
  run_tensors(subject, model, names, all_samples(subject), [&](std::size_t, const std::vector<Tensor>& got) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      Sha256 hash;
      hash.update(std::as_bytes(std::span(got[i].shape())));
      hash.update(got[i].bytes());
      found[i].push_back(hash.hex());
    }
    return true;
  });
  return found;
}

/// A model and, unless null, what it gave in an earlier run.
struct KnownModel {
  const Model& model;
  const OutputStore* outputs = nullptr;
};

/// Judged outputs, as run_tensors() shows them.
void visit_outputs(const Subject& subject, const KnownModel& of, const std::vector<std::string>& names,
                   const std::vector<std::size_t>& order, const VisitTensors& visit) {
  if (of.outputs == nullptr) return run_tensors(subject, of.model, names, order, visit);
  std::vector<std::size_t> places;
  for (const std::string& name : names) {
    places.push_back(static_cast<std::size_t>(std::ranges::find(subject.judged, name) - subject.judged.begin()));
  }
  for (const std::size_t sample : order) {
    const std::vector<Tensor> all = of.outputs->get(sample);
    std::vector<Tensor> got;
    for (const std::size_t place : places) got.push_back(all.at(place));
    if (!visit(sample, got)) return;
  }
}

std::map<std::string, RangeStats> ranges_of(const Subject& subject, const KnownModel& of,
                                            const std::vector<std::string>& names, bool until_they_vary) {
  std::vector<std::size_t> order = all_samples(subject);
  order.resize(std::min(order.size(), kSamplesForConstants));
  std::map<std::string, RangeStats> ranges;
  visit_outputs(subject, of, names, order, [&](std::size_t, const std::vector<Tensor>& got) {
    bool one_is_constant = false;
    for (std::size_t i = 0; i < names.size(); ++i) {
      RangeStats& range = ranges[names[i]];
      accumulate_range(got[i].floats(), range);
      one_is_constant = one_is_constant || range.min == range.max;
    }
    return one_is_constant || !until_they_vary;
  });
  return ranges;
}

std::string where_it_is_lost(const SimulatedFile& file, const OutputPart& part, const ErrorStats& sums) {
  const std::vector<HidingPair> hiding = pairs_hiding(file, part, sums);
  if (!hiding.empty()) return hiding_text(hiding.back(), part);
  const GraphWalk walk(file.model);
  const onnx::NodeProto* maker = walk.maker(part.output);
  return maker == nullptr ? "" : fmt::format("it is the output of '{}'", printable(maker->name()));
}

/// The values at each place along one axis of an output.
struct Channels {
  int axis = 0;
  bool of_classes = false;  // known to be channels, not places
  std::vector<RangeStats> ranges;
  std::vector<double> energies, sums;

  void add(const Tensor& tensor) {
    const Shape& shape = tensor.shape();
    const auto at = static_cast<std::size_t>(axis);
    ranges.resize(static_cast<std::size_t>(shape[at]));
    energies.resize(ranges.size());
    sums.resize(ranges.size());
    std::size_t inner = 1;
    for (std::size_t i = at + 1; i < shape.size(); ++i) inner *= static_cast<std::size_t>(shape[i]);
    const std::span<const float> values = tensor.floats();
    for (std::size_t first = 0; inner > 0 && first < values.size(); first += inner) {
      const std::size_t channel = first / inner % ranges.size();
      accumulate_range(values.subspan(first, inner), ranges[channel]);
      for (const float value : values.subspan(first, inner)) {
        if (!std::isfinite(value)) continue;
        energies[channel] += static_cast<double>(value) * value;
        sums[channel] += static_cast<double>(value);
      }
    }
  }
  bool constant(std::size_t channel) const { return ranges[channel].count > 1 && same(ranges[channel]); }
  static bool same(const RangeStats& range) { return range.min == range.max; }
};

/// Axes of an output that may be channels: that of its classes where it is known, else all but the first.
std::vector<Channels> channels_of(const Subject& subject, const std::string& output, const Shape& shape) {
  constexpr std::int64_t kMostValues = 1 << 20;
  std::vector<Channels> axes;
  const auto classes = subject.class_axes.find(output);
  const bool known = classes != subject.class_axes.end();
  if ((known && classes->second.compared) || (!known && element_count(shape) > kMostValues)) return axes;
  for (int axis = 1; axis < static_cast<int>(shape.size()); ++axis) {
    const std::int64_t length = shape[static_cast<std::size_t>(axis)];
    const int from_behind = axis - static_cast<int>(shape.size());
    const bool other = known && classes->second.axis != axis && classes->second.axis != from_behind;
    if (!other && length > 1 && length <= kMostChannels) axes.push_back({axis, known, {}, {}, {}});
  }
  return axes;
}

/// By output, over all samples; with `until_they_vary` it ends with the first after which no channel is constant.
std::map<std::string, std::vector<Channels>> channels_in(const Subject& subject, const KnownModel& of,
                                                         const std::vector<std::string>& names, bool until_they_vary) {
  const std::vector<std::size_t> order = all_samples(subject);
  std::map<std::string, std::vector<Channels>> found;
  std::map<std::string, Shape> shapes;
  visit_outputs(subject, of, names, order, [&](std::size_t, const std::vector<Tensor>& got) {
    bool one_is_constant = false;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto [shape, first] = shapes.emplace(names[i], got[i].shape());
      std::vector<Channels>& axes = found[names[i]];
      if (first) axes = channels_of(subject, names[i], got[i].shape());
      if (shape->second != got[i].shape()) axes.clear();  // of another size each time
      for (Channels& channels : axes) {
        channels.add(got[i]);
        one_is_constant = one_is_constant || std::ranges::any_of(channels.ranges, &Channels::same);
      }
    }
    return one_is_constant || !until_they_vary;
  });
  return found;
}

/// Channels that are constant in the typed model only. Places that may be no channels (anchors, pixels) count where
/// they are few, or ten times as small as all others: of many, some are nearly 0 in every sample.
std::vector<std::int64_t> hidden_channels(const Channels& typed, const Channels& reference) {
  constexpr double kApart = 100;      // in energy: 20 dB
  constexpr double kNothing = 1e-12;  // of the largest: channels that are not used
  constexpr std::size_t kFew = 64;
  const double largest = *std::ranges::max_element(reference.energies);
  double most = 0, least = std::numeric_limits<double>::infinity();
  std::vector<std::int64_t> hidden;
  for (std::size_t channel = 0; channel < reference.ranges.size(); ++channel) {
    const RangeStats& range = reference.ranges[channel];
    if (reference.energies[channel] <= kNothing * largest) continue;
    if (!typed.constant(channel)) {
      least = std::min(least, reference.energies[channel]);
    } else if (range.max - range.min > kVaries * range.absmax()) {
      most = std::max(most, reference.energies[channel]);
      hidden.push_back(static_cast<std::int64_t>(channel));
    }
  }
  const bool all_count = reference.of_classes || reference.ranges.size() <= kFew;
  return all_count || most * kApart <= least ? hidden : std::vector<std::int64_t>{};
}

/// Whether a place along the axis belongs to a part that is settled.
bool holds(const OutputPart& part, std::int64_t place) {
  if (!part.places.empty()) return std::ranges::find(part.places, place) != part.places.end();
  return place >= part.begin && (!part.end || place < *part.end) && (place - part.begin) % part.step == 0;
}

/// `hidden` channels of an output: what one scale did to them.
Note hidden_note(const SimulatedFile& file, const std::string& output, const Channels& typed, const Channels& reference,
                 const std::vector<std::int64_t>& hidden) {
  OutputPart part{{}, output, reference.axis, 0, std::nullopt, 1, hidden};
  part.name = part_name(part);
  RangeStats all;
  ErrorStats sums;
  std::vector<std::string> numbers;
  for (const std::int64_t place : hidden) {
    const auto channel = static_cast<std::size_t>(place);
    const RangeStats& range = reference.ranges[channel];
    const auto count = static_cast<double>(range.count), got = static_cast<double>(typed.ranges[channel].min);
    all.min = numbers.empty() ? range.min : std::min(all.min, range.min);
    all.max = numbers.empty() ? range.max : std::max(all.max, range.max);
    sums.count += range.count;
    sums.ref_energy += reference.energies[channel];
    sums.error_energy += reference.energies[channel] - 2 * got * reference.sums[channel] + count * got * got;
    numbers.push_back(std::to_string(place));
  }
  sums.max_abs_ref = static_cast<double>(std::max(std::abs(all.min), std::abs(all.max)));
  return {"places-constant",
          {{"count", hidden.size()},
           {"of", reference.ranges.size()},
           {"axis", reference.axis},
           {"output", output},
           {"places", numbers},
           {"min", all.min},
           {"max", all.max},
           {"where", where_it_is_lost(file, part, sums)}}};
}

/// Of all outputs; `constant`: outputs and parts that are constant as a whole, of which a note says so.
void add_hidden_channels(const Subject& subject, const SimulatedFile& file, const KnownValues& known,
                         const std::set<std::string>& constant, std::vector<Note>& notes) {
  std::vector<std::string> names = subject.judged;
  std::erase_if(names, [&](const std::string& name) {
    const auto part = std::ranges::find(subject.parts, name, &OutputPart::name);
    return constant.contains(name) ||
           (part != subject.parts.end() && std::ranges::find(subject.judged, part->output) != subject.judged.end());
  });
  if (names.empty()) return;
  const auto typed = channels_in(subject, {file.model, known.typed}, names, /*until_they_vary=*/true);
  std::erase_if(names, [&](const std::string& name) {
    return std::ranges::none_of(
        typed.at(name), [](const Channels& channels) { return std::ranges::any_of(channels.ranges, &Channels::same); });
  });
  if (names.empty()) return;
  const auto reference = channels_in(subject, {subject.model, known.reference}, names, /*until_they_vary=*/false);
  for (const std::string& name : names) {
    for (std::size_t i = 0; i < typed.at(name).size() && i < reference.at(name).size(); ++i) {
      const Channels& channels = reference.at(name)[i];
      if (channels.ranges.size() != typed.at(name)[i].ranges.size()) continue;
      std::vector<std::int64_t> hidden = hidden_channels(typed.at(name)[i], channels);
      for (const OutputPart& part : subject.parts) {
        if (part.output != name || part.axis != channels.axis || !constant.contains(part.name)) continue;
        std::erase_if(hidden, [&](std::int64_t place) { return holds(part, place); });
      }
      if (hidden.empty()) continue;
      notes.push_back(hidden_note(file, name, typed.at(name)[i], channels, hidden));
      break;
    }
  }
}

/// Of all values of an output.
struct Moments {
  double count = 0, sum = 0, squares = 0;
  RangeStats range;

  void add(std::span<const float> values) {
    accumulate_range(values, range);
    for (const float value : values) {
      if (!std::isfinite(value)) continue;
      ++count;
      sum += static_cast<double>(value);
      squares += static_cast<double>(value) * static_cast<double>(value);
    }
  }
  double mean() const { return sum / count; }
  double variance() const { return squares / count - mean() * mean(); }
  /// Values of both signs, or from 0 on, have no such mean.
  bool may_be_far() const { return std::min(std::abs(range.min), std::abs(range.max)) > 0.3F * range.absmax(); }
};

/// The values at each place of an output over the samples: what a network says of a sample lies around what is added
/// at the place in all of them, as a grid is to boxes.
struct PlaceMoments {
  std::size_t samples = 0;
  Shape shape;
  std::vector<double> sums;
  double squares = 0;
  bool usable = true;

  void add(const Tensor& tensor) {
    constexpr std::size_t kMostPlaces = std::size_t{1} << 20;  // of more, each second, third, ...
    const std::span<const float> values = tensor.floats();
    if (samples++ == 0) shape = tensor.shape();
    usable = usable && shape == tensor.shape() && !values.empty();
    if (!usable) return;
    const std::size_t step = (values.size() + kMostPlaces - 1) / kMostPlaces;
    sums.resize((values.size() + step - 1) / step);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const auto value = static_cast<double>(values[i * step]);
      if (!std::isfinite(value)) usable = false;
      sums[i] += value;
      squares += value * value;
    }
  }
  /// Of the values around their mean at each place; as many samples as there are leave (n-1)/n of it.
  double spread() const {
    const auto n = static_cast<double>(samples);
    double means = 0;
    for (const double sum : sums) means += sum * sum / n;
    return std::max(squares - means, 0.0) * n / (n - 1);
  }
  /// All energy by that of the spread; 0: not known.
  double flattery() const {
    const double around = samples < 2 || !usable ? 0 : spread();
    return around > 1e-9 * squares ? squares / around : 0;
  }
  double size() const { return static_cast<double>(samples) * static_cast<double>(sums.size()); }
};

constexpr double kFar = 10;  // the energy of the mean, by that of the spread

std::optional<Note> offset_note(const std::string& name, const Moments& moments, double db) {
  constexpr double kFewest = 2;
  if (moments.count < kFewest || !moments.may_be_far()) return std::nullopt;
  const double energy = moments.mean() * moments.mean(), variance = moments.variance();
  if (!(variance > 1e-9 * energy) || energy <= kFar * variance) return std::nullopt;
  return Note{"output-offset",
              {{"output", name},
               {"mean", moments.mean()},
               {"spread", std::sqrt(variance)},
               {"spread_db", db - 10 * std::log10(1 + energy / variance)},
               {"db", db}}};
}

std::optional<Note> place_offset_note(const std::string& name, const PlaceMoments& places, double db) {
  constexpr std::size_t kFewest = 4;  // samples
  constexpr double kTelling = 20;     // dB: a spread with more is told well enough
  const double flattery = places.flattery();
  const double spread_db = db - 10 * std::log10(std::max(flattery, 1.0));
  if (places.samples < kFewest || flattery <= 1 + kFar || spread_db >= kTelling) return std::nullopt;
  return Note{"output-offset-by-place",
              {{"output", name},
               {"rms", std::sqrt(places.squares / places.size())},
               {"spread", std::sqrt(places.spread() / places.size())},
               {"spread_db", spread_db},
               {"db", db}}};
}

}  // namespace

std::vector<Note> offset_outputs(const Subject& subject, const RunFigures& figures, const KnownValues& known) {
  std::vector<std::size_t> order = all_samples(subject);
  order.resize(std::min(order.size(), kSamplesForConstants));
  std::map<std::string, Moments> found;
  std::map<std::string, PlaceMoments> places;
  std::vector<std::string> names = subject.judged;
  std::erase_if(names, [&](const std::string& name) {
    return std::ranges::find(figures.outputs, name, &OutputFigure::name) == figures.outputs.end();
  });
  if (names.empty()) return {};
  const KnownModel of{subject.model, known.reference};
  visit_outputs(subject, of, names, order, [&](std::size_t, const std::vector<Tensor>& got) {
    bool one_may_be = false;
    for (std::size_t i = 0; i < names.size(); ++i) {
      Moments& moments = found[names[i]];
      moments.add(got[i].floats());
      PlaceMoments& at_places = places[names[i]];
      at_places.add(got[i]);
      const bool grid = at_places.usable && (at_places.samples < 2 || at_places.flattery() > kFar / 2);
      one_may_be = one_may_be || moments.may_be_far() || grid;
    }
    return one_may_be;
  });
  std::vector<Note> notes;
  for (const std::string& name : names) {
    const double db = std::ranges::find(figures.outputs, name, &OutputFigure::name)->sqnr_db;
    if (!std::isfinite(db)) continue;
    std::optional<Note> note = offset_note(name, found.at(name), db);
    if (!note) note = place_offset_note(name, places.at(name), db);
    if (note) notes.push_back(std::move(*note));
  }
  return notes;
}

std::vector<ExactOutput> compare_exact_outputs(const Subject& subject, const SimulatedFile& file) {
  std::vector<std::string> names;
  std::vector<ExactOutput> rows;
  for (const InputInfo& output : model_outputs(subject.model)) {
    const bool state = std::ranges::find(subject.carries, output.name, &Carry::output) != subject.carries.end();
    if (!counts(output.dtype) || state) continue;
    names.push_back(output.name);
    ExactOutput& row = rows.emplace_back();
    row.name = output.name;
    row.what = not_judged_text(subject.model, output);
  }
  if (names.empty()) return rows;
  const auto reference = hashes(subject, subject.model, names);
  const auto got = hashes(subject, file.model, names);
  for (std::size_t i = 0; i < names.size(); ++i) {
    rows[i].samples = reference[i].size();
    for (std::size_t k = 0; k < reference[i].size(); ++k) rows[i].equal += reference[i][k] == got[i][k] ? 1 : 0;
  }
  return rows;
}

std::vector<Note> constant_outputs(const Subject& subject, const SimulatedFile& file,
                                   const std::map<std::string, OutputStats>& sums, const KnownValues& known) {
  std::vector<std::string> suspects;
  const KnownModel typed{file.model, known.typed};
  for (const auto& [name, range] : ranges_of(subject, typed, subject.judged, /*until_they_vary=*/true)) {
    if (range.count > 1 && range.min == range.max) suspects.push_back(name);
  }
  std::map<std::string, RangeStats> reference;
  if (!suspects.empty())
    reference = ranges_of(subject, {subject.model, known.reference}, suspects, /*until_they_vary=*/false);
  std::vector<Note> notes;
  std::set<std::string> constant;
  for (const auto& [name, range] : reference) {
    if (range.empty() || !(range.max - range.min > kVaries * range.absmax())) continue;
    const auto part = std::ranges::find(subject.parts, name, &OutputPart::name);
    const OutputPart whole{name, name, 0, 0, std::nullopt};
    constant.insert(name);
    notes.push_back(
        {"output-constant",
         {{"output", name},
          {"min", range.min},
          {"max", range.max},
          {"where", where_it_is_lost(file, part == subject.parts.end() ? whole : *part, sums.at(name).pooled)}}});
  }
  add_hidden_channels(subject, file, known, constant, notes);
  return notes;
}

}  // namespace vernier
