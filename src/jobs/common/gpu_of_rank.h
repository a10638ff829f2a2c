// Which GPU each of several ranks takes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace vernier {

class Ranks;

struct GpuOfRank {
  int index = 0;        // among those that the rank sees
  bool shared = false;  // a rank before it has the same
};

/// `seen`: by rank, the ids of the GPUs that it sees. Each rank takes the first of those that fewest ranks before it
/// took: GPUs of one machine in turns, and its own where a launcher lets it see no other.
GpuOfRank choose_gpu(const std::vector<std::vector<std::string>>& seen, std::size_t rank);

/// The choice of this rank, which sees `mine`. All ranks must call it.
GpuOfRank gpu_among_ranks(Ranks& ranks, const std::vector<std::string>& mine);

}  // namespace vernier
