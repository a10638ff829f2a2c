// How ranges of activations are chosen from the values that calibration samples give.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vernier/export.h"
#include "vernier/format.h"

namespace vernier {

/// minmax      smallest and largest value
/// percentile  the range that holds a share of the values: of |x| for symmetric grids; else as much is left out at each
///             end
/// entropy     the range whose values, merged to as many levels as the grid has, tell the least apart from all values
///             (Kullback-Leibler divergence), as TensorRT's entropy calibrator
/// mse         the range with the smallest squared error of the tensor itself
/// aciq        the clipping point of a Gaussian or Laplace distribution in closed form
/// automatic   for each tensor the range, of those above, with the smallest error of the layers that read it
/// own         a function of the caller's
enum class CalibrationMethod { MinMax, Percentile, Entropy, Mse, Aciq, Automatic, Own };

struct ValueBin {
  float low = 0, high = 0;  // 0.2 % apart; both 0: zeros
  std::int64_t count = 0;
};

/// The values of a tensor over the samples that were looked at, without masks and without what is not finite.
struct SeenValues {
  std::string tensor;
  Format format = Format::Float32;  // that it gets
  float min = 0, max = 0;           // exact
  std::vector<ValueBin> bins;       // from the lowest values to the highest, none empty; none: not counted
};

/// A way of the caller's: the range that the grid of an activation covers, as {low, high}. Symmetric grids take the
/// larger magnitude. It is called on the threads of the job, several calls at a time; what it throws ends the job and
/// is thrown by it. Errors of the job: Usage, where the range is not finite, low is above high,
/// or both are 0 and the values are not.
struct RangeMethod {
  std::string name;  // in reports
  std::function<std::pair<float, float>(const SeenValues&)> choose;
};

struct CalibrationChoice {
  CalibrationMethod method = CalibrationMethod::MinMax;
  double percentile = 99.999;                // of values inside the range, above 50 and up to 100; `percentile` only
  std::shared_ptr<const RangeMethod> own{};  // `own` only
  bool operator==(const CalibrationChoice&) const = default;
};

/// "minmax", "percentile", "entropy", "mse", "aciq", "auto"; "own".
VERNIER_API std::string_view method_name(CalibrationMethod method);
/// The same of a choice; a function of the caller's by its name.
VERNIER_API std::string_view choice_name(const CalibrationChoice& choice);
/// The same words but the last, "max" (ModelOpt's minmax) and "percentile:99.99". Empty for any other.
VERNIER_API std::optional<CalibrationChoice> parse_calibration_method(std::string_view text);
/// How a scheme says it: "absolute maximum" (symmetric) or "minimum and maximum", "99.999 percentile", ...
VERNIER_API std::string method_text(const CalibrationChoice& choice, bool symmetric);
/// The choice of a function of the caller's.
VERNIER_API CalibrationChoice calibration_by(RangeMethod method);

}  // namespace vernier
