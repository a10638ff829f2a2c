#include "options/modelopt_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier::cli {
namespace {

struct Renamed {
  std::string_view theirs, ours;  // ours empty: what follows is an argument
};

constexpr std::array<Renamed, 7> kRenamed{{
    {"--onnx-path", ""},
    {"--calibration-data-path", "--data"},
    {"--calibration-data", "--data"},
    {"--calibration-cache-path", "--calibration-cache"},
    {"--output-path", "--output"},
    {"--use-external-data-format", "--save-external-data"},
    {"--calibration-shapes", "--input-shapes"},
}};

struct Word {
  const char* name;
  bool takes_values;
  const char* reason;
  const char* instead = nullptr;  // nullptr: it is accepted
};

constexpr std::array kWords{
    Word{"--log-level", true, "-v and -q set how much is printed"},
    Word{"--keep-intermediate-files", false, "vernier writes no intermediate files"},
    Word{"--trust-calibration-data", false, "vernier never opens pickles"},
    Word{"--calibration-eps", true, "vernier computes on ONNX Runtime's CPU provider"},
    Word{"--calibrate-per-node", false, "memory does not grow with the number of layers"},
    Word{"--disable-mha-qdq", false, "MatMuls of two activations are ordinary layers: name them in --nodes-to-exclude"},
    Word{"--mha-accumulation-dtype", true, "--accumulate sets the simulated accumulation"},
    Word{"--passes", true, "the rules of --target place the pairs"},
    Word{"--op-types-to-exclude-fp16", true, "with one low format an excluded operator stays in the high one"},
    Word{"--direct-io-types", false, "inputs and outputs keep their types"},
    Word{"--simplify", false, "vernier folds constants and changes nothing else in the graph",
         "vernier surgeon sanitize MODEL --simplify -o SIMPLE.onnx first"},
    Word{"--override-shapes", true, "shapes stay those of the file",
         "vernier surgeon sanitize MODEL --override-input-shapes x:[1,3,224,224] -o FIXED.onnx first"},
    Word{"--trt-plugins", true, "calibration runs on ONNX Runtime", "--custom-ops LIB.so with the operators for it"},
    Word{"--trt-plugins-precision", true, "custom operators stay in FP32", "leave it out"},
    Word{"--use-zero-point", true, "an option of ModelOpt's INT4 methods", "--asymmetric, for activations"},
    Word{"--autotune", false, "rules place the pairs", "vernier bench MODEL times the output model"},
};

}  // namespace

void rename_words_of_modelopt(std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.front() != "quantize") return;
  for (std::size_t i = 1; i < arguments.size() && arguments[i] != "--"; ++i) {
    const std::size_t end = std::min(arguments[i].find('='), arguments[i].size());
    const auto known = std::find_if(kRenamed.begin(), kRenamed.end(), [&](const Renamed& row) {
      return std::string_view(arguments[i]).substr(0, end) == row.theirs;
    });
    if (known == kRenamed.end()) continue;
    if (!known->ours.empty()) {
      arguments[i].replace(0, end, known->ours);
    } else if (end < arguments[i].size()) {
      arguments[i].erase(0, end + 1);
    } else {
      arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
}

void add_words_of_modelopt(CLI::App& app, std::vector<std::string>& without_effect) {
  for (const Word& word : kWords) {
    if (find_option(app, word.name)) continue;
    const auto given = [&word, &without_effect] {
      if (word.instead != nullptr) {
        throw Error(ErrorCode::NotSupported, fmt::format("{}: {}", word.name, word.reason), word.instead);
      }
      without_effect.push_back(fmt::format("{} has no effect in this command: {}", word.name, word.reason));
    };
    if (word.takes_values) {
      add_values(app, word.name, [given](const std::vector<std::string>&) { given(); }).group("");
    } else {
      add_flag(app, word.name, given).group("");
    }
  }
}

}  // namespace vernier::cli
