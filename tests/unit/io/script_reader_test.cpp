// Data loader scripts, run by a real Python.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "temp_files.h"
#include "vernier/error.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

class Script : public testing::Test {
 protected:
  void SetUp() override {
    static const bool has_numpy = run_python("numpy", "-c", "pass") == 0;
    if (!has_numpy) VERNIER_SKIP_OR_FAIL("no Python with NumPy");
    // What a reader leaves behind would be found here.
    std::filesystem::create_directories(folder_ / "tmp");
    ::setenv("TMPDIR", (folder_ / "tmp").c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("TMPDIR");
    EXPECT_TRUE(IsSkipped() || std::filesystem::is_empty(folder_ / "tmp"));
  }

  /// Options for loader.py with this text behind the import of NumPy.
  SourceOptions script(const std::string& text, const std::string& function = "") const {
    write_file(folder_ / "loader.py", "import numpy as np\n" + text);
    SourceOptions options = from(folder_ / "loader.py");
    if (!function.empty()) options.location += ":" + function;
    options.python = VERNIER_PYTHON;
    return options;
  }
  std::unique_ptr<SampleSource> open(const std::string& text) const { return open_samples(script(text), {kInput}); }
  /// What is said of the script, without the folder, and behind it the hint.
  std::string refusal(const SourceOptions& options) const {
    const Error error = error_of([&] { open_samples(options, {kInput}); });
    EXPECT_EQ(error.kind(), ErrorKind::Input);
    std::string text = error.what();
    const std::string place = folder_.path().string() + "/";
    if (text.starts_with(place)) text.erase(0, place.size());
    return text + " | " + error.hint();
  }
  std::string refusal(const std::string& text) const { return refusal(script(text)); }

  const InputInfo kInput = float_input("x", {1, 2});
  TempFolder folder_;
};

#define EXPECT_STARTS(text, start) EXPECT_EQ((text).substr(0, std::string(start).size()), start)
#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST_F(Script, YieldsSamplesThatAreReadInAnyOrder) {
  const auto source =
      open("def load_data():\n  for i in range(5): yield {'x': np.array([[i, i + 0.5]], np.float32)}\n");
  ASSERT_EQ(source->size(), 5U);
  for (const std::size_t i : {4U, 0U, 2U, 2U}) {
    EXPECT_EQ(source->at(i).at("x").floats()[0], static_cast<float>(i));
    EXPECT_EQ(source->at(i).at("x").floats()[1], static_cast<float>(i) + 0.5F);
  }
  EXPECT_HAS(source->description(), "loader.py, 5 samples");
  EXPECT_FALSE(source->is_random());
}

TEST_F(Script, OtherFunctionsAndListsAndIterators) {
  const std::string text =
      "class Dataset:\n"
      "  def __getitem__(self, i):\n"
      "    if i == 4: raise IndexError\n"
      "    return {'x': [[i, 0.0]]}\n"
      "def as_list(): return [{'x': np.zeros((1, 2), np.float32)}] * 3\n"
      "class Loader:\n"
      "  def __init__(self): self.left = 2\n"
      "  def __iter__(self): return self\n"
      "  def __next__(self):\n"
      "    if not self.left: raise StopIteration\n"
      "    self.left -= 1\n"
      "    return {'x': [[1.0, 2.0]]}\n";
  EXPECT_EQ(open_samples(script(text, "as_list"), {kInput})->size(), 3U);
  EXPECT_EQ(open_samples(script(text, "Dataset"), {kInput})->size(), 4U);
  const auto source = open_samples(script(text, "Loader"), {kInput});
  EXPECT_EQ(source->size(), 2U);
  EXPECT_EQ(source->at(1).at("x").floats()[1], 2.0F);
}

