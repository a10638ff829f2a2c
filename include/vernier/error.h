// The one exception of the library: it could not go on. What the tool was asked to find out (a bad layer, a failed
// comparison, a model that a back end refuses) is a value, never an Error.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "vernier/export.h"

namespace vernier {

/// Who can act on a failure. The number is the process exit code.
enum class ErrorKind : int { Usage = 2, Input = 3, Backend = 4, Internal = 70, Interrupted = 130 };

class VERNIER_API Error : public std::runtime_error {
 public:
  /// `what` stands alone on one line: which file, which thing, both numbers; lower case, no final full stop.
  /// `hint` is a command to paste or the nearest valid names; empty when there is nothing to add.
  Error(ErrorKind kind, const std::string& what, std::string hint = {})
      : std::runtime_error(what), kind_(kind), hint_(std::move(hint)) {}
  ErrorKind kind() const noexcept { return kind_; }
  const std::string& hint() const noexcept { return hint_; }

 private:
  ErrorKind kind_;
  std::string hint_;
};

}  // namespace vernier
