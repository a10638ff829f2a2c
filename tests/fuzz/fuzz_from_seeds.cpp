// Gives libFuzzer the seeds of a target: it starts from nothing, and changes what is worth keeping by itself.
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "fuzz_target.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t limit);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t limit,
                                               unsigned int random) {
  static const std::vector<std::string> seeds = fuzz_seeds();
  constexpr unsigned int kFromSeed = 1000;  // one in so many: a target with a corpus loses nothing
  if (size > 1 && random % kFromSeed != 0) return LLVMFuzzerMutate(data, size, limit);
  const std::string& seed = seeds[std::minstd_rand(random)() % seeds.size()];
  if (seed.size() > limit) return LLVMFuzzerMutate(data, size, limit);
  std::memcpy(data, seed.data(), seed.size());
  return seed.size();
}
