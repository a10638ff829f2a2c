#include "flow/latency.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "engine/ort/session.h"

namespace vernier {

double median_latency_ms(const std::shared_ptr<const Runtime>& runtime, const Model& model, const Sample& sample,
                         int threads) {
  using Clock = std::chrono::steady_clock;
  const Session session(runtime, model, {.optimize = true, .threads = threads, .integer_kernels = true});
  session.run(sample);
  std::vector<double> times;
  double total = 0;
  while (times.size() < 5 || (total < 250 && times.size() < 50)) {
    const Clock::time_point start = Clock::now();
    session.run(sample);
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    total += times.back();
    if (total > 4000) break;
  }
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

}  // namespace vernier
