#include "external_check/replay.h"

#include <fmt/format.h>

#include <cstddef>

#include "base/file.h"
#include "base/text.h"
#include "external_check/external_check.h"
#include "json/python_json.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/sinks.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

constexpr const char* kIdentity = "vernier";
constexpr const char* kReduce = "debug reduce";
constexpr std::size_t kMostBytes = std::size_t{256} << 20U;

[[noreturn]] void refuse(ErrorCode code, const fs::path& path, const std::string& why, const std::string& hint = {}) {
  throw Error(code, fmt::format("{}: {}", path.string(), why), hint);
}

Json parse(const std::string& text, const fs::path& path) {
  Json json = parse_python_json(text, path.string());
  if (!json.is_object()) refuse(ErrorCode::JsonFile, path, "not a debug replay: it is not a JSON object");
  return json;
}

std::string text_of(const Json& object, const char* key) {
  const Json* const entry = object.find(key);
  return entry != nullptr && entry->is_text() ? entry->text() : std::string();
}

Verdict verdict_of(const Json& entry) {
  for (const Verdict verdict : {Verdict::Good, Verdict::Bad, Verdict::Invalid, Verdict::TimedOut}) {
    if (text_of(entry, "verdict") == verdict_text(verdict)) return verdict;
  }
  return entry.at("success").boolean() ? Verdict::Good : Verdict::Bad;
}

bool is_entry(const Json& entry) {
  return entry.is_object() && entry.contains("success") && entry.at("success").is_boolean() && entry.contains("state");
}

std::string short_hash(const std::string& sha256) { return sha256.substr(0, 12); }

}  // namespace

Replay::Replay(const CheckIdentity& identity) : identity_(identity) {
  to_save_[kIdentity] = Json::Object{{"version", 1},
                                     {"command", identity.command},
                                     {"model", identity.model},
                                     {"sha256", identity.model_sha256},
                                     {"options", identity.options},
                                     {"check", identity.check}};
}

void Replay::load(const fs::path& path, const Warn& warn) { take(read_text(path, kMostBytes), path, warn); }

void Replay::take(const std::string& text, const fs::path& path, const Warn& warn) {
  const Json json = parse(text, path);
  loaded_ = path;
  bool believed = true;
  if (const Json* const said = json.find(kIdentity); said != nullptr && said->is_object()) {
    if (text_of(*said, "command") != identity_.command) {
      refuse(ErrorCode::OtherModel, path,
             fmt::format("a replay of 'vernier {}', not of 'vernier {}'", printable(text_of(*said, "command")),
                         identity_.command));
    }
    if (text_of(*said, "sha256") != identity_.model_sha256) {
      refuse(ErrorCode::OtherModel, path,
             fmt::format("a replay of another model: {} (SHA-256 {}), and this is {} ({})",
                         printable(text_of(*said, "model")), printable(short_hash(text_of(*said, "sha256"))),
                         printable(identity_.model), short_hash(identity_.model_sha256)),
             "leave out ‹load-debug-replay›");
    }
    if (text_of(*said, "options") != identity_.options) {
      refuse(ErrorCode::OtherModel, path,
             fmt::format("recorded with other options: {}; now: {}", printable(text_of(*said, "options")),
                         printable(identity_.options)),
             "give the same options, or leave out ‹load-debug-replay›");
    }
    if (text_of(*said, "check") != identity_.check) {
      warn({"replay-of-another-check", {{"file", path.string()}, {"check", text_of(*said, "check")}}});
    }
  } else if (identity_.command == kReduce) {
    warn({"replay-of-polygraphy", {{"file", path.string()}}});
    believed = false;
  } else {
    warn({"replay-of-unknown-model", {{"file", path.string()}}});
  }
  for (const auto& [key, entry] : json.members()) {
    if (key == kIdentity) continue;
    if (!is_entry(entry))
      refuse(ErrorCode::JsonFile, path, fmt::format("no debug replay: '{}' has no verdict", printable(key)));
    if (believed) entries_[key] = entry;
  }
}

std::optional<Verdict> Replay::find(const std::string& key, const Json& state) const {
  const auto entry = entries_.find(key);
  if (entry == entries_.end()) return std::nullopt;
  const Json& then = entry->second.at("state");
  for (const auto& [name, value] : state.members()) {
    if (then.contains(name) && then.at(name) != value) {
      refuse(ErrorCode::OtherModel, loaded_,
             fmt::format("'{}' was recorded for another candidate: {} {}, now {}", key, name,
                         printable(json_text(then.at(name))), printable(json_text(value))),
             "leave out ‹load-debug-replay›");
    }
  }
  return verdict_of(entry->second);
}

void Replay::record(const std::string& key, std::size_t iteration, Verdict verdict, const Json& state) {
  to_save_[key] = Json::Object{{"state", state},
                               {"iteration_info", Json::Object{{"iteration", iteration}}},
                               {"success", verdict == Verdict::Good},
                               {"verdict", verdict_text(verdict)},
                               {"polygraphy_class", "IterationContext"}};
}

void Replay::save(const fs::path& path) const { replace_file(path, python_json(to_save_)); }

void keep_foreign_replay(const fs::path& path, const CheckIdentity& identity, const Warn& warn) {
  if (!fs::exists(path)) return;
  const char* hint = "another name with ‹save-debug-replay›, or remove the file";
  Json json;
  try {
    json = parse(read_text(path, kMostBytes), path);
  } catch (const Error&) {
    refuse(ErrorCode::JsonFile, path, "would be overwritten, but is not a debug replay", hint);
  }
  const Json* const said = json.find(kIdentity);
  if (said == nullptr || !said->is_object()) {
    if (json.empty() || is_entry(json.members().front().value)) return;
    refuse(ErrorCode::JsonFile, path, "would be overwritten, but is not a debug replay", hint);
  }
  if (text_of(*said, "sha256") == identity.model_sha256 && text_of(*said, "command") == identity.command) return;
  fs::path kept = path;
  for (int number = 1; fs::exists(kept); ++number) kept = fs::path(path).concat(fmt::format(".{}", number));
  std::error_code failure;
  fs::rename(path, kept, failure);
  if (failure)
    refuse(ErrorCode::FileUnwritable, path, fmt::format("cannot be moved to {}: {}", kept.string(), failure.message()),
           hint);
  warn({"replay-moved",
        {{"file", path.string()},
         {"command", text_of(*said, "command")},
         {"model", text_of(*said, "model")},
         {"moved_to", kept.string()}}});
}

}  // namespace vernier
