#include "search/confirmed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <variant>

#include "toy_oracles.h"

namespace vernier {
namespace {

/// Confirms with the true damage times `factor`, and counts how often it was asked.
struct Judge {
  const toys::Toy& toy;
  double factor = 1;
  std::size_t asked = 0;
  Confirm confirm() {
    return [this](const MinimalResult& result, double) {
      ++asked;
      return factor * toys::damage_of(toy, result.kept);
    };
  }
};

ConfirmedResult search(const toys::Toy& toy, Judge& judge, std::vector<KeptSet>* calls = nullptr,
                       MinimalOptions options = {}) {
  options.on_trial = [&](const KeptSet& kept, const Trial&) {
    if (calls != nullptr) calls->push_back(kept);
  };
  return search_confirmed(toy.items, toys::honest(toy), judge.confirm(), options);
}

// 0.99 of the allowance is used once item 0 is kept; item 1 is the next to go.
const toys::Toy kTight = toys::ranked({5, 0.5, 0.3, 0.19});

TEST(SearchConfirmed, IsTheMinimalSearchWhenTheJudgeAgrees) {
  Judge judge{kTight};
  const ConfirmedResult result = search(kTight, judge);
  EXPECT_EQ(result.minimal.kept, KeptSet{0});
  EXPECT_EQ(result.minimal.end, SearchEnd::Certified);
  EXPECT_EQ(result.minimal.trials, toys::search(kTight, toys::honest(kTight)).result.trials);
  EXPECT_EQ(result.room, 1);
  EXPECT_EQ(judge.asked, 1U);
  EXPECT_TRUE(result.minimal.notes.empty());
}

TEST(SearchConfirmed, SearchesAgainWithLessAllowanceWhenTheJudgeRefuses) {
  Judge judge{kTight, 1.05};
  std::vector<KeptSet> calls;
  const ConfirmedResult result = search(kTight, judge, &calls);
  EXPECT_EQ(result.minimal.end, SearchEnd::Certified);
  EXPECT_LE(1.05 * toys::damage_of(kTight, result.minimal.kept), 1) << "what is returned passes the judge";
  EXPECT_EQ(result.minimal.kept.size(), 2U);
  EXPECT_EQ(judge.asked, 2U);
  EXPECT_NEAR(result.room, 1.05, 0.01);
  ASSERT_EQ(result.minimal.notes.size(), 2U);
  EXPECT_EQ(result.minimal.notes[0].code, "set-not-confirmed");
  EXPECT_NEAR(std::get<double>(*result.minimal.notes[0].find("claimed")), 0.99, 1e-3);
  EXPECT_NEAR(std::get<double>(*result.minimal.notes[0].find("measured")), 1.04, 1e-3);
  EXPECT_EQ(result.minimal.notes[1].code, "less-allowance");
  EXPECT_EQ(*result.minimal.notes[1].find("certified"), NoteValue(true));
  EXPECT_NEAR(std::get<double>(*result.minimal.notes[1].find("percent")), 5, 0.05);
}

TEST(SearchConfirmed, ReportsDamagesAsTheOracleGaveThem) {
  Judge judge{kTight, 1.05};
  const ConfirmedResult result = search(kTight, judge);
  EXPECT_NEAR(result.minimal.final_trial.damage, toys::damage_of(kTight, result.minimal.kept), 1e-12);
  for (const Certificate::Needed& needed : result.minimal.certificate.needed) {
    KeptSet rest;
    for (const std::size_t item : result.minimal.kept) {
      if (item != needed.item) rest.push_back(item);
    }
    EXPECT_NEAR(needed.trial.damage, toys::damage_of(kTight, rest), 1e-12);
    EXPECT_GT(result.room * needed.trial.damage, 1) << "fails within the smaller allowance";
  }
}

TEST(SearchConfirmed, AsksNoSetTwice) {
  Judge judge{kTight, 1.05};
  std::vector<KeptSet> calls;
  const ConfirmedResult result = search(kTight, judge, &calls);
  EXPECT_EQ(std::set<KeptSet>(calls.begin(), calls.end()).size(), calls.size());
  EXPECT_EQ(result.minimal.trials, calls.size());
}

TEST(SearchConfirmed, RepairsAllLowThatOnlyTheOraclePassed) {
  const toys::Toy toy = toys::ranked({0.5, 0.3, 0.19});
  Judge judge{toy, 1.05};
  const ConfirmedResult result = search(toy, judge);
  EXPECT_EQ(result.minimal.end, SearchEnd::Certified);
  EXPECT_EQ(result.minimal.kept.size(), 1U);
  EXPECT_EQ(judge.asked, 2U);
}

TEST(SearchConfirmed, TakesALargeDifferenceForAFaultAndDoesNotCoverItUp) {
  Judge judge{kTight, 3};
  const ConfirmedResult result = search(kTight, judge);
  EXPECT_EQ(result.minimal.kept, KeptSet{0});
  EXPECT_EQ(judge.asked, 1U);
}

TEST(SearchConfirmed, EndsAfterAFewRoundsWithAJudgeWhoIsNeverContent) {
  const toys::Toy toy = toys::diffuse(40, 10, 0.5, 1);
  std::size_t asked = 0;
  const Confirm never = [&](const MinimalResult& result, double) {
    ++asked;
    return std::max(1.001, 1.02 * result.final_trial.damage);
  };
  search_confirmed(toy.items, toys::honest(toy), never, {});
  EXPECT_LE(asked, kConfirmRounds);
  EXPECT_GT(asked, 1U);
}

TEST(SearchConfirmed, DoesNotAskTheJudgeAboutASetThatFailed) {
  const toys::Toy toy = toys::ranked({5, 5});
  Judge judge{toy};
  const ConfirmedResult result = search_confirmed(
      toy.items, [](const KeptSet&) { return Trial{.verdict = Verdict::Bad, .damage = 3}; }, judge.confirm(), {});
  EXPECT_EQ(result.minimal.end, SearchEnd::Impossible);
  EXPECT_EQ(judge.asked, 0U);
}

TEST(SearchConfirmed, EndsWhenTheJudgeCouldNotMeasure) {
  Judge judge{kTight, std::numeric_limits<double>::quiet_NaN()};
  EXPECT_EQ(search(kTight, judge).minimal.kept, KeptSet{0});
  EXPECT_EQ(judge.asked, 1U);
}

TEST(SearchConfirmed, StaysWithinTheBudgetOfAllRounds) {
  for (const std::size_t budget : {1U, 2U, 3U, 4U, 5U, 6U}) {
    Judge judge{kTight, 1.05};
    MinimalOptions options;
    options.max_trials = budget;
    EXPECT_LE(search(kTight, judge, nullptr, options).minimal.trials, budget);
  }
}

TEST(SearchConfirmed, KeepsTheBestSetThatItKnowsWhereALaterRoundIsCutShort) {
  const toys::Toy toy = toys::diffuse(40, 10, 0.5, 1);
  std::size_t rounds = 0, asked_before = 0, asked = 0;
  double told = 0;
  const Confirm refuses_once = [&](const MinimalResult& result, double room) {
    told = room;
    if (++rounds == 1) asked_before = asked;
    return rounds == 1 ? 1.05 : toys::damage_of(toy, result.kept);
  };
  MinimalOptions options;
  options.on_trial = [&](const KeptSet&, const Trial&) { ++asked; };
  options.stop = [&] { return rounds == 1 && asked > asked_before; };
  const ConfirmedResult result = search_confirmed(toy.items, toys::honest(toy), refuses_once, options);
  ASSERT_EQ(rounds, 2U) << "what is kept in the end was confirmed";
  EXPECT_EQ(result.minimal.end, SearchEnd::Stopped);
  EXPECT_EQ(told, result.room);
  EXPECT_LE(result.room * toys::damage_of(toy, result.minimal.kept), 1);
  EXPECT_LT(result.minimal.kept.size(), toy.items.size()) << "the rounds before know a smaller one than all";
  EXPECT_FALSE(result.minimal.certificate.complete);
  EXPECT_EQ(result.minimal.notes.back().code, "less-allowance");
  EXPECT_EQ(*result.minimal.notes.back().find("certified"), NoteValue(false));
}

TEST(SearchConfirmed, RanksAfterAllWhatPassedWithNothingKept) {
  // As it is where nobody measured, since everything low passes: the ranking is the wrong way round.
  const toys::Toy toy = toys::ranked({0.01, 0.02, 0.03, 0.04, 0.05, 0.3});
  std::vector<SearchItem> unknown(toy.items.size(), {std::numeric_limits<double>::min(), 1});
  Judge judge{toy, 8};
  std::size_t ranked = 0;
  MinimalOptions options;
  options.most_room = 10;
  options.rerank = [&] {
    ++ranked;
    std::vector<double> predicted;
    for (const SearchItem& item : toy.items) predicted.push_back(item.predicted_damage);
    return predicted;
  };
  const ConfirmedResult result = search_confirmed(unknown, toys::honest(toy), judge.confirm(), options);
  EXPECT_EQ(ranked, 1U);
  EXPECT_EQ(result.minimal.kept, (KeptSet{4, 5}));
}

// Single elements decide: the first set is confirmed three times worse than the search has it, all others are not.
TEST(SearchConfirmed, TakesLessRoomThanTheFirstSetAskedForWhereThatDoes) {
  const toys::Toy toy = toys::ranked({5, 0.5, 0.3, 0.19, 0.1, 0.05});
  std::vector<KeptSet> asked;
  const Confirm unlucky_at_first = [&](const MinimalResult& result, double) {
    asked.push_back(result.kept);
    return (asked.size() == 1 ? 3 : 1.1) * toys::damage_of(toy, result.kept);
  };
  MinimalOptions options;
  options.most_room = 10;
  const ConfirmedResult result = search_confirmed(toy.items, toys::honest(toy), unlucky_at_first, options);
  EXPECT_EQ(result.minimal.end, SearchEnd::Certified);
  EXPECT_LT(result.room, 3 / 1.1) << "less than the first ratio";
  EXPECT_LE(1.1 * toys::damage_of(toy, result.minimal.kept), 1);
  EXPECT_EQ(asked.back(), result.minimal.kept) << "who confirms writes what it is asked about";
  EXPECT_LE(asked.size(), kConfirmRounds + 1);
}

}  // namespace
}  // namespace vernier
