// Kernels for GPUs, compiled without one. What they compute is tested on a GPU (bench/gpu), and their arithmetic on the
// CPU (one_value_test.cpp).
#include "engines/cuda/compiler.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "engines/cuda/libraries.h"
#include "vernier/error.h"

namespace vernier {
namespace {

class Compiler : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    const NvrtcAbout nvrtc = ask_nvrtc(packages_);
    if (!nvrtc.missing.empty()) GTEST_SKIP() << nvrtc.missing << ": pip install nvidia-cuda-nvrtc";
  }
  std::vector<std::filesystem::path> packages_ = package_folders();
};

TEST_P(Compiler, CompilesAllKernels) {
  const std::string image = compile_kernels(GetParam(), packages_, {});
  EXPECT_EQ(image.substr(1, 3), "ELF");
  for (const char* kernel :
       {"round_values", "round_blocks", "forget_range", "round_to_range", "round_to_tf32", "observe_values",
        "compare_blocks", "add_blocks", "sum_squared_powers", "add_noise", "add_bias"}) {
    EXPECT_NE(image.find(kernel), std::string::npos) << kernel;
  }
}

INSTANTIATE_TEST_SUITE_P(Architectures, Compiler, testing::Values(75, 80, 86, 87, 89, 90, 100, 120));

using CompilerCache = Compiler;

TEST_F(CompilerCache, KeepsWhatItCompiledAndNoticesDamage) {
  const std::filesystem::path cache = std::filesystem::path(testing::TempDir()) / "kernels";
  std::filesystem::remove_all(cache);
  const std::string image = compile_kernels(90, packages_, cache);
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(cache)) files.push_back(entry.path());
  ASSERT_EQ(files.size(), 1U);
  EXPECT_EQ(compile_kernels(90, packages_, cache), image);
  std::ofstream(files.front(), std::ios::binary | std::ios::in | std::ios::ate) << "damage";
  EXPECT_EQ(compile_kernels(90, packages_, cache), image);
}

TEST(CompilerWithoutNvrtc, SaysWhatInstallsIt) {
  if (ask_nvrtc(package_folders()).missing.empty()) GTEST_SKIP() << "NVRTC is here";
  try {
    compile_kernels(90, {}, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Backend);
    EXPECT_NE(std::string(error.what()).find("libnvrtc.so.13 was not found"), std::string::npos);
    EXPECT_EQ(error.hint(), kInstallCuda);
  }
}

}  // namespace
}  // namespace vernier
