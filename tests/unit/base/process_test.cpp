#include "base/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <stdexcept>
#include <thread>

#include "vernier/error.h"

namespace vernier {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<std::string> shell(const std::string& script) { return {"sh", "-c", script}; }

/// What the program prints.
std::string output_of(const std::vector<std::string>& arguments, ProcessOptions options = {}) {
  std::string text;
  options.output = [&](std::string_view part) { text += part; };
  EXPECT_TRUE(run_process(arguments, options).succeeded());
  return text;
}

/// Whether the process whose number is in `text` is gone. Ending takes the system a moment.
bool is_gone(const std::string& text) {
  const pid_t pid = std::stoi(text);
  for (int i = 0; i < 100; ++i) {
    if (::kill(pid, 0) != 0) return true;
    // A container may have nobody who reaps orphans: a zombie is gone for all that matters.
    std::string state = output_of(shell("cut -d' ' -f3 /proc/" + std::to_string(pid) + "/stat 2>/dev/null || true"));
    if (state.starts_with("Z")) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

TEST(Process, ArgumentsArriveAsTheyAreWithoutAShell) {
  EXPECT_EQ(output_of({"printf", "%s|", "a b", "$HOME", "*", ""}), "a b|$HOME|*||");
}

TEST(Process, StandardErrorIsTakenApartFromStandardOutput) {
  std::string output;
  std::string errors;
  ProcessOptions options;
  options.output = [&](std::string_view part) { output += part; };
  options.errors = [&](std::string_view part) { errors += part; };
  EXPECT_TRUE(run_process(shell("echo result; seq 100000 >&2; echo end"), options).succeeded());
  EXPECT_EQ(output, "result\nend\n");
  EXPECT_TRUE(errors.starts_with("1\n2\n") && errors.ends_with("\n100000\n"));
}

TEST(Process, SaysHowAProgramEnded) {
  EXPECT_TRUE(run_process({"true"}).succeeded());
  const ProcessEnd failed = run_process(shell("exit 3"));
  EXPECT_EQ(failed.exit_code, 3);
  EXPECT_EQ(end_text(failed), "ended with exit code 3");
  const ProcessEnd killed = run_process(shell("kill -SEGV $$"));
  EXPECT_EQ(killed.signal, SIGSEGV);
  EXPECT_EQ(end_text(killed), "was killed by signal 11 (Segmentation fault)");
}

TEST(Process, AProgramThatCannotBeStartedIsAnErrorThatNamesIt) {
  try {
    run_process({"no-such-program", "x"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Backend);
    EXPECT_STREQ(error.what(), "no-such-program: cannot be started: No such file or directory");
  }
  EXPECT_THROW(run_process({"/dev/null"}), Error);
}

TEST(Process, StandardInputIsEmpty) { EXPECT_EQ(output_of({"cat"}), ""); }

TEST(Process, ManyBytesOfOutputArriveWhole) {
  EXPECT_EQ(output_of(shell("head -c 10000000 /dev/zero")).size(), 10000000U);
}

TEST(Process, OutputThatIsNotTakenGoesToStandardError) {
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  run_process({"echo", "hello"});
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "hello\n");
}

TEST(Process, InheritedDescriptorsAreThreeAndUpAndAllOthersAreClosed) {
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);  // without O_CLOEXEC, as libraries open files
  ProcessOptions options;
  options.inherited = {pipe[1], STDERR_FILENO};
  EXPECT_EQ(output_of(shell("echo x >&3; cd /proc/self/fd; echo *"), options).substr(0, 10), "0 1 2 3 4 ");
  EXPECT_EQ(output_of(shell("echo /proc/self/fd/*")).find("/fd/9"), std::string::npos);
  char got = 0;
  EXPECT_EQ(::read(pipe[0], &got, 1), 1);
  EXPECT_EQ(got, 'x');
  ::close(pipe[0]);
  ::close(pipe[1]);
}

TEST(Process, ATimeoutEndsTheProgramAndWhatItStarted) {
  std::string child;
  ProcessOptions options;
  options.timeout_seconds = 0.3;
  options.output = [&](std::string_view part) { child += part; };
  const Clock::time_point start = Clock::now();
  const ProcessEnd end = run_process(shell("sleep 100 & echo $!; wait"), options);
  EXPECT_TRUE(end.timed_out);
  EXPECT_EQ(end_text(end), "did not end in time");
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(20));
  EXPECT_TRUE(is_gone(child));
}

TEST(Process, AProgramThatIgnoresTheRequestToEndIsKilled) {
  ProcessOptions options;
  options.timeout_seconds = 0.1;
  const ProcessEnd end = run_process(shell("trap '' TERM; while :; do sleep 0.05; done"), options);
  EXPECT_TRUE(end.timed_out);
  EXPECT_EQ(end.signal, SIGKILL);
}

TEST(Process, AnInterruptEndsTheProgram) {
  ProcessOptions options;
  const Clock::time_point start = Clock::now();
  options.interrupted = [&] { return Clock::now() - start > std::chrono::milliseconds(100); };
  const ProcessEnd end = run_process({"sleep", "100"}, options);
  EXPECT_TRUE(end.interrupted);
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(20));
}

TEST(Process, WhatTheTakerThrowsEndsTheProgram) {
  std::string pid;
  ProcessOptions options;
  options.output = [&](std::string_view part) {
    pid += part;
    throw std::runtime_error("enough");
  };
  EXPECT_THROW(run_process(shell("echo $$; exec sleep 100"), options), std::runtime_error);
  EXPECT_TRUE(is_gone(pid));
}

TEST(Process, WhatIsLeftBehindIsEndedAndNotWaitedFor) {
  const Clock::time_point start = Clock::now();
  EXPECT_TRUE(is_gone(output_of(shell("sleep 100 & echo $!"))));
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(20));
}

TEST(Process, EndsWithUsWhateverEndsUs) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const pid_t ours = ::fork();
  if (ours == 0) {
    // The program and what it starts hold the pipe open as descriptor 3.
    ProcessOptions options;
    options.inherited = {ends[1]};
    options.output = [](std::string_view) { ::kill(::getpid(), SIGKILL); };
    run_process({"sh", "-c", "sleep 600 & echo started; sleep 600"}, options);
    ::_exit(0);
  }
  ::close(ends[1]);
  char byte = 0;
  EXPECT_EQ(::read(ends[0], &byte, 1), 0) << "closed by all, long before the sleep ends";
  ::close(ends[0]);
  int status = 0;
  ::waitpid(ours, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
}

TEST(Process, AProgramThatNeverStopsWritingIsEndedInTime) {
  ProcessOptions options;
  options.timeout_seconds = 0.2;
  options.output = [](std::string_view) {};
  EXPECT_TRUE(run_process({"yes"}, options).timed_out);
}

TEST(Process, ThreadsRunProgramsSideBySide) {
  std::vector<std::string> texts(8);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      threads.emplace_back([&texts, i] { texts[i] = output_of({"echo", std::to_string(i)}); });
    }
  }
  for (std::size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(texts[i], std::to_string(i) + "\n");
}

}  // namespace
}  // namespace vernier
