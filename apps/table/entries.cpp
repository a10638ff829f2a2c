#include "table/entries.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "table/bench.h"
#include "table/check.h"
#include "table/diagnose.h"
#include "table/engine.h"
#include "table/measure.h"
#include "table/precision.h"
#include "table/row.h"
#include "table/search.h"
#include "table/task.h"
#include "table/values.h"
#include "vernier/device.h"
#include "vernier/format.h"
#include "vernier/tensor.h"
#include "vernier/words.h"

namespace vernier::table {
namespace {

/// Of a type: how Python reads it, its annotation and, unless a value says it, its default.
struct Python {
  const char* kind;
  const char* type;
  const char* initial;
};

template <class Value>
constexpr Python python_of() {
  if constexpr (std::is_same_v<Value, bool>) {
    return {"flag", "bool", ""};
  } else if constexpr (std::is_same_v<Value, Format>) {
    return {"format", "str", ""};
  } else if constexpr (std::is_same_v<Value, std::vector<Format>>) {
    return {"formats", "str | Iterable[str]", "()"};
  } else if constexpr (std::is_same_v<Value, std::vector<std::pair<std::string, Format>>>) {
    return {"formats_of", "Mapping[str, str] | None", "None"};
  } else if constexpr (Worded<Value>) {
    return {"word", "str", ""};
  } else if constexpr (std::is_same_v<Value, Device>) {
    return {"device", "str", "\"auto\""};
  } else if constexpr (std::is_unsigned_v<Value>) {
    return {"count", "int", ""};
  } else if constexpr (std::is_integral_v<Value>) {
    return {"whole", "int", ""};
  } else if constexpr (std::is_floating_point_v<Value>) {
    return {"number", "float", ""};
  } else if constexpr (std::is_same_v<Value, std::optional<bool>>) {
    return {"flag?", "bool | None", "None"};
  } else if constexpr (std::is_same_v<Value, std::optional<double>>) {
    return {"number?", "float | None", "None"};
  } else if constexpr (std::is_same_v<Value, std::optional<ByteSize>>) {
    return {"size?", "int | str | None", "None"};
  } else if constexpr (kIsOptional<Value>) {
    return {"word?", "str | None", "None"};
  } else if constexpr (std::is_same_v<Value, std::vector<std::string>> ||
                       std::is_same_v<Value, std::vector<std::filesystem::path>>) {
    return {"names", "Iterable[str]", "()"};
  } else if constexpr (std::is_same_v<Value, std::vector<std::pair<std::string, std::string>>>) {
    return {"pairs", "Mapping[str, str] | None", "None"};
  } else if constexpr (std::is_same_v<Value, std::map<std::string, Shape>>) {
    return {"shapes", "Mapping[str, Iterable[int]] | None", "None"};
  } else if constexpr (std::is_same_v<Value, std::filesystem::path>) {
    return {"path", "str | os.PathLike[str]", "\"\""};
  } else if constexpr (std::is_same_v<Value, std::string>) {
    return {"text", "str", "\"\""};
  } else {
    return {"", "Any", "None"};
  }
}

template <class Value>
std::vector<std::string> words_of_type() {
  if constexpr (kIsOptional<Value>) {
    return words_of_type<typename Value::value_type>();
  } else if constexpr (Worded<Value> && !std::is_same_v<Value, Format>) {
    const auto words = words_of(Value{});
    return {words.begin(), words.end()};
  } else {
    return {};
  }
}

template <class Options, class... Values>
void add(std::vector<Entry>& all, const Table<Options, Values...>& table) {
  table.each([&]<class Value>(const Row<Options, Value>& row) {
    Entry entry{table.name, row.words, "", "", row.words.type, row.words.initial, {}};
    if constexpr (!std::is_void_v<Value>) {
      constexpr Python python = python_of<Value>();
      const Value value = Options{}.*row.member;
      entry.kind = python.kind;
      entry.shown = text_of(value);
      if (entry.type.empty()) entry.type = python.type;
      if (entry.initial.empty()) entry.initial = python.initial;
      if constexpr (std::is_same_v<Value, bool>) {
        if (entry.initial.empty()) entry.initial = value ? "True" : "False";
      } else if constexpr (Worded<Value>) {
        if (entry.initial.empty()) entry.initial = fmt::format("\"{}\"", word_of(value));
      } else {
        if (entry.initial.empty()) entry.initial = text_of(value);
      }
      entry.choices = words_of_type<Value>();
    }
    std::istringstream listed(row.words.choices);
    for (std::string word; listed >> word;) entry.choices.push_back(word);
    all.push_back(std::move(entry));
  });
}

}  // namespace

const std::vector<Entry>& entries() {
  static const std::vector<Entry> all = [] {
    std::vector<Entry> made;
    const auto add_all = [&](const auto&... tables) { (add(made, tables), ...); };
    add_all(kPrecision, kArithmetic, kRequirement, kScore, kAlternatives, kSearch, kDiagnosis, kQuantized,
            kCalibrationMethod, kCalibration, kSelection, kRules, kJudged, kRunning, kSource, kImage, kBatch,
            kSearchModes, kGolden, kEvaluation, kDetection, kLimits, kOn, kEngine, kEngineProcess, kConfirm, kTiming,
            kOnnxRuntime, table("PrecisionOptions", "Precision", kQuantizeMode),
            table("DiagnoseOptions", "Data", kNoSplit, kNoCache, kSamplePictures),
            table("MeasureOptions", kMetricGroup, kOutputs), kNoPartial, kSearchDirection, kCheck, kCheckOutput,
            kArtifacts, table("CheckOptions", "Artifacts and replay", kCandidate, kKeepCandidate),
            table("CheckOptions", "Check", kCheckTimeout));
    return made;
  }();
  return all;
}

}  // namespace vernier::table
