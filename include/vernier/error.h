// The one exception of the library: it could not go on. What the tool was asked to find out (a bad layer, a failed
// comparison, a model that a back end refuses) is a value, never an Error.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "vernier/export.h"
#include "vernier/marks.h"

namespace vernier {

/// Who can act on a failure. The number is the process exit code.
enum class ErrorKind : int { Usage = 2, Input = 3, Backend = 4, Internal = 70, Interrupted = 130 };

class VERNIER_API Error : public std::runtime_error {
 public:
  /// `what` stands alone on one line: which file, which thing, both numbers; lower case, no final full stop.
  /// `hint` is a command to paste or the nearest valid names; empty when there is nothing to add.
  /// Both name arguments and commands between marks (marks.h): command_words(error.what()) is what the command prints.
  Error(ErrorKind kind, const std::string& what, std::string hint = {})
      : std::runtime_error(what), kind_(kind), hint_(std::move(hint)) {}
  ErrorKind kind() const noexcept { return kind_; }
  const std::string& hint() const noexcept { return hint_; }
  /// The argument that it is about, the first one that what() marks: "image-std"; empty when it is about none.
  std::string subject() const;
  /// What hint() marks, in its order: arguments to give, commands to run.
  std::vector<Marked> remedies() const;

 private:
  ErrorKind kind_;
  std::string hint_;
};

}  // namespace vernier
