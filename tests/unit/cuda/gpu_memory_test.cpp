// What sessions do where a GPU has little memory. The driver, NVIDIA's libraries and the CUDA build of ONNX Runtime are
// stand-ins (stand_in/), whose GPU computes and keeps everything on the CPU.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/batches.h"
#include "analysis/subject.h"
#include "engines/cuda/gpu.h"
#include "engines/onnxruntime/gpu_side.h"
#include "engines/onnxruntime/recorder.h"
#include "engines/onnxruntime/runtime.h"
#include "engines/onnxruntime/session.h"
#include "tiny_networks.h"
#include "vernier/device.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier::testing {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20U;

/// Four products with weights of 1 MiB, and sums behind them.
Model four_products() {
  NamedTensors weights;
  for (const char* name : {"k", "l", "m", "n"}) {
    weights.emplace_back(name, bell({512, 512}, static_cast<std::uint32_t>(*name), 0.04F));
  }
  return model_of(
      "g (float[N,512] x) => (float[N,512] y) { a = MatMul(x, k) b = Add(a, x) c = MatMul(b, l) d = Add(c, x) e = "
      "MatMul(d, m) f = Add(e, b) h = MatMul(f, n) y = Add(h, x) }",
      weights);
}

class GpuMemoryOfSessions : public ::testing::Test {
 protected:
  void SetUp() override {
    ::setenv("STAND_IN_ONNXRUNTIME", Runtime::load()->place().c_str(), 1);
    ::setenv("VERNIER_ONNXRUNTIME_GPU", VERNIER_STAND_IN "/onnxruntime/capi", 1);
    ::setenv("XDG_CACHE_HOME", VERNIER_STAND_IN "/cache", 1);
    // In the process they come before real ones.
    const std::string folder = VERNIER_STAND_IN;
    for (const char* library : {"/libcuda.so.1", "/nvidia/all/lib/libnvrtc.so.13"}) {
      ASSERT_NE(::dlopen((folder + library).c_str(), RTLD_NOW | RTLD_LOCAL), nullptr) << ::dlerror();
    }
  }
  void TearDown() override {
    ::unsetenv("STAND_IN_ROOM");
    ::unsetenv("STAND_IN_BYTES");
  }

  static std::shared_ptr<const Runtime> gpu(std::optional<ByteSize> most) {
    return Runtime::load({}, {DeviceKind::Cuda, 0}, most);
  }

  /// Outputs are those of the CPU, but for the order of sums; how many parts they took.
  static std::size_t parts_of_right_run(const Session& session, std::vector<Recorder> recorders = {}) {
    const Sample sample{{"x", bell({2, 512}, 7)}};
    const Tensor expected = Session(Runtime::load(), four_products(), {.optimize = false}).run(sample).front();
    const Tensor got = session.run(sample, recorders).front();
    for (std::size_t i = 0; i < expected.floats().size(); ++i) {
      EXPECT_NEAR(got.floats()[i], expected.floats()[i], 1e-3F * std::abs(expected.floats()[i]) + 1e-3F) << i;
      if (HasFailure()) break;
    }
    return session.parts();
  }
};

TEST_F(GpuMemoryOfSessions, StayWholeWhereMemoryIsFree) {
  const Session session(gpu({}), four_products(), {.optimize = false});
  EXPECT_EQ(parts_of_right_run(session), 1U);
  EXPECT_EQ(::getenv("STAND_IN_ARENA"), nullptr);
}

TEST_F(GpuMemoryOfSessions, ShareAnArenaOfHalfTheLimit) {
  const Session session(gpu(ByteSize{64 * kMiB}), four_products(), {.optimize = false});
  EXPECT_EQ(parts_of_right_run(session), 1U);
  EXPECT_EQ(std::string(::getenv("STAND_IN_ARENA")), std::to_string(32 * kMiB));
  EXPECT_EQ(std::string(::getenv("STAND_IN_LIMIT")), std::to_string(32 * kMiB));
  gpu({});
  EXPECT_EQ(::getenv("STAND_IN_ARENA"), nullptr) << "the next job has no limit";
}

TEST_F(GpuMemoryOfSessions, AreCutAheadWhereWeightsDoNotFit) {
  // Of 6 MiB three are for copies: weights of 4 MiB take turns, one at a time.
  const Session session(gpu(ByteSize{6 * kMiB}), four_products(), {.optimize = false});
  EXPECT_EQ(session.parts(), 4U);
  for (int turn = 0; turn < 3; ++turn) EXPECT_EQ(parts_of_right_run(session), 4U);
}

TEST_F(GpuMemoryOfSessions, AreCutWhereARunIsOutOfMemory) {
  const Session session(gpu({}), four_products(), {.optimize = false});
  ::setenv("STAND_IN_ROOM", "250", 1);
  const std::size_t parts = parts_of_right_run(session);
  EXPECT_GT(parts, 1U);
  EXPECT_EQ(parts_of_right_run(session), parts) << "and stay so";
}

