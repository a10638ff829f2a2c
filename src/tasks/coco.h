// COCO's figures for boxes, as pycocotools computes them (COCOeval, iouType bbox).
#pragma once

#include <cstddef>
#include <vector>

#include "tasks/boxes.h"

namespace vernier {

struct TrueBox {
  Box box;
  double area = 0;  // as the annotations say: of the object, not of its box
  std::size_t category = 0;
  bool crowd = false;
};

struct CocoImage {
  std::vector<TrueBox> truth;
  std::vector<Detection> got;
};

/// -1 where there is nothing to measure, as the reference says it.
struct CocoFigures {
  double ap = -1, ap50 = -1, ap75 = -1, ap_small = -1, ap_medium = -1, ap_large = -1;
  double ar1 = -1, ar10 = -1, ar100 = -1, ar_small = -1, ar_medium = -1, ar_large = -1;
};

/// Mean over the overlaps 0.50, 0.55 ... 0.95 and over categories of the precision at the recalls 0, 0.01 ... 1:
///
///   AP = mean_t mean_c 1/101 sum_r max { precision(t, c, k) : recall(t, c, k) >= r }
///
/// of the first 100 detections of an image and category, best first over all images. A detection takes the free box of
/// its category that it overlaps most, if by t at least; crowd regions and boxes of other sizes are neither hit nor
/// miss. Small is below 32^2 pixels, large above 96^2.
/// Categories: 0 .. `categories` - 1. Cost: for each image and category, detections times boxes.
/// Source: Lin et al., "Microsoft COCO" (2014), and the reference evaluation, pycocotools 2.0: cocoeval.py.
CocoFigures coco_figures(const std::vector<CocoImage>& images, std::size_t categories);

}  // namespace vernier
