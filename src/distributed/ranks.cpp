#include "distributed/ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "distributed/wire.h"
#include "vernier/error_code.h"

namespace vernier {
namespace {

// What a message is.
constexpr char kData = 'd';
constexpr char kDone = 'e';
constexpr char kFailed = 'f';

Message bytes_of(const Error& error) {
  Packer packer;
  packer.put(error.code());
  packer.put(std::string(error.what()));
  packer.put(error.hint());
  return packer.take();
}

Error error_of(std::size_t rank, std::span<const std::byte> bytes) {
  Unpacker unpacker(bytes);
  const auto code = unpacker.get<ErrorCode>();
  const std::string what = unpacker.get_text();
  return {code, fmt::format("rank {}: {}", rank, what), unpacker.get_text()};
}

}  // namespace

Ranks::Ranks(std::unique_ptr<Transport> transport)
    : transport_(std::move(transport)), rank_(transport_->rank()), size_(transport_->size()) {}

std::vector<Message> Ranks::exchange(char kind, Message mine) {
  mine.push_back(static_cast<std::byte>(kind));  // behind the rest, which then stays where it is
  return transport_->all_gather(std::move(mine));
}

std::vector<Message> Ranks::share(Message mine) {
  if (alone()) return {std::move(mine)};
  if (ended_) throw Error(ErrorKind::Internal, "a rank that ended still talks");
  std::vector<Message> all = exchange(kData, std::move(mine));
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const auto kind = static_cast<char>(all[rank].back());
    if (kind == kData) continue;
    ended_ = true;
    if (kind == kFailed) throw error_of(rank, all[rank]);
    throw Error(ErrorKind::Internal, fmt::format("rank {} ended, and rank {} did not", rank, rank_));
  }
  for (Message& bytes : all) bytes.pop_back();
  return all;
}

double Ranks::of_first(double mine) { return of_first(std::vector{mine}).at(0); }

std::vector<double> Ranks::of_first(std::vector<double> mine) {
  if (alone()) return mine;
  Packer packer;
  if (first()) packer.put(mine);
  return Unpacker(share(packer.take()).front()).get_vector<double>();
}

std::size_t Ranks::least(std::size_t mine) {
  if (alone()) return mine;
  Packer packer;
  packer.put(mine);
  for (const Message& other : share(packer.take())) mine = std::min(mine, Unpacker(other).get<std::size_t>());
  return mine;
}

bool Ranks::agree_on(std::size_t mine) { return least(least(mine) == mine ? 1 : 0) == 1; }

void Ranks::require_same(const std::string& what, const std::string& text) {
  if (alone()) return;
  Packer packer;
  packer.put(text);
  const std::vector<Message> all = share(packer.take());
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    throw Error(ErrorCode::Unlike, fmt::format("rank {} has {} unlike that of rank 0", rank, what),
                "every machine must see the same files, and scripts must give the same in every process");
  }
}

std::optional<Error> Ranks::end(const Error* failure) {
  if (alone() || ended_) {
    ended_ = true;
    return std::nullopt;
  }
  ended_ = true;
  const std::vector<Message> all =
      exchange(failure == nullptr ? kDone : kFailed, failure == nullptr ? Message() : bytes_of(*failure));
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const auto kind = static_cast<char>(all[rank].back());
    if (rank == rank_ || kind == kDone) continue;
    if (kind == kFailed) return error_of(rank, all[rank]);
    return Error(ErrorKind::Internal, fmt::format("rank {} ended, and rank {} did not", rank_, rank));
  }
  return std::nullopt;
}

void Ranks::finish() noexcept {
  try {
    if (transport_) transport_->finish();
  } catch (const Error&) {
    return;
  }
}

namespace {
std::unique_ptr<Ranks>& job() {
  static auto ranks = std::make_unique<Ranks>();
  return ranks;
}
}  // namespace

Ranks& job_ranks() { return *job(); }

void join_job() {
  if (auto transport = mpi_transport()) job() = std::make_unique<Ranks>(std::move(transport));
}

}  // namespace vernier