TEST_F(GpuMemoryOfSessions, LeaveBatchesToThoseWhoMadeThem) {
  const Session session(gpu({}), four_products(), {.optimize = false});
  ::setenv("STAND_IN_ROOM", "250", 1);
  std::vector<Recorder> two(2);
  const Error error = error_of([&] { session.run({{"x", bell({2, 512}, 7)}}, two); });
  EXPECT_EQ(error.code(), ErrorCode::OutOfMemory);
  EXPECT_EQ(session.parts(), 1U);
}

TEST_F(GpuMemoryOfSessions, EndWithAnErrorWhereNothingFits) {
  const Session session(gpu({}), four_products(), {.optimize = false});
  ::setenv("STAND_IN_ROOM", "1", 1);
  for (int turn = 0; turn < 2; ++turn) {
    const Error error = error_of([&] { session.run({{"x", bell({2, 512}, 7)}}); });
    EXPECT_EQ(error.code(), ErrorCode::OutOfMemory);
    EXPECT_NE(error.hint().find("gpu-memory"), std::string::npos);
  }
}

TEST_F(GpuMemoryOfSessions, EndWithAnErrorWhereAWeightDoesNotFit) {
  const auto runtime = gpu(ByteSize{kMiB});
  const Error error = error_of([&] {
    const Session session(runtime, four_products(), {.optimize = false});
    session.run({{"x", bell({2, 512}, 7)}});
  });
  EXPECT_EQ(error.code(), ErrorCode::OutOfMemory);
}

TEST_F(GpuMemoryOfSessions, BatchesAreAsLargeAsTheLimitAllows) {
  const Samples samples = bell_samples("x", {1, 1, 256, 256}, 13);  // a quarter of a MiB each
  const auto chosen = [&](std::optional<ByteSize> most) {
    Subject subject = subject_of(
        model_of("g (float[N,1,256,256] x) => (float[N,1,256,256] y) { a = Relu(x) b = Add(a, x) y = Tanh(b) }"),
        samples);
    subject.runtime = gpu(most);
    const std::string why = choose_batch(subject);
    return std::pair(subject.batch, why);
  };
  EXPECT_EQ(chosen({}).first, 13U);
  EXPECT_EQ(chosen(ByteSize{64 * kMiB}).first, 13U);
  const std::size_t smaller = chosen(ByteSize{24 * kMiB}).first;
  EXPECT_GE(smaller, 5U);
  EXPECT_LT(smaller, 13U);
  const auto [batch, why] = chosen(ByteSize{6 * kMiB});
  EXPECT_EQ(batch, 1U);
  EXPECT_NE(why.find("the GPU's memory holds"), std::string::npos) << why;
}

TEST_F(GpuMemoryOfSessions, SmallerBatchesComeBeforeParts) {
  const Samples samples = bell_samples("x", {1, 512}, 13);
  Subject subject = subject_of(four_products(), samples);
  subject.runtime = gpu({});
  ::setenv("STAND_IN_ROOM", "250", 1);
  const std::string why = choose_batch(subject);
  EXPECT_EQ(subject.batch, 1U);
  EXPECT_NE(why.find("5 of them together do not run"), std::string::npos) << why;
  EXPECT_GT(parts_of_right_run(subject.session(subject.model)), 1U) << "one does, in parts";
}

TEST_F(GpuMemoryOfSessions, CopiesMakeRoomForOthers) {
  const auto runtime = gpu(ByteSize{9 * kMiB});
  GpuCopies& copies = runtime->gpu()->copies();
  const Tensor first = bell({512, 1024}, 1), second = bell({512, 1024}, 2), third = bell({512, 1024}, 3);
  const auto held = copies.of(first);
  const Gpu::Address address = copies.of(second)->address();
  EXPECT_EQ(copies.of(second)->address(), address) << "it is kept";
  EXPECT_NE(copies.of(third), nullptr) << "in the place of the one that nobody holds";
  EXPECT_EQ(copies.of(first), held);
  const auto other = copies.of(third);
  EXPECT_EQ(error_of([&] { copies.of(second); }).code(), ErrorCode::OutOfMemory) << "all is held";
}

TEST_F(GpuMemoryOfSessions, ADriverThatIsOutOfMemoryIsTheSame) {
  const auto runtime = gpu({});
  ::setenv("STAND_IN_BYTES", "1000", 1);
  const Tensor large = bell({512, 1024}, 4);
  EXPECT_EQ(error_of([&] { runtime->gpu()->copies().of(large); }).code(), ErrorCode::OutOfMemory);
}

}  // namespace
}  // namespace vernier::testing
