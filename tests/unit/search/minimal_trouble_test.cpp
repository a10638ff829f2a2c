// Oracles that misbehave, and callers that run out of patience.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <string>

#include "search/conclude.h"
#include "search/trials.h"
#include "toy_oracles.h"
#include "vernier/runs.h"

namespace vernier {
namespace {

bool has_note(const MinimalResult& result, const std::string& code) {
  return std::ranges::find(result.notes, code, &Note::code) != result.notes.end();
}

bool holds(const KeptSet& kept, std::size_t item) { return std::binary_search(kept.begin(), kept.end(), item); }

// Errors that cancel: keeping item 0 only hurts once item 1 is low, as if the two undid each other.
Oracle cancelling(const toys::Toy& toy) {
  return [&toy](const KeptSet& kept) {
    const bool undone = holds(kept, 0) != holds(kept, 1);
    const double damage = toys::damage_of(toy, kept) + (undone ? 2.0 : 0.0);
    return Trial{.verdict = damage <= 1 ? Verdict::Good : Verdict::Bad, .damage = damage};
  };
}

TEST(SearchMinimalTrouble, CertifiesWithoutMonotony) {
  std::size_t seen = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const toys::Toy toy = toys::spiky(40, 3, 1, seed);
    const Oracle oracle = cancelling(toy);
    const toys::Run run = toys::search(toy, oracle);
    EXPECT_EQ(run.result.end, SearchEnd::Certified) << seed;
    EXPECT_TRUE(toys::recheck(40, run.result.kept, run.result.certificate, oracle).valid()) << seed;
    EXPECT_EQ(run.result.non_monotone, has_note(run.result, "not-monotone")) << seed;
    seen += run.result.non_monotone;
  }
  EXPECT_GT(seen, 0U);
}

TEST(SearchMinimalTrouble, RepeatsOnlyTheTwoSetsInDoubtWhenNotMonotone) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const toys::Toy toy = toys::spiky(40, 3, 1, seed);
    const toys::Run run = toys::search(toy, cancelling(toy));
    std::map<KeptSet, int> asked;
    for (const RecordedTrial& recorded : run.trials) ++asked[recorded.kept];
    EXPECT_EQ(run.trials.size() - asked.size(), run.result.non_monotone ? 2U : 0U) << seed;
  }
}

TEST(SearchMinimalTrouble, RepeatsNothingThatItNeverAsked) {
  const Oracle oracle = [](const KeptSet& kept) {
    return Trial{.verdict = kept.size() == 1 ? Verdict::Good : Verdict::Bad};
  };
  const MinimalOptions options;
  TrialLog log(oracle, options);
  log.ask({0});
  log.ask({0, 1});
  MinimalResult result;
  result.kept = {0, 1, 2};  // as a search that had to stop answers: everything
  conclude_trials(log, result);
  EXPECT_TRUE(result.non_monotone);
  EXPECT_EQ(result.trials, 3U);  // two, and the one that contradicts, again
}

TEST(SearchMinimalTrouble, UnmasksSomeFlakyOraclesAndNeverContradictsItsRecord) {
  std::size_t unstable = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const toys::Toy toy = toys::diffuse(60, 13, 1, seed);
    const Oracle honest = toys::honest(toy);
    std::mt19937_64 random(seed);
    const Oracle flaky = [&](const KeptSet& kept) {
      Trial trial = honest(kept);
      if (random() % 20 == 0) trial.verdict = trial.verdict == Verdict::Good ? Verdict::Bad : Verdict::Good;
      return trial;
    };
    const toys::Run run = toys::search(toy, flaky);
    unstable += run.result.end == SearchEnd::Unstable;
    if (run.result.end == SearchEnd::Unstable) {
      EXPECT_TRUE(has_note(run.result, "oracle-unstable")) << seed;
      EXPECT_FALSE(run.result.certificate.complete) << seed;
    }
    if (run.result.end == SearchEnd::Certified) {
      EXPECT_TRUE(check_certificate(60, run.result.kept, run.result.certificate, run.trials).valid()) << seed;
    }
  }
  // A flip that contradicts nothing cannot be seen; those that do must not go by in silence.
  EXPECT_GT(unstable, 20U);
}

TEST(SearchMinimalTrouble, AsksAgainWhenOnlyAllLowPasses) {
  const toys::Toy toy = toys::spiky(10, 2, 0, 1);
  std::size_t calls = 0;
  const toys::Run run = toys::search(toy, [&calls](const KeptSet& kept) {
    const bool first_answer_was_wrong = calls++ == 0;
    return Trial{.verdict = kept.empty() || !first_answer_was_wrong ? Verdict::Good : Verdict::Bad};
  });
  EXPECT_EQ(run.result.end, SearchEnd::Unstable);
  EXPECT_EQ(run.result.trials, 3U);
}

TEST(SearchMinimalTrouble, NeedsNothingWhereOnlyAllLowPasses) {
  const toys::Toy toy = toys::spiky(10, 2, 0, 1);
  const toys::Run run = toys::search(
      toy, [](const KeptSet& kept) { return Trial{.verdict = kept.empty() ? Verdict::Good : Verdict::Bad}; });
  EXPECT_EQ(run.result.end, SearchEnd::NothingNeeded);
  EXPECT_TRUE(run.result.kept.empty());
  EXPECT_TRUE(run.result.non_monotone);
  EXPECT_EQ(run.result.trials, 4U) << "both ends are asked again";
}

