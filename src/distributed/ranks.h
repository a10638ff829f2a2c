// More than one process on one job: mpirun starts the same command on each machine, every process ("rank") runs the
// same steps, and where samples or candidates are independent each rank computes some and all learn all results. So
// every rank takes the same decisions, and the answer is that of one rank, bit for bit.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vernier/error.h"

namespace vernier {

using Message = std::vector<std::byte>;

/// How ranks reach each other. A failure of the network is an Error{Backend}.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual std::size_t rank() const = 0;
  virtual std::size_t size() const = 0;
  /// Each rank's bytes, by rank, on every rank. All ranks must call it as often.
  virtual std::vector<Message> all_gather(Message mine) = 0;
  /// All ranks are done, and this was the last call.
  virtual void finish() = 0;
};

/// The ranks of one job, seen from one of them. Alone unless a transport is given.
class Ranks {
 public:
  Ranks() = default;
  explicit Ranks(std::unique_ptr<Transport> transport);

  std::size_t rank() const { return rank_; }
  std::size_t size() const { return parted_ ? 1 : size_; }
  /// The one that prints and writes files.
  bool first() const { return rank_ == 0; }
  bool alone() const { return size() == 1; }

  /// Each rank's bytes, by rank, on every rank: the only way in which ranks talk. Errors: that of another rank which
  /// could not go on, with its number; Internal when ranks went different ways.
  std::vector<Message> share(Message mine);

  /// The first rank's number, on every rank: for what ranks would each answer a little differently, such as clocks.
  double of_first(double mine);
  std::vector<double> of_first(std::vector<double> mine);
  /// The smallest of all ranks' numbers, on every rank.
  std::size_t least(std::size_t mine);
  /// Whether all ranks have the same number.
  bool agree_on(std::size_t mine);
  /// Errors: Input when ranks have different texts, naming `what` and the rank: they do not see the same files.
  void require_same(const std::string& what, const std::string& text);

  /// This rank is done (null) or failed: others that still go on learn it. Gives the failure of another rank, and is
  /// called once, last; what is `alone` needs no call.
  std::optional<Error> end(const Error* failure);
  /// From now on the first rank works by itself: where a command gains nothing from several. No failure is told.
  void part() { ended_ = parted_ = true; }
  /// Returns when all ranks called it; the last call. A transport that fails here is of no interest any more.
  void finish() noexcept;

 private:
  std::vector<Message> exchange(char kind, Message mine);

  std::unique_ptr<Transport> transport_;
  std::size_t rank_ = 0;
  std::size_t size_ = 1;
  bool ended_ = false;
  bool parted_ = false;
};

/// The process's ranks: alone until join_job().
Ranks& job_ranks();

/// The ranks that mpirun started this process among; of Open MPI and of MPICH, told apart by what they put into the
/// environment (VERNIER_MPI=openmpi|mpich|none overrides). Errors: Backend when it was started as one of several and
/// the plug-in for that MPI is not there.
void join_job();

/// The transport of the MPI that started this process; null when none did.
std::unique_ptr<Transport> mpi_transport();

}  // namespace vernier
