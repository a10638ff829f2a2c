#include "numerics/range_methods.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/format_definition.h"
#include "numerics/grid.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/format.h"

namespace vernier {

QuantParams activation_params(Format format, ValueRange range) {
  if (is_unsigned(format)) return asymmetric_params(range.low, range.high, format);
  QuantParams params = symmetric_params(format, std::array{std::max(std::abs(range.low), std::abs(range.high))}, -1);
  params.lowest_code = 0;
  return params;
}

ValueRange minmax_range(const Distribution& values) { return {values.min, values.max}; }

bool has_levels_for(const CalibrationChoice& choice, Format format) {
  const bool counts_levels = choice.method == CalibrationMethod::Entropy || choice.method == CalibrationMethod::Aciq;
  return !counts_levels || definition_of(format).dynamic || format == Format::Int8 || format == Format::UInt8 ||
         format == Format::Int4;
}

void require_levels_for(const CalibrationChoice& choice, Format format) {
  if (has_levels_for(choice, format)) return;
  throw Error(ErrorCode::BadValue,
              fmt::format("calibration by {} counts equal levels, which {} does not have", method_name(choice.method),
                          format_name(format)),
              "‹calibration-method› minmax, percentile, mse or auto");
}

ValueRange range_by(const CalibrationChoice& choice, const Distribution& values, Format format) {
  require_levels_for(choice, format);
  // The blocks of each run have scales of their own: no value is clipped.
  if (values.empty() || values.min == values.max || definition_of(format).dynamic) return minmax_range(values);
  switch (choice.method) {
    case CalibrationMethod::MinMax:
      return minmax_range(values);
    case CalibrationMethod::Percentile:
      return percentile_range(values, format, choice.percentile);
    case CalibrationMethod::Entropy:
      return entropy_range(values, format);
    case CalibrationMethod::Mse:
      return mse_range(values, format);
    case CalibrationMethod::Aciq:
      return aciq_range(values, format);
    case CalibrationMethod::Automatic:
    case CalibrationMethod::Own:
      break;
  }
  throw Error(ErrorKind::Internal, "a method that needs more than the values of a tensor");
}

}  // namespace vernier
