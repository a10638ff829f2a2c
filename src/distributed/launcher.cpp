#include "distributed/launcher.h"

#include <cstdlib>

namespace vernier {
namespace {

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

Launcher launcher_of_this() {
  if (std::string ranks = environment("OMPI_COMM_WORLD_SIZE"); !ranks.empty()) {
    return {"openmpi", ranks, ranks == environment("OMPI_COMM_WORLD_LOCAL_SIZE")};
  }
  if (std::string ranks = environment("PMI_SIZE"); !ranks.empty()) return {"mpich", ranks, false};
  return {};
}

}  // namespace vernier
