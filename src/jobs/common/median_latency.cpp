#include "jobs/common/median_latency.h"

#include <chrono>
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
  std::vector<double> times;
  double total = 0;
  while (times.size() < 5 || (total < 250 && times.size() < 50)) {
    const Clock::time_point start = Clock::now();
    session.run(sample);
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    total += times.back();
    if (total > 4000) break;
  }
  return median(std::move(times));
}

}  // namespace vernier
