#include "analysis/early_failure.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "analysis/quantiles.h"

namespace vernier {
namespace {

constexpr std::size_t kFirstLook = 8;

std::size_t looks(std::size_t rest) {
  std::size_t count = 0;
  for (std::size_t n = kFirstLook; n < rest; n *= 2) ++count;
  return std::max<std::size_t>(count, 1);
}

}  // namespace

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