TEST_F(Script, TakesWhatBehavesLikeATensor) {
  const auto source = open(
      "class Tensor:\n"
      "  def __init__(self, a): self.a = a\n"
      "  def detach(self): return self\n"
      "  def cpu(self): return self\n"
      "  def numpy(self): return self.a\n"
      "def load_data():\n"
      "  yield {'x': Tensor(np.array([[1, 2]], np.float32))}\n"
      "  yield {'x': np.array([[3], [4]], np.float32).T}\n"            // Fortran order
      "  yield {'x': np.array([[5, 9, 6, 9]], np.float32)[:, ::2]}\n"  // strided
      "  yield {'x': np.array([[7, 8]], '>f4')}\n");
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(source->at(i).at("x").floats()[0], static_cast<float>(2 * i + 1)) << i;
    EXPECT_EQ(source->at(i).at("x").floats()[1], static_cast<float>(2 * i + 2)) << i;
  }
}

TEST_F(Script, ScalarsIntegersBooleansAndEmptyArrays) {
  const std::vector<InputInfo> inputs{{"n", Dtype::Int64, {}, 0},
                                      {"mask", Dtype::Bool, {3}, 0},
                                      {"empty", Dtype::Float32, {0, 2}, 0},
                                      {"h", Dtype::Float16, {1}, 0}};
  const auto source = open_samples(
      script("def load_data(): yield {'n': 7, 'mask': [True, False, True], 'empty': np.zeros((0, 2), np.float32), "
             "'h': np.ones(1, np.float16)}\n"),
      inputs);
  const Sample sample = source->at(0);
  EXPECT_EQ(sample.at("n").int64s()[0], 7);
  EXPECT_EQ(sample.at("n").shape(), Shape{});
  EXPECT_EQ(sample.at("mask").bytes()[1], std::byte{0});
  EXPECT_EQ(sample.at("empty").count(), 0);
}

TEST_F(Script, BFloat16) {
  if (run_python("ml_dtypes", "-c", "pass") != 0) VERNIER_SKIP_OR_FAIL("no ml_dtypes");
  const auto source = open_samples(
      script("import ml_dtypes\ndef load_data(): yield {'x': np.ones((1, 2)).astype(ml_dtypes.bfloat16)}\n"),
      {{"x", Dtype::BFloat16, {1, 2}, 0}});
  EXPECT_EQ(source->at(0).at("x").bytes()[1], std::byte{0x3F});
}

TEST_F(Script, AnEndlessGeneratorStopsAtTheLimitAndIsClosed) {
  SourceOptions options =
      script(fmt::format("def load_data():\n"
                         "  try:\n"
                         "    while True: yield {{'x': np.zeros((1, 2), np.float32)}}\n"
                         "  finally: open('{}', 'w').write('closed')\n",
                         (folder_ / "closed").string()));
  options.limit = 3;
  EXPECT_EQ(open_samples(options, {kInput})->size(), 3U);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "closed"));
}

TEST_F(Script, ThreadsReadOneSource) {
  const auto source = open("def load_data():\n  for i in range(50): yield {'x': np.full((1, 2), i, np.float32)}\n");
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (std::size_t i = 0; i < 200; ++i) {
          const std::size_t at = (i * (t + 1)) % 50;
          if (source->at(at).at("x").floats()[1] != static_cast<float>(at)) ++wrong;
        }
      });
    }
  }
  EXPECT_EQ(wrong, 0);
}

TEST_F(Script, WorkersOfItsOwn) {
  for (const char* method : {"fork", "spawn"}) {
    const auto source = open(
        fmt::format("import multiprocessing\n"
                    "def make(i): return {{'x': np.full((1, 2), i, np.float32)}}\n"
                    "def load_data():\n"
                    "  with multiprocessing.get_context('{}').Pool(2) as pool: yield from pool.imap(make, range(4))\n",
                    method));
    ASSERT_EQ(source->size(), 4U) << method;
    EXPECT_EQ(source->at(3).at("x").floats()[0], 3.0F);
  }
}

