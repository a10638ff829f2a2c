#include "jobs/debug/pair_reasons.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/simulated_graph.h"
#include "model/operator_traits.h"
#include "model/output_channels.h"
#include "numerics/grid.h"
#include "numerics/tensor_grid.h"
#include "vernier/format.h"

namespace vernier {
namespace {

constexpr double kMostlyClipped = 0.5;
constexpr double kFarTooWide = 3.5;  // nearly two bits of eight

}  // namespace

std::size_t codes_in(Format format) { return std::size_t{1} << static_cast<unsigned>(bits_of(format)); }

QuantizerLoss described(const QuantizedTensor& quantized) {
  QuantizerLoss row;
  row.tensor = quantized.tensor;
  row.quantizer = quantized.quantizer;
  row.dequantizer = quantized.dequantizer;
  row.format = quantized.params.format;
  const auto [least, most] = std::ranges::minmax_element(quantized.params.scale);
  row.smallest_scale = *least;
  row.largest_scale = *most;
  row.scales = quantized.params.scale.size();
  row.zero_point = quantized.params.zero_point.empty() ? 0 : quantized.params.zero_point.front();
  row.axis = quantized.params.axis;
  row.block = quantized.params.block;
  return row;
}

std::optional<double> used_codes(const QuantParams& params, const Tensor& values) {
  if (!is_integer(params.format) || bits_of(params.format) > 8 || !scales_fit(params, values.shape())) {
    return std::nullopt;
  }
  const std::vector<std::byte> codes = encode_tensor(params, values.shape(), values.floats());
  const std::set<std::byte> used(codes.begin(), codes.end());
  return static_cast<double>(used.size()) / static_cast<double>(codes_in(params.format));
}

QuantizerLoss with_loss(QuantizerLoss row, const QuantParams& params, const GridLoss& loss) {
  row.sqnr_db.reset();
  row.clip_share.reset();
  row.coverage.reset();
  row.values = loss.count;
  if (loss.count == 0) return row;
  const double noise = loss.clip_energy + loss.round_energy;
  row.sqnr_db = noise == 0 ? std::numeric_limits<double>::infinity() : 10 * std::log10(loss.energy / noise);
  if (noise > 0) row.clip_share = loss.clip_energy / noise;
  if (params.scale.size() != 1 || loss.range.empty()) return row;
  const auto [low, high] = ends_of(params);
  const double wanted = std::max(loss.range.max, 0.0F) - std::min(loss.range.min, 0.0F);
  // A one-sided range on a symmetric grid is judged on its own side.
  const double given = (loss.range.max > 0 ? high : 0.0F) - (loss.range.min < 0 ? low : 0.0F);
  if (wanted > 0) row.coverage = given / wanted;
  if (!is_integer(params.format) || row.weight) return row;
  const float step = params.scale.front();
  const double span = std::round((std::min(loss.range.max, high) - std::max(loss.range.min, low)) / step) + 1;
  row.used_codes = std::clamp(span / static_cast<double>(codes_in(params.format)), 0.0, 1.0);
  return row;
}

std::optional<Coverage> coverage_of_channels(const QuantParams& params, const Tensor& values) {
  if (!is_integer(params.format) || !scales_fit(params, values.shape())) return std::nullopt;
  std::vector<std::pair<float, float>> ends;
  for (std::size_t c = 0; c < params.scale.size(); ++c) ends.push_back(ends_of(params, c));
  std::vector<double> needed(ends.size(), 0);  // of the grid, by the largest value
  const std::span<const float> all = values.floats();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t c = scale_index(params, values.shape(), i);
    const float end = all[i] < 0 ? ends[c].first : ends[c].second;
    if (end != 0) needed[c] = std::max(needed[c], static_cast<double>(all[i]) / static_cast<double>(end));
  }
  std::vector<double> covered;
  for (const double share : needed) {
    if (share > 0) covered.push_back(1 / share);
  }
  if (covered.empty()) return std::nullopt;
  const auto middle = covered.begin() + static_cast<std::ptrdiff_t>(covered.size() / 2);
  std::ranges::nth_element(covered, middle);
  Coverage found{.middle = *middle, .scales = covered.size()};
  for (std::size_t c = 0; c < needed.size(); ++c) {
    if (!(needed[c] > 0) || needed[c] * kFarTooWide * std::max(1.0, found.middle) > 1) continue;
    if (found.wide++ > 0) continue;
    found.first = c;
    found.times = 1 / needed[c];
  }
  return found;
}

