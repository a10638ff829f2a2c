#include "jobs/common/gpu_of_rank.h"

#include <algorithm>
#include <map>

#include "distributed/ranks.h"
#include "distributed/wire.h"

namespace vernier {

GpuOfRank choose_gpu(const std::vector<std::vector<std::string>>& seen, std::size_t rank) {
  std::map<std::string, int> ranks_of;
  GpuOfRank choice;
  for (std::size_t each = 0; each <= rank; ++each) {
    const auto found = std::ranges::min_element(seen[each], {}, [&](const std::string& id) { return ranks_of[id]; });
    if (found == seen[each].end()) continue;
    choice = {static_cast<int>(found - seen[each].begin()), ranks_of[*found]++ > 0};
  }
  return seen[rank].empty() ? GpuOfRank{} : choice;
}

GpuOfRank gpu_among_ranks(Ranks& ranks, const std::vector<std::string>& mine) {
  Packer packer;
  packer.put(mine.size());
  for (const std::string& id : mine) packer.put(id);
  std::vector<std::vector<std::string>> seen;
  for (const Message& message : ranks.share(packer.take())) {
    Unpacker unpacker(message);
    std::vector<std::string>& ids = seen.emplace_back(unpacker.get<std::size_t>());
    for (std::string& id : ids) id = unpacker.get_text();
  }
  return choose_gpu(seen, ranks.rank());
}

}  // namespace vernier
