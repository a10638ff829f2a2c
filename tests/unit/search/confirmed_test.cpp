#include "search/confirmed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <set>
#include <variant>
#include <vector>

#include "search/trials.h"
#include "toy_oracles.h"

namespace vernier {
namespace {

/// Says of each set the true damage times `factor`, and what it was asked.
struct File {
  const toys::Toy& toy;
  std::function<double(const KeptSet&)> factor = [](const KeptSet&) { return 1.0; };
  std::vector<KeptSet> confirmed = {}, judged = {};

  double damage(const KeptSet& kept) const { return factor(kept) * std::max(toys::damage_of(toy, kept), 1e-9); }
  Trial trial(const KeptSet& kept) const {
    Trial trial;
    trial.damage = damage(kept);
    trial.verdict = std::isnan(trial.damage) ? Verdict::Invalid : trial.damage <= 1 ? Verdict::Good : Verdict::Bad;
    return trial;
  }
  MinimalResult search(std::vector<KeptSet>* calls = nullptr, MinimalOptions options = {}) {
    options.on_trial = [&](const KeptSet& kept, const Trial&) {
      if (calls != nullptr) calls->push_back(kept);
    };
    const Confirm confirm = [this](const MinimalResult& result) {
      confirmed.push_back(result.kept);
      return trial(result.kept);
    };
    const JudgePassing judge = [this](const KeptSet& kept, const Trial&) {
      judged.push_back(kept);
      return trial(kept);
    };
    return search_confirmed(search_minimal, toy.items, toys::honest(toy), confirm, judge, options);
  }
};

std::function<double(const KeptSet&)> always(double factor) {
  return [factor](const KeptSet&) { return factor; };
}

// 0.99 of the allowance is used once item 0 is kept; item 1 is the next to go.
const toys::Toy kTight = toys::ranked({5, 0.5, 0.3, 0.19});

TEST(SearchConfirmed, IsTheMinimalSearchWhenTheFileAgrees) {
  File file{kTight};
  const MinimalResult result = file.search();
  EXPECT_EQ(result.kept, KeptSet{0});
  EXPECT_EQ(result.end, SearchEnd::Certified);
  EXPECT_EQ(result.trials, toys::search(kTight, toys::honest(kTight)).result.trials);
  EXPECT_EQ(file.confirmed.size(), 1U);
  EXPECT_TRUE(file.judged.empty());
  EXPECT_TRUE(result.notes.empty());
}

TEST(SearchConfirmed, AsksTheFileOfEachSetThatPassesOnceItRefusedOne) {
  File file{kTight, always(1.05)};
  const MinimalResult result = file.search();
  EXPECT_EQ(result.end, SearchEnd::Certified);
  EXPECT_EQ(result.kept.size(), 2U);
  EXPECT_LE(file.damage(result.kept), 1) << "what is returned passes as a file";
  ASSERT_EQ(file.confirmed.size(), 2U);
  EXPECT_EQ(file.confirmed.back(), result.kept) << "who confirms writes what it is asked about";
  ASSERT_EQ(result.notes.size(), 1U);
  EXPECT_EQ(result.notes[0].code, "set-not-confirmed");
  EXPECT_NEAR(std::get<double>(*result.notes[0].find("claimed")), 0.99, 1e-3);
  EXPECT_NEAR(std::get<double>(*result.notes[0].find("measured")), 1.04, 1e-3);
}

// The file refuses the first set and no other: a stricter limit for all of them would keep more.
TEST(SearchConfirmed, KeepsNoMoreThanTheFilesThemselvesAskFor) {
  const toys::Toy toy = toys::ranked({5, 0.5, 0.3, 0.19, 0.1, 0.05});
  const KeptSet unlucky = File{toy}.search().kept;
  File file{toy, [&](const KeptSet& kept) { return kept == unlucky ? 3.0 : 1.0; }};
  MinimalOptions options;
  options.most_apart = 10;
  const MinimalResult result = file.search(nullptr, options);
  EXPECT_EQ(result.end, SearchEnd::Certified);
  EXPECT_LE(result.kept.size(), unlucky.size() + 1);
  EXPECT_NE(result.kept, unlucky);
}

TEST(SearchConfirmed, CertifiesByTrialsOrFilesThatMissTheLimitItself) {
  File file{kTight, always(1.05)};
  const MinimalResult result = file.search();
  EXPECT_TRUE(result.certificate.complete);
  for (const Certificate::Needed& needed : result.certificate.needed) {
    EXPECT_EQ(needed.trial.verdict, Verdict::Bad);
    EXPECT_GT(needed.trial.damage, 1);
  }
  EXPECT_NEAR(result.final_trial.damage, file.damage(result.kept), 1e-12);
}

TEST(SearchConfirmed, AsksNeitherTwiceAboutASet) {
  File file{toys::ranked({5, 0.5, 0.3, 0.19}), always(1.05)};
  std::vector<KeptSet> calls;
  const MinimalResult result = file.search(&calls);
  EXPECT_EQ(std::set<KeptSet>(file.judged.begin(), file.judged.end()).size(), file.judged.size());
  EXPECT_EQ(result.trials, calls.size());
}

TEST(SearchConfirmed, RepairsAllLowThatOnlyTheOraclePassed) {
  const toys::Toy toy = toys::ranked({0.5, 0.3, 0.19});
  File file{toy, always(1.05)};
  const MinimalResult result = file.search();
  EXPECT_EQ(result.end, SearchEnd::Certified);
  EXPECT_EQ(result.kept.size(), 1U);
}

TEST(SearchConfirmed, TakesALargeDifferenceForAFaultAndDoesNotCoverItUp) {
  File file{kTight, always(3)};
  EXPECT_EQ(file.search().kept, KeptSet{0});
  EXPECT_EQ(file.confirmed.size(), 1U);
}

TEST(SearchConfirmed, SaysWhereNoFilePasses) {
  const toys::Toy toy = toys::diffuse(40, 10, 0.5, 1);
  std::size_t asked = 0;
  const MinimalResult result = search_confirmed(
      search_minimal, toy.items, toys::honest(toy),
      [&](const MinimalResult&) { return ++asked, Trial{.verdict = Verdict::Bad, .damage = 1.2}; },
      [](const KeptSet&, Trial trial) {
        trial.verdict = Verdict::Bad;
        trial.damage = 1.2;
        return trial;
      },
      {});
  EXPECT_EQ(asked, 1U);
  EXPECT_EQ(result.end, SearchEnd::Certified) << "what was confirmed last is what is returned";
  EXPECT_EQ(result.notes.back().code, "nothing-confirmed");
}

TEST(SearchConfirmed, DoesNotAskTheFileAboutASetThatFailed) {
  const toys::Toy toy = toys::ranked({5, 5});
  std::size_t asked = 0;
  const MinimalResult result = search_confirmed(
      search_minimal, toy.items, [](const KeptSet&) { return Trial{.verdict = Verdict::Bad, .damage = 3}; },
      [&](const MinimalResult&) { return ++asked, Trial(); },
      [&](const KeptSet&, const Trial& trial) { return ++asked, trial; }, {});
  EXPECT_EQ(result.end, SearchEnd::Impossible);
  EXPECT_EQ(asked, 0U);
}

// A certificate of what no file confirms is of no use.
TEST(SearchConfirmed, AsksTheFileBeforeMostOfTheCertificate) {
  const toys::Toy toy = toys::diffuse(40, 10, 0.5, 1);
  const KeptSet unlucky = File{toy}.search().kept;
  ASSERT_GT(unlucky.size(), 5U);
  File file{toy, [&](const KeptSet& kept) { return kept == unlucky ? 1.2 : 1.0; }};
  std::vector<KeptSet> calls;
  const MinimalResult result = file.search(&calls);
  const auto below = std::ranges::count_if(calls, [&](const KeptSet& kept) {
    return kept.size() + 1 == unlucky.size() && std::ranges::includes(unlucky, kept);
  });
  EXPECT_LE(below, 4);
  EXPECT_EQ(file.judged.front(), unlucky);
  EXPECT_EQ(file.confirmed, std::vector<KeptSet>{result.kept});
  EXPECT_EQ(result.end, SearchEnd::Certified);
  EXPECT_EQ(result.notes.back().code, "set-not-confirmed");
}

TEST(SearchConfirmed, CertifiesASetThatIsAFaultOfTheFileAndNotItsNoise) {
  const toys::Toy toy = toys::diffuse(40, 10, 0.5, 1);
  File file{toy, always(3)};
  const MinimalResult result = file.search();
  EXPECT_EQ(result.end, SearchEnd::Certified);
  EXPECT_EQ(file.confirmed, std::vector<KeptSet>{result.kept});
}

// From a set that both pass, the file of everything kept is no answer.
TEST(SearchConfirmed, DoesNotAskTheFileOfEverythingKept) {
  const toys::Toy toy = toys::diffuse(40, 10, 0.5, 1);
  const KeptSet unlucky = File{toy}.search().kept;
  File file{toy, [&](const KeptSet& kept) { return kept == unlucky ? 1.2 : 1.0; }};
  file.search();
  ASSERT_GT(file.judged.size(), 1U);
  for (const KeptSet& kept : file.judged) EXPECT_LT(kept.size(), toy.items.size());
}

TEST(SearchConfirmed, EndsWhenTheFileCouldNotBeMeasured) {
  File file{kTight, always(std::numeric_limits<double>::quiet_NaN())};
  EXPECT_EQ(file.search().kept, KeptSet{0});
  EXPECT_EQ(file.confirmed.size(), 1U);
}

TEST(SearchConfirmed, StaysWithinTheBudgetOfBothSearches) {
  for (const std::size_t budget : {1U, 2U, 3U, 4U, 5U, 6U}) {
    File file{kTight, always(1.05)};
    MinimalOptions options;
    options.max_trials = budget;
    EXPECT_LE(file.search(nullptr, options).trials, budget);
  }
}

TEST(SearchConfirmed, EndsWithASetThatPassedWhereTheBudgetIsSpentBehindARefusal) {
  const toys::Toy toy = toys::diffuse(40, 10, 0.5, 1);
  for (const double factor : {1.05, 1.3}) {
    for (std::size_t budget = 3; budget <= 40; ++budget) {
      File file{toy, always(factor)};
      MinimalOptions options;
      options.max_trials = budget;
      const MinimalResult result = file.search(nullptr, options);
      EXPECT_TRUE(passes(result.final_trial)) << factor << " " << budget;
      EXPECT_LE(result.trials, budget);
      EXPECT_EQ(file.confirmed.back(), result.kept) << factor << " " << budget;
    }
  }
}

TEST(SearchConfirmed, KeepsTheBestSetThatItKnowsWhereTheSecondSearchIsCutShort) {
  const toys::Toy toy = toys::diffuse(40, 10, 0.5, 1);
  const KeptSet unlucky = File{toy}.search().kept;
  File file{toy, [&](const KeptSet& kept) { return kept == unlucky ? 1.2 : 1.0; }};
  MinimalOptions options;
  options.stop = [&] { return file.judged.size() > 1; };
  const MinimalResult result = file.search(nullptr, options);
  EXPECT_EQ(result.end, SearchEnd::Stopped);
  ASSERT_FALSE(file.confirmed.empty()) << "what is kept in the end was confirmed";
  EXPECT_EQ(file.confirmed.back(), result.kept);
  EXPECT_LE(file.damage(result.kept), 1);
  EXPECT_LT(result.kept.size(), toy.items.size()) << "a smaller one than all is known";
  EXPECT_FALSE(result.certificate.complete);
}

// A set that was seen to pass in the first search passes as a file, too: nothing dearer is an answer.
TEST(SearchConfirmed, CostsNoMoreThanASetThatBothWereSeenToPass) {
  const toys::Toy toy = toys::diffuse(40, 10, 0.5, 1);
  std::vector<KeptSet> passed;
  search_minimal(toy.items, toys::honest(toy), {.on_trial = [&](const KeptSet& kept, const Trial& trial) {
                   if (passes(trial)) passed.push_back(kept);
                 }});
  ASSERT_GT(passed.size(), 3U);
  File file{toy,
            [&](const KeptSet& kept) { return kept == passed[passed.size() - 2] || kept.size() > 30 ? 1.0 : 5.0; }};
  MinimalOptions options;
  options.most_apart = 10;
  const MinimalResult result = file.search(nullptr, options);
  EXPECT_LE(result.kept.size(), passed[passed.size() - 2].size());
  EXPECT_EQ(result.end, SearchEnd::Certified);
}

TEST(SearchConfirmed, KeepsASetThatPassesWhereEverythingKeptFails) {
  const toys::Toy toy = toys::diffuse(40, 10, 0.5, 1);
  const KeptSet unlucky = File{toy}.search().kept;
  File file{toy, [&](const KeptSet& kept) { return kept == unlucky || kept.size() == toy.items.size() ? 1e10 : 1.0; }};
  MinimalOptions options;
  options.most_apart = std::numeric_limits<double>::infinity();
  const MinimalResult result = file.search(nullptr, options);
  EXPECT_EQ(result.end, SearchEnd::Certified);
  EXPECT_LE(file.damage(result.kept), 1);
}

TEST(SearchConfirmed, KnowsTheCheapestSetOfBothWhereTheBudgetIsSpent) {
  const toys::Toy toy = toys::diffuse(40, 10, 0.5, 1);
  const MinimalResult first = File{toy}.search();
  File file{toy, [&](const KeptSet& kept) { return kept == first.kept ? 1.2 : 1.0; }};
  MinimalOptions options;
  options.max_trials = first.trials;
  const MinimalResult result = file.search(nullptr, options);
  EXPECT_EQ(result.trials, first.trials);
  EXPECT_LT(result.kept.size(), toy.items.size());
  EXPECT_LE(file.damage(result.kept), 1);
}

TEST(SearchConfirmed, SearchesAgainWhereVerdictsHaveNoDamage) {
  Trial bad;
  bad.verdict = Verdict::Bad;  // of a script
  const MinimalResult result = search_confirmed(
      search_minimal, kTight.items, toys::honest(kTight),
      [&](const MinimalResult& found) { return found.kept.size() > 1 ? found.final_trial : bad; },
      [&](const KeptSet& kept, const Trial& trial) { return kept.size() > 1 ? trial : bad; }, {});
  EXPECT_EQ(result.kept.size(), 2U);
  EXPECT_EQ(result.notes.back().find("claimed"), nullptr);
}

TEST(SearchConfirmed, RanksAfterAllWhatPassedWithNothingKept) {
  // As it is where nobody measured, since everything low passes: the ranking is the wrong way round.
  const toys::Toy toy = toys::ranked({0.01, 0.02, 0.03, 0.04, 0.05, 0.3});
  toys::Toy unknown = toy;
  for (SearchItem& item : unknown.items) item.predicted_damage = std::numeric_limits<double>::min();
  File file{unknown, always(8)};
  std::size_t ranked = 0;
  MinimalOptions options;
  options.most_apart = 10;
  options.rerank = [&] {
    ++ranked;
    std::vector<double> predicted;
    for (const SearchItem& item : toy.items) predicted.push_back(item.predicted_damage);
    return predicted;
  };
  EXPECT_EQ(file.search(nullptr, options).kept, (KeptSet{4, 5}));
  EXPECT_GE(ranked, 1U);
}

}  // namespace
}  // namespace vernier
