#include "tasks/segmentation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "vernier/error.h"

namespace vernier {
namespace {

using Classes = std::vector<std::int64_t>;

TEST(PixelCounts, MeanIouIsThatOfTheClassesThatOccur) {
  PixelCounts counts(4);
  counts.add(Classes{0, 0, 0, 1, 1, 2}, Classes{0, 0, 1, 1, 1, 0}, -1);
  // Class 0: 2 of 2 + 1 + 1; class 1: 2 of 2 + 1; class 2: 0 of 1; class 3 does not occur.
  EXPECT_DOUBLE_EQ(counts.mean_iou(), (2.0 / 4 + 2.0 / 3 + 0) / 3);
  EXPECT_DOUBLE_EQ(counts.accuracy(), 4.0 / 6);
}

TEST(PixelCounts, ImagesAreSummedBeforeTheQuotients) {
  PixelCounts counts(2);
  counts.add(Classes{0}, Classes{0}, -1);
  counts.add(Classes{0, 1, 1}, Classes{1, 1, 1}, -1);
  EXPECT_DOUBLE_EQ(counts.mean_iou(), (1.0 / 2 + 2.0 / 3) / 2);
}

TEST(PixelCounts, IgnoredPixelsAreLeftOutWhateverIsPredicted) {
  PixelCounts counts(2);
  counts.add(Classes{0, 255, 255}, Classes{0, 1, 7}, 255);
  EXPECT_EQ(counts.mean_iou(), 1);
  EXPECT_EQ(counts.accuracy(), 1);
}

TEST(PixelCounts, WithoutPixelsThereIsNoFigure) {
  const PixelCounts counts(2);
  EXPECT_TRUE(std::isnan(counts.mean_iou()));
  EXPECT_TRUE(std::isnan(counts.accuracy()));
}

TEST(PixelCounts, RefusesWhatIsNoClass) {
  PixelCounts counts(2);
  EXPECT_THROW(counts.add(Classes{2}, Classes{0}, -1), Error);
  EXPECT_THROW(counts.add(Classes{0}, Classes{2}, -1), Error);
  EXPECT_THROW(counts.add(Classes{-1}, Classes{0}, 255), Error);
}

TEST(LargestClass, ComparesClassesPixelByPixel) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  // Rows are classes, columns pixels: the larger, a tie, a NaN first, a NaN alone.
  const std::vector<float> scores{1, 5, kNan, kNan,  //
                                  2, 5, -7,   kNan};
  EXPECT_EQ(largest_class(scores, 2), (Classes{1, 0, 1, 0}));
}

}  // namespace
}  // namespace vernier
