// `vernier inspect tactics` and `diff-tactics`: the replays of TensorRT's choices that versions up to 10 wrote.

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "json/python_json.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/inspect.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostBytes = std::size_t{256} << 20U;
constexpr std::size_t kMostFiles = 100000;

std::string field(const Json& object, const char* key) {
  const Json* const value = object.find(key);
  if (value == nullptr) return "?";
  return value->is_text() ? value->text() : json_text(*value);
}

std::vector<TacticTensor> tensors_of(const Json& algorithm, const char* key) {
  std::vector<TacticTensor> tensors;
  const Json* const list = algorithm.find(key);
  if (list == nullptr || !list->is_array()) return tensors;
  for (const Json& tensor : list->items()) {
    tensors.push_back({field(tensor, "dtype"), field(tensor, "strides"), field(tensor, "vectorized_dim"),
                       field(tensor, "components_per_element")});
  }
  return tensors;
}

TacticReplay read_replay(const fs::path& path) {
  const Json json = parse_python_json(read_text(path, kMostBytes), path.string());
  const Json* const replay = json.find("replay");
  if (replay == nullptr || !replay->is_object()) {
    throw Error(
        ErrorCode::JsonFile,
        fmt::format("{}: not a tactic replay, in which \"replay\" holds the choice for each layer", path.string()),
        "‹vernier run MODEL --trt --save-tactics FILE› writes one, with TensorRT up to version 10");
  }
  TacticReplay read;
  read.file = path.string();
  for (const auto& [layer, algorithm] : replay->members()) {
    if (!algorithm.is_object()) {
      throw Error(ErrorCode::JsonFile, fmt::format("{}: layer '{}' has no algorithm", path.string(), printable(layer)));
    }
    read.layers.emplace_back(layer, Tactic{field(algorithm, "implementation"), field(algorithm, "tactic"),
                                           tensors_of(algorithm, "inputs"), tensors_of(algorithm, "outputs")});
  }
  return read;
}

/// Files of a side: a file, or all .json below a folder.
std::vector<fs::path> files_of(const fs::path& place) {
  if (!fs::exists(place))
    throw Error(ErrorCode::FileMissing, fmt::format("{}: no such file or folder", place.string()));
  if (!fs::is_directory(place)) return {place};
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(place)) {
    if (entry.is_regular_file() && entry.path().extension() == ".json") files.push_back(entry.path());
    if (files.size() > kMostFiles)
      throw Error(ErrorCode::NotMeasurable, fmt::format("{}: too many files", place.string()));
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

TacticReplay inspect_tactics(const fs::path& replay) { return read_replay(replay); }

TacticsDiff diff_tactics(const DiffTacticsOptions& options) {
  const std::vector<fs::path> good = options.good.empty() ? files_of(options.folder / "good") : files_of(options.good);
  const std::vector<fs::path> bad = options.bad.empty() ? files_of(options.folder / "bad") : files_of(options.bad);
  if (good.empty() || bad.empty()) {
    throw Error(ErrorCode::NotMeasurable,
                fmt::format("{}: nothing to compare: it has only {} and {}", options.folder.string(),
                            plural(good.size(), "good replay"), plural(bad.size(), "bad replay")));
  }
  std::set<std::pair<std::string, Tactic>> seen_good;
  for (const fs::path& file : good) {
    for (auto& choice : read_replay(file).layers) seen_good.insert(std::move(choice));
  }
  std::map<std::string, std::map<Tactic, std::size_t>> suspects;  // by layer: choice, in how many bad files
  std::vector<std::string> order;
  for (const fs::path& file : bad) {
    for (const auto& choice : read_replay(file).layers) {
      if (seen_good.contains(choice)) continue;
      if (!suspects.contains(choice.first)) order.push_back(choice.first);
      ++suspects[choice.first][choice.second];
    }
  }
  TacticsDiff diff;
  diff.good = good.size();
  diff.bad = bad.size();
  for (const std::string& layer : order) {
    auto& [name, choices] = diff.layers.emplace_back(layer, std::vector<TacticsDiff::Suspect>());
    for (const auto& [tactic, replays] : suspects.at(layer)) choices.push_back({tactic, replays});
  }
  return diff;
}

}  // namespace vernier
