// How many samples a diagnosis runs: what the answer does not need is not run.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "counted_reads.h"
#include "job_files.h"
#include "vernier/diagnose.h"
#include "vernier/fix.h"
#include "vernier/format.h"
#include "vernier/report/alternatives.h"
#include "vernier/report/causes.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/figures.h"
#include "vernier/report/kept_set.h"
#include "vernier/sinks.h"

namespace vernier::testing {
namespace {

constexpr std::size_t kSamples = 8;

using Runs = std::vector<std::pair<std::string, std::size_t>>;

/// Samples of each run that a job tells of, in order. A search tells of its trials, too.
Runs runs_of(const DiagnoseOptions& options) {
  Runs runs;
  JobSinks sinks;
  sinks.progress = [&](const std::string& phase, std::size_t done, std::size_t) {
    if (done == 1) runs.emplace_back(phase, 0);
    if (!runs.empty() && runs.back().first == phase) runs.back().second = done;
  };
  diagnose(options, sinks);
  std::erase_if(runs, [](const auto& one) { return one.first == "search"; });
  return runs;
}

bool has_phase(const DiagnoseReport& report, const std::string& phase) {
  return std::ranges::find(report.phases, phase, &PhaseTime::phase) != report.phases.end();
}

TEST(Passes, OfAQuickAnswerAreTheReferenceAllLowAndTheFile) {
  const NetFiles files;
  DiagnoseOptions options = files.diagnose_options({Format::Int8});
  options.measure.requirement = at_least_db(10);
  options.quick = true;
  EXPECT_EQ(runs_of(options),
            (Runs{{"float model", kSamples}, {"low precision", kSamples}, {"low precision", kSamples}}));
}

TEST(Passes, OfSensitivitiesAreNoneJustInsideTheLimit) {
  const NetFiles files;
  DiagnoseOptions options = files.diagnose_options({Format::Int8});
  options.alternatives = 0;
  const double all_low = diagnose(options).all_low.outputs.front().sqnr_db;
  options.measure.requirement = at_least_db(all_low - 0.2);  // 0.95 of the allowance
  const DiagnoseReport report = diagnose(options);
  EXPECT_EQ(report.kept.value().end, SearchEnd::NothingNeeded);
  EXPECT_FALSE(has_phase(report, "sensitivity"));
  options.rank = true;
  EXPECT_TRUE(has_phase(diagnose(options), "sensitivity"));
}

NetFiles many_layers(std::size_t count) {
  std::string text = "net (float[1,8] x0) => (float[1,8] y) {\n";
  std::vector<std::pair<std::string, Tensor>> weights;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string n = std::to_string(i);
    text += " [layer" + n + "] " + (i + 1 == count ? "y" : "x" + std::to_string(i + 1)) + " = MatMul(x" + n + ", w" +
            n + ")\n";
    weights.emplace_back("w" + n, bell({8, 8}, static_cast<unsigned>(i + 1), 0.35F));
  }
  return NetFiles(network((text + "}").c_str(), weights), {1, 8});
}

TEST(Passes, OfSensitivitiesForASearchAreThoseOfTheWorstThird) {
  const NetFiles files = many_layers(36);
  DiagnoseOptions options = files.diagnose_options({Format::Int8});
  options.alternatives = 0;
  const auto measured = [](const DiagnoseReport& report) {
    return std::ranges::count_if(report.layers, [](const LayerRow& row) { return row.sensitivity_db.has_value(); });
  };
  const auto is_told = [](const DiagnoseReport& report) {
    return std::ranges::find(report.notes, "sensitivities-of-the-worst", &Note::code) != report.notes.end();
  };
  const DiagnoseReport all = diagnose(options);
  EXPECT_EQ(measured(all), 36) << "without a requirement the ranking is the answer";
  EXPECT_FALSE(is_told(all));
  options.measure.requirement = at_least_db(all.all_low.outputs.front().sqnr_db + 1);
  const DiagnoseReport searched = diagnose(options);
  EXPECT_EQ(measured(searched), 12);
  EXPECT_TRUE(is_told(searched));
  EXPECT_FALSE(searched.kept.value().layers.empty());
  for (const LayerRow& row : searched.layers) {
    const auto same = std::ranges::find(all.layers, row.name, &LayerRow::name);
    if (row.sensitivity_db) {
      EXPECT_NEAR(*row.sensitivity_db, same->sensitivity_db.value(), 1e-9) << "the hardest sample ran once";
    }
  }
  options.rank = true;
  EXPECT_EQ(measured(diagnose(options)), 36);
}

TEST(Passes, OfTimesAreNoneForAnotherEngine) {
  const NetFiles files;
  DiagnoseOptions options = files.diagnose_options({Format::Int8});
  options.latency.reset();
  EXPECT_FALSE(diagnose(options).latency);
  options.latency = true;
  EXPECT_TRUE(diagnose(options).latency);
}

/// Channel 5 is small where it is made and large where it is read: its step is too wide for the others.
NetFiles one_channel_too_large() {
  return NetFiles(network("net (float[1,16] x) => (float[1,16] y) {"
                          " [first] a = Gemm(x, w1, b1)\n [act] r = Relu(a)\n [second] y = MatMul(r, w2) }",
                          {{"w1", scaled_slice(bell({16, 32}, 1), 1, 5, 1.0F / 30)},
                           {"b1", scaled_slice(bell({1, 32}, 3), 1, 5, 1.0F / 30)},
                           {"w2", scaled_slice(bell({32, 16}, 2), 0, 5, 30)}}),
                  {1, 16});
}

TEST(Passes, OfRepairsAreNoneOnceTheRequirementIsMet) {
  const NetFiles files = one_channel_too_large();
  DiagnoseOptions options = files.diagnose_options({Format::Int8});
  options.precision.rules.weights_per_channel = false;
  options.measure.requirement = at_least_db(0);
  const double all_low = diagnose(options).all_low.outputs.front().sqnr_db;
  options.measure.requirement = at_least_db(all_low + 2);
  options.alternatives = 1;
  const DiagnoseReport report = diagnose(options);
  EXPECT_EQ(report.kept.value().end, SearchEnd::NothingNeeded);
  const std::vector<RepairTried>& rows = report.explanation.value().repairs;
  const auto tried = [&](const std::string& id) {
    const auto row = std::ranges::find(rows, id, &RepairTried::id);
    return row != rows.end() && !row->why.starts_with("not tried: ");
  };
  EXPECT_TRUE(tried("unfold-norm"));
  EXPECT_FALSE(tried("bias-correction"));
  FixOptions all{options, {}};
  const DiagnoseReport fixed = fix(all);
  EXPECT_TRUE(std::ranges::none_of(fixed.explanation.value().repairs, [](const RepairTried& row) {
    return row.why.starts_with("not tried: ");
  })) << "fix() is asked for all that helps";
}

TEST(Passes, OfAnOptionAreNoneThatTheFirstNetworkHad) {
  const NetFiles files = one_channel_too_large();
  DiagnoseOptions options = files.diagnose_options({Format::Int8});
  options.precision.rules.weights_per_channel = false;
  const auto samples = std::make_shared<CountedReads>(bell_samples("x", {1, 16}, 12));  // enough for halves
  options.measure.cross_fit = true;
  options.measure.data = {};
  options.measure.data.source = samples;
  options.measure.requirement = at_least_db(0);
  options.measure.requirement = at_least_db(diagnose(options).all_low.outputs.front().sqnr_db + 2);
  const auto reads_with = [&](std::size_t alternatives) {
    options.alternatives = alternatives;
    const std::size_t before = samples->reads();
    EXPECT_TRUE(diagnose(options).cross_fit);
    return samples->reads() - before;
  };
  const std::size_t alone = reads_with(0);
  EXPECT_LE(reads_with(1) - alone, 15 * samples->size())
      << "the float model and everything low have run, the repaired network runs on unseen samples once, and once "
         "on its own";
}

/// The same twice, one behind the other.
NetFiles two_channels_too_large() {
  const auto in_front = [](unsigned seed) { return scaled_slice(bell({16, 32}, seed), 1, 5, 1.0F / 30); };
  const auto behind = [](unsigned seed) { return scaled_slice(bell({32, 16}, seed), 0, 5, 30); };
  return NetFiles(network("net (float[1,16] x) => (float[1,16] y) {"
                          " [first] a = MatMul(x, w1)\n [act] r = Relu(a)\n [second] m = MatMul(r, w2)\n"
                          " [third] b = MatMul(m, w3)\n [act2] s = Relu(b)\n [fourth] y = MatMul(s, w4) }",
                          {{"w1", in_front(1)}, {"w2", behind(2)}, {"w3", in_front(3)}, {"w4", behind(4)}}),
                  {1, 16});
}

TEST(Passes, OfSensitivitiesWithRepairsAreThoseOfKeptLayers) {
  const NetFiles files = two_channels_too_large();
  DiagnoseOptions options = files.diagnose_options({Format::Int8});
  options.precision.rules.weights_per_channel = false;
  options.measure.requirement = at_least_db(1000);
  const DiagnoseReport fixed = fix({options, {}});
  options.measure.requirement = at_least_db(fixed.repaired.value().outputs.front().sqnr_db + 1);
  options.alternatives = 1;
  const DiagnoseReport report = diagnose(options);
  const std::vector<std::string>& kept = report.kept.value().layers;
  ASSERT_FALSE(kept.empty());
  ASSERT_TRUE(report.alternatives.at(1).adopted);
  for (const LayerRow& row : report.layers) EXPECT_EQ(row.sensitivity_db.has_value(), row.kept) << row.name;
  const auto is_told = [](const Note& note) { return note.code == "sensitivities-of-the-kept"; };
  EXPECT_TRUE(std::ranges::any_of(report.notes, is_told));
  options.rank = true;
  const DiagnoseReport ranked = diagnose(options);
  EXPECT_TRUE(std::ranges::all_of(ranked.layers, [](const LayerRow& row) { return row.sensitivity_db.has_value(); }));
}

TEST(Passes, OfABiasCorrectionAreThoseOfOneRound) {
  const NetFiles files = one_channel_too_large();
  FixOptions options{files.diagnose_options({Format::Int8}), {{"bias-correction"}, {}}};
  std::size_t runs = 0;
  JobSinks sinks;
  sinks.progress = [&](const std::string& phase, std::size_t done, std::size_t) {
    runs += phase == "mean error" && done == 1 ? 1 : 0;
  };
  const DiagnoseReport report = fix(options, sinks);
  EXPECT_FALSE(report.explanation.value().repairs.empty());
  EXPECT_EQ(runs, 1U);
}

TEST(Passes, OfPicturesAreThoseOfAQuarterOfTheSamples) {
  const NetFiles files;
  const DiagnoseReport report = diagnose(files.diagnose_options({Format::Int8}));
  ASSERT_FALSE(report.pictures.empty());
  EXPECT_EQ(report.pictures.front().samples, kSamples / 4);
}

}  // namespace
}  // namespace vernier::testing
