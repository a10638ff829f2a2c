#include "vernier/report/error_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/elements.h"
#include "base/text.h"
#include "comparator/pair.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

// Cells: more could not be told apart on a page.
constexpr std::size_t kMostRows = 96, kMostColumns = 128;
constexpr std::size_t kPlotRows = 32, kPlotColumns = 48;

ErrorPicture heatmap(const Pair& pair) {
  ErrorPicture picture;
  const Shape& shape = pair.shape();
  const auto width = static_cast<std::size_t>(shape.empty() ? 1 : std::max<std::int64_t>(shape.back(), 1));
  const std::size_t height = std::max<std::size_t>(static_cast<std::size_t>(pair.count()) / width, 1);
  picture.rows = std::min(height, kMostRows);
  picture.columns = std::min(width, kMostColumns);
  picture.cells.assign(picture.rows * picture.columns, 0);
  pair.for_blocks<double>([&](auto got, auto ref, std::int64_t first) {
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double error = std::abs(got[i] - ref[i]);
      if (!std::isfinite(error)) continue;
      const std::size_t at = static_cast<std::size_t>(first) + i;
      const std::size_t row = at / width * picture.rows / height;
      const std::size_t column = at % width * picture.columns / width;
      double& cell = picture.cells[std::min(row, picture.rows - 1) * picture.columns + column];
      cell = std::max(cell, error);
    }
  });
  picture.x_to = fmt::format("{} of the last axis", width);
  picture.y_to = fmt::format("{} of all others", height);
  return picture;
}

/// Powers of ten that finite values above zero lie between.
struct Decades {
  double low = std::numeric_limits<double>::max(), high = std::numeric_limits<double>::lowest();
  void add(double value) {
    if (value <= 0 || !std::isfinite(value)) return;
    low = std::min(low, std::log10(value));
    high = std::max(high, std::log10(value));
  }
  void widen() {
    if (low > high) low = high = 0;
    if (high - low < 1) high = low + 1;
  }
  std::size_t place(double value, std::size_t count) const {
    const double share = value <= 0 ? 0 : (std::log10(value) - low) / (high - low);
    return std::min(static_cast<std::size_t>(std::max(share, 0.0) * static_cast<double>(count)), count - 1);
  }
};

ErrorPicture error_plot(const Pair& pair) {
  Decades values;
  Decades errors;
  pair.for_blocks<double>([&](auto got, auto ref, std::int64_t) {
    for (std::size_t i = 0; i < got.size(); ++i) {
      values.add(std::abs(ref[i]));
      errors.add(std::abs(got[i] - ref[i]));
    }
  });
  values.widen();
  errors.widen();
  ErrorPicture picture;
  picture.rows = kPlotRows;
  picture.columns = kPlotColumns;
  picture.cells.assign(picture.rows * picture.columns, 0);
  pair.for_blocks<double>([&](auto got, auto ref, std::int64_t) {
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double error = std::abs(got[i] - ref[i]);
      if (!std::isfinite(error) || !std::isfinite(ref[i])) continue;
      // The lowest row is that of no error at all.
      const std::size_t up = error == 0 ? 0 : 1 + errors.place(error, picture.rows - 1);
      ++picture.cells[(picture.rows - 1 - up) * picture.columns + values.place(std::abs(ref[i]), picture.columns)];
    }
  });
  picture.x_from = fmt::format("|ref| {:.2g}", std::pow(10, values.low));
  picture.x_to = fmt::format("{:.2g}", std::pow(10, values.high));
  picture.y_from = "0";
  picture.y_to = fmt::format("|error| {:.2g}", std::pow(10, errors.high));
  return picture;
}

}  // namespace

ErrorPicture error_picture(ErrorPicture::Kind kind, const NamedTensor& got, const NamedTensor& ref) {
  if (got.tensor.shape() != ref.tensor.shape() || dtype_bits(got.tensor.dtype()) == 0 ||
      dtype_bits(ref.tensor.dtype()) == 0) {
    throw Error(ErrorCode::BadValue,
                fmt::format("output '{}': no picture of tensors that cannot be compared", printable(got.name)));
  }
  const Pair pair(got.tensor, ref.tensor);
  ErrorPicture picture = kind == ErrorPicture::Kind::Heatmap ? heatmap(pair) : error_plot(pair);
  picture.kind = kind;
  picture.title = printable(got.name);
  picture.largest = picture.cells.empty() ? 0 : *std::max_element(picture.cells.begin(), picture.cells.end());
  return picture;
}

}  // namespace vernier
