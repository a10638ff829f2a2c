#include "analysis/alike_samples.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr double kMostDifference = 1e-6;  // of the energy

/// S. Vigna's splitmix64: other bits for each `index`.
std::uint64_t mixed(std::uint64_t index) {
  std::uint64_t z = index * 0x9E3779B97F4A7C15ULL + 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

void fold(std::uint64_t& into, std::span<const std::byte> bytes) {
  for (const std::byte byte : bytes) into = (into ^ static_cast<std::uint64_t>(byte)) * 0x100000001B3ULL;  // FNV-1a
}

}  // namespace

AlikeSamples::AlikeSamples(std::shared_ptr<const SampleSource> samples)
    : samples_(std::move(samples)), prints_(samples_->size()) {}

Sample AlikeSamples::at(std::size_t index) const {
  Sample sample = samples_->at(index);
  {
    const std::lock_guard lock(mutex_);
    if (index >= prints_.size() || prints_[index]) return sample;
  }
  const Print print = print_of(sample);
  const std::lock_guard lock(mutex_);
  if (!prints_[index]) ++passed_;
  prints_[index] = print;
  return sample;
}

AlikeSamples::Print AlikeSamples::print_of(const Sample& sample) {
  Print print;
  std::uint64_t element = 0;
  for (const auto& [name, value] : sample) {
    fold(print.others, std::as_bytes(std::span(name)));
    fold(print.others, std::as_bytes(std::span(value.shape())));
    if (value.dtype() != Dtype::Float32) {
      fold(print.others, value.bytes());
      continue;
    }
    for (const float x : value.floats()) {
      std::uint64_t bits = mixed(element++);
      print.energy += static_cast<double>(x) * x;
      for (double& projection : print.projections) {
        projection += (bits & 1) != 0 ? x : -x;
        bits >>= 1;
      }
    }
  }
  return print;
}

bool AlikeSamples::alike(const Print& one, const Print& other) {
  if (one.others != other.others) return false;
  double distance = 0;
  for (std::size_t k = 0; k < kProjections; ++k) {
    const double apart = one.projections[k] - other.projections[k];
    distance += apart * apart;
  }
  return distance / kProjections <= kMostDifference * std::max(one.energy, other.energy);
}

const std::vector<std::size_t>* AlikeSamples::known_first_alike() const {
  const std::lock_guard lock(mutex_);
  if (passed_ < prints_.size()) return nullptr;
  if (first_.empty()) first_ = compared();
  return &first_;
}

const std::vector<std::size_t>& AlikeSamples::first_alike() const {
  const std::vector<std::size_t>* known = known_first_alike();
  for (std::size_t i = 0; known == nullptr && i < size(); ++i) {
    const bool passed = [&] {
      const std::lock_guard lock(mutex_);
      return prints_[i].has_value();
    }();
    if (!passed) at(i);
  }
  return known != nullptr ? *known : *known_first_alike();
}

/// Of all prints.
std::vector<std::size_t> AlikeSamples::compared() const {
  // Samples that are alike have first projections that are near: only those are compared.
  std::vector<std::size_t> order(prints_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(prints_[i]->projections[0], i); });
  double most_energy = 0;
  for (const auto& print : prints_) most_energy = std::max(most_energy, print->energy);
  const double reach = std::sqrt(kProjections * kMostDifference * most_energy);
  std::vector<std::size_t> first(prints_.size());
  std::iota(first.begin(), first.end(), std::size_t{0});
  const auto root = [&](std::size_t i) {
    while (first[i] != i) i = first[i];
    return i;
  };
  for (std::size_t a = 0; a < order.size(); ++a) {
    const Print& one = *prints_[order[a]];
    for (std::size_t b = a + 1; b < order.size(); ++b) {
      const Print& other = *prints_[order[b]];
      if (other.projections[0] - one.projections[0] > reach) break;
      if (!alike(one, other)) continue;
      const std::size_t x = root(order[a]), y = root(order[b]);
      first[std::max(x, y)] = std::min(x, y);
      if (other.projections[0] == one.projections[0]) break;  // it is compared with the next of many copies itself
    }
  }
  for (std::size_t i = 0; i < first.size(); ++i) first[i] = root(i);
  return first;
}

std::vector<std::size_t> first_alike(const SampleSource& samples) {
  if (const auto* compared = dynamic_cast<const AlikeSamples*>(&samples)) return compared->first_alike();
  std::vector<std::size_t> first(samples.size());
  std::iota(first.begin(), first.end(), std::size_t{0});
  return first;
}

std::size_t count_distinct(const SampleSource& samples) {
  const std::vector<std::size_t> first = first_alike(samples);
  std::size_t distinct = 0;
  for (std::size_t i = 0; i < first.size(); ++i) distinct += first[i] == i ? 1 : 0;
  return distinct;
}

}  // namespace vernier
