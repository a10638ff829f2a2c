#include "search/certificate.h"

#include <gtest/gtest.h>

#include "toy_oracles.h"

namespace vernier {
namespace {

const Trial kGood{.verdict = Verdict::Good, .damage = 0.5};
const Trial kBad{.verdict = Verdict::Bad, .damage = 2};

/// A faultless proof that {1, 4} of 6 items is minimal; each test breaks one thing.
struct Proof {
  KeptSet kept{1, 4};
  Certificate certificate{.needed = {{1, kBad}, {4, kBad}}, .complete = true};
  std::vector<RecordedTrial> trials{{{}, kBad}, {{1, 4}, kGood}, {{4}, kBad}, {{1}, kBad}};

  std::vector<std::string> faults() const { return check_certificate(6, kept, certificate, trials).faults; }
};

using Faults = std::vector<std::string>;

TEST(CheckCertificate, AcceptsAProof) { EXPECT_EQ(Proof{}.faults(), Faults{}); }

TEST(CheckCertificate, MissesAnEntry) {
  Proof proof;
  proof.certificate.needed.pop_back();
  EXPECT_EQ(proof.faults(), Faults{"no entry for kept item 4"});
}

TEST(CheckCertificate, RefusesASecondEntryForAnItem) {
  Proof proof;
  proof.certificate.needed.push_back({1, kBad});
  EXPECT_EQ(proof.faults(), Faults{"two entries for item 1"});
}

TEST(CheckCertificate, RefusesAnEntryForAnItemThatIsNotKept) {
  Proof proof;
  proof.certificate.needed.push_back({2, kBad});
  EXPECT_EQ(proof.faults(), Faults{"entry for item 2, which is not kept"});
}

TEST(CheckCertificate, RefusesAnEntryThatPassed) {
  Proof proof;
  proof.certificate.needed[0].trial = kGood;
  EXPECT_EQ(proof.faults(), Faults{"the entry for item 1 holds a passing test"});
}

TEST(CheckCertificate, WantsATrialOfExactlyTheSmallerSet) {
  Proof proof;
  proof.trials[2].kept = {4, 5};
  EXPECT_EQ(proof.faults(), Faults{"no failing trial of the kept set less item 1"});
}

TEST(CheckCertificate, WantsAPassingTrialOfTheKeptSet) {
  Proof proof;
  proof.trials.erase(proof.trials.begin() + 1);
  EXPECT_EQ(proof.faults(), Faults{"no passing trial of the kept set"});
}

TEST(CheckCertificate, RefusesASetThatBothPassedAndFailed) {
  Proof proof;
  proof.trials.push_back({{1}, kGood});
  EXPECT_EQ(proof.faults(), Faults{"a trial of the kept set less item 4 passed"});
}

TEST(CheckCertificate, RefusesAnIncompleteCertificate) {
  Proof proof;
  proof.certificate.complete = false;
  EXPECT_EQ(proof.faults(), Faults{"the certificate does not call itself complete"});
}

TEST(CheckCertificate, RefusesSetsOutOfOrderOrOutOfRange) {
  Proof proof;
  proof.kept = {4, 1};
  EXPECT_EQ(proof.faults().front(), "kept set is not ascending: 1 follows 4");
  proof.kept = {1, 6};
  EXPECT_EQ(proof.faults().front(), "kept item 6 of only 6 items");
}

TEST(CheckCertificate, CountsUndecidedAsFailed) {
  Proof proof;
  proof.trials[2].trial = {.verdict = Verdict::TimedOut};
  EXPECT_EQ(proof.faults(), Faults{});
  proof.trials[1].trial = {.verdict = Verdict::Invalid};
  EXPECT_EQ(proof.faults().size(), 2U);
}

}  // namespace
}  // namespace vernier
