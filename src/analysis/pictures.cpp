#include "analysis/pictures.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>

#include "analysis/channel_stats.h"
#include "analysis/packed_histogram.h"
#include "analysis/surgery.h"
#include "base/parallel.h"
#include "distributed/ranks.h"
#include "distributed/spread.h"
#include "distributed/wire.h"
#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "model/output_channels.h"
#include "numerics/grid.h"
#include "numerics/histogram.h"
#include "vernier/format.h"
#include "vernier/samples.h"

namespace vernier {
namespace {

constexpr std::int64_t kMostElements = 16'000'000;
constexpr std::int64_t kMostEntries = 256;

/// Everything that is gathered of one tensor while samples pass by.
struct Gathered {
  ValueHistogram reference, low;
  ChannelRanges channels;
};

void fold_channels(const Tensor& tensor, std::size_t axis, ChannelRanges& ranges) {
  if (tensor.shape().empty() || tensor.count() == 0) return;
  const std::int64_t channels = tensor.shape()[axis];
  if (ranges.channels == 0) {
    ranges.channels = channels;
    ranges.per_entry = (channels + kMostEntries - 1) / kMostEntries;
    const auto entries = static_cast<std::size_t>((channels + ranges.per_entry - 1) / ranges.per_entry);
    ranges.low.assign(entries, std::numeric_limits<double>::infinity());
    ranges.high.assign(entries, -std::numeric_limits<double>::infinity());
  }
  if (channels != ranges.channels) return;  // a dynamic dimension: its indices mean nothing
  std::int64_t inner = 1;
  for (std::size_t d = axis + 1; d < tensor.shape().size(); ++d) inner *= tensor.shape()[d];
  const std::span<const float> values = tensor.floats();
  for (std::int64_t row = 0; row < tensor.count() / inner; ++row) {
    RangeStats stats;
    accumulate_range(values.subspan(static_cast<std::size_t>(row * inner), static_cast<std::size_t>(inner)), stats);
    if (stats.empty()) continue;
    const auto entry = static_cast<std::size_t>(row % channels / ranges.per_entry);
    ranges.low[entry] = std::min(ranges.low[entry], static_cast<double>(stats.min));
    ranges.high[entry] = std::max(ranges.high[entry], static_cast<double>(stats.max));
  }
}

/// Entries that saw no finite value would have no ends.
std::optional<ChannelRanges> complete(ChannelRanges ranges) {
  const auto infinite = [](double value) { return std::isinf(value); };
  if (ranges.channels < 2 || std::any_of(ranges.low.begin(), ranges.low.end(), infinite)) return std::nullopt;
  return ranges;
}

void count_linear(const ValueHistogram& seen, const ValuePicture& picture, std::vector<std::int64_t>& counts) {
  counts.assign(kPictureBins, 0);
  const double width = (picture.last - picture.first) / static_cast<double>(kPictureBins);
  for (const Bin& bin : seen.bins()) {
    const double place = (static_cast<double>(bin.middle()) - picture.first) / width;
    counts[static_cast<std::size_t>(std::clamp(place, 0.0, static_cast<double>(kPictureBins - 1)))] += bin.count;
  }
}

void count_logarithmic(const ValueHistogram& seen, const ValuePicture& picture, std::vector<std::int64_t>& counts,
                       std::int64_t& zeros) {
  counts.assign(kPictureBins, 0);
  const double width = (picture.last - picture.first) / static_cast<double>(kPictureBins);
  for (const Bin& bin : seen.bins()) {
    const double size = std::abs(static_cast<double>(bin.middle()));
    if (size == 0) {
      zeros += bin.count;
      continue;
    }
    const double place = (std::log2(size) - picture.first) / width;
    counts[static_cast<std::size_t>(std::clamp(place, 0.0, static_cast<double>(kPictureBins - 1)))] += bin.count;
  }
}

/// The smallest and the largest log2 |value| of both histograms; false when all is zero.
bool logarithmic_ends(const Gathered& gathered, ValuePicture& picture) {
  picture.first = std::numeric_limits<double>::infinity();
  picture.last = -std::numeric_limits<double>::infinity();
  for (const ValueHistogram* seen : {&gathered.reference, &gathered.low}) {
    for (const Bin& bin : seen->bins()) {
      const double size = std::abs(static_cast<double>(bin.middle()));
      if (size == 0) continue;
      picture.first = std::min(picture.first, std::floor(std::log2(size)));
      picture.last = std::max(picture.last, std::floor(std::log2(size)) + 1);
    }
  }
  return picture.first < picture.last;
}

/// The step of an integer format, and where the grid ends.
void put_grid(const QuantParams& params, ValuePicture& picture) {
  if (params.scale.size() != 1) return;
  const GridEnds ends = grid_ends(params);
  picture.clip_low = ends.low;
  picture.clip_high = ends.high;
  if (is_integer(params.format)) picture.step = static_cast<double>(params.scale.front());
}

/// Without bins where there is nothing to draw.
ValuePicture picture_of(const std::string& tensor, PictureRole role, Format format, const QuantParams* params,
                        const Gathered& gathered) {
  ValuePicture picture;
  picture.tensor = tensor;
  picture.role = role;
  picture.low_nonfinite = gathered.low.range().nonfinite;
  picture.logarithmic = !needs_scale(format);
  if (picture.logarithmic) {
    if (!logarithmic_ends(gathered, picture)) return picture;
    count_logarithmic(gathered.reference, picture, picture.reference, picture.reference_zeros);
    count_logarithmic(gathered.low, picture, picture.low, picture.low_zeros);
    if (format == Format::Float16) {
      picture.clip_high = 16;  // 65504 is the last value below 2^16
      picture.smallest = -24;  // the smallest subnormal
    }
  } else {
    const RangeStats& a = gathered.reference.range();
    const RangeStats& b = gathered.low.range();
    if (a.empty()) return picture;
    picture.first = b.empty() ? a.min : std::min(a.min, b.min);
    picture.last = b.empty() ? a.max : std::max(a.max, b.max);
    if (!(picture.first < picture.last)) return picture;
    count_linear(gathered.reference, picture, picture.reference);
    count_linear(gathered.low, picture, picture.low);
    if (params != nullptr) put_grid(*params, picture);
  }
  picture.channels = complete(gathered.channels);
  if (picture.channels) picture.channels->tensor = tensor;
  return picture;
}

/// The first weight of a layer as the float network has it and as it lies on its grid, by output channel.
std::optional<ValuePicture> weight_picture(const Model& model, const Model& repaired, const Layer& layer,
                                           const onnx::NodeProto& node, Format format, const Plan& plan,
                                           RoundedWeights& weights) {
  if (!layer.weighted || layer.weights.empty()) return std::nullopt;
  const std::string& name = layer.weights.front();
  const auto input = std::ranges::find(node.input(), name);
  const std::optional<Tensor> values = initializer(model, name);
  if (input == node.input().end() || !values || values->dtype() != Dtype::Float32) return std::nullopt;
  if (values->count() > kMostElements) return std::nullopt;
  const LayerRounding rounding = rounding_of(repaired, layer, node, format, plan);
  const auto grid = rounding.weight_grids.find(static_cast<int>(input - node.input().begin()));
  if (grid == rounding.weight_grids.end()) return std::nullopt;

  Gathered gathered;
  gathered.reference.add(values->floats());
  gathered.low.add(weights.get(repaired, name, grid->second).floats());
  const int axis = weight_axis(node, values->shape());
  if (axis >= 0) fold_channels(*values, static_cast<std::size_t>(axis), gathered.channels);
  ValuePicture picture = picture_of(name, PictureRole::Weight, format, &grid->second.params, gathered);
  if (picture.reference.empty()) return std::nullopt;
  return picture;
}

using Seen = std::map<std::string, Gathered>;

void pack_seen(const Seen& seen, Packer& packer) {
  packer.put(seen.size());
  for (const auto& [tensor, gathered] : seen) {
    packer.put(tensor);
    pack_histogram(packer, gathered.reference);
    pack_histogram(packer, gathered.low);
    packer.put(gathered.channels.channels);
    packer.put(gathered.channels.per_entry);
    packer.put(gathered.channels.low);
    packer.put(gathered.channels.high);
  }
}

Seen unpack_seen(Unpacker& unpacker) {
  Seen seen;
  for (auto left = unpacker.get<std::size_t>(); left > 0; --left) {
    Gathered& gathered = seen[unpacker.get_text()];
    gathered.reference = unpack_histogram(unpacker);
    gathered.low = unpack_histogram(unpacker);
    gathered.channels.channels = unpacker.get<std::int64_t>();
    gathered.channels.per_entry = unpacker.get<std::int64_t>();
    gathered.channels.low = unpacker.get_vector<double>();
    gathered.channels.high = unpacker.get_vector<double>();
  }
  return seen;
}

/// One layer, and which of its tensors are looked at.
struct Chosen {
  const Layer* layer = nullptr;
  Format format = Format::Float32;
  std::vector<std::string> inputs;
  std::string output;
};

class Gallery {
 public:
  Gallery(const Subject& subject, const Plan& plan, const std::vector<std::string>& layers,
          const std::map<std::string, Shape>& shapes)
      : subject_(subject), plan_(plan) {
    choose(layers, shapes);
  }

