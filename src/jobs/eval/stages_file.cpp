#include "jobs/eval/stages_file.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <cstddef>
#include <optional>
#include <set>

#include "base/file.h"
#include "base/text.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {
namespace {

constexpr std::size_t kMostBytes = 1 << 20;  // a list of names and files; the parser's work grows with any text
constexpr const char* kForm = "stages:\n  - {name: float, file: model.onnx}\n  - {name: int8, file: int8.onnx}";

Error wrong(const std::filesystem::path& file, const YAML::Mark& mark, const std::string& what) {
  const std::string line = mark.is_null() ? std::string() : fmt::format(":{}", mark.line + 1);
  return {ErrorCode::JsonFile, fmt::format("{}{}: {}", printable(file.string()), line, what), kForm};
}

/// A misspelled key would be left out in silence.
void require_keys(const YAML::Node& map, const std::set<std::string>& known, const std::filesystem::path& file,
                  const std::string& where) {
  for (const auto& entry : map) {
    const YAML::Node& key = entry.first;
    if (key.IsScalar() && known.contains(key.Scalar())) continue;
    const std::string name = key.IsScalar() ? printable(key.Scalar()) : "a key";
    throw wrong(file, key.Mark(), fmt::format("{}{}\"{}\" is not a field", where, where.empty() ? "" : ": ", name));
  }
}

std::vector<Stage> stages_of(const YAML::Node& root, const std::filesystem::path& file) {
  if (!root.IsMap() || !root["stages"].IsDefined() || !root["stages"].IsSequence()) {
    throw wrong(file, root.Mark(), "has no list \"stages\"");
  }
  require_keys(root, {"stages"}, file, "");
  std::vector<Stage> stages;
  const YAML::Node list = root["stages"];
  for (const YAML::Node& stage : list) {
    const auto text = [&](const char* key) {
      if (stage.IsMap() && stage[key].IsDefined() && stage[key].IsScalar()) return stage[key].Scalar();
      throw wrong(file, stage.Mark(), fmt::format("stages[{}]: \"{}\" is missing", stages.size(), key));
    };
    const std::filesystem::path path = text("file");
    require_keys(stage, {"name", "file", "on"}, file, fmt::format("stages[{}]", stages.size()));
    std::optional<MeasureOn> on;
    if (stage["on"].IsDefined()) {
      on = parse_word<MeasureOn>(text("on"));
      if (!on) {
        throw wrong(
            file, stage["on"].Mark(),
            fmt::format("stages[{}]: \"on\" is one of {}", stages.size(), fmt::join(words_of(MeasureOn{}), ", ")));
      }
    }
    stages.push_back({text("name"), path.is_absolute() ? path : file.parent_path() / path, on});
  }
  return stages;
}

}  // namespace

std::vector<Stage> stages_from_text(const std::string& text, const std::filesystem::path& file) {
  if (text.size() > kMostBytes) throw wrong(file, YAML::Mark::null_mark(), "is larger than a list of stages can be");
  try {
    const YAML::Node root = YAML::Load(text);
    return stages_of(root, file);
  } catch (const YAML::Exception& error) {
    throw wrong(file, error.mark, "is not YAML: " + printable(error.msg));
  }
}

std::vector<Stage> read_stages(const std::filesystem::path& file) { return stages_from_text(read_text(file), file); }

}  // namespace vernier
