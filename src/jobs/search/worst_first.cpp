#include "jobs/search/worst_first.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>

namespace vernier {

std::vector<std::size_t> worst_first(const Experiment& experiment, const Evidence& evidence) {
  std::map<std::string, double> noise;  // of each tensor, over its own power
  std::map<std::string, double> rise;
  for (const Layer& layer : experiment.subject().layers) {
    double arriving = 0;
    for (const std::string& input : layer.inputs) {
      if (const auto known = noise.find(input); known != noise.end()) arriving = std::max(arriving, known->second);
    }
    for (const std::string& output : layer.outputs) {
      const auto measured = evidence.propagated.find(output);
      const bool compared = measured != evidence.propagated.end() && measured->second.count > 0;
      const double leaving = !compared ? arriving : std::pow(10.0, -sqnr_db(measured->second) / 10);
      noise[output] = std::isnan(leaving) ? arriving : leaving;
      const double risen = noise[output] > arriving ? noise[output] - arriving : 0;
      rise[layer.name] = std::max(rise[layer.name], std::isnan(risen) ? 0 : risen);
    }
  }
  std::vector<std::size_t> order(experiment.candidates().size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return rise[experiment.candidates()[a]->name] > rise[experiment.candidates()[b]->name];
  });
  return order;
}

}  // namespace vernier
