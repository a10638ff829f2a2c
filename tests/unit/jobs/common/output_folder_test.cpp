#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
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
  std::ofstream(inner / "report.json") << "{}";
  first.reset();
  EXPECT_NO_THROW(OutputFolder{inner});
  std::filesystem::remove(inner / "report.json");
  EXPECT_TRUE(std::filesystem::is_empty(inner)) << "nothing is left of the lock";
  EXPECT_NO_THROW(OutputFolder{""});
}

TEST(OutputFolder, ThatItMadeAndNothingWasWrittenInDoesNotStay) {
  const TempFolder folder;
  const std::filesystem::path made = folder.path() / "made", there = folder.path() / "there";
  std::filesystem::create_directory(there);
  EXPECT_NO_THROW(OutputFolder{made});
  EXPECT_NO_THROW(OutputFolder{there});
  EXPECT_FALSE(std::filesystem::exists(made));
  EXPECT_TRUE(std::filesystem::exists(there)) << "it is the user's";
}

}  // namespace
}  // namespace vernier::testing