TEST(SearchMinimalTrouble, FindsAPartWhereEverythingHighIsTheWorst) {
  // Item 0 has to be kept, and none of the last five can be.
  const toys::Toy toy = toys::ranked({9, 1, 1, 1, 1, 0.1, 0.1, 0.1, 0.1, 0.1});
  const toys::Run run = toys::search(toy, [](const KeptSet& kept) {
    if (!kept.empty() && kept.back() >= 5) {
      return Trial{.verdict = Verdict::Bad, .damage = std::numeric_limits<double>::infinity()};
    }
    const bool good = !kept.empty() && kept.front() == 0;
    return Trial{.verdict = good ? Verdict::Good : Verdict::Bad, .damage = good ? 0.5 : 4.0};
  });
  EXPECT_EQ(run.result.end, SearchEnd::Certified);
  EXPECT_EQ(run.result.kept, KeptSet{0});
  EXPECT_TRUE(check_certificate(10, run.result.kept, run.result.certificate, run.trials).valid());
}

TEST(SearchMinimalTrouble, CountsInvalidAndTimedOutAsFailedAndSaysSo) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const toys::Toy toy = toys::spiky(100, 3, 1, seed);
    const Oracle honest = toys::honest(toy);
    const Oracle refusing = [&](const KeptSet& kept) {
      if (kept.size() == 100 || honest(kept).verdict == Verdict::Good) return honest(kept);
      return Trial{.verdict = kept.size() % 2 ? Verdict::Invalid : Verdict::TimedOut, .why = "refused"};
    };
    const toys::Run run = toys::search(toy, refusing);
    EXPECT_EQ(run.result.end, SearchEnd::Certified) << seed;
    EXPECT_EQ(run.result.kept.size(), 3U) << seed;
    EXPECT_TRUE(check_certificate(100, run.result.kept, run.result.certificate, run.trials).valid()) << seed;
    EXPECT_TRUE(has_note(run.result, "tests-counted-as-failed")) << seed;
  }
}

TEST(SearchMinimalTrouble, ReturnsTheBestPassingSetAtEveryBudget) {
  const toys::Toy toy = toys::diffuse(60, 13, 1, 4);
  const std::size_t enough = toys::search(toy, toys::honest(toy)).trials.size();
  std::size_t previous = 60;
  for (std::size_t budget = 1; budget <= enough; ++budget) {
    const toys::Run run = toys::search(toy, toys::honest(toy), {.max_trials = budget});
    EXPECT_EQ(run.trials.size(), budget);
    EXPECT_EQ(run.result.end, budget < enough ? SearchEnd::Stopped : SearchEnd::Certified) << budget;
    EXPECT_LE(toys::damage_of(toy, run.result.kept), 1) << budget;
    EXPECT_LE(run.result.kept.size(), previous) << budget;
    EXPECT_EQ(check_certificate(60, run.result.kept, run.result.certificate, run.trials).valid(), budget == enough);
    previous = run.result.kept.size();
  }
}

TEST(SearchMinimalTrouble, StopsBetweenTrialsWhenTheCallerSaysSo) {
  const toys::Toy toy = toys::diffuse(60, 13, 1, 4);
  std::size_t polls = 0;
  MinimalOptions options;
  options.stop = [&polls] { return ++polls > 5; };
  const toys::Run run = toys::search(toy, toys::honest(toy), options);
  EXPECT_EQ(run.result.end, SearchEnd::Stopped);
  EXPECT_EQ(run.trials.size(), 5U);
  EXPECT_EQ(polls, 6U);
  EXPECT_EQ(run.result.final_trial.verdict, Verdict::Good);
}

TEST(SearchMinimalTrouble, KeepsAllItemsWhenStoppedBeforeTheFirstTrial) {
  const toys::Toy toy = toys::spiky(10, 2, 0, 1);
  MinimalOptions options;
  options.stop = [] { return true; };
  const toys::Run run = toys::search(toy, toys::honest(toy), options);
  EXPECT_EQ(run.result.end, SearchEnd::Stopped);
  EXPECT_EQ(run.result.kept.size(), 10U);
  EXPECT_EQ(run.result.trials, 0U);
}

TEST(SearchMinimalTrouble, SaysWhenTheRankingIsPoor) {
  // Every culprit is predicted harmless: the curve drops where the prediction says nothing should happen.
  toys::Toy toy = toys::spiky(300, 8, 0, 2);
  for (std::size_t i = 0; i < toy.items.size(); ++i) toy.items[i].predicted_damage = 1 / (0.01 + toy.damage[i]);
  const toys::Run poor = toys::search(toy, toys::honest(toy));
  EXPECT_TRUE(has_note(poor.result, "ranking-poor"));
  EXPECT_EQ(poor.result.end, SearchEnd::Certified);
  const toys::Toy good = toys::diffuse(150, 32, 0.3, 2);
  EXPECT_FALSE(has_note(toys::search(good, toys::honest(good)).result, "ranking-poor"));
}

}  // namespace
}  // namespace vernier
