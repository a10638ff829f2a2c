#include "base/process_copy.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace vernier {
namespace {

TEST(RunInCopy, ChangesNothingHere) {
  int done = 0;
  std::string words;
  const ProcessEnd end = run_in_copy([&] { done = 1; }, 60, words);
  EXPECT_TRUE(end.succeeded());
  EXPECT_EQ(done, 0);
  EXPECT_EQ(words, "");
}

TEST(RunInCopy, TakesAnExceptionForAnOrdinaryEnd) {
  std::string words;
  EXPECT_TRUE(run_in_copy([] { throw std::runtime_error("no"); }, 60, words).succeeded());
}

TEST(RunInCopy, SaysHowACrashEndedAndItsLastWords) {
  std::string words;
  const ProcessEnd end = run_in_copy(
      [] {
        std::fputs("first\nbad address\n\n", stderr);
        std::abort();
      },
      60, words);
  EXPECT_EQ(end.signal, SIGABRT);
  EXPECT_EQ(words, "bad address");
  EXPECT_EQ(run_in_copy([] { ::_exit(3); }, 60, words).exit_code, 3);
}

TEST(RunInCopy, EndsWhatTakesTooLong) {
  std::string words;
  const ProcessEnd end = run_in_copy([] { ::pause(); }, 1, words);
  EXPECT_TRUE(end.timed_out);
  EXPECT_EQ(end.signal, 0);
}

}  // namespace
}  // namespace vernier
