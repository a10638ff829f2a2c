// Detection: boxes, how much they overlap, and what networks give decoded to them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace vernier {

/// Corners, x to the right and y down, in pixels.
struct Box {
  double x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  double area() const { return (x2 - x1) * (y2 - y1); }
};

struct Detection {
  Box box;
  double score = 0;
  std::size_t category = 0;  // index of the class
};

/// Intersection over union; over the area of `a` alone when `crowd`, as COCO measures against crowd regions. 0 where
/// both areas are 0.
double overlap(const Box& a, const Box& b, bool crowd = false);

/// Greedy suppression, class by class: of boxes that overlap by more than `most` the one with the higher score stays,
/// of equal ones the first. Best first in the result. Boxes that are not finite are left out.
/// Cost: quadratic in the boxes of a class.
std::vector<Detection> suppressed(std::vector<Detection> detections, double most);

/// One image of a YOLOX network without decoding: rows of [cx, cy, log w, log h, objectness, classes...] for each cell
/// of grids of stride 8, 16 and 32 over an input of `height` x `width`, row by row:
///   x = (cx + column) * stride, w = exp(log w) * stride, score = objectness * class
/// Rows whose best class scores below `least` give nothing; others give their best class.
/// Shapes: rows [cells, 5 + classes]. Errors: Input when cells are not those of the grids, or there is no class.
/// Source: YOLOX demo/ONNXRuntime, demo_postprocess (Megvii, Apache-2.0): the formula.
std::vector<Detection> decode_yolox(std::span<const float> rows, std::size_t columns, std::int64_t height,
                                    std::int64_t width, double least);

/// Plain boxes [n, 4] as corners with scores [n, classes]; classes before `first_class` are background.
std::vector<Detection> decode_plain(std::span<const float> boxes, std::span<const float> scores, std::size_t classes,
                                    std::size_t first_class, double least);

/// Rows [n, 6] of corners, score and class.
std::vector<Detection> decode_rows(std::span<const float> rows, double least);

/// Rows [n, 5 + classes] of a box, objectness and classes, decoded as YOLOv5 exports them: score = objectness * class.
/// Each gives its best class, where that scores `least` or more. Errors: Input when there is no class.
std::vector<Detection> decode_yolov5(std::span<const float> rows, std::size_t columns, double least);

/// The same for rows [n, 4 + classes] without an objectness, as YOLOv8 and YOLOv11 have them: score = class. Errors:
/// Input when there is no class.
std::vector<Detection> decode_yolov8(std::span<const float> rows, std::size_t columns, double least);

/// Corners of a box whose numbers are the centre and the size, or the upper left corner and the size.
Box from_centre(const Box& numbers);
Box from_size(const Box& numbers);

/// How an image of `width` x `height` was laid on the network's input, to take boxes back to the image.
struct Placement2d {
  double scale_x = 1, scale_y = 1;    // input pixels for an image pixel
  double offset_x = 0, offset_y = 0;  // of the image's corner in the input
  Box back(const Box& box) const;
};

}  // namespace vernier
