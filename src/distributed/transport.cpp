#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "distributed/launcher.h"
#include "distributed/mpi_plugin.h"
#include "distributed/ranks.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

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
    if (code != 0) throw Error(ErrorCode::Ranks, fmt::format("MPI: {} (code {})", what, code));
  }
  const vernier_mpi& mpi_;
  int rank_ = 0;
  int size_ = 1;
};

/// Of the MPI that started this process; empty when none did.
std::string started_by() {
  const char* const said = std::getenv("VERNIER_MPI");  // before any thread of ours
  if (said == nullptr || *said == '\0') return launcher_of_this().mpi;
  return std::string_view(said) == "none" ? "" : said;
}

}  // namespace

std::unique_ptr<Transport> mpi_transport() {
  const std::string mpi = started_by();
  if (mpi.empty() || launcher_of_this().ranks == "1") return nullptr;  // a job of one rank needs no MPI
  if (mpi != "openmpi" && mpi != "mpich") {
    throw Error(ErrorCode::BadValue, "VERNIER_MPI: not one of openmpi mpich none");
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
  throw Error(ErrorCode::Ranks,
              fmt::format("mpirun of {} started this, and the plug-in for it cannot be used: {}: {}",
                          mpi == "openmpi" ? "Open MPI" : "MPICH", file, reason),
              "build with that MPI's compiler command installed (Debian: libopenmpi-dev, libmpich-dev), or run without "
              "mpirun");
}

}  // namespace vernier
