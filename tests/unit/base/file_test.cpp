// Files that are whole or not there, and what is no file among files.
#include "base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "temp_files.h"
#include "vernier/error.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

TEST(NewFile, IsThereWhenItIsWhole) {
  const TempFolder folder;
  const fs::path path = folder.path() / "a.txt";
  replace_file(path, "old");
  {
    NewFile file(path);
    file.write("half");
    EXPECT_EQ(read_text(path), "old");
  }
  EXPECT_EQ(read_text(path), "old");
  replace_file(path, "new");
  EXPECT_EQ(read_text(path), "new");
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"a.txt"});
}

TEST(NewFile, LeavesNothingWhenTheProcessIsKilled) {
  const TempFolder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    NewFile file(folder.path() / "a.txt");
    file.write("half");
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{});
}

TEST(NewFile, IsWrittenToADeviceOrPipeAndNeverTakesItsPlace) {
  replace_file("/dev/null", "nothing");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  const TempFolder folder;
  const fs::path pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] {
    const int end = ::open(pipe.c_str(), O_RDONLY);
    std::array<char, 16> room{};
    for (ssize_t n = 0; (n = ::read(end, room.data(), room.size())) > 0;)
      got.append(room.data(), static_cast<std::size_t>(n));
    ::close(end);
  });
  replace_file(pipe, "through the pipe");
  reader.join();
  EXPECT_EQ(got, "through the pipe");
  EXPECT_TRUE(fs::is_fifo(pipe));
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"pipe"});
}

TEST(NewFile, FillsAnEmptyFileForWhoMadeIt) {
  const TempFolder folder;
  const fs::path path = folder.path() / "made_by_mktemp";
  std::ofstream(path).close();
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  std::ifstream held(path);
  {
    NewFile abandoned(path);
    abandoned.write("half");
  }
  EXPECT_EQ(fs::file_size(path), 0U);
  replace_file(path, std::string("text"));
  std::string text;
  held >> text;
  EXPECT_EQ(text, "text");
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  replace_file(path, std::string("other"));  // it is replaced now, and whoever reads it reads it to its end
  EXPECT_EQ(read_text(path), "other");
  held.clear();
  held.seekg(0);
  held >> text;
  EXPECT_EQ(text, "text");
}

TEST(ReplaceRegularFile, ReplacesAnEmptyFile) {
  const TempFolder folder;
  const fs::path path = folder.path() / "cached";
  std::ofstream(path).close();
  std::ifstream held(path);
  replace_regular_file(path, [](std::ostream& out) { out << "text"; });
  std::string text;
  EXPECT_FALSE(held >> text);
  EXPECT_EQ(read_text(path), "text");
}

TEST(NewFile, ReplacesWhatALinkLeadsTo) {
  const TempFolder folder;
  replace_file(folder.path() / "file", "old");
  fs::create_symlink("file", folder.path() / "link");
  replace_file(folder.path() / "link", "new");
  EXPECT_TRUE(fs::is_symlink(folder.path() / "link"));
  EXPECT_EQ(read_text(folder.path() / "file"), "new");
}

TEST(TemporaryName, RemovesWhatDeadProcessesLeft) {
  const TempFolder folder;
  const pid_t dead = ::fork();
  if (dead == 0) ::_exit(0);
  ::waitpid(dead, nullptr, 0);
  const auto leave = [&](const std::string& name) { replace_file(folder.path() / name, "left"); };
  leave("a.zip." + std::to_string(dead) + ".tmp");
  leave("b.zip." + std::to_string(dead) + ".tmp");         // another file's
  leave("a.zip." + std::to_string(::getppid()) + ".tmp");  // of somebody who lives
  leave("a.zip.notes.tmp");
  EXPECT_EQ(temporary_name(folder.path() / "a.zip"), folder.path() / ("a.zip." + std::to_string(::getpid()) + ".tmp"));
  EXPECT_FALSE(fs::exists(folder.path() / ("a.zip." + std::to_string(dead) + ".tmp")));
  EXPECT_EQ(names_in(folder.path()).size(), 3U);
}

TEST(OpenInput, RefusesPipesAndFolders) {
  const TempFolder folder;
  const fs::path pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const fs::path& path : {pipe, folder.path(), folder.path() / "absent"}) {
    EXPECT_THROW(open_input(path), Error) << path;
    EXPECT_THROW(read_text(path), Error) << path;
  }
}

}  // namespace
}  // namespace vernier
