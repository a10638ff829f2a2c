// A loop of outside checks: numbers the iterations, puts each candidate where the check looks for it, and keeps what
// users of the peer expect around it: the iteration's number in a file, artifacts sorted by verdict, a replay.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "external_check/external_check.h"
#include "external_check/replay.h"
#include "vernier/check.h"
#include "vernier/note.h"
#include "vernier/sinks.h"

namespace vernier {

class CheckLoop {
 public:
  /// Errors: Usage when the options contradict each other, the candidate's name is taken, or another loop writes
  /// its candidates there; Input when a replay does
  /// not fit, or one of another model would be overwritten.
  CheckLoop(const CheckOptions& options, const CheckIdentity& identity, const JobSinks& sinks,
            const CheckSinks& check_sinks);
  /// Removes the candidate and the iteration's number.
  ~CheckLoop();
  CheckLoop(const CheckLoop&) = delete;
  CheckLoop& operator=(const CheckLoop&) = delete;

  struct Result {
    Verdict verdict = Verdict::Invalid;
    std::string why;
    bool replayed = false;  // believed from the replay: no candidate was written, no check was run
  };

  /// One iteration. `state` is what tells this candidate from others, for the replay: a JSON object. `label` ends up in
  /// the names of artifacts ("outputs"); may be empty. `write` puts the candidate at the path given; when it throws
  /// Error{Input} or Error{Backend} the candidate is invalid, and no check is run. Empty `write`: there is no
  /// candidate. Errors: Backend when the check cannot be started; Interrupted; Input when a file cannot be written.
  Result check(const Json& state, const std::string& label,
               const std::function<void(const std::filesystem::path&)>& write);

  std::size_t iterations() const { return iterations_; }
  std::size_t checks_run() const { return checks_run_; }
  std::size_t count(Verdict verdict) const;

  /// "Finished 5 iteration(s) | Passed: 4/5 | Pass Rate: 80.0%", and what could not be judged.
  std::string summary() const;

 private:
  CheckAnswer ask(const std::string& key, const Json& state,
                  const std::function<void(const std::filesystem::path&)>& write);
  void show(const CheckAnswer& answer) const;
  void say(const std::string& text) const;
  void warn_once(const Note& note);
  void clean_up(bool last) const noexcept;

  CheckOptions options_;
  JobSinks sinks_;
  CheckSinks check_sinks_;
  Replay replay_;
  std::vector<Note> warned_;
  std::map<Verdict, std::size_t> verdicts_;
  std::size_t iterations_ = 0;
  std::size_t checks_run_ = 0;
  bool wrote_ = false;
  Descriptor lock_;  // on the candidate's name
};

}  // namespace vernier
