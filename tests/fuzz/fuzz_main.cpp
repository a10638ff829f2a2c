// Stands in for libFuzzer: the seeds, each of their truncations, and mutations of them from a fixed random sequence.
// Usage: fuzz_x ROUNDS | fuzz_x FILE... (to replay findings)
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "fuzz_target.h"

namespace {

void run(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

std::string mutated(std::string input, const std::vector<std::string>& seeds, std::mt19937& random) {
  const auto below = [&random](std::size_t end) { return end == 0 ? 0 : random() % end; };
  const char interesting[] = {'\0', '\1', '\x7F', '\xFF', '\x80', '9', '0', '(', ')', '[', '{', '"', ','};
  for (std::size_t edits = 1 + below(6); edits > 0 && !input.empty(); --edits) {
    const std::size_t at = below(input.size());
    switch (below(6)) {
      case 0:
        input[at] = static_cast<char>(input[at] ^ 1 << below(8));
        break;
      case 1:
        input[at] = interesting[below(sizeof(interesting))];
        break;
      case 2:
        input.erase(at, 1 + below(8));
        break;
      case 3:
        input.insert(at, 1 + below(8), interesting[below(sizeof(interesting))]);
        break;
      case 4:
        input.resize(at);
        break;
      default: {
        const std::string& other = seeds[below(seeds.size())];
        const std::size_t from = below(other.size());
        input.insert(at, other.substr(from, 1 + below(32)));
      }
    }
  }
  return input;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> seeds = fuzz_seeds();
  if (argc > 1 && std::atol(argv[1]) == 0) {
    for (int i = 1; i < argc; ++i) {
      std::ifstream file(argv[i], std::ios::binary);
      run({std::istreambuf_iterator<char>(file), {}});
    }
    return 0;
  }
  const long rounds = argc > 1 ? std::atol(argv[1]) : 1000;
  for (const std::string& seed : seeds) run(seed);
  std::mt19937 random(1);
  for (long i = 0; i < rounds; ++i) run(mutated(seeds[static_cast<std::size_t>(i) % seeds.size()], seeds, random));
  std::printf("%ld mutations of %zu seeds\n", rounds, seeds.size());
  return 0;
}
