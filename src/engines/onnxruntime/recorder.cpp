#include "engines/onnxruntime/recorder.h"

#include <algorithm>
#include <cstddef>

namespace vernier {
namespace {

thread_local std::span<Recorder> running;

template <class T>
void add_all(std::vector<T>& into, const std::vector<T>& from) {
  into.resize(std::max(into.size(), from.size()));
  for (std::size_t i = 0; i < from.size(); ++i) into[i] += from[i];
}

}  // namespace

Recorder::Recorder(std::size_t error_slots, std::size_t range_slots, std::size_t event_slots)
    : errors(error_slots), ranges(range_slots), events(event_slots), shapes(std::max(error_slots, range_slots)) {}

Recorder& Recorder::operator+=(const Recorder& other) {
  add_all(errors, other.errors);
  add_all(ranges, other.ranges);
  add_all(events, other.events);
  shapes.resize(std::max(shapes.size(), other.shapes.size()));
  for (std::size_t i = 0; i < other.shapes.size(); ++i) {
    if (shapes[i].empty()) shapes[i] = other.shapes[i];  // of the first run: costs are those of the first sample
  }
  return *this;
}

std::span<Recorder> current_recorders() noexcept { return running; }

RecorderScope::RecorderScope(std::span<Recorder> recorders) noexcept : previous_(running) { running = recorders; }
RecorderScope::~RecorderScope() { running = previous_; }

}  // namespace vernier
