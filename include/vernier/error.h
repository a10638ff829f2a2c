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

/// Which failure it is: error_code.h lists them.
enum class ErrorCode : int;

/// The kind is in the first digit of a code; an interrupt has none.
constexpr ErrorKind kind_of(ErrorCode code) {
  const int digit = static_cast<int>(code) / 100;
  return digit == 0 ? ErrorKind::Interrupted : digit == 7 ? ErrorKind::Internal : static_cast<ErrorKind>(digit);
}

/// The code of a failure of this kind that none of its own names.
constexpr ErrorCode general_code(ErrorKind kind) {
  return static_cast<ErrorCode>(kind == ErrorKind::Interrupted ? 0
                                : kind == ErrorKind::Internal  ? 700
                                                               : static_cast<int>(kind) * 100);
}

class VERNIER_API Error : public std::runtime_error {
 public:
  /// `what` stands alone on one line: which file, which thing, both numbers; lower case, no final full stop.
  /// `hint` is a command to paste or the nearest valid names; empty when there is nothing to add.
  /// Both name arguments and commands between marks (marks.h): command_words(error.what()) is what the command prints.
  Error(ErrorCode code, const std::string& what, std::string hint = {})
      : std::runtime_error(what), code_(code), hint_(std::move(hint)) {}
  Error(ErrorKind kind, const std::string& what, std::string hint = {})
      : Error(general_code(kind), what, std::move(hint)) {}
  ErrorKind kind() const noexcept { return kind_of(code_); }
  ErrorCode code() const noexcept { return code_; }
  const std::string& hint() const noexcept { return hint_; }
  /// The argument that it is about, the first one that what() marks: "image-std"; empty when it is about none.
  std::string subject() const;
  /// What hint() marks, in its order: arguments to give, commands to run.
  std::vector<Marked> remedies() const;
  /// The same, of a node that refuses (its name; empty: of none), with the reason alone: what() names the file, the
  /// back end and the node in front of it.
  Error about(std::string node, std::string reason) const;
  const std::string& node() const noexcept { return node_; }
  /// Without the places that what() begins with; what() itself where nobody told them apart.
  std::string reason() const { return reason_.empty() ? what() : reason_; }

 private:
  ErrorCode code_;
  std::string hint_, node_, reason_;
};

}  // namespace vernier
