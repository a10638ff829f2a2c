// Pictures of errors, as SVG and for terminals.
#include "vernier/report/error_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

#include "report/html/page.h"

namespace vernier {
namespace {

constexpr int kCellSize = 6, kPictureMargin = 30;  // pixels
constexpr std::size_t kTextRows = 16, kTextColumns = 64;
constexpr std::string_view kShades = " .:-=+*#%@";

/// 0 to 1. Counts span powers of ten, errors do not.
double shade(const ErrorPicture& picture, double cell) {
  if (picture.largest <= 0 || cell <= 0) return 0;
  if (picture.kind == ErrorPicture::Kind::Heatmap) return cell / picture.largest;
  return (1 + std::log10(cell)) / (1 + std::log10(std::max(picture.largest, 1.0)));
}

/// From white to a dark red, darker all the way: told apart by every eye, and on paper.
std::string shade_colour(double share) {
  const auto mix = [share](int from, int to) { return static_cast<int>(std::lround(from + share * (to - from))); };
  return fmt::format("#{:02x}{:02x}{:02x}", mix(255, 103), mix(247, 0), mix(240, 13));
}

std::string headline(const ErrorPicture& picture) {
  if (picture.kind == ErrorPicture::Kind::Heatmap) {
    return fmt::format("{}: |error| by place, at most {:.4g}", picture.title, picture.largest);
  }
  return fmt::format("{}: |error| by |reference|, elements a cell", picture.title);
}

}  // namespace

std::string picture_to_svg(const ErrorPicture& picture) {
  const auto width = static_cast<int>(picture.columns) * kCellSize;
  const auto height = static_cast<int>(picture.rows) * kCellSize;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
      "<text x=\"{2}\" y=\"18\">{3}</text>\n",
      std::max(width, 400) + 2 * kPictureMargin, height + 3 * kPictureMargin, kPictureMargin,
      html_text(headline(picture)));
  svg += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\" stroke=\"#888\"/>\n",
                     kPictureMargin, kPictureMargin, width, height, shade_colour(0));
  for (std::size_t row = 0; row < picture.rows; ++row) {
    for (std::size_t column = 0; column < picture.columns; ++column) {
      const double cell = picture.cells[row * picture.columns + column];
      if (cell <= 0) continue;
      svg += fmt::format(
          "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"><title>{:.4g}</title></rect>\n",
          kPictureMargin + static_cast<int>(column) * kCellSize, kPictureMargin + static_cast<int>(row) * kCellSize,
          kCellSize, kCellSize, shade_colour(shade(picture, cell)), cell);
    }
  }
  const int below = kPictureMargin + height + 16;
  svg += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", kPictureMargin, below, html_text(picture.x_from));
  svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n", kPictureMargin + std::max(width, 200),
                     below, html_text(picture.x_to));
  svg +=
      fmt::format("<text x=\"{}\" y=\"{}\">{} (upwards)</text>\n", kPictureMargin, below + 18, html_text(picture.y_to));
  return svg + "</svg>\n";
}

std::string picture_to_text(const ErrorPicture& picture) {
  const std::size_t rows = std::min(picture.rows, kTextRows);
  const std::size_t columns = std::min(picture.columns, kTextColumns);
  std::string text = headline(picture) + "\n";
  for (std::size_t row = 0; row < rows; ++row) {
    text += "  |";
    for (std::size_t column = 0; column < columns; ++column) {
      double largest = 0;
      for (std::size_t r = row * picture.rows / rows; r < (row + 1) * picture.rows / rows; ++r) {
        for (std::size_t c = column * picture.columns / columns; c < (column + 1) * picture.columns / columns; ++c) {
          largest = std::max(largest, picture.cells[r * picture.columns + c]);
        }
      }
      const double share = shade(picture, largest);
      const auto last = static_cast<double>(kShades.size() - 1);
      text += kShades[static_cast<std::size_t>(share <= 0 ? 0 : std::max(1.0, std::round(share * last)))];
    }
    text += "|\n";
  }
  return text + fmt::format("  x: {}{}{}; y: {}\n", picture.x_from, picture.x_from.empty() ? "" : " to ", picture.x_to,
                            picture.y_to);
}

}  // namespace vernier
