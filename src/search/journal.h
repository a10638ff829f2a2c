// Every trial of a search as one line of JSON in a file, written before the search goes on: a search that is killed is
// asked nothing twice when it resumes, and the best set so far is always on disk. One search at a time: the file is
// locked as long as the journal lives.
//
//   {"vernier_search_journal": 1, "search": {"model_sha256": "...", ...}, "items": ["conv1", ...]}
//   {"kept": ["conv1"], "verdict": "good", "metric": 24.2, "damage": 0.95, "stopped_early": false, "samples": 20,
//    "seconds": 0.3}                     "confidence": 0.99 where a failure was not certain
//   {"estimate": ["conv1"], "damage": 0.93}
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "search/certificate.h"
#include "search/oracle.h"
#include "vernier/note.h"

namespace vernier {

/// A file for a journal.
struct JournalFile {
  std::filesystem::path path;
  bool chosen;  // someone named it
  JournalFile(std::filesystem::path file, bool named = true) : path(std::move(file)), chosen(named) {}
};

class Journal {
 public:
  /// What decides the answers: the model's hash, the samples', formats, the requirement ... A journal is resumed only
  /// by a search that says the same.
  using Identity = std::map<std::string, std::string>;

  /// Opens `file`; with `resume` its trials are read, else a journal of the same model begins anew, and the one that
  /// was there, where it holds trials, goes on as PATH.1. A file that someone chose goes on as the next number that is
  /// free, which is said in notes(); one that nobody chose leaves no more than two behind.
  ///
  /// Edges: folders around the file are made. `resume` without a file begins one, said in notes(). A last line that was
  /// cut off is dropped, and said in notes(). A file that nobody chose and another search holds is left alone: nothing
  /// is kept, said in notes(). A disk that takes nothing is no error, but lost().
  /// Errors: Usage when another search holds the file. Input when it is no journal, when a line in the middle is
  /// broken (naming it), or when it belongs to a search that differs, naming what differs; a journal of another model
  /// is never overwritten either.
  /// With `reader`, of several processes that search alike, not the one that writes: what is on file is read, and
  /// nothing is written.
  Journal(JournalFile file, const Identity& identity, const std::vector<std::string>& items, bool resume,
          bool reader = false);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// `oracle`, asked only what the journal does not know: the n-th time for a set gives its n-th line. New answers are
  /// on disk before they are returned, unless the disk is full: the answer is what the search is for, so that it goes
  /// on, with a journal that ends there (lost()). Both must outlive what is returned.
  Oracle recorded(const Oracle& oracle);
  /// The same for MinimalOptions::estimate.
  std::function<double(const KeptSet&)> recorded_estimate(std::function<double(const KeptSet&)> estimate);

  /// All trials, in order, those of earlier processes first.
  const std::vector<RecordedTrial>& trials() const { return trials_; }
  /// How many answers came from the file.
  std::size_t recalled() const { return recalled_; }
  const std::vector<Note>& notes() const { return notes_; }
  /// False in a reader, where another search holds the file, and once something was lost.
  bool writes() const { return descriptor_ >= 0 && !lost_; }
  /// Why the file takes no more trials, in words; empty: it does.
  const std::optional<Note>& lost() const { return lost_; }
  const std::filesystem::path& path() const { return file_.path; }

 private:
  void read(const Identity& identity, bool resume);
  void begin(const Identity& identity);
  void put_aside(const std::string& text);
  void open(bool resume);
  void take(const std::string& line, std::size_t number);
  void append(const std::string& line);
  void lose(const std::string& why);
  KeptSet indices(const std::vector<std::string>& names, std::size_t number) const;
  std::vector<std::string> names(const KeptSet& kept) const;
  [[noreturn]] void refuse(const std::string& what, const std::string& hint = {}) const;

  JournalFile file_;
  int descriptor_ = -1;
  std::vector<std::string> items_;
  std::map<std::string, std::size_t> index_of_;
  std::vector<RecordedTrial> trials_;
  std::map<KeptSet, std::vector<std::size_t>> known_;  // indices into trials_, of earlier processes
  std::map<KeptSet, std::size_t> used_;                // how many of those were given
  std::map<KeptSet, double> estimates_;
  std::size_t recalled_ = 0;
  std::vector<Note> notes_;
  std::optional<Note> lost_;
};

/// Refuses, before a search has begun, a file that its journal would refuse. `identity`: as far as it is known by now.
/// No file is none to refuse. Errors: Input.
void require_journal_of(const std::filesystem::path& file, const Journal::Identity& identity, bool resume);

/// Where the journal goes that nobody chose a file for: FOLDER/MODEL-12345678.precision.jsonl, with the first digits of
/// the identity's hash, so that searches which differ never meet in one.
JournalFile default_journal(const std::filesystem::path& folder, const std::string& model,
                            const Journal::Identity& identity);

}  // namespace vernier
