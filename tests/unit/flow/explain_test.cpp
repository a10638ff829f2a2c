// Causes from what is measured of networks: facts that only a run can give.
#include <algorithm>

#include "flow_files.h"
#include "vernier/causes.h"

namespace vernier::testing {
namespace {

/// What is named at `layer`, asked for more than the format gives.
std::vector<std::string> named_at(const NetFiles& files, const std::string& layer, Format low,
                                  const std::string& target = "tensorrt") {
  DiagnoseOptions options = files.diagnose_options({low});
  options.measure.requirement = at_least_db(70);
  options.precision.target = target;
  std::vector<std::string> ids;
  const DiagnoseReport report = diagnose(options);
  for (const Cause& cause : report.explanation.value().causes) {
    if (cause.layer == layer) ids.push_back(cause.id);
  }
  return ids;
}

bool names(const std::vector<std::string>& ids, const std::string& id) {
  return std::ranges::find(ids, id) != ids.end();
}

TEST(Explain, SamplesOfVeryDifferentSizeShareOneRange) {
  for (const float growth : {1.0F, 4.0F}) {
    const NetFiles files;
    write_npy(files.data_file(), bell_samples("x", kConvNetInput, 8, growth), "x");
    EXPECT_EQ(names(named_at(files, "conv1", Format::Int8), "range-per-sample"), growth > 1);
  }
}

}  // namespace
}  // namespace vernier::testing
