// Figures worked out by hand. pycocotools itself computes the same ones in tests/diff/test_tasks.py.
#include "tasks/coco.h"

#include <gtest/gtest.h>

namespace vernier {
namespace {

TrueBox truth(const Box& box, std::size_t category = 0) { return {box, box.area(), category, false}; }

const Box kMedium{0, 0, 50, 50};  // 2500 pixels: between 32^2 and 96^2
const Box kOther{100, 100, 150, 150};

TEST(CocoFigures, APerfectDetectorHasOneEverywhereThereIsSomethingToFind) {
  const auto figures = coco_figures({{{truth(kMedium), truth(kOther)}, {{kMedium, 0.9, 0}, {kOther, 0.8, 0}}}}, 1);
  EXPECT_NEAR(figures.ap, 1, 1e-12);
  EXPECT_NEAR(figures.ap50, 1, 1e-12);
  EXPECT_NEAR(figures.ap_medium, 1, 1e-12);
  EXPECT_EQ(figures.ap_small, -1) << "there is no small box";
  EXPECT_EQ(figures.ap_large, -1);
  EXPECT_EQ(figures.ar1, 0.5) << "one detection finds one of two";
  EXPECT_EQ(figures.ar10, 1);
}

TEST(CocoFigures, AMissAtTheTopHalvesThePrecisionBehindIt) {
  // The best score hits nothing: precision 0, 1/2, 2/3 at recalls 0, 1/2, 1. The largest from there on: 2/3 everywhere.
  const auto figures = coco_figures(
      {{{truth(kMedium), truth(kOther)}, {{{300, 300, 350, 350}, 0.9, 0}, {kMedium, 0.8, 0}, {kOther, 0.7, 0}}}}, 1);
  EXPECT_NEAR(figures.ap, 2.0 / 3, 1e-12);
}

TEST(CocoFigures, WhatIsNotFoundEndsTheRecall) {
  // Precision 1 at the 51 recalls up to 0.5, and 0 at the 50 beyond.
  const auto figures = coco_figures({{{truth(kMedium), truth(kOther)}, {{kMedium, 0.9, 0}}}}, 1);
  EXPECT_NEAR(figures.ap, 51.0 / 101, 1e-12);
  EXPECT_EQ(figures.ar100, 0.5);
}

TEST(CocoFigures, OverlapDecidesAtWhichThresholdsABoxCounts) {
  // 50 x 40 of 50 x 50: an overlap of 0.8, enough for 0.50 to 0.80, 7 of the 10.
  const auto figures = coco_figures({{{truth(kMedium)}, {{{0, 0, 50, 40}, 0.9, 0}}}}, 1);
  EXPECT_NEAR(figures.ap, 0.7, 1e-12);
  EXPECT_NEAR(figures.ap50, 1, 1e-12);
  EXPECT_NEAR(figures.ap75, 1, 1e-12);
  EXPECT_NEAR(figures.ar100, 0.7, 1e-12);
}

TEST(CocoFigures, OneBoxIsFoundOnce) {
  const auto figures = coco_figures({{{truth(kMedium)}, {{kMedium, 0.9, 0}, {kMedium, 0.8, 0}}}}, 1);
  EXPECT_NEAR(figures.ap, 1, 1e-12) << "the second is wrong, but behind full recall";
  const auto worse =
      coco_figures({{{truth(kMedium), truth(kOther)}, {{kMedium, 0.9, 0}, {kMedium, 0.8, 0}, {kOther, 0.7, 0}}}}, 1);
  EXPECT_NEAR(worse.ap, (51 * 1.0 + 50 * 2.0 / 3) / 101, 1e-12);
}

TEST(CocoFigures, CrowdsAndBoxesOfOtherSizesAreNeitherHitNorMiss) {
  TrueBox crowd = truth({200, 200, 400, 400});
  crowd.crowd = true;
  const auto figures =
      coco_figures({{{truth(kMedium), crowd}, {{{250, 250, 300, 300}, 0.95, 0}, {kMedium, 0.9, 0}}}}, 1);
  EXPECT_NEAR(figures.ap, 1, 1e-12);
  EXPECT_EQ(figures.ap_large, -1) << "a crowd is nothing to find";
}

TEST(CocoFigures, CategoriesAreMeansOfTheirOwn) {
  const auto figures =
      coco_figures({{{truth(kMedium, 0), truth(kOther, 1)}, {{kMedium, 0.9, 0}, {kOther, 0.8, 0}}}}, 3);
  EXPECT_NEAR(figures.ap, 0.5, 1e-12) << "category 0 is found, 1 is taken for 0, 2 does not occur";
}

TEST(CocoFigures, NothingToFindIsNoFigure) {
  const auto figures = coco_figures({{{}, {{kMedium, 0.9, 0}}}}, 1);
  EXPECT_EQ(figures.ap, -1);
  EXPECT_EQ(figures.ar100, -1);
  EXPECT_EQ(coco_figures({{{truth(kMedium)}, {}}}, 1).ap, 0);
}

}  // namespace
}  // namespace vernier
