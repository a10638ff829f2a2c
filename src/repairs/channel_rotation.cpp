// Without a mean to keep:   Q = D (A x H), D random signs, H the Hadamard matrix of 2^k, A a Hartley matrix, whose
//                           values are at most sqrt(2 / blocks).
// With one, so that 1 Q = 1: Q = P (A x K), P a permutation, K the Kronecker power of a 4 x 4 Hadamard matrix with
// equal
//                           row sums, and A = R diag(1, +-1, ...) R with the Hartley matrix R: R's first row is
//                           constant.
// Signs and the permutation keep patterns of neighbouring channels from adding up in one place again. Sources: S.
// Ashkboos et al., "QuaRot", 2024, for D H; a matrix that keeps the mean needs no change of the norm.
#include "repairs/channel_rotation.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <random>
#include <utility>

namespace vernier {
namespace {

constexpr std::size_t kMostBlocks = 128;

std::size_t largest_power(std::size_t width, std::size_t base) {
  std::size_t power = 1;
  while (width % (power * base) == 0) power *= base;
  return power;
}

std::vector<double> hartley(std::size_t n) {
  std::vector<double> matrix(n * n);
  const auto count = static_cast<double>(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(i * j % n) / count;
      matrix[i * n + j] = (std::cos(angle) + std::sin(angle)) / std::sqrt(count);
    }
  }
  return matrix;
}

/// R diag(1, +-1, ...) R, the flattest of a few.
std::vector<double> keeping_sums(std::size_t n, std::mt19937& random) {
  constexpr int kDraws = 16;
  const std::vector<double> r = hartley(n);
  std::vector<double> best;
  double least = 2;
  for (int draw = 0; draw < kDraws; ++draw) {
    std::vector<double> signs(n, 1);
    for (std::size_t k = 1; k < n; ++k) signs[k] = (random() & 1U) != 0 ? 1 : -1;
    if (draw == 0) std::fill(signs.begin() + 1, signs.end(), -1.0);
    std::vector<double> matrix(n * n);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < n; ++k) {
        const double factor = r[i * n + k] * signs[k];
        for (std::size_t j = 0; j < n; ++j) matrix[i * n + j] += factor * r[k * n + j];
      }
    }
    double most = 0;
    for (const double value : matrix) most = std::max(most, std::abs(value));
    if (most >= least) continue;
    least = most;
    best = std::move(matrix);
  }
  return best;
}

void hadamard(std::span<double> row) {
  for (std::size_t half = 1; half < row.size(); half *= 2) {
    for (std::size_t start = 0; start < row.size(); start += 2 * half) {
      for (std::size_t i = start; i < start + half; ++i) {
        const double a = row[i];
        const double b = row[i + half];
        row[i] = a + b;
        row[i + half] = a - b;
      }
    }
  }
  const double norm = 1 / std::sqrt(static_cast<double>(row.size()));
  for (double& value : row) value *= norm;
}

/// Each step: four values, and half of their sum less each of them, the last first.
void regular_hadamard(std::span<double> row) {
  for (std::size_t part = 1; part < row.size(); part *= 4) {
    for (std::size_t start = 0; start < row.size(); start += 4 * part) {
      for (std::size_t i = start; i < start + part; ++i) {
        double* at = row.data() + i;
        const double half = (at[0] + at[part] + at[2 * part] + at[3 * part]) / 2;
        const double first = at[0];
        const double second = at[part];
        at[0] = half - at[3 * part];
        at[part] = half - at[2 * part];
        at[2 * part] = half - second;
        at[3 * part] = half - first;
      }
    }
  }
}

}  // namespace

bool ChannelRotation::fits(std::size_t width) {
  return width >= 4 && width / largest_power(width, 2) <= kMostBlocks / 2 &&
         width / largest_power(width, 4) <= kMostBlocks;
}

ChannelRotation::ChannelRotation(std::size_t width, bool keeps_mean)
    : width_(width), inside_(largest_power(width, keeps_mean ? 4 : 2)), keeps_mean_(keeps_mean) {
  blocks_ = width_ / inside_;
  std::mt19937 random(20240400);  // the same matrix every time
  if (!keeps_mean) {
    for (std::size_t i = 0; i < width; ++i) signs_.push_back((random() & 1U) != 0 ? 1 : -1);
    if (blocks_ > 1) between_ = hartley(blocks_);
    return;
  }
  if (blocks_ > 2) between_ = keeping_sums(blocks_, random);  // of two blocks there is none but to change them over
  place_.resize(width);
  std::iota(place_.begin(), place_.end(), 0U);
  for (std::size_t i = width; i-- > 1;) std::swap(place_[i], place_[random() % (i + 1)]);
}

void ChannelRotation::turn(std::span<double> row) const {
  if (!place_.empty()) {
    const std::vector<double> before(row.begin(), row.end());
    for (std::size_t i = 0; i < width_; ++i) row[i] = before[place_[i]];
  }
  for (std::size_t i = 0; i < signs_.size(); ++i) row[i] *= signs_[i];
  for (std::size_t block = 0; block < blocks_; ++block) {
    const std::span<double> part = row.subspan(block * inside_, inside_);
    if (keeps_mean_) {
      regular_hadamard(part);
    } else {
      hadamard(part);
    }
  }
  if (between_.empty()) return;
  std::vector<double> mixed(width_);
  for (std::size_t from = 0; from < blocks_; ++from) {
    for (std::size_t to = 0; to < blocks_; ++to) {
      const double factor = between_[from * blocks_ + to];
      for (std::size_t i = 0; i < inside_; ++i) mixed[to * inside_ + i] += factor * row[from * inside_ + i];
    }
  }
  std::ranges::copy(mixed, row.begin());
}

}  // namespace vernier
