#include "analysis/run_identity.h"

#include <fmt/format.h>

#include "base/hash.h"
#include "base/machine.h"
#include "base/program_stamp.h"
#include "base/version.h"
#include "engines/onnxruntime/runtime.h"

namespace vernier {

std::string run_identity(const Subject& subject) {
  std::string text = fmt::format("{}\n{}\n{}\n{}\n{}\n", vernier_version(), program_stamp(), subject.runtime->version(),
                                 machine_text(), subject.model.sha256);
  text += sha256_of(subject.model.proto.SerializeAsString());
  text += subject.optimizes() ? " optimized\n" : " as it stands\n";
  for (const std::string& output : subject.judged) text += output + "\n";
  return text;
}

}  // namespace vernier
