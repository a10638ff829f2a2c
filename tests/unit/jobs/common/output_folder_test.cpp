#include <gtest/gtest.h>

#include <filesystem>
#include <optional>

#include "jobs/common/output_files.h"
#include "temp_files.h"
#include "vernier/error.h"

namespace vernier::testing {
namespace {

TEST(OutputFolder, IsLockedAsLongAsAJobWritesThere) {
  const TempFolder folder;
  const std::filesystem::path inner = folder.path() / "new" / "inner";
  std::optional<OutputFolder> first(inner);
  EXPECT_TRUE(std::filesystem::is_directory(inner));
  try {
    const OutputFolder second(inner);
    ADD_FAILURE() << "two jobs in one folder";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Usage);
  }
  first.reset();
  EXPECT_NO_THROW(OutputFolder{inner});
  EXPECT_TRUE(std::filesystem::is_empty(inner)) << "nothing is left of the lock";
  EXPECT_NO_THROW(OutputFolder{""});
}

}  // namespace
}  // namespace vernier::testing
