// Bytes as accuracy results: read, judged again, written and read again. Only vernier::Error may come out, never an
// Internal one.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "fuzz_target.h"
#include "vernier/accuracy_record.h"
#include "vernier/comparison.h"
#include "vernier/error.h"

std::vector<std::string> fuzz_seeds() {
  using namespace vernier;
  FunctionResult simple;
  simple.reason = "why";
  FunctionResult snr;
  snr.function = CompareFunction::Snr;
  FunctionResult ulp;
  ulp.function = CompareFunction::Ulp;
  ulp.not_finite = 1;
  ulp.left_out = "one";
  IterationComparison iteration;
  OutputComparison& output = iteration.outputs.emplace_back();
  output.output = "y";
  output.results = {simple, snr, ulp};
  AccuracyRecord record;
  record.add("low", "ref", iteration);
  record.add("low", "ref", iteration);
  const std::string ours = record.to_json({});
  const std::string theirs =
      ours.substr(0, ours.find("    \"vernier\"")) + "    \"polygraphy_class\": \"AccuracyResults\"\n}";
  return {ours, theirs, "{\"lst\": [], \"polygraphy_class\": \"AccuracyResults\"}"};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    vernier::AccuracyRecord record = vernier::AccuracyRecord::from_json(text, "fuzz.json");
    const std::string again = vernier::AccuracyRecord::from_json(record.to_json({}), "again.json").to_json({});
    if (again != record.to_json({})) {
      std::fputs("written and read again it is another\n", stderr);
      std::abort();
    }
    vernier::AccuracyRecord::Again loose;
    loose.atol.general = 1;
    loose.error_stat.general = vernier::ErrorStat::Max;
    record.judge_again(loose);
  } catch (const vernier::Error& error) {
    if (error.kind() == vernier::ErrorKind::Internal) {
      std::fprintf(stderr, "internal error: %s\n", error.what());
      std::abort();
    }
  }
  return 0;
}
