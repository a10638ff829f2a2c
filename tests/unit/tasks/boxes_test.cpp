#include "tasks/boxes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "vernier/error.h"

namespace vernier {
namespace {

constexpr float kNoScore = std::numeric_limits<float>::quiet_NaN();

TEST(Overlap, IsTheSharedAreaOverThatOfBoth) {
  EXPECT_EQ(overlap({0, 0, 2, 2}, {0, 0, 2, 2}), 1);
  EXPECT_EQ(overlap({0, 0, 2, 2}, {1, 1, 3, 3}), 1.0 / 7);  // 1 shared of 4 + 4 - 1
  EXPECT_EQ(overlap({0, 0, 4, 4}, {1, 1, 2, 3}), 2.0 / 16) << "one inside the other";
}

TEST(Overlap, IsZeroForBoxesThatTouchOrHaveNoArea) {
  EXPECT_EQ(overlap({0, 0, 2, 2}, {2, 0, 4, 2}), 0);
  EXPECT_EQ(overlap({0, 0, 2, 2}, {5, 5, 6, 6}), 0);
  EXPECT_EQ(overlap({1, 1, 1, 1}, {1, 1, 1, 1}), 0);
}

TEST(Overlap, WithACrowdIsThePartOfTheFirstThatLiesInIt) {
  EXPECT_EQ(overlap({0, 0, 2, 2}, {1, 0, 100, 100}, /*crowd=*/true), 0.5);
  EXPECT_EQ(overlap({1, 0, 100, 100}, {0, 0, 2, 2}, /*crowd=*/true), 2.0 / 9900);
}

TEST(Suppressed, KeepsTheBestOfThoseThatOverlapInAClass) {
  const Detection best{{0, 0, 10, 10}, 0.9, 0};
  const Detection near{{0, 0, 10, 8}, 0.8, 0};  // overlap 0.8 with the best
  const Detection other_class{{0, 0, 10, 8}, 0.7, 1};
  const Detection far{{20, 0, 30, 10}, 0.6, 0};
  const auto kept = suppressed({far, near, other_class, best}, 0.5);
  ASSERT_EQ(kept.size(), 3U);
  EXPECT_EQ(kept[0].score, 0.9);
  EXPECT_EQ(kept[1].score, 0.7);
  EXPECT_EQ(kept[2].score, 0.6);
  EXPECT_EQ(suppressed({near, best}, 0.8).size(), 2U) << "0.8 is not more than 0.8";
}

TEST(Suppressed, WhatIsSuppressedSuppressesNothing) {
  // The second overlaps both by 1/3, the first and the third do not touch.
  const std::vector<Detection> row{{{0, 0, 4, 1}, 0.9, 0}, {{2, 0, 6, 1}, 0.8, 0}, {{4, 0, 8, 1}, 0.7, 0}};
  const auto kept = suppressed(row, 0.3);
  ASSERT_EQ(kept.size(), 2U);
  EXPECT_EQ(kept[1].score, 0.7);
}

TEST(Suppressed, OfEqualScoresTheFirstStaysAndWhatIsNotFiniteGoes) {
  const auto kept = suppressed({{{0, 0, 2, 2}, 0.5, 0},
                                {{0, 0, 2, 1.9}, 0.5, 0},
                                {{0, 0, INFINITY, 2}, 0.9, 0},
                                {{8, 8, 9, 9}, std::nan(""), 0}},
                               0.5);
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept[0].box.y2, 2);
}

/// Grids over 32x32: 16 cells of stride 8, 4 of 16 and 1 of 32; all quiet but those set.
struct YoloxRows {
  static constexpr std::size_t kColumns = 7;  // two classes
  std::vector<float> values = std::vector<float>(21 * kColumns, 0.0F);
  void set(std::size_t cell, const std::vector<float>& row) {
    std::copy(row.begin(), row.end(), values.begin() + static_cast<std::ptrdiff_t>(cell * kColumns));
  }
};

TEST(DecodeYolox, CellsHavePlacesAndStrides) {
  YoloxRows rows;
  rows.set(6, {0.5F, 0.25F, 0, std::log(2.0F), 0.5F, 0.25F, 0.5F});  // stride 8: row 1, column 2
  rows.set(20, {0, 0, 0, 0, 1, 1, 0});                               // stride 32: the only cell
  const auto found = decode_yolox(rows.values, YoloxRows::kColumns, 32, 32, 0.2);
  ASSERT_EQ(found.size(), 2U);
  // Center (2.5, 1.25) * 8 = (20, 10), size (1, 2) * 8.
  EXPECT_EQ(found[0].box.x1, 16);
  EXPECT_NEAR(found[0].box.y1, 2, 1e-6);
  EXPECT_EQ(found[0].box.x2, 24);
  EXPECT_NEAR(found[0].box.y2, 18, 1e-6);
  EXPECT_EQ(found[0].score, 0.25);
  EXPECT_EQ(found[0].category, 1U);
  EXPECT_EQ(found[1].box.x1, -16);
  EXPECT_EQ(found[1].box.x2, 16);
  EXPECT_EQ(found[1].category, 0U);
  EXPECT_EQ(decode_yolox(rows.values, YoloxRows::kColumns, 32, 32, 0.5).size(), 1U);
}

TEST(DecodeYolox, RefusesOtherGridsAndRowsWithoutClasses) {
  const YoloxRows rows;
  EXPECT_THROW(decode_yolox(rows.values, YoloxRows::kColumns, 64, 32, 0.5), Error);
  EXPECT_THROW(decode_yolox(std::vector<float>(21 * 5), 5, 32, 32, 0.5), Error);
}

TEST(DecodePlain, EveryClassOfABoxMayBeFound) {
  const std::vector<float> boxes{0, 1, 2, 3, 4, 5, 6, 7};
  const std::vector<float> scores{0.9F, 0.5F, 0.25F, 0.1F, kNoScore, 0.75F};
  const auto found = decode_plain(boxes, scores, 3, /*first_class=*/1, 0.25);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].category, 0U) << "the background is no category";
  EXPECT_EQ(found[0].score, 0.5);
  EXPECT_EQ(found[1].category, 1U);
  EXPECT_EQ(found[2].category, 1U);
  EXPECT_EQ(found[2].box.x1, 4);
  EXPECT_THROW(decode_plain(boxes, scores, 2, 0, 0.25), Error);
  EXPECT_THROW(decode_plain(boxes, scores, 3, 3, 0.25), Error);
}

