// How ranges of activations are chosen from the values that calibration samples give.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "vernier/export.h"

namespace vernier {

/// minmax      smallest and largest value
/// percentile  the range that holds a share of the values: of |x| for symmetric grids; else as much is left out at each
///             end
/// entropy     the range whose values, merged to as many levels as the grid has, tell the least apart from all values
///             (Kullback-Leibler divergence), as TensorRT's entropy calibrator
/// mse         the range with the smallest squared error of the tensor itself
/// aciq        the clipping point of a Gaussian or Laplace distribution in closed form
/// automatic   for each tensor the range, of those above, with the smallest error of the layers that read it
enum class CalibrationMethod { MinMax, Percentile, Entropy, Mse, Aciq, Automatic };

struct CalibrationChoice {
  CalibrationMethod method = CalibrationMethod::MinMax;
  double percentile = 99.999;  // of values inside the range, above 50 and up to 100; `percentile` only
  bool operator==(const CalibrationChoice&) const = default;
};

/// "minmax", "percentile", "entropy", "mse", "aciq", "auto".
VERNIER_API std::string_view method_name(CalibrationMethod method);
/// The same words, "max" (ModelOpt's minmax) and "percentile:99.99". Empty for any other.
VERNIER_API std::optional<CalibrationChoice> parse_calibration_method(std::string_view text);
/// How a scheme says it: "absolute maximum" (symmetric) or "minimum and maximum", "99.999 percentile", ...
VERNIER_API std::string method_text(const CalibrationChoice& choice, bool symmetric);

}  // namespace vernier