  bool empty() const { return chosen_.empty(); }

  /// The float network and the low one, side by side on threads or ranks: most of it is counting, which is work of one
  /// thread.
  void run(const std::function<Model(bool low)>& model_of, const std::vector<std::size_t>& samples) {
    std::mutex telling;
    const Subject alone = on_one_thread(subject_, telling);
    Ranks one;
    spread_by_cost(
        subject_.ranks == nullptr ? one : *subject_.ranks, {1, 1}, subject_.threads,
        [&](std::size_t low) { return run_one(alone, model_of(low == 1), low == 1, samples); },
        [&](std::size_t low, Seen seen) {
          if (low == 0) {
            gathered_ = std::move(seen);
          } else {
            for (auto& [tensor, of] : seen) gathered_[tensor].low = std::move(of.low);
          }
          return true;
        },
        pack_seen, unpack_seen);
  }

  std::vector<LayerPicture> pictures(RoundedWeights& weights, std::size_t samples) const {
    const Model repaired = with_repaired_constants(subject_.model, plan_);
    const std::map<std::string, const onnx::NodeProto*> nodes = nodes_by_name(subject_.model.proto.graph());
    const auto picture_of_layer = [&](std::size_t i) {
      const Chosen& chosen = chosen_[i];
      LayerPicture picture;
      picture.layer = chosen.layer->name;
      picture.samples = samples;
      for (const std::string& tensor : chosen.inputs) {
        add(picture, tensor, PictureRole::Input, chosen.format);
      }
      if (auto weight = weight_picture(subject_.model, repaired, *chosen.layer, *nodes.at(chosen.layer->name),
                                       chosen.format, plan_, weights)) {
        picture.tensors.push_back(std::move(*weight));
      }
      add(picture, chosen.output, PictureRole::Output, chosen.format);
      return picture;
    };
    std::vector<LayerPicture> all;
    parallel_ordered(chosen_.size(), subject_.threads, picture_of_layer, [&](std::size_t, LayerPicture picture) {
      all.push_back(std::move(picture));
      return true;
    });
    return all;
  }

