#include "jobs/debug/narrow_pairs.h"

#include <algorithm>
#include <map>

#include "jobs/debug/wide_pairs.h"
#include "vernier/format.h"

namespace vernier {

std::optional<double> times_of_fitting_range(const QuantParams& params, const GridLoss& loss) {
  if (params.scale.size() != 1 || !is_integer(params.format) || loss.range.empty()) return std::nullopt;
  const auto [low, high] = ends_of(params);
  if (low == 0 ? loss.range.min < 0 : high == 0 && loss.range.max > 0) return std::nullopt;  // a Relu, perhaps
  const float wider = std::max({1.0F, high > 0 ? loss.range.max / high : 0.0F, low < 0 ? loss.range.min / low : 0.0F});
  const double fitting = loss.round_energy * static_cast<double>(wider) * static_cast<double>(wider);
  if (!(fitting > 0)) return std::nullopt;
  return (loss.clip_energy + loss.round_energy) / fitting;
}

std::set<std::size_t> narrow_beside_others(const SimulatedFile& file, const std::vector<GridLoss>& losses) {
  constexpr double kTimes = 3;
  std::map<std::size_t, double> times;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    if (losses[i].count == 0) continue;
    if (const auto one = times_of_fitting_range(file.quantized[i].params, losses[i])) times[i] = *one;
  }
  std::set<std::size_t> narrow;
  for (const auto& [pair, own] : times) {
    std::vector<double> others;
    for (const auto& [other, of_other] : times) {
      if (other != pair) others.push_back(of_other);
    }
    double usual = 1;
    if (!others.empty()) {
      const auto middle = others.begin() + static_cast<std::ptrdiff_t>((others.size() - 1) / 2);
      std::ranges::nth_element(others, middle);
      usual = std::max(usual, *middle);
    }
    if (own >= kTimes * usual) narrow.insert(pair);
  }
  return narrow;
}

std::set<std::size_t> open_below(const SimulatedFile& file, const std::map<std::string, Bounds>& activations,
                                 const std::vector<GridLoss>& losses) {
  std::set<std::size_t> open;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const QuantizedTensor& pair = file.quantized[i];
    const auto stands_for = activations.find(pair.output);
    if (losses[i].count == 0 || stands_for == activations.end() || !is_integer(pair.params.format)) continue;
    if (pair.params.scale.size() != 1 || !has_zero_point(pair.params)) continue;
    if (ends_of(pair.params).first < stands_for->second.first - pair.params.scale.front() / 2) open.insert(i);
  }
  return open;
}

Model with_fitting_ranges(const SimulatedFile& file, std::size_t pair, const std::set<std::size_t>& narrow,
                          const std::vector<GridLoss>& losses) {
  const QuantParams& params = file.quantized[pair].params;
  Model mended = file.model;
  for (const std::size_t i : narrow) {
    const QuantParams& other = file.quantized[i].params;
    if (i == pair || (other.scale == params.scale && other.zero_point == params.zero_point))
      mended = with_range_of(std::move(mended), file.quantized[i], losses[i]);
  }
  return mended;
}

}  // namespace vernier
