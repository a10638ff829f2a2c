#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "distributed/mpi_plugin.h"
#include "distributed/ranks.h"
#include "vernier/error.h"

namespace vernier {
namespace {
namespace fs = std::filesystem;

class MpiTransport : public Transport {
 public:
  explicit MpiTransport(const vernier_mpi& mpi) : mpi_(mpi) { check(mpi_.start(&rank_, &size_), "cannot start"); }
  std::size_t rank() const override { return static_cast<std::size_t>(rank_); }
  std::size_t size() const override { return static_cast<std::size_t>(size_); }
  std::vector<Message> all_gather(Message mine) override {
    std::vector<std::uint64_t> sizes(size());
    check(mpi_.gather_sizes(mine.size(), sizes.data()), "cannot reach the other ranks");
    std::vector<Message> all(size());
    for (std::size_t root = 0; root < all.size(); ++root) {
      if (root == rank()) {
        all[root] = std::move(mine);
      } else {
        all[root].resize(sizes[root]);
      }
      check(mpi_.broadcast(all[root].data(), sizes[root], static_cast<int>(root)), "cannot reach the other ranks");
    }
    return all;
  }
  void finish() override { check(mpi_.finish(), "cannot end"); }

 private:
  static void check(int code, const char* what) {
    if (code != 0) throw Error(ErrorKind::Backend, fmt::format("MPI: {} (code {})", what, code));
  }
  const vernier_mpi& mpi_;
  int rank_ = 0;
  int size_ = 1;
};

std::string environment(const char* name) {
  const char* value = std::getenv(name);  // before any thread of ours
  return value == nullptr ? "" : value;
}

/// Of the MPI that started this process; empty when none did.
std::string started_by() {
  const std::string said = environment("VERNIER_MPI");
  if (!said.empty()) return said == "none" ? "" : said;
  if (!environment("OMPI_COMM_WORLD_SIZE").empty()) return "openmpi";
  if (!environment("PMI_SIZE").empty()) return "mpich";  // Hydra, and those who speak its protocol
  return "";
}

/// A job of one rank needs no MPI.
bool started_alone() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    if (const std::string size = environment(name); !size.empty()) return size == "1";
  }
  return false;
}

}  // namespace

std::unique_ptr<Transport> mpi_transport() {
  const std::string mpi = started_by();
  if (mpi.empty() || started_alone()) return nullptr;
  if (mpi != "openmpi" && mpi != "mpich") {
    throw Error(ErrorKind::Usage, "VERNIER_MPI: not one of openmpi mpich none");
  }
  const std::string file = fmt::format("libvernier_{}.so", mpi);
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  std::string reason = "not found";
  // Installed beside the program's folder; in a build folder two above.
  for (const fs::path& folder :
       {program / ".." / "lib" / "vernier", program / ".." / ".." / "lib" / "vernier", program}) {
    if (!fs::exists(folder / file, ignored)) continue;
    // Open MPI's own plug-ins look for its symbols in the global scope.
    void* library = ::dlopen((folder / file).c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) {
      reason = ::dlerror();
      continue;
    }
    using Entry = const vernier_mpi* (*)();
    const auto entry = reinterpret_cast<Entry>(::dlsym(library, "vernier_mpi_plugin"));
    if (entry != nullptr && entry()->version == VERNIER_MPI_VERSION) return std::make_unique<MpiTransport>(*entry());
    reason = "of another version";
  }
  throw Error(ErrorKind::Backend,
              fmt::format("mpirun of {} started this, and the plug-in for it cannot be used: {}: {}",
                          mpi == "openmpi" ? "Open MPI" : "MPICH", file, reason),
              "build with that MPI's compiler command installed (Debian: libopenmpi-dev, libmpich-dev), or run without "
              "mpirun");
}

}  // namespace vernier
