#include "base/refuse.h"

#include <gtest/gtest.h>

#include <string>

#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {
namespace {

TEST(Placed, SaysWhereAndKeepsTheRest) {
  const Error error = placed("out.npz, iteration 3", Error(ErrorCode::OutOfMemory, "no memory", "‹threads› 1"));
  EXPECT_EQ(error.code(), ErrorCode::OutOfMemory);
  EXPECT_EQ(error.kind(), ErrorKind::Backend);
  EXPECT_EQ(error.what(), std::string("out.npz, iteration 3: no memory"));
  EXPECT_EQ(error.hint(), "‹threads› 1");
}

TEST(Placed, LeavesAnInterruptAsItIs) {
  const Error error = placed("out.npz, iteration 3", Error(ErrorKind::Interrupted, "interrupted", "run it again"));
  EXPECT_EQ(error.kind(), ErrorKind::Interrupted);
  EXPECT_EQ(error.what(), std::string("interrupted"));
  EXPECT_EQ(error.hint(), "run it again");
}

}  // namespace
}  // namespace vernier
