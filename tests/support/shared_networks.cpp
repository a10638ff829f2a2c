#include "shared_networks.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>

#include "model/model.h"
#include "vernier/samples.h"

namespace vernier::testing {

namespace fs = std::filesystem;

std::vector<fs::path> shared_networks() {
  const char* given = std::getenv("VERNIER_SHARED");
  const fs::path folder = fs::path(given != nullptr ? given : VERNIER_SHARED_DIR) / "models";
  std::vector<fs::path> found;
  std::error_code missing;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, missing)) {
    if (fs::exists(entry.path() / "model.onnx")) found.push_back(entry.path() / "model.onnx");
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string network_name(const ::testing::TestParamInfo<fs::path>& network) {
  std::string name = network.param.parent_path().filename();
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

std::map<std::string, Shape> small_shapes(const fs::path& network) {
  std::map<std::string, Shape> shapes;
  for (const InputInfo& input : model_inputs(read_model(network))) {
    Shape shape = input.shape;
    for (std::int64_t& dim : shape) dim = dim < 0 ? 1 : dim;
    if (network.string().find("ppocr") != std::string::npos) shape = {1, 3, 32, 64};
    if (network.string().find("silero") != std::string::npos && input.name == "input") shape = {1, 576};
    shapes[input.name] = shape;
  }
  return shapes;
}

void expect_shared_networks() {
  const std::size_t count = shared_networks().size();
  if (count == 0 && std::getenv("CI") == nullptr) GTEST_SKIP() << "no shared networks: set VERNIER_SHARED";
  EXPECT_EQ(count, 13U);
}

}  // namespace vernier::testing
