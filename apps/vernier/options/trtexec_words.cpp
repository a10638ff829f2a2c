#include "options/trtexec_words.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <vector>

#include "vernier/error.h"

namespace vernier::cli {
namespace {

struct Word {
  const char* name;
  bool takes_value;
  const char* reason;
  const char* instead = nullptr;  // nullptr: it is accepted
};

constexpr std::array kWords{
    Word{"--stronglyTyped", false, "every engine here is strongly typed"},
    Word{"--strongly-typed", false, "every engine here is strongly typed"},
    Word{"--separateProfileRun", false, "layers are always timed in runs of their own"},
    Word{"--includeDataTransfers", false, "times with and without copies are both measured"},
    Word{"--noCudaGraph", false, "there is none without --use-cuda-graph"},
    Word{"--useSpinWait", false, "the GPU's own clock does not see how the host waits"},
    Word{"--noSpinWait", false, "the GPU's own clock does not see how the host waits"},
    Word{"--avgRuns", true, "the median of all runs is told, and their spread"},
    Word{"--profilingVerbosity", true, "engines are built with detailed layer information"},
    Word{"--profiling-verbosity", true, "engines are built with detailed layer information"},
    Word{"--skipInference", false, "a bench runs what it builds", "vernier convert MODEL -o FILE.engine builds alone"},
    Word{"--buildOnly", false, "a bench runs what it builds", "vernier convert MODEL -o FILE.engine builds alone"},
    Word{"--dumpOutput", false, "outputs are not kept: runs are timed", "vernier run MODEL --trt --save-outputs FILE"},
    Word{"--exportOutput", true, "outputs are not kept: runs are timed", "vernier run MODEL --trt --save-outputs FILE"},
    Word{"--device", true, "the first GPU is taken", "CUDA_VISIBLE_DEVICES=N in front of the line"},
    Word{"--sleepTime", true, "runs follow each other without a pause", "leave it out"},
    Word{"--idleTime", true, "runs follow each other without a pause", "leave it out"},
    Word{"--useManagedMemory", false, "inputs and outputs lie in the GPU's own memory", "leave it out"},
    Word{"--exposeDMA", false, "copies are timed by themselves, not beside the runs", "leave it out"},
    Word{"--carry", true, "one sample is run again and again, and states stay as they are", "leave it out"},
    Word{"--onnx-outputs", true, "a network is timed with the outputs that it has",
         "vernier surgeon insert changes them"},
    Word{"--trt-outputs", true, "a network is timed with the outputs that it has",
         "vernier surgeon insert changes them"},
};

/// More than one inference at a time is another question.
void add_streams(CLI::App& app, const char* name) {
  add_value(
      app, name,
      [name](const std::string& count) {
        if (count == "1") return;
        throw Error(ErrorKind::Usage, fmt::format("{} {}: inferences are timed one at a time", name, count),
                    "leave it out; --batch N for more samples at once");
      },
      "", "")
      .group("");
}

}  // namespace

void add_words_of_trtexec(CLI::App& app, const IgnoredOptions& ignored) {
  for (const Word& word : kWords) {
    const auto given = [ignored, word] {
      if (word.instead != nullptr) {
        throw Error(ErrorKind::Usage, fmt::format("{}: {}", word.name, word.reason), word.instead);
      }
      ignored->push_back(fmt::format("{} has no effect here: {}", word.name, word.reason));
    };
    if (word.takes_value) {
      add_values(app, word.name, [given](const std::vector<std::string>&) { given(); }).values(0, 1).group("");
    } else {
      add_flag(app, word.name, given).group("");
    }
  }
  add_streams(app, "--streams");
  add_streams(app, "--infStreams");
}

}  // namespace vernier::cli
