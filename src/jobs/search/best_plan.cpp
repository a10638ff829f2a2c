#include "jobs/search/best_plan.h"

#include <ostream>
#include <string>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "vernier/error.h"

namespace vernier {

BestPlan::BestPlan(std::filesystem::path journal, const JobSinks& sinks)
    : file_(std::move(journal += ".best.json")), sinks_(sinks) {}

void BestPlan::keep(const KeptSet& set, double cost, const Plan& plan) {
  set_ = set;
  cost_ = cost;
  const std::string text = plan_to_json(plan);
  try {
    replace_regular_file(file_, [&](std::ostream& out) { out << text; });
  } catch (const Error& error) {
    if (!std::exchange(said_, true)) sinks_.warn({"best-plan-not-kept", {{"error", error.what()}}});
  }
}

void BestPlan::forget(const KeptSet& set) {
  if (set_ != set) return;
  set_.reset();
  std::error_code unsaid;
  std::filesystem::remove(file_, unsaid);
}

}  // namespace vernier
