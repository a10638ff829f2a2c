#include "jobs/common/gpu_pays.h"

#include <gtest/gtest.h>

#include "tiny_networks.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier::testing {
namespace {

Model open_product() {
  return model_of("g (float[N,4,5] x) => (float[N,4,3] y) { y = MatMul(x, w) }", {{"w", bell({5, 3}, 7)}});
}

TEST(GpuPays, CountsTheWorkOfASampleAsItIs) {
  EXPECT_EQ(multiply_accumulates_of(open_product(), {{"x", bell({1, 4, 5}, 1)}}), 60);
  EXPECT_EQ(multiply_accumulates_of(open_product(), {{"x", bell({2, 4, 5}, 1)}}), 120);
}

TEST(GpuPays, CountsNothingWhereASizeIsNotKnown) {
  const Model hidden = model_of(R"(
    g (float[N,4,5] x, int64[3] sizes) => (float[A,B,C] y) {
      r = Reshape(x, sizes)
      y = MatMul(r, w)
    })",
                                {{"w", bell({5, 3}, 7)}});
  EXPECT_EQ(multiply_accumulates_of(hidden, {{"x", bell({1, 4, 5}, 1)}}), 0);
}

TEST(GpuPays, LeavesToTheCpuWhatIsSmallOrRoundsNothing) {
  const Samples samples = bell_samples("x", {1, 4, 5}, 3);
  const auto pays = [&](std::set<Format> formats) { return gpu_pays(open_product(), samples, formats); };
  EXPECT_FALSE(pays({Format::Int8, Format::Float32}));
  ::setenv("VERNIER_GPU_FROM", "180", 1);
  EXPECT_TRUE(pays({Format::Int8, Format::Float32}));
  EXPECT_FALSE(pays({Format::Float32})) << "nothing is simulated";
  EXPECT_TRUE(pays({Format::NvFp4, Format::Float32}));
  ::setenv("VERNIER_GPU_FROM", "181", 1);
  EXPECT_FALSE(pays({Format::Int8, Format::Float32}));
  ::unsetenv("VERNIER_GPU_FROM");
}

}  // namespace
}  // namespace vernier::testing
