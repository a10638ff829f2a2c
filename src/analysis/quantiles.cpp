#include "analysis/quantiles.h"

#include <cmath>
#include <numbers>

namespace vernier {

double normal_quantile(double p) {
  double low = 0;
  double high = 40;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (0.5 * std::erfc(-middle / std::numbers::sqrt2) < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

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

double most_new_events(double c) {
  double low = 1, high = 100;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (std::exp2(-middle) * (1 + middle) > 1 - c ? low : high) = middle;
  }
  return low - 1;
}

}  // namespace vernier
