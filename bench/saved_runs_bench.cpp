// Seconds and anonymous memory of writing and reading a results file, by default of 350 MB: two runs of 8 iterations
// with outputs of up to 16 MB, as a network with feature maps gives them. Prints one line each.
//
//   saved_runs_bench [MEGABYTES [FOLDER]]
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "vernier/runs.h"
#include "vernier/tensor.h"

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using namespace vernier;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double anonymous_megabytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double kilobytes = 0;
    if (word == "RssAnon:" && status >> kilobytes) return kilobytes / 1e3 * 1.024;
  }
  return 0;
}

// The kernel keeps no peak of anonymous memory alone, so a thread looks every millisecond.
class Peak {
 public:
  Peak()
      : before_(anonymous_megabytes()), watcher_([this](const std::stop_token& stop) {
          while (!stop.stop_requested()) {
            look();
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          }
        }) {}
  void look() { most_ = std::max(most_.load(), anonymous_megabytes()); }
  double grown_by() {
    look();
    return most_ - before_;
  }

 private:
  double before_;
  std::atomic<double> most_ = 0;
  std::jthread watcher_;
};

void write_file(const fs::path& path, double megabytes) {
  constexpr std::size_t kIterations = 8;
  // Base64 takes four bytes for three. Of an iteration's bytes: half in one output, a quarter in the next, ...
  const double floats = megabytes * 1e6 * 3 / 4 / 4 / (2 * kIterations);
  Iteration iteration;
  std::uint32_t noise = 1;
  for (int i = 1; i <= 4; ++i) {
    Tensor tensor(Dtype::Float32, {1, static_cast<std::int64_t>(floats / std::pow(2, std::min(i, 3)))});
    for (float& value : tensor.mutable_floats()) {
      noise = noise * 1664525 + 1013904223;
      value = static_cast<float>(noise >> 8) / 16777216.0F;
    }
    iteration.outputs.push_back({fmt::format("output_{}", i), tensor});
  }
  iteration.seconds = 0.01;
  Peak peak;
  const Clock::time_point start = Clock::now();
  RunWriter writer(path, {"one", "two"});
  for (std::size_t i = 0; i < kIterations; ++i) {
    for (std::size_t run = 0; run < 2; ++run) writer.add(run, iteration);
  }
  writer.finish();
  fmt::print("write {:.0f} MB: {:.2f} s, {:.0f} MB of anonymous memory\n",
             static_cast<double>(fs::file_size(path)) / 1e6, seconds_since(start), peak.grown_by());
}

void read_file(const fs::path& path) {
  Peak peak;
  const Clock::time_point start = Clock::now();
  const auto runs = open_runs(path);
  const double opened = seconds_since(start);
  std::vector<Iteration> all;
  std::size_t bytes = 0;
  for (const auto& run : runs) {
    for (std::size_t i = 0; i < run->size(); ++i) {
      all.push_back(run->at(i));
      for (const NamedTensor& output : all.back().outputs) bytes += output.tensor.byte_size();
    }
  }
  const double done = seconds_since(start);
  fmt::print(
      "read  {:.0f} MB: {:.2f} s, of it {:.2f} s to look through; {:.0f} MB of anonymous memory for {:.0f} MB of "
      "arrays\n",
      static_cast<double>(fs::file_size(path)) / 1e6, done, opened, peak.grown_by(), static_cast<double>(bytes) / 1e6);
}

}  // namespace

int main(int argc, char** argv) {
  const double megabytes = argc > 1 ? std::atof(argv[1]) : 350;
  const fs::path folder = argc > 2 ? fs::path(argv[2]) : fs::temp_directory_path();
  const fs::path path = folder / fmt::format("vernier_saved_runs_{}.json", ::getpid());
  // In a process of its own: memory that the writer leaves to the allocator must not hide what the reader takes.
  const ::pid_t child = ::fork();
  if (child == 0) {
    write_file(path, megabytes);
    std::fflush(stdout);
    ::_exit(0);
  }
  int status = 1;
  ::waitpid(child, &status, 0);
  if (status == 0) read_file(path);
  fs::remove(path);
  return status == 0 ? 0 : 1;
}
