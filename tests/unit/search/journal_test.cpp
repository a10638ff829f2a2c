// A search that is killed goes on where it was, asks nothing twice, and touches nobody else's journal.
#include "search/journal.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <regex>

#include "search/minimal.h"
#include "toy_oracles.h"
#include "vernier/error.h"

namespace vernier {
namespace {

const Journal::Identity kSearch{{"model_sha256", "aa"}, {"requirement", "--min-sqnr 20"}};

class SearchJournal : public ::testing::Test {
 protected:
  SearchJournal()
      : folder_(std::filesystem::temp_directory_path() / ("vernier-journal-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~SearchJournal() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path path() const { return folder_ / "journal.jsonl"; }
  std::string text() const {
    std::ifstream file(path());
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& text) const { std::ofstream(path()) << text; }
  std::string message(const Journal::Identity& identity, const std::vector<std::string>& items, bool resume) const {
    try {
      Journal journal(path(), identity, items, resume);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  std::filesystem::path folder_;
};

std::vector<std::string> names(std::size_t count) {
  std::vector<std::string> list;
  for (std::size_t i = 0; i < count; ++i) list.push_back("layer/" + std::to_string(i));
  return list;
}

Oracle counting(const Oracle& oracle, std::size_t& calls) {
  return [&oracle, &calls](const KeptSet& kept) {
    ++calls;
    return oracle(kept);
  };
}

MinimalResult search_with(const std::filesystem::path& path, const toys::Toy& toy, bool resume, std::size_t& calls,
                          std::size_t killed_after = 0) {
  const Oracle honest = toys::honest(toy);
  Journal journal(path, kSearch, names(toy.items.size()), resume);
  const Oracle counted = counting(honest, calls);
  const Oracle mortal = [&](const KeptSet& kept) {
    if (killed_after != 0 && calls == killed_after) ::kill(::getpid(), SIGKILL);
    return counted(kept);
  };
  return search_minimal(toy.items, journal.recorded(mortal), {});
}

TEST_F(SearchJournal, ResumesAfterKillWithoutAskingTwice) {
  const toys::Toy toy = toys::diffuse(60, 13, 0.5, 3);
  std::size_t whole = 0;
  const MinimalResult wanted = search_with(path(), toy, false, whole);
  for (const std::size_t killed_after : {1U, 5U, 12U}) {
    const pid_t child = ::fork();
    if (child == 0) {
      std::size_t calls = 0;
      search_with(path(), toy, false, calls, killed_after);
      ::_exit(1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    std::size_t calls = 0;
    const MinimalResult resumed = search_with(path(), toy, true, calls);
    EXPECT_EQ(calls, whole - killed_after);
    EXPECT_EQ(resumed.kept, wanted.kept);
    EXPECT_EQ(resumed.trials, wanted.trials);
    EXPECT_EQ(resumed.end, SearchEnd::Certified);
  }
}

TEST_F(SearchJournal, DropsALineThatWasCutOff) {
  const toys::Toy toy = toys::spiky(20, 2, 0.3, 1);
  std::size_t whole = 0;
  search_with(path(), toy, false, whole);
  const std::string all = text();
  for (std::size_t cut = 1; cut < 40; cut += 7) {
    write(all.substr(0, all.size() - cut));
    std::size_t calls = 0;
    EXPECT_EQ(search_with(path(), toy, true, calls).end, SearchEnd::Certified);
    EXPECT_EQ(calls, 1U);
    EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), static_cast<std::ptrdiff_t>(whole) + 1);
  }
}

TEST_F(SearchJournal, HasNothingToSayOfAWholeJournal) {
  const toys::Toy toy = toys::spiky(20, 2, 0.3, 1);
  std::size_t calls = 0;
  search_with(path(), toy, false, calls);
  const Journal again(path(), kSearch, names(toy.items.size()), true);
  EXPECT_TRUE(again.notes().empty());
}

TEST_F(SearchJournal, PutsTrialsAsideWhenItBeginsAnew) {
  const toys::Toy toy = toys::spiky(20, 2, 0.3, 1);
  std::size_t calls = 0;
  search_with(path(), toy, false, calls);
  const std::string first = text();
  search_with(path(), toy, false, calls);
  const std::string second = text();
  const Journal third(path(), kSearch, names(toy.items.size()), false);
  const auto kept = [&](const std::string& suffix) {
    std::ifstream file(path().string() + suffix);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_EQ(kept(".1"), first);
  EXPECT_EQ(kept(".2"), second);
  ASSERT_EQ(third.notes().size(), 1U);
  EXPECT_EQ(*third.notes().front().find("aside"), NoteValue(path().string() + ".2"));
  // Nothing but its first line: nothing to keep.
  EXPECT_FALSE(std::filesystem::exists(path().string() + ".3"));
}

/// No file of this process may be longer than `bytes`: as a full disk.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : before_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &limit_);
    const rlimit full{bytes, limit_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &full);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &limit_);
    std::signal(SIGXFSZ, before_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  void (*before_)(int);
  rlimit limit_{};
};

TEST_F(SearchJournal, EndsWhereTheDiskIsFullAndTheSearchGoesOn) {
  const toys::Toy toy = toys::diffuse(60, 13, 0.5, 3);
  std::size_t whole = 0, cut = 0, rest = 0;
  const MinimalResult wanted = search_with(folder_ / "other.jsonl", toy, false, whole);
  for (const rlim_t bytes : {rlim_t{0}, rlim_t{100}, rlim_t{3000}}) {
    cut = rest = 0;
    {
      const FullDisk full(bytes);
      EXPECT_EQ(search_with(path(), toy, false, cut).kept, wanted.kept);
      EXPECT_EQ(cut, whole);
    }
    const std::string kept = text();
    EXPECT_LE(kept.size(), bytes);
    EXPECT_TRUE(kept.empty() || kept.back() == '\n') << "no half line";
    EXPECT_EQ(search_with(path(), toy, true, rest).kept, wanted.kept);
    const auto lines = std::ranges::count(kept, '\n');
    EXPECT_EQ(rest, whole - static_cast<std::size_t>(std::max<std::ptrdiff_t>(lines - 1, 0)));
    std::filesystem::remove(path());
  }
  EXPECT_GT(rest, 0U);
}

TEST_F(SearchJournal, SaysOnceThatItKeepsNoMore) {
  const toys::Toy toy = toys::ranked({5, 0.5});
  const Oracle honest = toys::honest(toy);
  const FullDisk full(0);
  Journal journal(path(), kSearch, names(2), false);
  EXPECT_FALSE(journal.writes());
  ASSERT_TRUE(journal.lost());
  EXPECT_EQ(journal.lost()->code, "trials-not-kept");
  const Oracle recorded = journal.recorded(honest);
  recorded({0});
  recorded({1});
  EXPECT_EQ(journal.notes(), std::vector{*journal.lost()});
}

TEST_F(SearchJournal, MakesItsFolderAndSaysWhereThereWasNothingToResume) {
  const std::filesystem::path deep = folder_ / "new" / "folder" / "journal.jsonl";
  const Journal journal(deep, kSearch, names(2), /*resume=*/true);
  ASSERT_EQ(journal.notes().size(), 1U);
  EXPECT_EQ(journal.notes().front().code, "nothing-to-resume");
  EXPECT_TRUE(std::filesystem::exists(deep));
}

TEST_F(SearchJournal, RefusesASecondSearch) {
  const Journal first(path(), kSearch, names(3), false);
  EXPECT_NE(message(kSearch, names(3), true).find("another search writes this journal"), std::string::npos);
}

TEST_F(SearchJournal, HasANameByDefaultThatTellsSearchesApart) {
  const JournalFile ours = default_journal("cache", "model", kSearch);
  EXPECT_FALSE(ours.chosen);
  EXPECT_TRUE(std::regex_match(ours.path.string(), std::regex("cache/model-[0-9a-f]{8}[.]precision[.]jsonl")))
      << ours.path;
  EXPECT_EQ(default_journal("cache", "model", kSearch).path, ours.path);
  for (const auto& [key, value] : kSearch) {
    Journal::Identity other = kSearch;
    other[key] += "x";
    EXPECT_NE(default_journal("cache", "model", other).path, ours.path) << key;
  }
}

TEST_F(SearchJournal, LeavesOneFormerWhereNobodyChoseTheFile) {
  const JournalFile ours(path(), /*named=*/false);
  for (int search = 0; search < 3; ++search) {
    Journal journal(ours, kSearch, names(3), false);
    EXPECT_TRUE(journal.notes().empty());
    journal.recorded([](const KeptSet&) { return Trial{}; })({0});
  }
  EXPECT_TRUE(std::filesystem::exists(path().string() + ".1"));
  EXPECT_FALSE(std::filesystem::exists(path().string() + ".2"));
}

TEST_F(SearchJournal, StaysOutOfAnothersWayWhereNobodyChoseTheFile) {
  const JournalFile ours(path(), /*named=*/false);
  const Journal first(ours, kSearch, names(3), false);
  const std::string before = text();
  Journal second(ours, kSearch, names(3), false);
  EXPECT_FALSE(second.writes());
  ASSERT_EQ(second.notes().size(), 1U);
  second.recorded([](const KeptSet&) { return Trial{}; })({0});
  EXPECT_EQ(text(), before);
  EXPECT_THROW(Journal(ours, kSearch, names(3), true), Error);
}

TEST_F(SearchJournal, RefusesAnotherModelAndOtherOptions) {
  { const Journal first(path(), kSearch, names(3), false); }
  const std::string before = text();
  const Journal::Identity other{{"model_sha256", "bb"}, {"requirement", "--min-sqnr 20"}};
  EXPECT_NE(message(other, names(3), true).find("belongs to a search of another model"), std::string::npos);
  EXPECT_NE(message(other, names(3), false).find("another model"), std::string::npos);
  EXPECT_EQ(text(), before);
  const Journal::Identity stricter{{"model_sha256", "aa"}, {"requirement", "--min-sqnr 24"}};
  EXPECT_NE(message(stricter, names(3), true).find("another requirement"), std::string::npos);
  EXPECT_NE(message(kSearch, names(4), true).find("other layers"), std::string::npos);
  EXPECT_EQ(message(stricter, names(3), false), "");
}

TEST_F(SearchJournal, RefusesWhatAnotherSearchHasBeside) {
  Journal::Identity halved = kSearch;
  halved["unseen"] = "1234";
  { const Journal first(path(), halved, names(3), false); }
  EXPECT_NE(message(kSearch, names(3), true).find("belongs to a search with cross-fitting"), std::string::npos);
  EXPECT_EQ(message(halved, names(3), true), "");
  // Before the network was run, only a part of the search is known.
  EXPECT_NO_THROW(require_journal_of(path(), {{"model_sha256", "aa"}}, /*resume=*/true));
  EXPECT_THROW(require_journal_of(path(), {{"model_sha256", "bb"}}, /*resume=*/true), Error);
}

TEST_F(SearchJournal, RefusesWhatIsNoJournal) {
  for (const char* const foreign : {"important notes\n", "{}\n", "[1]\n", "{\"vernier_search_journal\": 1}\n",
                                    "{\"vernier_search_journal\": 9, \"search\": {}}\n", "\n"}) {
    write(foreign);
    EXPECT_NE(message(kSearch, names(3), false), "") << foreign;
    EXPECT_EQ(text(), foreign);
  }
}

TEST_F(SearchJournal, NamesTheLineThatIsBroken) {
  { const Journal first(path(), kSearch, names(3), false); }
  const std::string header = text();
  for (const char* const bad :
       {"{\"kept\": [\"layer/0\"], \"verdict\": \"fine\", \"metric\": 1, \"damage\": 1, \"stopped_early\": false}", "{",
        "{\"kept\": [\"layer/9\"], \"verdict\": \"good\"}", "{\"kept\": 3}", "null"}) {
    write(header + bad + "\n");
    EXPECT_NE(message(kSearch, names(3), true).find("line 2"), std::string::npos) << bad;
  }
}

TEST_F(SearchJournal, KeepsValuesThatJsonHasNoWordFor) {
  const Oracle overflow = [](const KeptSet&) {
    return Trial{.verdict = Verdict::Bad, .damage = std::numeric_limits<double>::infinity(), .why = "\xff"};
  };
  {
    Journal journal(path(), kSearch, names(3), false);
    journal.recorded(overflow)({0, 2});
  }
  Journal again(path(), kSearch, names(3), true);
  ASSERT_EQ(again.trials().size(), 1U);
  EXPECT_EQ(again.trials()[0].kept, (KeptSet{0, 2}));
  EXPECT_TRUE(std::isinf(again.trials()[0].trial.damage));
  EXPECT_TRUE(std::isnan(again.trials()[0].trial.metric));
}

TEST_F(SearchJournal, GivesAFlakyOraclesAnswersInTheirOrder) {
  std::size_t calls = 0;
  const Oracle flaky = [&calls](const KeptSet&) {
    return Trial{.verdict = ++calls == 1 ? Verdict::Good : Verdict::Bad};
  };
  {
    Journal journal(path(), kSearch, names(3), false);
    const Oracle recorded = journal.recorded(flaky);
    recorded({1});
    recorded({1});
  }
  Journal again(path(), kSearch, names(3), true);
  const Oracle recalled = again.recorded(flaky);
  EXPECT_EQ(recalled({1}).verdict, Verdict::Good);
  EXPECT_EQ(recalled({1}).verdict, Verdict::Bad);
  EXPECT_EQ(calls, 2U);
  EXPECT_EQ(again.recalled(), 2U);
}

}  // namespace
}  // namespace vernier