TEST_F(Script, ImportsItsNeighboursAndNotWhatLiesInTheCurrentFolder) {
  write_file(folder_ / "neighbour.py", "value = 4\n");
  write_file(folder_ / "json.py", "raise RuntimeError('not this one')\n");
  const auto source = open("import neighbour\ndef load_data(): yield {'x': np.full((1, 2), neighbour.value, 'f4')}\n");
  EXPECT_EQ(source->at(0).at("x").floats()[0], 4.0F);
}

TEST_F(Script, MayHaveTheNameOfAModuleThatPythonHasLoaded) {
  SourceOptions options = script("");
  write_file(folder_ / "json.py", "import json, numpy\ndef load_data(): yield {'x': json.loads('[[1.0, 2.0]]')}\n");
  options.location = (folder_ / "json.py").string();
  EXPECT_EQ(open_samples(options, {kInput})->size(), 1U);
}

TEST_F(Script, PrintsReachTheUser) {
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  open(
      "import os\nprint('on import')\ndef load_data():\n  os.system('echo from a shell')\n"
      "  for i in range(3):\n    print('x' * 100000)\n    yield {'x': np.zeros((1, 2), np.float32)}\n");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_HAS(said, "on import\n");
  EXPECT_HAS(said, "from a shell\n");
  EXPECT_GT(said.size(), 300000U);
}

TEST_F(Script, AWrongSampleIsNamedWhileTheScriptStillRuns) {
  const auto with = [&](const std::string& sample) {
    return refusal("import time\ndef load_data():\n  yield {'x': np.zeros((1, 2), np.float32)}\n  yield " + sample +
                   "\n  time.sleep(100)\n");
  };
  EXPECT_STARTS(with("{'x': np.zeros((1, 3), np.float32)}"),
                "loader.py:load_data: sample 1: input 'x' wants shape 1x2, the array has shape 1x3");
  EXPECT_STARTS(
      with("{'y': np.zeros((1, 2), np.float32)}"),
      "loader.py:load_data: sample 1: no array for input 'x': the network has inputs x, the data has arrays y");
  EXPECT_STARTS(with("{'x': np.zeros((1, 2), np.float32), 'xx': 1}"),
                "loader.py:load_data: sample 1: no input is called 'xx'");
  EXPECT_STARTS(with("{'x': np.zeros((1, 2), np.int32)}"),
                "loader.py:load_data: sample 1: input 'x' wants float32, the array is int32");
  EXPECT_STARTS(with("{'x': np.zeros((1, 2), np.complex64)}"),
                "loader.py:load_data: sample 1, input 'x': has the element type '<c8'");
}

TEST_F(Script, WhatIsNoSample) {
  const auto yielding = [&](const std::string& sample) { return refusal("def load_data(): yield " + sample + "\n"); };
  EXPECT_STARTS(yielding("np.zeros((1, 2))"), "loader.py:load_data: sample 0: is a numpy array, not a dict");
  EXPECT_STARTS(yielding("({'x': 1}, 3)"), "loader.py:load_data: sample 0: is a tuple of 2, not a dict");
  EXPECT_STARTS(yielding("None"), "loader.py:load_data: sample 0: is None, not a dict");
  EXPECT_STARTS(yielding("{1: 2}"), "loader.py:load_data: sample 0: has the key 1, which is no input name");
  EXPECT_STARTS(yielding("{'x': 'text'}"),
                "loader.py:load_data: sample 0: input 'x': a str is no array of numbers, but of <U4");
  EXPECT_STARTS(yielding("{'x': [[1.0], [1.0, 2.0]]}"),
                "loader.py:load_data: sample 0: input 'x': a list of 2 cannot become a numpy array");
  EXPECT_HAS(yielding("None"), "a dict {input name: numpy array}");
}

