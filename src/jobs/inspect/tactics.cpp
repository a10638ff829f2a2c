// `vernier inspect tactics` and `diff-tactics`: the replays of TensorRT's choices that versions up to 10 wrote.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file.h"
#include "base/text.h"
#include "json/python_json.h"
#include "vernier/error.h"
#include "vernier/inspect.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t kMostBytes = std::size_t{256} << 20U;
constexpr std::size_t kMostFiles = 100000;

std::string field(const Json& object, const char* key) {
  const auto value = object.find(key);
  if (value == object.end()) return "?";
  return value->is_string() ? printable(value->get<std::string>()) : value->dump();
}

std::string tensors_text(const Json& algorithm, const char* key) {
  std::vector<std::string> texts;
  const auto list = algorithm.find(key);
  if (list == algorithm.end() || !list->is_array()) return "()";
  for (const Json& tensor : *list) {
    texts.push_back(fmt::format("TensorInfo({}, strides={}, vectorized dim={}, components={})", field(tensor, "dtype"),
                                field(tensor, "strides"), field(tensor, "vectorized_dim"),
                                field(tensor, "components_per_element")));
  }
  return fmt::format("({})", fmt::join(texts, ", "));
}

/// One line that says everything about a choice: equal lines are equal choices.
std::string algorithm_text(const Json& algorithm) {
  return fmt::format("(Implementation: {}, Tactic: {}) | Inputs: {} | Outputs: {}", field(algorithm, "implementation"),
                     field(algorithm, "tactic"), tensors_text(algorithm, "inputs"), tensors_text(algorithm, "outputs"));
}

std::vector<std::pair<std::string, std::string>> read_replay(const fs::path& path) {
  const Json json = parse_python_json(read_text(path, kMostBytes), path.string());
  const auto replay = json.is_object() ? json.find("replay") : json.end();
  if (!json.is_object() || replay == json.end() || !replay->is_object()) {
    throw Error(ErrorKind::Input, fmt::format("{}: no tactic replay: it has no \"replay\"", path.string()));
  }
  std::vector<std::pair<std::string, std::string>> choices;
  for (const auto& [layer, algorithm] : replay->items()) {
    if (!algorithm.is_object()) {
      throw Error(ErrorKind::Input, fmt::format("{}: layer '{}' has no algorithm", path.string(), printable(layer)));
    }
    choices.emplace_back(layer, algorithm_text(algorithm));
  }
  return choices;
}

/// Files of a side: a file, or all .json below a folder.
std::vector<fs::path> files_of(const fs::path& place) {
  if (!fs::exists(place)) throw Error(ErrorKind::Input, fmt::format("{}: no such file or folder", place.string()));
  if (!fs::is_directory(place)) return {place};
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(place)) {
    if (entry.is_regular_file() && entry.path().extension() == ".json") files.push_back(entry.path());
    if (files.size() > kMostFiles) throw Error(ErrorKind::Input, fmt::format("{}: too many files", place.string()));
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::string inspect_tactics(const fs::path& replay) {
  std::string text = fmt::format("Tactic replay: {}\n", replay.string());
  for (const auto& [layer, choice] : read_replay(replay)) {
    text += fmt::format("Layer: {}\n    Algorithm: {}\n", printable(layer), choice);
  }
  return text;
}

std::string diff_tactics(const DiffTacticsOptions& options) {
  std::vector<fs::path> good = options.good.empty() ? files_of(options.folder / "good") : files_of(options.good);
  std::vector<fs::path> bad = options.bad.empty() ? files_of(options.folder / "bad") : files_of(options.bad);
  std::string text = fmt::format("Loaded {} and {}\n", plural(good.size(), "good tactic replay"),
                                 plural(bad.size(), "bad tactic replay"));
  if (good.empty() || bad.empty()) {
    throw Error(ErrorKind::Input, fmt::format("{}: nothing to compare: {} and {} are there", options.folder.string(),
                                              plural(good.size(), "good replay"), plural(bad.size(), "bad replay")));
  }
  std::set<std::pair<std::string, std::string>> seen_good;
  for (const fs::path& file : good) {
    for (auto& choice : read_replay(file)) seen_good.insert(std::move(choice));
  }
  std::map<std::string, std::map<std::string, std::size_t>> suspects;  // by layer: choice, in how many bad files
  std::vector<std::string> order;
  for (const fs::path& file : bad) {
    for (const auto& choice : read_replay(file)) {
      if (seen_good.contains(choice)) continue;
      if (!suspects.contains(choice.first)) order.push_back(choice.first);
      ++suspects[choice.first][choice.second];
    }
  }
  if (order.empty()) return text + "No tactic of the bad replays is absent from the good ones.\n";
  text += fmt::format("Found potentially bad tactics: in bad replays and in no good one\n");
  for (const std::string& layer : order) {
    text += fmt::format("Layer: {}\n", printable(layer));
    for (const auto& [choice, files] : suspects.at(layer)) {
      text += fmt::format("    Algorithm: {} | in {} of {} bad\n", choice, files, bad.size());
    }
  }
  return text;
}

}  // namespace vernier
