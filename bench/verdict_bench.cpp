// Time of comparing two outputs of ten million elements, on one core. The copy is there to say what memory costs.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "comparator/functions.h"
#include "comparator/statistics.h"
#include "vernier/comparison.h"
#include "vernier/runs.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr std::int64_t kElements = 10'000'000;

enum class Error { Everywhere, None, Rare };

std::pair<Tensor, Tensor> outputs(Error error) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  Tensor got(Dtype::Float32, {kElements});
  Tensor ref(Dtype::Float32, {kElements});
  const std::span<float> low = got.mutable_floats();
  const std::span<float> high = ref.mutable_floats();
  for (std::size_t i = 0; i < high.size(); ++i) {
    high[i] = normal(random);
    const bool off = error == Error::Everywhere || (error == Error::Rare && i % 1000 == 0);
    low[i] = off ? high[i] + 1e-3F * normal(random) : high[i];
  }
  return {got, ref};
}

void bench_copy(benchmark::State& state) {
  const auto [got, ref] = outputs(Error::None);
  std::vector<float> copy(static_cast<std::size_t>(kElements));
  for ([[maybe_unused]] auto _ : state) {
    std::memcpy(copy.data(), got.bytes().data(), got.byte_size());
    benchmark::ClobberMemory();
  }
}

void bench_stats(benchmark::State& state) {
  const auto [got, ref] = outputs(Error::Everywhere);
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(summary_of(got));
}

/// All statistics and histograms of both series of errors.
void bench_simple(benchmark::State& state, Error error) {
  const auto [got, ref] = outputs(error);
  const Pair pair(got, ref);
  SimpleOptions options;
  options.atol = options.rtol = 1e-5;
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(compare_simple(pair, options, /*detail=*/true));
}

/// That, and the statistics of both outputs, as a comparison prints them.
void bench_whole(benchmark::State& state, Error error) {
  const auto [got, ref] = outputs(error);
  const Iteration run{{{"y", got}}, {}};
  const Iteration reference{{{"y", ref}}, {}};
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(compare_iterations(0, run, reference, CompareOptions{}, /*detail=*/false));
  }
}

BENCHMARK(bench_copy)->Unit(benchmark::kMillisecond);
BENCHMARK(bench_stats)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(bench_simple, errors_everywhere, Error::Everywhere)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(bench_simple, equal, Error::None)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(bench_simple, rare_errors, Error::Rare)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(bench_whole, errors_everywhere, Error::Everywhere)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(bench_whole, equal, Error::None)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace vernier

int main(int argc, char** argv) {
#ifndef NDEBUG
  std::fputs("verdict_bench: built without NDEBUG, times would mean nothing; use the dev or release preset\n", stderr);
  return 2;
#endif
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
}
