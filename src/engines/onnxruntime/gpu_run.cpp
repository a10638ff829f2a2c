#include "engines/onnxruntime/gpu_run.h"

#include <algorithm>
#include <utility>

#include "vernier/error.h"

namespace vernier {
namespace {

// Records of a run; one that has more continues in another room.
constexpr std::size_t kRecords = 4096;

thread_local GpuRun* running_on_gpu = nullptr;

}  // namespace

GpuRooms::Room GpuRooms::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      Room room = std::move(free_.back());
      free_.pop_back();
      return room;
    }
  }
  Room room{GpuMemory(kernels_->gpu(), kRecords * sizeof(Record)), {}, {}};
  kernels_->gpu()->clear(room.records.address(), room.records.bytes());
  return room;
}

void GpuRooms::give_back(Room room) {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(room));
}

GpuRun::GpuRun(GpuRooms& rooms) : rooms_(rooms), room_(rooms.take()), previous_(running_on_gpu) {
  running_on_gpu = this;
}

GpuRun::~GpuRun() {
  running_on_gpu = previous_;
  // Of a run that failed, records are not all collected, and the next run wants empty ones.
  if (entries_.empty() && full_.empty()) rooms_.give_back(std::move(room_));
}

GpuRun& GpuRun::current() {
  if (running_on_gpu == nullptr) throw vernier::Error(ErrorKind::Internal, "a kernel of a GPU outside of a run");
  return *running_on_gpu;
}

Gpu::Address GpuRun::add(const Entry& entry) {
  const std::size_t place = entries_.size() % kRecords;
  if (place == 0 && !entries_.empty()) {
    full_.push_back(std::move(room_.records));
    room_.records = GpuMemory(kernels().gpu(), kRecords * sizeof(Record));
    kernels().gpu()->clear(room_.records.address(), room_.records.bytes());
  }
  entries_.push_back(entry);
  return room_.records.address() + place * sizeof(Record);
}

Gpu::Address GpuRun::scratch(std::size_t bytes) { return at_least(room_.scratch, bytes); }

Gpu::Address GpuRun::gathered(int which, std::size_t bytes) {
  return at_least(room_.gathered.at(static_cast<std::size_t>(which)), bytes);
}

Gpu::Address GpuRun::at_least(GpuMemory& memory, std::size_t bytes) const {
  if (memory.bytes() < bytes) memory = GpuMemory(kernels().gpu(), bytes);
  return memory.address();
}

void GpuRun::collect(std::span<Recorder> recorders) {
  if (entries_.empty()) return;
  const Gpu& gpu = *kernels().gpu();
  std::vector<Record> records(entries_.size());
  for (std::size_t first = 0, room = 0; first < records.size(); first += kRecords, ++room) {
    const GpuMemory& from = room < full_.size() ? full_[room] : room_.records;
    gpu.copy_out(&records[first], from.address(), std::min(kRecords, records.size() - first) * sizeof(Record));
  }
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const auto [kind, sample, slot, values] = entries_[i];
    Recorder& recorder = recorders[sample];
    if (kind == Error) add_to(recorder.errors[slot], records[i].error, values);
    if (kind == Range) add_to(recorder.ranges[slot], records[i].range, values);
    if (kind == Events) add_to(recorder.events[slot], records[i].events, values);
  }
  const std::size_t last = (entries_.size() - 1) % kRecords + 1;
  gpu.clear(room_.records.address(), last * sizeof(Record));
  entries_.clear();
  full_.clear();
}

}  // namespace vernier
