#include "options/trtexec_words.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <vector>

#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier::cli {
namespace {

struct Word {
  const char* name;
  bool takes_value;
  const char* reason;
  const char* instead = nullptr;  // nullptr: it is accepted
};

constexpr std::array kWords{
    Word{"--stronglyTyped", false, "vernier builds strongly typed engines only"},
    Word{"--strongly-typed", false, "vernier builds strongly typed engines only"},
    Word{"--separateProfileRun", false, "layers are always timed in separate runs"},
    Word{"--includeDataTransfers", false, "times with and without copies are both measured"},
    Word{"--noCudaGraph", false, "vernier uses a CUDA graph only with --use-cuda-graph"},
    Word{"--useSpinWait", false, "the GPU's own clock does not see how the host waits"},
    Word{"--noSpinWait", false, "the GPU's own clock does not see how the host waits"},
    Word{"--avgRuns", true, "vernier prints the median and the spread of all runs"},
    Word{"--profilingVerbosity", true, "engines are built with detailed layer information"},
    Word{"--profiling-verbosity", true, "engines are built with detailed layer information"},
    Word{"--skipInference", false, "bench runs the engines that it builds",
         "vernier convert MODEL -o FILE.engine only builds"},
    Word{"--buildOnly", false, "bench runs the engines that it builds",
         "vernier convert MODEL -o FILE.engine only builds"},
    Word{"--dumpOutput", false, "bench does not keep outputs", "vernier run MODEL --trt --save-outputs FILE"},
    Word{"--exportOutput", true, "bench does not keep outputs", "vernier run MODEL --trt --save-outputs FILE"},
    Word{"--device", true, "vernier uses the first GPU", "set CUDA_VISIBLE_DEVICES=N"},
    Word{"--sleepTime", true, "runs follow each other without a pause", "leave it out"},
    Word{"--idleTime", true, "runs follow each other without a pause", "leave it out"},
    Word{"--useManagedMemory", false, "inputs and outputs are in the GPU's memory", "leave it out"},
    Word{"--exposeDMA", false, "copies are timed separately", "leave it out"},
    Word{"--carry", true, "one sample runs repeatedly, and states do not change", "leave it out"},
    Word{"--onnx-outputs", true, "a network is timed with its own outputs", "vernier surgeon insert changes them"},
    Word{"--trt-outputs", true, "a network is timed with its own outputs", "vernier surgeon insert changes them"},
};

/// More than one inference at a time is another question.
void add_streams(CLI::App& app, const char* name) {
  add_value(
      app, name,
      [name](const std::string& count) {
        if (count == "1") return;
        throw Error(ErrorCode::NotSupported, fmt::format("{} {}: inferences are timed one at a time", name, count),
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
        throw Error(ErrorCode::NotSupported, fmt::format("{}: {}", word.name, word.reason), word.instead);
      }
      ignored->push_back(fmt::format("{} has no effect in this command: {}", word.name, word.reason));
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
