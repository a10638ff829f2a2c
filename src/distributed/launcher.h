// What started this process: nobody in particular, or an mpirun, which tells its ranks by their environment.
#pragma once

#include <string>

namespace vernier {

struct Launcher {
  std::string mpi;              // "openmpi", or "mpich": Hydra, and those who speak its protocol; empty: no mpirun
  std::string ranks;            // how many were started
  bool on_one_machine = false;  // all of them, as far as the launcher says it
};

Launcher launcher_of_this();

}  // namespace vernier
