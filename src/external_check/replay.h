// The verdicts of a loop of checks in a file, so that a later run need not ask again. The peer's file, with one more
// key that says which model and which options the verdicts belong to.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "json/json.h"
#include "vernier/sinks.h"
#include "vernier/verdict.h"

namespace vernier {

/// What makes verdicts comparable.
struct CheckIdentity {
  std::string command;  // "debug reduce"
  std::string model;    // for people
  std::string model_sha256;
  /// Everything else that decides which candidates there are: "mode=bisect reduce_inputs=true".
  std::string options;
  std::string check;  // the check as typed; verdicts of another one are taken, with a warning
};

struct ReplayedVerdict {
  Verdict verdict;
  Json state;
};

class Replay {
 public:
  explicit Replay(const CheckIdentity& identity);

  /// Takes the verdicts of a file; what is odd about it goes to `warn`.
  /// Errors: Input when it is no replay, or belongs to another command, model or options.
  void load(const std::filesystem::path& path, const Warn& warn);

  /// The same for a text that is there already; `path` is for messages.
  void take(const std::string& text, const std::filesystem::path& path, const Warn& warn);

  /// The recorded verdict of that iteration. Errors: Input when it was recorded for another candidate: a member of
  /// `state` that the file has too has another value there.
  std::optional<Verdict> find(const std::string& key, const Json& state) const;

  void record(const std::string& key, std::size_t iteration, Verdict verdict, const Json& state);

  /// Errors: Input when the disk refuses.
  void save(const std::filesystem::path& path) const;

 private:
  CheckIdentity identity_;
  std::filesystem::path loaded_;
  std::map<std::string, Json> entries_;
  Json to_save_;
};

/// Moves a replay of another command or model to PATH.1, or the next number that is free, and says so to `warn`.
/// Errors: Input: a file that is no replay would be written over.
void keep_foreign_replay(const std::filesystem::path& path, const CheckIdentity& identity, const Warn& warn);

}  // namespace vernier
