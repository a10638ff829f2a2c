#include "vernier/tensor.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "vernier/error.h"

namespace vernier {
namespace {

TEST(Tensor, StartsZeroedAndCopiesShareBytes) {
  Tensor a(Dtype::Float32, {2, 3});
  EXPECT_EQ(a.floats()[5], 0.0F);
  a.mutable_floats()[5] = 7.0F;
  const Tensor b = a;
  EXPECT_EQ(b.floats().data(), a.floats().data());
  EXPECT_THROW(a.mutable_floats(), Error);  // shared now
}

TEST(Tensor, MisalignedBytesAreCopiedAndAlignedOnesShared) {
  const auto bytes = std::make_shared<std::vector<std::byte>>(12);
  const float value = 4.0F;
  std::memcpy(bytes->data() + 2, &value, sizeof value);
  const auto from = [&](std::size_t offset) {
    return Tensor(Dtype::Float32, {1}, std::shared_ptr<const std::byte>(bytes, bytes->data() + offset));
  };
  EXPECT_EQ(from(2).floats()[0], value);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(from(2).bytes().data()) % alignof(float), 0U);
  EXPECT_EQ(from(4).bytes().data(), bytes->data() + 4);
}

TEST(Tensor, FourBitElementsRoundUpToBytes) { EXPECT_EQ(Tensor(Dtype::Int4, {3}).byte_size(), 2U); }

TEST(Tensor, AScalarHasOneElementAndAnEmptyShapeDimensionNone) {
  EXPECT_EQ(element_count({}), 1);
  EXPECT_EQ(element_count({4, 0, 2}), 0);
}

TEST(Tensor, RefusesImpossibleShapes) {
  EXPECT_THROW(element_count({2, -1}), Error);
  EXPECT_THROW(element_count({std::numeric_limits<std::int64_t>::max(), 2}), Error);
}

TEST(Tensor, CountMustMatchTheShape) {
  const float values[] = {1, 2, 3};
  EXPECT_THROW(Tensor::of({2, 2}, values), Error);
}

}  // namespace
}  // namespace vernier
