#include "base/file_lock.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include "base/file.h"
#include "temp_files.h"

namespace vernier {
namespace {

TEST(FileLock, NoAdditionOfSeveralProcessesIsLost) {
  const TempFolder folder;
  const std::filesystem::path file = folder.path() / "list.txt";
  constexpr int kProcesses = 8;
  constexpr int kTimes = 20;
  std::vector<pid_t> children;
  for (int child = 0; child < kProcesses; ++child) {
    const pid_t process = ::fork();
    if (process == 0) {
      for (int i = 0; i < kTimes; ++i) {
        const FileLock turn(file);
        replace_file(file, read_text(file) + "x");
      }
      ::_exit(0);
    }
    children.push_back(process);
  }
  for (const pid_t child : children) ::waitpid(child, nullptr, 0);
  EXPECT_EQ(read_text(file), std::string(kProcesses * kTimes, 'x'));
}

TEST(FileLock, ANameIsHeldByOneAndFreeAfterwards) {
  const TempFolder folder;
  const std::filesystem::path name = folder.path() / "candidate.onnx";
  {
    const auto held = hold_name(name);
    ASSERT_TRUE(held);
    EXPECT_FALSE(hold_name(name));
    EXPECT_FALSE(hold_name(folder.path() / "." / "candidate.onnx")) << "the same file by another path";
    EXPECT_TRUE(hold_name(folder.path() / "other.onnx"));
  }
  EXPECT_TRUE(hold_name(name));
  EXPECT_TRUE(names_in(folder.path()).empty());
}

TEST(FileLock, LeavesNothingBehindAndHoldsNoPipe) {
  const TempFolder folder;
  { const FileLock turn(folder.path() / "none.txt"); }
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "none.txt"));
  const std::filesystem::path pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  { const FileLock turn(pipe); }
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  EXPECT_ANY_THROW(replace_regular_file(pipe, [](std::ostream& out) { out << "x"; }));
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

}  // namespace
}  // namespace vernier
