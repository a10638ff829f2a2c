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

/// What the values of a channel are off by.
struct ScaleFactor {
  double factor = 1;
  double deviation = 0;  // of it, relative, from rounding
};

/// One channel of a constant, counted: how far its stored values are off.
struct StoredChannel {
  double energy = 0, error = 0, product = 0;
  std::size_t values = 0, off = 0;  // off: by more than a step
  float worst = 0, reference = 0, stored = 0;
  struct Steps {
    double sum = 0, squares = 0;  // of the signed differences, in steps
    std::size_t values = 0;
    void add(double steps) {
      sum += steps;
      squares += steps * steps;
      ++values;
    }
    void join(const Steps& others) {
      sum += others.sum;
      squares += others.squares;
      values += others.values;
    }
    double mean_square() const { return values == 0 ? 0 : squares / static_cast<double>(values); }
    double mean() const { return values == 0 ? 0 : sum / static_cast<double>(values); }
    double variance() const { return mean_square() - mean() * mean(); }
  };
  Steps all, inside;  // inside: of those that the grid reaches
  double inside_energy = 0, inside_product = 0;
  float step = 0;  // the last one
  /// `reached`: the grid does not end in front of `a`.
  void add(float a, float b, float step_there, bool reached = true) {
    const double difference = std::abs(static_cast<double>(a) - static_cast<double>(b));
    energy += static_cast<double>(a) * static_cast<double>(a);
    error += difference * difference;
    product += static_cast<double>(a) * static_cast<double>(b);
    step = step_there;
    const double steps = (static_cast<double>(b) - static_cast<double>(a)) / static_cast<double>(step);
    all.add(steps);
    if (reached) {
      inside.add(steps);
      inside_energy += static_cast<double>(a) * static_cast<double>(a);
      inside_product += static_cast<double>(a) * static_cast<double>(b);
    }
    ++values;
    if (difference > kNextStep * static_cast<double>(step)) ++off;
    if (static_cast<float>(difference) >= worst) {
      worst = static_cast<float>(difference);
      reference = a;
      stored = b;
    }
  }
  /// By how many steps all values are off together; 0: they are not. Rounding leaves a mean of 0, to step / sqrt(12 n)
  /// of n values, and a variance of 1 / 12; what learns how to round, one of 1 / 3.
  double shift() const {
    for (const Steps& some : {all, inside}) {
      if (some.values < kFewestToJudge) continue;
      if (std::abs(some.mean()) > kNextStep && some.variance() < 0.5) return some.mean();
      if (std::abs(std::abs(some.mean()) - 1) < 0.25 && some.variance() < 0.2 && nearer_than_factor()) {
        return some.mean();
      }
    }
    return 0;
  }
  bool off_by_more_than(double share) const {
    return error > share * energy && static_cast<double>(off) > kOffValues * static_cast<double>(values);
  }
  bool wrong() const { return off_by_more_than(kLostEnergy); }
  bool noticed() const { return off_by_more_than(kNoticedEnergy); }
  /// Farther off than any rounding takes a channel: for counting those that share what others are wrong with.
  bool unlike_rounding() const {
    constexpr double kMostOfRounding = 1.0 / 3;
    return noticed() ||
           (all.squares > kMostOfRounding * static_cast<double>(values) && error > kNoticedEnergy * energy);
  }
  /// Of the stored values to those of the float model, by least squares.
  double factor() const { return energy > 0 ? product / energy : 1; }
  /// Whether that is not `expected`, beyond what rounding makes of it.
  bool rescaled(double expected = 1) const {
    return energy > 0 && differ(factor(), expected, deviation_of_factor(energy));
  }
  /// Whether the grid ends in front of some values, and the others have no other factor: those were cut off.
  bool only_clipped() const {
    if (inside.values < kFewestToJudge || inside.values == values || inside_energy <= 0) return false;
    return !differ(inside_product / inside_energy, 1, deviation_of_factor(inside_energy));
  }
  /// Whether this channel alone has another factor, which leaves what rounding does.
  bool surely_rescaled() const {
    constexpr std::size_t kFewest = 16;
    constexpr double kRounded = 0.12, kLeast = 0.25;
    const double squares = static_cast<double>(step) * static_cast<double>(step) * static_cast<double>(values);
    return values >= kFewest && noticed() && rescaled() && factor() > 0 && std::abs(factor() - 1) > kLeast &&
           error_with_factor() < kRounded * squares;
  }
  ScaleFactor scale_factor() const { return {factor(), std::abs(deviation_of_factor(energy) / factor())}; }
  /// What a factor leaves of the differences, as a sum of squares.
  double error_with_factor() const {
    const double squares = error - energy + 2 * product;
    return energy > 0 ? std::max(squares - product * product / energy, 0.0) : squares;
  }

 private:
  static constexpr std::size_t kFewestToJudge = 4;  // values

  /// What rounding makes of a factor that is fitted to values of this energy.
  double deviation_of_factor(double of) const { return std::abs(static_cast<double>(step)) / std::sqrt(12 * of); }
  static bool differ(double factor, double expected, double deviation) {
    constexpr double kSure = 4, kLeast = 0.01;
    return std::abs(factor - expected) > std::max(kSure * deviation, kLeast);
  }
  bool nearer_than_factor() const {
    const double with_shift = all.variance() * static_cast<double>(values);
    return 2 * with_shift < error_with_factor() / (static_cast<double>(step) * static_cast<double>(step));
  }
};

/// Differences of a whole constant that all lie on one side, as cutting off decimals leaves them in the place of
/// rounding.
class Truncation {
 public:
  void add(float wanted, float held, float step) {
    const double steps = (static_cast<double>(held) - static_cast<double>(wanted)) / static_cast<double>(step);
    down_.add(-steps);
    up_.add(steps);
    to_zero_.add(wanted < 0 ? steps : -steps);
  }
  /// "down", "up" or "toward zero"; empty: they are rounded.
  const char* side() const { return down_.any() ? "down" : up_.any() ? "up" : to_zero_.any() ? "toward zero" : ""; }

 private:
  struct Side {
    StoredChannel::Steps steps;
    std::size_t there = 0;  // between nothing and a step
    void add(double off) {
      constexpr double kTolerance = 0.05;
      steps.add(off);
      if (off > -kTolerance && off < 1 + kTolerance) ++there;
    }
    /// Few distinct values may all be rounded to one side: then they do not spread over the step.
    bool any() const {
      constexpr std::size_t kFewest = 64;
      constexpr double kNearlyAll = 0.98;
      return steps.values >= kFewest && static_cast<double>(there) > kNearlyAll * static_cast<double>(steps.values) &&
             std::abs(steps.mean() - 0.5) < 0.1 && steps.variance() > 0.06 && steps.variance() < 0.11;
    }
  };
  Side down_, up_, to_zero_;
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
