#include "engines/onnxruntime/runtime.h"

#include "tiny_networks.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier::testing {
namespace {

TEST(Runtime, RefusesTheNamedLibraryThatIsNoneAndTriesNoOther) {
  const ScopedVariable variable("VERNIER_ORT_LIBRARY", "/nowhere/libnonsense.so");
  const Error error = error_of([] { Runtime::load(); });
  EXPECT_EQ(error.kind(), ErrorKind::Backend);
  const std::string text = error.what();
  EXPECT_NE(text.find("no usable ONNX Runtime library was found"), std::string::npos) << text;
  EXPECT_NE(text.find("tried /nowhere/libnonsense.so: "), std::string::npos) << text;
  EXPECT_EQ(text.find("tried", text.find("tried") + 1), std::string::npos) << "a silent second choice: " << text;
  EXPECT_NE(error.hint().find("VERNIER_ORT_LIBRARY"), std::string::npos) << error.hint();
}

TEST(Runtime, SaysOfAnotherLibraryWhatItLacks) {
  const ScopedVariable variable("VERNIER_ORT_LIBRARY", "libm.so.6");
  const Error error = error_of([] { Runtime::load(); });
  EXPECT_EQ(error.kind(), ErrorKind::Backend);
  EXPECT_NE(std::string(error.what()).find("tried libm.so.6: has no OrtGetApiBase"), std::string::npos) << error.what();
}

TEST(Runtime, IsLoadedOnceAndSaysFromWhere) {
  const auto runtime = Runtime::load();
  EXPECT_EQ(Runtime::load(), runtime);
  EXPECT_FALSE(runtime->version().empty());
  ASSERT_FALSE(runtime->attempts().empty());
  EXPECT_EQ(runtime->attempts().back().place, runtime->place());
  EXPECT_EQ(runtime->attempts().back().outcome, "loaded");
}

TEST(Runtime, LoadsAfterARefusedAttempt) {
  {
    const ScopedVariable variable("VERNIER_ORT_LIBRARY", "/nowhere/libnonsense.so");
    EXPECT_EQ(error_of([] { Runtime::load(); }).kind(), ErrorKind::Backend);
  }
  EXPECT_NE(Runtime::load(), nullptr);
}

TEST(Runtime, KnowsALackOfMemoryByWhatIsSaidOfIt) {
  const auto runtime = Runtime::load();
  for (const char* text : {"Failed to allocate memory for requested buffer of size 4194304",
                           "Available memory of 100 is smaller than requested bytes of 256",
                           "CUDA failure 2: out of memory ; GPU=0", "CUDNN failure: CUDNN_STATUS_ALLOC_FAILED"}) {
    const Error error = error_of([&] { runtime->check(runtime->api().CreateStatus(ORT_FAIL, text)); });
    EXPECT_EQ(error.code(), ErrorCode::OutOfMemory) << text;
    EXPECT_FALSE(error.hint().empty());
  }
  const Error other = error_of([&] { runtime->check(runtime->api().CreateStatus(ORT_FAIL, "Tile: no such shape")); });
  EXPECT_EQ(other.code(), ErrorCode::RuntimeFails);
}

TEST(Runtime, TurnsAStatusIntoABackendErrorWithItsTextAndCode) {
  const auto runtime = Runtime::load();
  const Error error =
      error_of([&] { runtime->check(runtime->api().CreateStatus(ORT_INVALID_ARGUMENT, "so it is not")); });
  EXPECT_EQ(error.kind(), ErrorKind::Backend);
  EXPECT_EQ(std::string(error.what()), "ONNX Runtime " + runtime->version() + ": so it is not (code 2)");
}

}  // namespace
}  // namespace vernier::testing
