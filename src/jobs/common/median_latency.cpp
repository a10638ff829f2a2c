#include "jobs/common/median_latency.h"

#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/median.h"
#include "engines/onnxruntime/session.h"

namespace vernier {

double median_latency_ms(const std::shared_ptr<const Runtime>& runtime, const Model& model, const Sample& sample,
                         int threads) {
  using Clock = std::chrono::steady_clock;
  const Session session(runtime, model,
                        {.optimize = true, .threads = threads, .integer_kernels = true, .any_outputs = true});
  session.run(sample);
  // Enough for two digits. A network that takes long is not timed for as long as it takes to be diagnosed.
  constexpr std::size_t kLeast = 3, kMost = 50;
  constexpr double kEnough = 50, kTooLong = 4000;  // ms
  std::vector<double> times;
  double total = 0;
  while (times.size() < kLeast || (total < kEnough && times.size() < kMost)) {
    const Clock::time_point start = Clock::now();
    session.run(sample);
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    total += times.back();
    if (total > kTooLong) break;
  }
  return median(std::move(times));
}

}  // namespace vernier
