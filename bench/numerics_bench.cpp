// Speed of the operations that run between every two layers of a network, in bytes of float32 read and written per
// second. The small size stays in the second-level cache, like most activations; the large one comes from memory.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "numerics/metrics.h"
#include "numerics/round.h"
#include "vernier/format.h"

namespace vernier {
namespace {

std::vector<float> normal_values(std::size_t n) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<float> values(n);
  for (float& value : values) value = normal(random);
  return values;
}

QuantParams params_of(Format format, std::size_t channels) {
  QuantParams params;
  params.format = format;
  if (needs_scale(format)) params.scale.assign(channels, 0.03f);
  return params;
}

void set_bytes(benchmark::State& state, std::size_t per_element) {
  state.SetBytesProcessed(state.iterations() * state.range(0) * static_cast<std::int64_t>(per_element));
}

void bench_copy(benchmark::State& state) {
  const std::vector<float> values = normal_values(static_cast<std::size_t>(state.range(0)));
  std::vector<float> out(values.size());
  for ([[maybe_unused]] auto _ : state) {
    std::memcpy(out.data(), values.data(), values.size() * sizeof(float));
    benchmark::ClobberMemory();
  }
  set_bytes(state, 2 * sizeof(float));
}

void bench_round(benchmark::State& state, Format format) {
  const std::vector<float> values = normal_values(static_cast<std::size_t>(state.range(0)));
  std::vector<float> out(values.size());
  const QuantParams params = params_of(format, 1);
  for ([[maybe_unused]] auto _ : state) {
    round_to(params, values, out);
    benchmark::ClobberMemory();
  }
  set_bytes(state, 2 * sizeof(float));
}

/// One scale for each group of `inner` neighbours.
void bench_round_channels(benchmark::State& state, std::int64_t inner) {
  const std::vector<float> values = normal_values(static_cast<std::size_t>(state.range(0)));
  std::vector<float> out(values.size());
  const std::int64_t channels = 64;
  const QuantParams params = params_of(Format::Int8, static_cast<std::size_t>(channels));
  const std::size_t n =
      values.size() / static_cast<std::size_t>(channels * inner) * static_cast<std::size_t>(channels * inner);
  for ([[maybe_unused]] auto _ : state) {
    round_to(params, channels, inner, {values.data(), n}, {out.data(), n});
    benchmark::ClobberMemory();
  }
  set_bytes(state, 2 * sizeof(float));
}

void bench_round_counting(benchmark::State& state, Format format) {
  const std::vector<float> values = normal_values(static_cast<std::size_t>(state.range(0)));
  std::vector<float> out(values.size());
  const QuantParams params = params_of(format, 1);
  RoundEvents events;
  for ([[maybe_unused]] auto _ : state) round_to_counting(params, 1, state.range(0), values, out, events);
  benchmark::DoNotOptimize(events);
  set_bytes(state, 2 * sizeof(float));
}

void bench_encode(benchmark::State& state, Format format) {
  const std::vector<float> values = normal_values(static_cast<std::size_t>(state.range(0)));
  const QuantParams params = params_of(format, 1);
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(encode(params, 1, state.range(0), values));
  set_bytes(state, sizeof(float));
}

void bench_error(benchmark::State& state) {
  const std::vector<float> ref = normal_values(static_cast<std::size_t>(state.range(0)));
  std::vector<float> got(ref.size());
  round_to(params_of(Format::Float16, 1), ref, got);
  ErrorStats stats;
  for ([[maybe_unused]] auto _ : state) accumulate_error(ref, got, stats);
  benchmark::DoNotOptimize(stats);
  set_bytes(state, 2 * sizeof(float));
}

void bench_range(benchmark::State& state) {
  const std::vector<float> values = normal_values(static_cast<std::size_t>(state.range(0)));
  RangeStats stats;
  for ([[maybe_unused]] auto _ : state) accumulate_range(values, stats);
  benchmark::DoNotOptimize(stats);
  set_bytes(state, sizeof(float));
}

void sizes(benchmark::internal::Benchmark* bench) { bench->Arg(1 << 16)->Arg(1 << 24); }

BENCHMARK(bench_copy)->Apply(sizes);
BENCHMARK_CAPTURE(bench_round, int8, Format::Int8)->Apply(sizes);
BENCHMARK_CAPTURE(bench_round, float16, Format::Float16)->Apply(sizes);
BENCHMARK_CAPTURE(bench_round, bfloat16, Format::BFloat16)->Apply(sizes);
BENCHMARK_CAPTURE(bench_round, float8e4m3fn, Format::Float8E4M3FN)->Apply(sizes);
BENCHMARK_CAPTURE(bench_round_channels, int8_rows_of_4096, 4096)->Arg(1 << 24);
BENCHMARK_CAPTURE(bench_round_channels, int8_rows_of_9, 9)->Arg(1 << 24);
BENCHMARK_CAPTURE(bench_round_channels, int8_innermost, 1)->Arg(1 << 24);
BENCHMARK_CAPTURE(bench_round_counting, int8, Format::Int8)->Apply(sizes);
BENCHMARK_CAPTURE(bench_round_counting, float16, Format::Float16)->Apply(sizes);
BENCHMARK(bench_error)->Apply(sizes);
BENCHMARK(bench_range)->Apply(sizes);
BENCHMARK_CAPTURE(bench_encode, int8, Format::Int8)->Arg(1 << 24);
BENCHMARK_CAPTURE(bench_encode, float16, Format::Float16)->Arg(1 << 24);

}  // namespace
}  // namespace vernier

int main(int argc, char** argv) {
#ifndef NDEBUG
  std::fputs("numerics_bench: built without NDEBUG, times would mean nothing; use the dev or release preset\n", stderr);
  return 2;
#endif
  // VERNIER_BENCH_TARGET=AVX2 measures one instruction set instead of the best.
  if (const char* target = std::getenv("VERNIER_BENCH_TARGET")) vernier::limit_dispatch(target);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
}
