#include "analysis/early_failure.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace vernier {
namespace {

constexpr std::size_t kFirstLook = 8;

std::size_t looks(std::size_t rest) {
  std::size_t count = 0;
  for (std::size_t n = kFirstLook; n < rest; n *= 2) ++count;
  return std::max<std::size_t>(count, 1);
}

/// Quantile of the normal distribution by bisection: asked a handful of times in a process.
double normal_quantile(double p) {
  double low = 0;
  double high = 40;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (0.5 * std::erfc(-middle / std::numbers::sqrt2) < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace

double student_quantile(double p, double degrees) {
  const double two_tails = 2 * (1 - p);
  if (degrees < 1.5) return std::tan(std::numbers::pi * (p - 0.5));
  if (degrees < 2.5) return std::sqrt(2 / (two_tails * (2 - two_tails)) - 2);
  const double a = 1 / (degrees - 0.5);
  const double b = 48 / (a * a);
  double c = ((20700 * a / b - 98) * a - 16) * a + 96.36;
  const double d = ((94.5 / (b + c) - 3) / b + 1) * std::sqrt(a * std::numbers::pi / 2) * degrees;
  double x = d * two_tails;
  double y = std::pow(x, 2 / degrees);
  if (y > 0.05 + a) {
    x = -normal_quantile(p);
    y = x * x;
    if (degrees < 5) c += 0.3 * (degrees - 4.5) * (x + 0.6);
    c += (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b;
    y = (((((0.4 * y + 6.3) * y + 36) * y + 94.5) / c - y - 3) / b + 1) * x;
    y = std::expm1(a * y * y);
  } else {
    y = ((1 / (((degrees + 6) / (degrees * y) - 0.089 * d - 0.822) * (degrees + 2) * 3) + 0.5 / (degrees + 4)) * y -
         1) *
            (degrees + 1) / (degrees + 2) +
        1 / y;
  }
  return std::sqrt(degrees * y);
}

EarlyFailure::EarlyFailure(std::vector<double> paired, std::size_t chosen, double confidence)
    : paired_(std::move(paired)), chosen_(std::min(chosen, paired_.size())), next_look_(kFirstLook) {
  const auto rest = paired_.begin() + static_cast<std::ptrdiff_t>(chosen_);
  paired_rest_ = std::accumulate(rest, paired_.end(), 0.0);
  if (!(paired_rest_ > 0) || !std::isfinite(paired_rest_)) {
    std::fill(paired_.begin(), paired_.end(), 1.0);
    paired_rest_ = static_cast<double>(paired_.size() - chosen_);
  }
  quantile_at_ = 1 - (1 - confidence) / static_cast<double>(looks(paired_.size() - chosen_));
}

bool EarlyFailure::add(double contribution) {
  if (seen_++ < chosen_) {
    chosen_sum_ += contribution;
    return false;
  }
  drawn_.push_back(contribution);
  const std::size_t n = drawn_.size();
  const std::size_t all = paired_.size() - chosen_;
  if (n != next_look_ || n >= all) return false;
  next_look_ *= 2;
  const double* paired = paired_.data() + chosen_;
  const double sum_paired = std::accumulate(paired, paired + n, 0.0);
  if (!(sum_paired > 0)) return false;
  const double ratio = std::accumulate(drawn_.begin(), drawn_.end(), 0.0) / sum_paired;
  double squares = 0;
  for (std::size_t i = 0; i < n; ++i) squares += std::pow(drawn_[i] - ratio * paired[i], 2);
  const auto count = static_cast<double>(n);
  const auto total = static_cast<double>(all);
  const double spread = paired_rest_ / total / (sum_paired / count);  // how much larger the unseen pairs are
  const double error = spread * total * std::sqrt((1 - count / total) / count * squares / (count - 1));
  return chosen_sum_ + ratio * paired_rest_ - student_quantile(quantile_at_, count - 1) * error > 1;
}

}  // namespace vernier