TEST_F(Script, NaNIsFoundAsInFiles) {
  EXPECT_STARTS(refusal("def load_data(): yield {'x': np.full((1, 2), np.nan, np.float32)}\n"),
                "loader.py:load_data: NaN in the inputs: sample 0, input 'x', element 0");
}

TEST_F(Script, NothingToIterateOver) {
  EXPECT_STARTS(refusal("def load_data(): pass\n"), "loader.py:load_data: returned None | it must yield");
  EXPECT_STARTS(refusal("def load_data(): return {'x': 1}\n"),
                "loader.py:load_data: returned a dict | one sample is not a list of samples");
  EXPECT_STARTS(refusal("def load_data():\n  return\n  yield\n"), "loader.py:load_data: yields no samples | it must");
  EXPECT_STARTS(refusal("def load_data(n): yield n\n"),
                "loader.py:load_data: cannot be called without arguments: missing a required argument: 'n'");
  EXPECT_STARTS(refusal("load_data = [1]\n"), "loader.py: 'load_data' is a list of 1, not a function");
}

TEST_F(Script, AMissingFunctionOffersTheNearest) {
  EXPECT_STARTS(refusal("def load_dat(): pass\n"), "loader.py: has no function 'load_data' | nearest: load_dat");
  EXPECT_STARTS(refusal("def something_else_entirely(): pass\n"),
                "loader.py: has no function 'load_data' | it has something_else_entirely");
  EXPECT_STARTS(refusal("x = 1\n"), "loader.py: has no function 'load_data' | file.py:function");
}

TEST_F(Script, AnExceptionShowsTheTracebackOfTheScriptAlone) {
  testing::internal::CaptureStderr();
  const std::string text =
      refusal("def load_data():\n  yield {'x': np.zeros((1, 2), np.float32)}\n  raise ValueError('no such image')\n");
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_STARTS(text, "loader.py:load_data: sample 1: raised ValueError: no such image (line 4)");
  EXPECT_HAS(said, "Traceback (most recent call last)");
  EXPECT_HAS(said, "raise ValueError('no such image')");
  EXPECT_EQ(said.find("<string>"), std::string::npos) << said;
  EXPECT_EQ(said.find("<vernier>"), std::string::npos) << said;
}

TEST_F(Script, TroubleBeforeTheFirstSample) {
  testing::internal::CaptureStderr();
  EXPECT_STARTS(refusal("1 / 0\n"), "loader.py: raised ZeroDivisionError: division by zero (line 2)");
  EXPECT_STARTS(refusal("def load_data(:\n"), "loader.py: raised SyntaxError");
  EXPECT_STARTS(refusal("import no_such_module\n"), "loader.py: needs the module 'no_such_module', which ");
  EXPECT_STARTS(refusal("def load_data(): return 1 / 0\n"), "loader.py:load_data: raised ZeroDivisionError");
  testing::internal::GetCapturedStderr();
}

TEST_F(Script, AScriptThatEndsTheInterpreter) {
  EXPECT_STARTS(refusal("import sys\ndef load_data():\n  sys.exit(5)\n  yield\n"),
                "loader.py:load_data: sample 0: called sys.exit(5)");
  EXPECT_STARTS(refusal("import sys\nsys.exit()\n"), "loader.py: called sys.exit()");
  EXPECT_STARTS(refusal("import os\ndef load_data():\n  os._exit(5)\n  yield\n"),
                "loader.py:load_data: ended with exit code 5 after 0 samples");
  EXPECT_STARTS(refusal("import os\ndef load_data():\n  yield {'x': np.zeros((1, 2), np.float32)}\n  os.abort()\n"),
                "loader.py:load_data: was killed by signal 6 (Aborted) after 1 sample");
}

TEST_F(Script, ATimeoutNamesItself) {
  SourceOptions options = script(
      "import time\ndef load_data():\n  yield {'x': np.zeros((1, 2), np.float32)}\n  time.sleep(100)\n  yield\n");
  options.script_seconds = 1.5;
  EXPECT_STARTS(refusal(options), "loader.py:load_data: was still running after 1.5 s and 1 sample | ‹timeout›");
}

