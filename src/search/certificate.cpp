#include "search/certificate.h"

#include <fmt/format.h>

#include <set>

namespace vernier {
namespace {

// Deliberately not the search's own function: this file must not inherit its mistakes.
bool good(const Trial& trial) { return trial.verdict == Verdict::Good; }

KeptSet less_one(const KeptSet& kept, std::size_t item) {
  KeptSet rest;
  for (const std::size_t i : kept)
    if (i != item) rest.push_back(i);
  return rest;
}

void check_kept(std::size_t item_count, const KeptSet& kept, std::vector<std::string>& faults) {
  for (std::size_t k = 0; k < kept.size(); ++k) {
    if (kept[k] >= item_count) faults.push_back(fmt::format("kept item {} of only {} items", kept[k], item_count));
    if (k > 0 && kept[k] <= kept[k - 1])
      faults.push_back(fmt::format("kept set is not ascending: {} follows {}", kept[k], kept[k - 1]));
  }
}

void check_entries(const KeptSet& kept, const Certificate& certificate, std::vector<std::string>& faults) {
  if (!certificate.complete) faults.push_back("the certificate does not call itself complete");
  const std::set<std::size_t> members(kept.begin(), kept.end());
  std::set<std::size_t> seen;
  for (const Certificate::Needed& needed : certificate.needed) {
    if (members.count(needed.item) == 0)
      faults.push_back(fmt::format("entry for item {}, which is not kept", needed.item));
    if (!seen.insert(needed.item).second) faults.push_back(fmt::format("two entries for item {}", needed.item));
    if (good(needed.trial)) faults.push_back(fmt::format("the entry for item {} holds a passing test", needed.item));
  }
  for (const std::size_t item : certificate.not_cheaper) {
    if (members.count(item) == 0) faults.push_back(fmt::format("entry for item {}, which is not kept", item));
    if (!seen.insert(item).second) faults.push_back(fmt::format("two entries for item {}", item));
  }
  for (const std::size_t item : certificate.needed_below) {
    if (members.count(item) == 0) faults.push_back(fmt::format("entry for item {}, which is not kept", item));
    if (!seen.insert(item).second) faults.push_back(fmt::format("two entries for item {}", item));
  }
  for (const std::size_t i : members)
    if (seen.count(i) == 0) faults.push_back(fmt::format("no entry for kept item {}", i));
}

double sum_of_costs(const KeptSet& kept, std::span<const SearchItem> items, std::span<const Border> borders) {
  const std::set<std::size_t> high(kept.begin(), kept.end());
  double sum = 0;
  for (const std::size_t i : kept) sum += items[i].cost;
  for (const Border& border : borders) {
    bool all = true;
    bool none = true;
    for (const std::size_t i : border.items) (high.count(i) != 0 ? none : all) = false;
    if (!all && !none) sum += border.cost;
  }
  return sum;
}

// Every trial of exactly `set` must have come out as claimed, and there must be one.
void check_record(const KeptSet& set, bool should_pass, const std::string& name, std::span<const RecordedTrial> trials,
                  std::vector<std::string>& faults) {
  std::size_t agreeing = 0;
  std::size_t opposed = 0;
  for (const RecordedTrial& recorded : trials)
    if (recorded.kept == set) ++(good(recorded.trial) == should_pass ? agreeing : opposed);
  if (agreeing == 0) faults.push_back(fmt::format("no {} trial of {}", should_pass ? "passing" : "failing", name));
  if (opposed > 0) faults.push_back(fmt::format("a trial of {} {}", name, should_pass ? "failed" : "passed"));
}

}  // namespace

CertificateCheck check_certificate(std::size_t item_count, const KeptSet& kept, const Certificate& certificate,
                                   std::span<const RecordedTrial> trials, std::span<const SearchItem> items,
                                   std::span<const Border> borders) {
  CertificateCheck check;
  check_kept(item_count, kept, check.faults);
  check_entries(kept, certificate, check.faults);
  check_record(kept, /*should_pass=*/true, "the kept set", trials, check.faults);
  const std::set<std::size_t> excused(certificate.not_cheaper.begin(), certificate.not_cheaper.end());
  const std::set<std::size_t> below(certificate.needed_below.begin(), certificate.needed_below.end());
  for (const std::size_t i : kept) {
    if (below.count(i) != 0) {
      bool found = false;
      for (const std::size_t other : kept) found = found || (other < items.size() && items[other].needs == i);
      if (!found) check.faults.push_back(fmt::format("item {} was not tested, though no kept item needs it", i));
      continue;
    }
    if (excused.count(i) != 0) {
      const bool known = items.size() == item_count;
      if (!known || sum_of_costs(less_one(kept, i), items, borders) < sum_of_costs(kept, items, borders)) {
        check.faults.push_back(fmt::format("item {} was not tested, though dropping it makes the set cheaper", i));
      }
      continue;
    }
    check_record(less_one(kept, i), /*should_pass=*/false, fmt::format("the kept set less item {}", i), trials,
                 check.faults);
  }
  return check;
}

}  // namespace vernier
