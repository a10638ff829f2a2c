#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "vernier/runs.h"

namespace vernier {
namespace {

class MemoryRun final : public Run {
 public:
  MemoryRun(std::string name, std::vector<Iteration> iterations)
      : name_(std::move(name)), iterations_(std::move(iterations)) {}

  const std::string& name() const override { return name_; }
  std::size_t size() const override { return iterations_.size(); }
  Iteration at(std::size_t index) const override { return iterations_[index]; }

 private:
  std::string name_;
  std::vector<Iteration> iterations_;
};

}  // namespace

std::unique_ptr<Run> run_in_memory(std::string name, std::vector<Iteration> iterations) {
  return std::make_unique<MemoryRun>(std::move(name), std::move(iterations));
}

}  // namespace vernier