 private:
  Seen run_one(const Subject& subject, Model marked, bool low, const std::vector<std::size_t>& samples) const {
    std::set<std::string> fed;
    for (const InputInfo& input : model_inputs(subject_.model)) fed.insert(input.name);
    std::vector<std::pair<std::string, Dtype>> outputs;
    std::set<std::string> taken;
    for (const auto& [tensor, unused] : axis_of_) {
      if (!fed.contains(tensor) && taken.insert(tensor).second) outputs.emplace_back(tensor, Dtype::Float32);
    }
    std::map<std::string, Dtype> dtypes;
    for (const InputInfo& output : model_outputs(subject_.model)) dtypes[output.name] = output.dtype;
    for (const Carry& carry : subject_.carries) {
      if (taken.insert(carry.output).second) outputs.emplace_back(carry.output, dtypes[carry.output]);
    }
    Seen seen;
    if (outputs.empty()) return seen;
    set_outputs(marked, outputs);
    const Session session = subject.session(marked);
    run_samples(subject, session, samples, Recorder(0, 0, 0), "pictures", [&](SampleResult result) {
      const Sample given_inputs = fed_for(subject, session, result);
      for (const auto& [tensor, axis] : axis_of_) {
        if (const auto given = given_inputs.find(tensor); given != given_inputs.end()) {
          fold(tensor, given->second, low, seen);
        }
      }
      for (std::size_t i = 0; i < outputs.size(); ++i) fold(outputs[i].first, result.outputs[i], low, seen);
      return true;
    });
    return seen;
  }