TEST(DecodeRows, RowsWithoutAScoreOrAClassAreNone) {
  const auto found = decode_rows(std::vector<float>{0, 1, 2, 3, 0.5F,     7, 0, 1, 2, 3, 0.5F, -1,
                                                    0, 1, 2, 3, kNoScore, 7, 0, 1, 2, 3, 0.5F, kNoScore},
                                 0.5);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].category, 7U);
  EXPECT_EQ(found[0].box.y2, 3);
  EXPECT_THROW(decode_rows(std::vector<float>(7), 0.5), Error);
}

TEST(Placement2d, TakesBoxesBackToTheImage) {
  const Placement2d placement{.scale_x = 2, .scale_y = 0.5, .offset_x = 10, .offset_y = 0};
  const Box box = placement.back({10, 1, 30, 4});
  EXPECT_EQ(box.x1, 0);
  EXPECT_EQ(box.y1, 2);
  EXPECT_EQ(box.x2, 10);
  EXPECT_EQ(box.y2, 8);
}

TEST(Boxes, DecodesRowsOfYolov5) {
  const std::vector<float> rows{10, 20, 4, 8, 0.5F, 0.2F, 0.8F,  // class 1
                                1,  2,  3, 4, 0.1F, 0.5F, 0.5F};
  const auto found = decode_yolov5(rows, 7, 0.3);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].category, 1U);
  EXPECT_NEAR(found[0].score, 0.4, 1e-6);
  EXPECT_EQ(found[0].box.x2, 4);
  EXPECT_THROW(decode_yolov5(rows, 5, 0.3), Error);
  EXPECT_THROW(decode_yolov5(rows, 8, 0.3), Error);
}

TEST(Boxes, DecodesRowsOfYolov8) {
  const std::vector<float> rows{10, 20, 4, 8, 0.2F, 0.8F,  // class 1
                                1,  2,  3, 4, 0.1F, 0.2F};
  const auto found = decode_yolov8(rows, 6, 0.3);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].category, 1U);
  EXPECT_NEAR(found[0].score, 0.8, 1e-6);
  EXPECT_THROW(decode_yolov8(rows, 4, 0.3), Error);
}

TEST(Boxes, MakesCornersOfOtherNumbers) {
  const Box numbers{10, 20, 4, 8};
  const Box centre = from_centre(numbers), size = from_size(numbers);
  EXPECT_EQ(centre.x1, 8);
  EXPECT_EQ(centre.y1, 16);
  EXPECT_EQ(centre.x2, 12);
  EXPECT_EQ(centre.y2, 24);
  EXPECT_EQ(size.x1, 10);
  EXPECT_EQ(size.y2, 28);
}

}  // namespace
}  // namespace vernier
