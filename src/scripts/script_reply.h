// Where a script's program learns that its question is answered: descriptor 4, which says where in the shared file the
// answer is.
#pragma once

#include <array>
#include <string>

#include "base/scratch_file.h"

namespace vernier {

class ScriptReply {
 public:
  ScriptReply();
  ScriptReply(const ScriptReply&) = delete;
  ScriptReply& operator=(const ScriptReply&) = delete;
  ~ScriptReply();

  /// For ScriptProcess::inherited.
  int reading_end() const { return ends_[0]; }

  /// Appends `text` to the shared file, and says where it is. Errors: Backend when the system refuses.
  void send(const ScratchFile& scratch, const std::string& text) const;

 private:
  std::array<int, 2> ends_{};  // both stay open here, so that writing never fails
};

}  // namespace vernier
