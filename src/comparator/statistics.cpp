#include "comparator/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "base/elements.h"
#include "comparator/series.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {
namespace {

/// One tensor on its way through the passes, in the narrower of the two arithmetics.
class Reading {
 public:
  explicit Reading(const Tensor& tensor) : tensor_(tensor), series_(make(tensor)) {
    if (dtype_bits(tensor.dtype()) == 0) {
      throw Error(ErrorCode::NotMeasurable, fmt::format("{} elements are not numbers", dtype_name(tensor.dtype())));
    }
  }

  void pass() {
    std::visit([this](auto& series) { run(series); }, series_);
  }
  bool next_pass() {
    return std::visit([](auto& series) { return series.next_pass(); }, series_);
  }
  std::pair<double, double> range() const {
    return std::visit([](const auto& series) { return series.range(); }, series_);
  }
  void want_histogram(double low, double high) {
    std::visit([&](auto& series) { series.want_histogram(low, high); }, series_);
  }
  void finish() {
    while (next_pass()) pass();
  }
  Summary summary() const {
    return std::visit([](const auto& series) { return Summary{series.stats(), series.histogram()}; }, series_);
  }

 private:
  using AnySeries = std::variant<Series<float>, Series<double>>;
  static AnySeries make(const Tensor& tensor) {
    if (fits_float32(tensor.dtype())) return Series<float>(tensor.count());
    return Series<double>(tensor.count());
  }
  template <class T>
  void run(Series<T>& series) {
    std::vector<T> room;
    for (std::int64_t first = 0; first < tensor_.count(); first += kBlock) {
      const auto n = static_cast<std::size_t>(std::min<std::int64_t>(kBlock, tensor_.count() - first));
      series.add(read_block(tensor_, first, n, room));
    }
  }

  const Tensor& tensor_;
  AnySeries series_;
};

}  // namespace

ValueStats stats_of(const Tensor& tensor) {
  Reading reading(tensor);
  reading.pass();
  reading.finish();
  return reading.summary().stats;
}

Summary summary_of(const Tensor& tensor) {
  Reading reading(tensor);
  reading.pass();
  const auto [low, high] = reading.range();
  reading.want_histogram(low, high);
  reading.finish();
  return reading.summary();
}

std::pair<Summary, Summary> summaries_of(const Tensor& one, const Tensor& other, bool histograms) {
  Reading first(one);
  Reading second(other);
  first.pass();
  second.pass();
  if (histograms) {
    const auto [low, high] = first.range();
    const auto [other_low, other_high] = second.range();
    // fmin and fmax: of one side only where the other has no finite value.
    const double shared_low = std::fmin(low, other_low);
    const double shared_high = std::fmax(high, other_high);
    first.want_histogram(shared_low, shared_high);
    second.want_histogram(shared_low, shared_high);
  }
  first.finish();
  second.finish();
  return {first.summary(), second.summary()};
}

}  // namespace vernier