bool has_far_too_large_scale(const QuantizerLoss& pair) { return pair.coverage && *pair.coverage >= kFarTooWide; }

namespace {

/// Whether what makes `tensor` holds constants that can take a factor of each channel: a Concat or a sum holds none.
bool takes_factors(const Model& model, std::string tensor) {
  std::map<std::string, const onnx::NodeProto*> made_by;
  for (const onnx::NodeProto& node : model.proto.graph().node()) {
    for (const std::string& output : node.output()) made_by[output] = &node;
  }
  for (auto made = made_by.find(tensor); made != made_by.end(); made = made_by.find(tensor)) {
    const onnx::NodeProto& node = *made->second;
    const auto is_constant = [&](const std::string& input) { return input.empty() || is_initializer(model, input); };
    const auto data = std::ranges::find_if_not(node.input(), is_constant);
    if (data == node.input().end() || has(node, Trait::Joins)) return false;
    if (!is_transparent(node) && !has(node, Trait::Moves | Trait::Homogeneous)) {
      return std::ranges::any_of(node.input(), is_constant);
    }
    const bool shaped = node.op_type() == "Reshape" || node.op_type() == "Expand" || node.op_type() == "Slice";
    if (!shaped && std::ranges::find_if_not(std::next(data), node.input().end(), is_constant) != node.input().end()) {
      return false;
    }
    tensor = *data;
  }
  return false;
}

}  // namespace

bool can_scale_down(const SimulatedFile& file, const QuantizedTensor& pair) {
  if (!takes_factors(file.model, pair.tensor)) return false;
  std::set<std::string> values = {pair.output};
  for (const onnx::NodeProto& node : file.model.proto.graph().node()) {
    if (node.input_size() == 0 || !values.contains(node.input(0))) continue;
    if (has_weight_axis(node) && node.input_size() > 1 && is_initializer(file.model, node.input(1))) return true;
    if (is_transparent(node) || has(node, Trait::Moves)) values.insert(node.output().begin(), node.output().end());
  }
  return false;
}

std::string cure_of_few_levels(bool scaled_down) {
  return scaled_down
             ? "keep the layer in a higher format, or run ‹vernier fix›, which scales its large channels down (smooth)"
             : "keep the layer in a higher format";
}

PairReason reason_of_some(const Coverage& coverage, bool blocks) {
  return {fmt::format("the scale of {} {} is {:.3g} times as large as its values need{}", blocks ? "block" : "channel",
                      coverage.first, coverage.times,
                      coverage.wide == 1
                          ? std::string()
                          : fmt::format(", and {} of {} scales are too large", coverage.wide, coverage.scales)),
          fmt::format("store the weight again with a scale for the largest value in each {}",
                      blocks ? "block" : "channel")};
}

PairReason reason_of_loss(const QuantizerLoss& pair, bool scaled_down) {
  if (pair.clip_share && *pair.clip_share >= kMostlyClipped) {
    return {
        fmt::format("its range is too narrow: {:.0f} % of the noise comes from clipped values", 100 * *pair.clip_share),
        pair.weight ? "store the weight again with a range that holds its values"
                    : "calibrate again with samples, or a method, that keep the largest values"};
  }
  if (pair.weight && has_far_too_large_scale(pair)) {
    const std::string used =
        pair.used_codes
            ? fmt::format(", and they use {:.0f} of {} levels",
                          *pair.used_codes * static_cast<double>(codes_in(pair.format)), codes_in(pair.format))
            : std::string();
    return {fmt::format("its scale{} {:.3g} times as large as its values need{}", pair.scales == 1 ? " is" : "s are",
                        *pair.coverage, used),
            pair.scales == 1 ? "store the weight again with a scale for its largest value"
                             : "store the weight again with a scale for the largest value in each channel"};
  }
  if (has_far_too_large_scale(pair)) {
    return {fmt::format("its range is {:.3g} times as wide as its values", *pair.coverage),
            "calibrate again: the range was calibrated on other values"};
  }
  return {fmt::format("{} has too few levels for its values", format_title(pair.format)),
          cure_of_few_levels(scaled_down && !pair.weight)};
}

}  // namespace vernier
