// numpy.random.RandomState, the part that random inputs need: a run here and a run of the peer see the same numbers.
#pragma once

#include <cstdint>
#include <random>

namespace vernier {

class NumpyRandom {
 public:
  explicit NumpyRandom(std::uint32_t seed) : engine_(seed) {}

  /// RandomState.random_sample(): uniform in [0, 1), 53 bits.
  double unit();

  /// RandomState.randint(0, span + 1, dtype=...): uniform in [0, span], by masked rejection. One object for each array:
  /// for narrow types NumPy takes several numbers from one draw and forgets the rest with the array.
  class Integers {
   public:
    std::uint64_t next();

   private:
    friend class NumpyRandom;
    Integers(NumpyRandom& random, std::uint64_t span, int bits);
    std::uint32_t next_narrow();
    NumpyRandom& random_;
    std::uint64_t span_;
    std::uint64_t mask_;
    int bits_;
    int left_ = 0;
    std::uint32_t buffer_ = 0;
  };
  /// `bits` is the width of the array's type; 1 for bool. Valid while this object lives.
  Integers integers(std::uint64_t span, int bits) { return {*this, span, bits}; }

 private:
  std::uint32_t word() { return static_cast<std::uint32_t>(engine_()); }
  // Seeded as std::mt19937 is: both are Matsumoto and Nishimura's init_genrand().
  std::mt19937 engine_;
};

}  // namespace vernier
