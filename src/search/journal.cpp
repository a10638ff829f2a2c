#include "search/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "json/fields.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {
namespace {

constexpr const char* kMark = "vernier_search_journal";
constexpr int kVersion = 1;
constexpr const char* kModel = "model_sha256";

/// The first line.
struct JournalHeader {
  int version = kVersion;
  std::map<std::string, std::string> search;  // what the trials belong to
  std::vector<std::string> items;
};

struct TrialLine : Trial {
  std::vector<std::string> kept;
  double seconds = 0;
};

struct EstimateLine {
  std::vector<std::string> kept;
  double damage = 0;
};

}  // namespace

template <>
struct Fields<JournalHeader> {
  using R = JournalHeader;
  static constexpr bool open = true;
  static constexpr auto list =
      std::tuple{Field{kMark, &R::version}, Field{"search", &R::search}, Field{"items", &R::items, optional_field<R>}};
};

// Lines of earlier versions have no samples, confidence and seconds.
template <>
struct Fields<TrialLine> {
  using R = TrialLine;
  static constexpr bool open = true;
  static constexpr bool (*counted)(const Trial&) = [](const Trial& trial) { return trial.samples > 0; };
  static constexpr bool (*bounded)(const Trial&) = [](const Trial& trial) { return trial.on_samples.has_value(); };
  static constexpr bool (*uncertain)(const Trial&) = [](const Trial& trial) { return trial.confidence < 1; };
  static constexpr bool (*explained)(const Trial&) = [](const Trial& trial) { return !trial.why.empty(); };
  static constexpr auto list = std::tuple{Field{"kept", &R::kept},
                                          Field{"verdict", &Trial::verdict},
                                          Field{"metric", &Trial::metric},
                                          Field{"damage", &Trial::damage},
                                          Field{"stopped_early", &Trial::stopped_early},
                                          Field{"on_samples", &Trial::on_samples, bounded},
                                          Field{"samples", &Trial::samples, counted},
                                          Field{"confidence", &Trial::confidence, uncertain},
                                          Prose{"why", &Trial::why, explained},
                                          Field{"seconds", &R::seconds, optional_field<R>}};
};

template <>
struct Fields<EstimateLine> {
  using R = EstimateLine;
  static constexpr bool open = true;
  static constexpr auto list = std::tuple{Field{"estimate", &R::kept}, Field{"damage", &R::damage}};
};

namespace {

/// False with errno set.
bool write_all(int descriptor, const std::string& text) {
  for (std::size_t written = 0; written < text.size();) {
    const ssize_t n = ::write(descriptor, text.data() + written, text.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = ENOSPC;
    if (n <= 0) return false;
    written += static_cast<std::size_t>(n);
  }
  return true;
}

/// What differs, in words: hashes tell nobody more.
std::string difference(const std::string& key, const std::string& theirs, const std::string& ours) {
  if (key == "data_sha256") return "belongs to a search on other samples";
  if (key == "unseen" && ours.empty()) return "belongs to a search with cross-fitting";
  if (key == "unseen") return "belongs to a search without cross-fitting, or with other halves of the samples";
  if (key == "plan_sha256") return "belongs to a search with other formats or scales";
  const std::size_t hash = key.find("_sha256");
  if (hash != std::string::npos) return "belongs to a search of another " + key.substr(0, hash);
  return fmt::format("belongs to a search of another {}: {} in the file, {} now", key,
                     printable(theirs.empty() ? "nothing" : theirs), printable(ours));
}

template <class Line>
std::string text_of(const Line& line) {
  return json_text(json_of(line)) + "\n";
}

/// The first line of a journal; nullopt when that is none.
std::optional<Json> header_of(const std::string& line) {
  std::optional<Json> header = try_parse_json(line);
  const Json* const search = header && header->contains(kMark) ? header->find("search") : nullptr;
  return search != nullptr && search->is_object() ? header : std::nullopt;
}

constexpr const char* kOther = "give another file: ‹journal› FILE";

[[noreturn]] void refuse_journal(const std::filesystem::path& file, const std::string& what, const std::string& hint) {
  throw Error(ErrorCode::Journal, fmt::format("{}: {}", printable(file.string()), what), hint);
}

/// How much of the search `identity` says: all, or what is known before the network was run.
enum class Part { Whole, Beginning };

/// The first line of `file`, which must be a journal of a search on the same model, or with `resume` of the same one.
JournalHeader header_for(const std::filesystem::path& file, const std::string& line, const Journal::Identity& identity,
                         bool resume, Part part) {
  const std::optional<Json> json = header_of(line);
  if (!json) refuse_journal(file, "is not a journal of a search, and is not overwritten", kOther);
  if (json->at(kMark) != Json(kVersion)) {
    refuse_journal(file, fmt::format("version {} is not known", json_text(json->at(kMark))), kOther);
  }
  const std::string where = printable(file.string());
  JournalHeader header;
  read_json(*json, Place(where), header);
  const auto require_same = [&](const std::string& key, const std::string& value) {
    const std::string theirs = header.search[key];
    if (theirs == value) return;
    refuse_journal(file, difference(key, theirs, value),
                   resume ? "the same command without ‹resume›, with another ‹journal› FILE, begins anew" : kOther);
  };
  if (const auto model = identity.find(kModel); model != identity.end()) require_same(model->first, model->second);
  for (const auto& [key, value] : identity) {
    if (resume) require_same(key, value);
  }
  if (!resume || part == Part::Beginning) return header;
  const auto other =
      std::ranges::find_if(header.search, [&](const auto& entry) { return !identity.contains(entry.first); });
  if (other != header.search.end()) require_same(other->first, "");
  return header;
}

}  // namespace

void require_journal_of(const std::filesystem::path& file, const Journal::Identity& identity, bool resume) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(file, none)) return;
  if (::access(file.c_str(), R_OK | W_OK) != 0) refuse_journal(file, std::strerror(errno), kOther);
  std::ifstream in(file, std::ios::binary);
  const int begins = in.peek();
  if (begins == std::ifstream::traits_type::eof()) return;
  std::string line;
  if (begins == '{') std::getline(in, line);  // of anything else a line may be gigabytes
  header_for(file, line, identity, resume, Part::Beginning);
}