  void choose(const std::vector<std::string>& layers, const std::map<std::string, Shape>& shapes) {
    std::unordered_map<std::string, const Layer*> by_name;
    for (const Layer& layer : subject_.layers) {
      if (layer.graph.empty() && !layer.follows) by_name[layer.name] = &layer;
    }
    const std::map<std::string, ValueType> types = infer_types(subject_.model);
    std::int64_t elements = 0;
    for (const std::string& name : layers) {
      const auto found = by_name.find(name);
      if (found == by_name.end() || chosen_.size() == kMostPictures) continue;
      Chosen chosen{found->second, plan_.format_of(name), {}, found->second->outputs.front()};
      if (chosen.format == Format::Float32) continue;
      chosen.inputs = chosen.layer->inputs;
      if (chosen.inputs.size() > 2) chosen.inputs.resize(2);
      std::vector<std::string> tensors = chosen.inputs;
      tensors.push_back(chosen.output);
      const bool plain = std::all_of(tensors.begin(), tensors.end(), [&](const std::string& tensor) {
        const auto type = types.find(tensor);
        return type != types.end() && type->second.dtype == Dtype::Float32;
      });
      if (!plain) continue;
      for (const std::string& tensor : tensors) {
        const auto shape = shapes.find(tensor);
        if (axis_of_.contains(tensor)) continue;
        elements += shape == shapes.end() ? known_count(types.at(tensor)) : element_count(shape->second);
      }
      if (elements > kMostElements) break;
      for (const std::string& tensor : tensors) axis_of_.emplace(tensor, chosen.layer);
      chosen_.push_back(std::move(chosen));
    }
  }

  static std::int64_t known_count(const ValueType& type) {
    std::int64_t count = 1;
    for (const std::int64_t dim : type.shape) count *= std::max<std::int64_t>(dim, 1);
    return count;
  }

  const QuantParams* grid_of(const std::string& tensor, Format format) const {
    if (!needs_scale(format) || plan_.weights_alone(format)) return nullptr;
    const auto found = plan_.tensors.find(tensor);
    if (found == plan_.tensors.end() || found->second.scale.size() != 1 || found->second.dynamic) return nullptr;
    return &found->second;
  }

  /// A tensor that layers read in different formats is shown as the first of them reads it.
  void fold(const std::string& tensor, const Tensor& value, bool low, Seen& seen) const {
    const auto reader = axis_of_.find(tensor);
    if (reader == axis_of_.end() || value.dtype() != Dtype::Float32 || value.shape().empty()) return;
    Gathered& gathered = seen[tensor];
    if (!low) {
      gathered.reference.add(value.floats());
      fold_channels(value, channel_axis(*reader->second, value.shape().size()), gathered.channels);
      return;
    }
    const QuantParams* grid = grid_of(tensor, plan_.format_of(reader->second->name));
    if (grid == nullptr) {
      gathered.low.add(value.floats());
    } else {
      std::vector<float> rounded(value.floats().size());
      round_to(*grid, value.floats(), rounded);
      gathered.low.add(rounded);
    }
  }

  void add(LayerPicture& picture, const std::string& tensor, PictureRole role, Format format) const {
    const auto found = gathered_.find(tensor);
    if (found == gathered_.end()) return;
    ValuePicture made = picture_of(tensor, role, format, grid_of(tensor, format), found->second);
    if (!made.reference.empty()) picture.tensors.push_back(std::move(made));
  }

  const Subject& subject_;
  const Plan& plan_;
  std::vector<Chosen> chosen_;
  std::map<std::string, const Layer*> axis_of_;  // tensors looked at, with the layer they are looked at for
  Seen gathered_;
};

}  // namespace

std::vector<LayerPicture> layer_pictures(const Subject& subject, const Plan& plan, RoundedWeights& weights,
                                         const std::vector<std::string>& layers,
                                         const std::vector<std::size_t>& samples,
                                         const std::map<std::string, Shape>& shapes) {
  Gallery gallery(subject, plan, layers, shapes);
  if (gallery.empty() || samples.empty()) return {};
  gallery.run(
      [&](bool low) { return low ? lower_simulated(subject.model, subject.layers, plan, weights) : subject.model; },
      samples);
  return gallery.pictures(weights, samples.size());
}

}  // namespace vernier
