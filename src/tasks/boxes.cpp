#include "tasks/boxes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {
namespace {

bool finite(const Detection& detection) {
  const Box& box = detection.box;
  return std::isfinite(box.x1) && std::isfinite(box.y1) && std::isfinite(box.x2) && std::isfinite(box.y2) &&
         std::isfinite(detection.score);
}

}  // namespace

double overlap(const Box& a, const Box& b, bool crowd) {
  const double width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  const double height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  if (width <= 0 || height <= 0) return 0;
  const double shared = width * height;
  const double all = crowd ? a.area() : a.area() + b.area() - shared;
  return all > 0 ? shared / all : 0;
}

std::vector<Detection> suppressed(std::vector<Detection> detections, double most) {
  std::erase_if(detections, [](const Detection& one) { return !finite(one); });
  std::stable_sort(detections.begin(), detections.end(),
                   [](const Detection& a, const Detection& b) { return a.score > b.score; });
  std::vector<Detection> kept;
  for (const Detection& one : detections) {
    const bool covered = std::any_of(kept.begin(), kept.end(), [&](const Detection& other) {
      return other.category == one.category && overlap(other.box, one.box) > most;
    });
    if (!covered) kept.push_back(one);
  }
  return kept;
}

std::vector<Detection> decode_yolox(std::span<const float> rows, std::size_t columns, std::int64_t height,
                                    std::int64_t width, double least) {
  std::int64_t cells = 0;
  for (const std::int64_t stride : {8, 16, 32}) cells += (height / stride) * (width / stride);
  if (columns < 6 || rows.size() != static_cast<std::size_t>(cells) * columns) {
    throw Error(
        ErrorCode::Unlike,
        fmt::format(
            "{} values in rows of {} are not YOLOX grids of stride 8, 16 and 32 over {}x{}, which have {} cells",
            rows.size(), columns, height, width, cells),
        "‹boxes› rows or plain for networks that decode their boxes");
  }
  std::vector<Detection> detections;
  std::size_t row = 0;
  for (const std::int64_t stride : {8, 16, 32}) {
    for (std::int64_t y = 0; y < height / stride; ++y) {
      for (std::int64_t x = 0; x < width / stride; ++x, ++row) {
        const std::span<const float> values = rows.subspan(row * columns, columns);
        const auto best = std::max_element(values.begin() + 5, values.end());
        const double score = static_cast<double>(values[4]) * static_cast<double>(*best);
        if (!(score >= least)) continue;
        const auto step = static_cast<double>(stride);
        const double cx = (values[0] + static_cast<double>(x)) * step;
        const double cy = (values[1] + static_cast<double>(y)) * step;
        const double w = std::exp(static_cast<double>(values[2])) * step;
        const double h = std::exp(static_cast<double>(values[3])) * step;
        detections.push_back({{cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2},
                              score,
                              static_cast<std::size_t>(best - values.begin()) - 5});
      }
    }
  }
  return detections;
}

std::vector<Detection> decode_plain(std::span<const float> boxes, std::span<const float> scores, std::size_t classes,
                                    std::size_t first_class, double least) {
  if (classes == 0 || boxes.size() % 4 != 0 || scores.size() != boxes.size() / 4 * classes || first_class >= classes) {
    throw Error(ErrorCode::Unlike,
                fmt::format("{} values of boxes and {} of scores in {} classes do not belong together", boxes.size(),
                            scores.size(), classes),
                "boxes are [N,4], scores [N,classes]");
  }
  std::vector<Detection> detections;
  for (std::size_t i = 0; i < boxes.size() / 4; ++i) {
    for (std::size_t c = first_class; c < classes; ++c) {
      const double score = scores[i * classes + c];
      if (!(score >= least)) continue;
      detections.push_back(
          {{boxes[4 * i], boxes[4 * i + 1], boxes[4 * i + 2], boxes[4 * i + 3]}, score, c - first_class});
    }
  }
  return detections;
}

std::vector<Detection> decode_rows(std::span<const float> rows, double least) {
  if (rows.size() % 6 != 0) {
    throw Error(ErrorCode::Unlike, fmt::format("{} values are not rows of x1, y1, x2, y2, score, class", rows.size()));
  }
  std::vector<Detection> detections;
  for (std::size_t i = 0; i + 6 <= rows.size(); i += 6) {
    if (!(rows[i + 4] >= least) || !(rows[i + 5] >= 0) || rows[i + 5] > 1e9F) continue;
    detections.push_back({{rows[i], rows[i + 1], rows[i + 2], rows[i + 3]},
                          rows[i + 4],
                          static_cast<std::size_t>(std::lround(rows[i + 5]))});
  }
  return detections;
}

namespace {

/// Rows of a box, an objectness where there is one, and classes.
std::vector<Detection> decode_decoded(std::span<const float> rows, std::size_t columns, bool objectness, double least) {
  const std::size_t first = objectness ? 5 : 4;
  if (columns <= first || rows.size() % columns != 0) {
    throw Error(ErrorCode::Unlike, fmt::format("{} values in rows of {} are not rows of box{} and classes", rows.size(),
                                               columns, objectness ? ", objectness" : ""));
  }
  std::vector<Detection> detections;
  for (std::size_t i = 0; i < rows.size(); i += columns) {
    const std::span<const float> row = rows.subspan(i, columns);
    const auto best = std::max_element(row.begin() + static_cast<std::ptrdiff_t>(first), row.end());
    const double score = (objectness ? static_cast<double>(row[4]) : 1.0) * static_cast<double>(*best);
    if (!(score >= least)) continue;
    const std::size_t category = static_cast<std::size_t>(best - row.begin()) - first;
    detections.push_back({{row[0], row[1], row[2], row[3]}, score, category});
  }
  return detections;
}

}  // namespace

std::vector<Detection> decode_yolov5(std::span<const float> rows, std::size_t columns, double least) {
  return decode_decoded(rows, columns, /*objectness=*/true, least);
}

std::vector<Detection> decode_yolov8(std::span<const float> rows, std::size_t columns, double least) {
  return decode_decoded(rows, columns, /*objectness=*/false, least);
}

Box from_centre(const Box& numbers) {
  return {numbers.x1 - numbers.x2 / 2, numbers.y1 - numbers.y2 / 2, numbers.x1 + numbers.x2 / 2,
          numbers.y1 + numbers.y2 / 2};
}

Box from_size(const Box& numbers) { return {numbers.x1, numbers.y1, numbers.x1 + numbers.x2, numbers.y1 + numbers.y2}; }

Box Placement2d::back(const Box& box) const {
  return {(box.x1 - offset_x) / scale_x, (box.y1 - offset_y) / scale_y, (box.x2 - offset_x) / scale_x,
          (box.y2 - offset_y) / scale_y};
}

}  // namespace vernier
