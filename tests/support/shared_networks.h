// The shared networks, for tests that run over all of them.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "vernier/tensor.h"

namespace vernier::testing {

/// Their model files, sorted; none when the shared folder is not there.
std::vector<std::filesystem::path> shared_networks();

/// For INSTANTIATE_TEST_SUITE_P.
std::string network_name(const ::testing::TestParamInfo<std::filesystem::path>& network);

/// Shapes of the inputs: dynamic dimensions small, and large enough for the networks that convolve.
std::map<std::string, Shape> small_shapes(const std::filesystem::path& network);

/// All 13 are there; skips where they may be missing, which is not in CI.
void expect_shared_networks();

}  // namespace vernier::testing
