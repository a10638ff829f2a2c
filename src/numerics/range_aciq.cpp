#include <algorithm>
#include <cmath>
#include <numbers>

#include "numerics/range_methods.h"
#include "vernier/calibration.h"
#include "vernier/format.h"

namespace vernier {
namespace {

/// W(x) e^W(x) = x for x > e, by Newton's method.
double lambert(double x) {
  double w = std::log(x) - std::log(std::log(x));
  for (int i = 0; i < 20; ++i) w -= (w * std::exp(w) - x) / ((w + 1) * std::exp(w));
  return w;
}

double laplace_factor(int bits) { return lambert(3 * std::exp2(2 * bits)); }

/// Clipping point in standard deviations, by bisection: the slope of the error rises from below zero to above.
double gauss_factor(int bits) {
  const auto slope = [bits](double a) {
    return a * std::erfc(a / std::numbers::sqrt2) - std::sqrt(2 / std::numbers::pi) * std::exp(-a * a / 2) +
           a / (3 * std::exp2(2 * bits));
  };
  double low = 0;
  double high = 20;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (slope(middle) < 0 ? low : high) = middle;
  }
  return low;
}

struct Moments {
  double mean = 0;
  double deviation = 0;  // root of the mean square
  double mean_absolute = 0;
};

/// About zero, or about the mean; without the zeros where they are only what a Relu cut off.
Moments moments_of(const Distribution& values, bool about_mean, bool skip_zeros) {
  double count = 0;
  double sum = 0;
  for (const Bin& bin : values.bins) {
    if (skip_zeros && bin.middle() == 0) continue;
    count += static_cast<double>(bin.count);
    sum += static_cast<double>(bin.count) * bin.middle();
  }
  Moments moments;
  if (count == 0) return moments;
  if (about_mean) moments.mean = sum / count;
  double squares = 0;
  for (const Bin& bin : values.bins) {
    if (skip_zeros && bin.middle() == 0) continue;
    const double off = bin.middle() - moments.mean;
    moments.mean_absolute += static_cast<double>(bin.count) * std::abs(off) / count;
    squares += static_cast<double>(bin.count) * off * off / count;
  }
  moments.deviation = std::sqrt(squares);
  return moments;
}

}  // namespace

ValueRange aciq_range(const Distribution& values, Format format) {
  const bool asymmetric = format == Format::UInt8;
  require_levels_for({CalibrationMethod::Aciq}, format);
  if (values.absmax() == 0) return {};
  const bool one_sided = values.min >= 0 || values.max <= 0;
  const int bits = (format == Format::Int4 ? 4 : 8) + (asymmetric && one_sided ? 1 : 0);
  const Moments moments = moments_of(values, asymmetric && !one_sided, one_sided);
  const auto around = [&](double half) {
    return ValueRange{static_cast<float>(std::max<double>(values.min, moments.mean - half)),
                      static_cast<float>(std::min<double>(values.max, moments.mean + half))};
  };
  const ValueRange gauss = around(moments.deviation * gauss_factor(bits));
  const ValueRange laplace = around(moments.mean_absolute * laplace_factor(bits));
  const bool bell = rounding_noise(values, activation_params(format, gauss)) <=
                    rounding_noise(values, activation_params(format, laplace));
  return bell ? gauss : laplace;
}

}  // namespace vernier
