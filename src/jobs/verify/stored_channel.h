// How far the stored values of a constant, or of one of its channels, are off from those of the float model.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace vernier {

inline constexpr double kLostEnergy = 0.25;
inline constexpr double kOffValues = 0.1;
/// What no rounding to eight bits takes from a channel: then factors and cut off values are looked for.
inline constexpr double kNoticedEnergy = 0.01;
/// Quantizers that learn how to round take the next step, never the one behind it.
inline constexpr double kNextStep = 1.5;

/// One channel of a constant, counted: how far its stored values are off.
struct StoredChannel {
  double energy = 0, error = 0, product = 0;
  double steps = 0, squared_steps = 0;  // sums of the signed differences
  std::size_t values = 0, off = 0;      // off: by more than a step
  float worst = 0, reference = 0, stored = 0;
  void add(float a, float b, float step) {
    const double difference = std::abs(static_cast<double>(a) - static_cast<double>(b));
    energy += static_cast<double>(a) * static_cast<double>(a);
    error += difference * difference;
    product += static_cast<double>(a) * static_cast<double>(b);
    const double in_steps = (static_cast<double>(b) - static_cast<double>(a)) / static_cast<double>(step);
    steps += in_steps;
    squared_steps += in_steps * in_steps;
    ++values;
    if (difference > kNextStep * static_cast<double>(step)) ++off;
    if (static_cast<float>(difference) >= worst) {
      worst = static_cast<float>(difference);
      reference = a;
      stored = b;
    }
  }
  /// By how many steps all values are off together; 0: they are not. Rounding leaves a variance of 1 / 12.
  double shift() const {
    constexpr std::size_t kFewest = 4;
    const double mean = steps / static_cast<double>(values);
    const double variance = squared_steps / static_cast<double>(values) - mean * mean;
    return values >= kFewest && std::abs(mean) > kNextStep && variance < 0.5 ? mean : 0;
  }
  bool off_by_more_than(double share) const {
    return error > share * energy && static_cast<double>(off) > kOffValues * static_cast<double>(values);
  }
  bool wrong() const { return off_by_more_than(kLostEnergy); }
  bool noticed() const { return off_by_more_than(kNoticedEnergy); }
  /// Of the stored values to those of the float model, by least squares.
  double factor() const { return energy > 0 ? product / energy : 1; }
};

/// Values of one channel that are cut off at the largest and the smallest that it stores.
struct StoredCutOff {
  float low = std::numeric_limits<float>::max(), high = std::numeric_limits<float>::lowest();  // stored
  float worst = 0;  // of the float model, the farthest beyond them
  double lost = 0, energy = 0;
  std::size_t beyond = 0, values = 0;
  bool rounded = true;  // all that lies between them is what rounding gives

  void add(float wanted, float held, float step) {
    ++values;
    energy += static_cast<double>(wanted) * static_cast<double>(wanted);
    const double difference = static_cast<double>(wanted) - static_cast<double>(std::clamp(wanted, low, high));
    if (std::abs(std::clamp(wanted, low, high) - held) > kNextStep * step) rounded = false;
    if (std::abs(difference) <= kNextStep * static_cast<double>(step)) return;
    ++beyond;
    lost += difference * difference;
    if (std::abs(wanted) > std::abs(worst)) worst = wanted;
  }
  bool any() const { return rounded && high > low && beyond > 0 && lost > kNoticedEnergy * energy; }
};

/// Codes of a whole constant that rounding cannot give, among others that are what it gives. Quantizers that change
/// weights on purpose (equalization, training, GPTQ) move most of them, and few of them far.
class FarCodes {
 public:
  /// `far`: steps, more than any rounding takes.
  explicit FarCodes(double far) : far_(far) {}

  /// `wanted`: cut to the ends of the grid, beyond which a quantizer may clip.
  void add(std::size_t index, float wanted, float held, float step) {
    ++values_;
    const double steps = std::abs(static_cast<double>(wanted) - static_cast<double>(held)) / static_cast<double>(step);
    if (steps > far_) {
      ++count_;
    } else if (steps > kNextStep) {
      ++between_;
    }
    if (steps <= worst_) return;
    worst_ = steps;
    worst_index_ = index;
  }

  bool any() const { return count_ > 0 && between_ <= count_ && count_ * 4 <= values_; }
  std::size_t count() const { return count_; }
  std::size_t values() const { return values_; }
  std::size_t worst_index() const { return worst_index_; }

 private:
  double far_;
  double worst_ = 0;
  std::size_t values_ = 0, count_ = 0, between_ = 0, worst_index_ = 0;
};

}  // namespace vernier