JournalFile default_journal(const std::filesystem::path& folder, const std::string& model,
                            const Journal::Identity& identity) {
  Sha256 hash;
  for (const auto& [key, value] : identity) {
    const std::string line = key + "=" + value + "\n";
    hash.update(std::as_bytes(std::span(line)));
  }
  return {folder / fmt::format("{}-{}.precision.jsonl", model, hash.hex().substr(0, 8)), /*chosen=*/false};
}

Journal::Journal(JournalFile file, const Identity& identity, const std::vector<std::string>& items, bool resume,
                 bool reader)
    : file_(std::move(file)), items_(items) {
  for (std::size_t i = 0; i < items_.size(); ++i) index_of_[items_[i]] = i;
  if (reader) {
    std::error_code none;
    if (resume && std::filesystem::exists(path(), none)) read(identity, resume);
    return;
  }
  open(resume);
  if (!writes()) return;
  try {
    read(identity, resume);
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

void Journal::open(bool resume) {
  if (!file_.chosen && is_written_in_place(path())) return lose("it is not a regular file");
  require_no_pipe(path());
  std::error_code ignored;  // what is wrong is said when the file is opened
  if (path().has_parent_path()) std::filesystem::create_directories(path().parent_path(), ignored);
  descriptor_ = ::open(path().c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor_ < 0 && !file_.chosen && !resume) return lose(std::strerror(errno));
  if (descriptor_ < 0) {
    throw Error(ErrorCode::FileUnwritable, fmt::format("{}: {}", printable(path().string()), std::strerror(errno)));
  }
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return;
  const bool held = errno == EWOULDBLOCK;
  const std::string why = fmt::format("{}: {}", printable(path().string()),
                                      held ? "another search writes this journal" : std::strerror(errno));
  ::close(descriptor_);
  descriptor_ = -1;
  if (held && !file_.chosen && !resume) {
    notes_.push_back({"journal-held", {{"file", path().string()}}});
    return;
  }
  throw Error(held ? ErrorCode::InUse : ErrorCode::FileUnwritable, why,
              held ? "wait for it, or give this one a file of its own: ‹journal› FILE" : "");
}

Journal::~Journal() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void Journal::refuse(const std::string& what, const std::string& hint) const { refuse_journal(path(), what, hint); }

void Journal::begin(const Identity& identity) {
  if (!writes()) return;  // a reader's: another process begins it
  if (::ftruncate(descriptor_, 0) != 0) refuse(std::strerror(errno));
  append(text_of(JournalHeader{.search = identity, .items = items_}));
}

void Journal::put_aside(const std::string& text) {
  const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n'));
  if (descriptor_ < 0 || lines < 2) return;
  std::filesystem::path aside;
  int copy = -1;
  for (int number = 1; copy < 0; ++number) {
    aside = path();
    aside += fmt::format(".{}", number);
    copy = ::open(aside.c_str(), O_WRONLY | O_CREAT | (file_.chosen ? O_EXCL : O_TRUNC) | O_CLOEXEC | O_NONBLOCK, 0644);
    if (copy < 0 && errno != EEXIST) {
      return lose(
          fmt::format("its trials cannot be put aside in {}: {}", printable(aside.string()), std::strerror(errno)));
    }
  }
  const bool whole = write_all(copy, text);
  if (::close(copy) != 0 || !whole) {
    const std::string why = std::strerror(errno);
    ::unlink(aside.c_str());
    return lose("its trials cannot be put aside: " + why);
  }
  if (!file_.chosen) return;
  notes_.push_back({"journal-moved", {{"file", path().string()}, {"lines", lines - 1}, {"aside", aside.string()}}});
}

void Journal::read(const Identity& identity, bool resume) {
  const std::string text = read_text(path());
  if (text.empty()) {
    if (resume && writes()) notes_.push_back({"nothing-to-resume", {{"file", path().string()}}});
    return begin(identity);
  }
  const std::size_t first = text.find('\n');
  const JournalHeader header = header_for(path(), text.substr(0, first), identity, resume, Part::Whole);
  if (!resume) {
    put_aside(text);
    return begin(identity);
  }
  if (header.items != items_) refuse("lists other layers than this search has", kOther);

  std::size_t number = 2;
  std::size_t start = first == std::string::npos ? text.size() : first + 1;
  while (start < text.size()) {
    const std::size_t end = text.find('\n', start);
    if (end == std::string::npos) {
      notes_.push_back({"journal-line-dropped", {{"file", path().string()}}});
      if (descriptor_ >= 0 && ::ftruncate(descriptor_, static_cast<off_t>(start)) != 0) refuse(std::strerror(errno));
      break;
    }
    take(text.substr(start, end - start), number++);
    start = end + 1;
  }
}

void Journal::take(const std::string& line, std::size_t number) {
  const std::string where = fmt::format("{}: line {}", printable(path().string()), number);
  try {
    const Json json = parse_json(line, where);
    if (json.contains("estimate")) {
      EstimateLine estimate;
      read_json(json, Place(where), estimate);
      estimates_[indices(estimate.kept, number)] = estimate.damage;
      return;
    }
    TrialLine trial;
    read_json(json, Place(where), trial);
    const KeptSet kept = indices(trial.kept, number);
    known_[kept].push_back(trials_.size());
    trials_.push_back({kept, trial});
  } catch (const Error& error) {
    throw Error(ErrorCode::Journal, error.what(), "delete that line, or begin anew with another ‹journal› FILE");
  }
}

KeptSet Journal::indices(const std::vector<std::string>& names, std::size_t number) const {
  KeptSet set;
  for (const std::string& name : names) {
    const auto found = index_of_.find(name);
    if (found == index_of_.end()) refuse(fmt::format("line {}: there is no layer '{}'", number, printable(name)));
    set.push_back(found->second);
  }
  std::sort(set.begin(), set.end());
  return set;
}

std::vector<std::string> Journal::names(const KeptSet& kept) const {
  std::vector<std::string> list;
  for (const std::size_t item : kept) list.push_back(items_[item]);
  return list;
}

void Journal::append(const std::string& line) {
  if (!writes()) return;
  const off_t before = ::lseek(descriptor_, 0, SEEK_END);
  if (write_all(descriptor_, line)) return;
  const std::string why = std::strerror(errno);
  // Without half a line. Where that fails too, who resumes drops it.
  if (before >= 0 && ::ftruncate(descriptor_, before) != 0) {
    notes_.push_back({"journal-line-not-removed", {{"file", path().string()}, {"error", std::strerror(errno)}}});
  }
  lose(why);
}

void Journal::lose(const std::string& why) {
  lost_ = Note{"trials-not-kept", {{"file", path().string()}, {"why", why}}};
  notes_.push_back(*lost_);
}

Oracle Journal::recorded(const Oracle& oracle) {
  return [this, &oracle](const KeptSet& kept) {
    if (const auto known = known_.find(kept); known != known_.end() && used_[kept] < known->second.size()) {
      ++recalled_;
      return trials_[known->second[used_[kept]++]].trial;
    }
    const auto start = std::chrono::steady_clock::now();
    const Trial trial = oracle(kept);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    append(text_of(TrialLine{trial, names(kept), std::round(took.count() * 1e4) / 1e4}));
    trials_.push_back({kept, trial});
    return trial;
  };
}

std::function<double(const KeptSet&)> Journal::recorded_estimate(std::function<double(const KeptSet&)> estimate) {
  return [this, inner = std::move(estimate)](const KeptSet& kept) {
    if (const auto known = estimates_.find(kept); known != estimates_.end()) return known->second;
    const double damage = inner(kept);
    // An estimate that was interrupted comes back infinite: on file it would mislead the search that resumes.
    if (std::isfinite(damage)) {
      append(text_of(EstimateLine{names(kept), damage}));
      estimates_[kept] = damage;
    }
    return damage;
  };
}

}  // namespace vernier
