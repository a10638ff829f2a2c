#include "io/split_run.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "vernier/tensor.h"

namespace vernier {
namespace {

/// An array and the shape of one sample's part of it.
struct Stack {
  std::string name;
  std::shared_ptr<const Tensor> all;
  Shape part;
};

class SplitRun final : public Run {
 public:
  SplitRun(std::string name, std::size_t samples, std::vector<Stack> stacks)
      : name_(std::move(name)), samples_(samples), stacks_(std::move(stacks)) {}

  const std::string& name() const override { return name_; }
  std::size_t size() const override { return samples_; }
  Iteration at(std::size_t index) const override {
    Iteration made;
    for (const Stack& stack : stacks_) {
      const std::span<const std::byte> bytes = stack.all->bytes();
      const std::byte* const first = bytes.data() + index * (bytes.size() / samples_);
      made.outputs.push_back(
          {stack.name, Tensor(stack.all->dtype(), stack.part, std::shared_ptr<const std::byte>(stack.all, first))});
    }
    return made;
  }

 private:
  std::string name_;
  std::size_t samples_;
  std::vector<Stack> stacks_;
};

std::optional<Shape> part_of(const Shape& whole, std::int64_t samples, const Shape* like) {
  if (whole.empty() || whole.front() % samples != 0) return std::nullopt;
  const Shape tail(whole.begin() + 1, whole.end());
  if (like != nullptr && whole.front() == samples && tail == *like) return tail;
  Shape part = whole;
  part.front() /= samples;
  return like == nullptr || part == *like ? std::optional(part) : std::nullopt;
}

}  // namespace

std::unique_ptr<Run> split_run(const Run& whole, std::size_t samples, const Iteration& like) {
  if (whole.size() != 1 || samples < 2) return nullptr;
  std::vector<Stack> stacks;
  bool any = false;
  for (NamedTensor& array : whole.at(0).outputs) {
    const auto twin = std::ranges::find(like.outputs, array.name, &NamedTensor::name);
    const Shape* const shape = twin == like.outputs.end() ? nullptr : &twin->tensor.shape();
    const auto part = part_of(array.tensor.shape(), static_cast<std::int64_t>(samples), shape);
    const bool whole_bytes = dtype_bits(array.tensor.dtype()) % 8 == 0;
    if (shape != nullptr && (!part || !whole_bytes)) return nullptr;
    if (!part || !whole_bytes) continue;
    any = any || shape != nullptr;
    stacks.push_back({array.name, std::make_shared<const Tensor>(std::move(array.tensor)), *part});
  }
  return any ? std::make_unique<SplitRun>(whole.name(), samples, std::move(stacks)) : nullptr;
}

}  // namespace vernier