TEST_F(Script, AnInterruptEndsIt) {
  SourceOptions options = script("import time\ndef load_data():\n  time.sleep(100)\n  yield\n");
  const auto start = std::chrono::steady_clock::now();
  options.interrupted = [&] { return std::chrono::steady_clock::now() - start > std::chrono::milliseconds(500); };
  EXPECT_EQ(error_of([&] { open_samples(options, {kInput}); }).kind(), ErrorKind::Interrupted);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

TEST_F(Script, ThreadsThatNeverEndDoNotHoldItUp) {
  const auto source = open(
      "import threading, time\ndef load_data():\n  threading.Thread(target=time.sleep, args=(1000,)).start()\n"
      "  yield {'x': np.zeros((1, 2), np.float32)}\n");
  EXPECT_EQ(source->size(), 1U);
}

TEST_F(Script, AFullDiskSaysWhereAndHowMuch) {
  // A limit on file sizes stands for the disk: 128 blocks of 1024 bytes, the program among them.
  SourceOptions options =
      script("def load_data():\n  for i in range(9): yield {'x': np.zeros((1, 4096), np.float32)}\n");
  write_file(folder_ / "python", fmt::format("#!/bin/bash\nulimit -f 128\nexec '{}' \"$@\"\n", VERNIER_PYTHON));
  std::filesystem::permissions(folder_ / "python", std::filesystem::perms::owner_all);
  options.python = (folder_ / "python").string();
  const Error error = error_of([&] { open_samples(options, {float_input("x", {1, -1})}); });
  EXPECT_HAS(std::string(error.what()), "cannot be kept in the temporary file: File too large after 131,072");
  EXPECT_HAS(error.hint(), "TMPDIR");
}

TEST_F(Script, NoPythonOrNoNumPy) {
  SourceOptions options = script("def load_data(): pass\n");
  options.python = "no-such-python";
  const Error error = error_of([&] { open_samples(options, {kInput}); });
  EXPECT_EQ(error.kind(), ErrorKind::Backend);
  EXPECT_STREQ(error.what(), "no-such-python: cannot be started: No such file or directory");
  EXPECT_HAS(error.hint(), "‹python› PROGRAM");

  options.python = "echo";
  EXPECT_HAS(refusal(options), "something else wrote where samples are announced: -c import os");

  write_file(folder_ / "shadow" / "numpy.py", "raise ModuleNotFoundError(\"No module named 'numpy'\", name='numpy')\n");
  ::setenv("PYTHONPATH", (folder_ / "shadow").c_str(), 1);
  options.python = VERNIER_PYTHON;
  const std::string text = refusal(options);
  ::unsetenv("PYTHONPATH");
  EXPECT_STARTS(text, "loader.py: cannot be run: ");
  EXPECT_HAS(text, "has no numpy (No module named 'numpy')");
}

TEST_F(Script, NoFile) {
  EXPECT_STARTS(refusal(from(folder_ / "none.py")), "none.py: no such file");
  EXPECT_STARTS(refusal(from(folder_ / "none.py:f")), "none.py: no such file");
  std::filesystem::create_directories(folder_ / "folder.py" / "x");
  EXPECT_STARTS(refusal(from(folder_ / "folder.py")), "folder.py: is a folder, not a script");
}

TEST_F(Script, HostileTextIsPrintable) {
  testing::internal::CaptureStderr();
  EXPECT_HAS(refusal("def load_data(): raise ValueError('\\x1b[2J')\n"), "raised ValueError: \\x1b[2J");
  EXPECT_HAS(refusal("def load_data(): yield {'\\udc80': 1}\n"), "the data has arrays \\udc80");
  testing::internal::GetCapturedStderr();
}

}  // namespace
}  // namespace vernier
