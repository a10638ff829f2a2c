
#include "vernier/repeat.h"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>

#include "base/text.h"
#include "external_check/check_loop.h"
#include "model/raw_proto.h"
#include "vernier/check.h"
#include "vernier/error.h"
#include "vernier/sinks.h"

namespace vernier {
namespace {

// A check that never says what is waited for must end some day.
constexpr std::size_t kMostIterations = 100000;

/// The loop takes an Error for an iteration without a verdict. What cannot be made once cannot be made again.
struct CannotBegin {
  Error why;
};

bool goes_on(const Until& until, const CheckLoop& loop) {
  switch (until.stop) {
    case Until::Stop::Good:
      return loop.count(Verdict::Good) == 0;
    case Until::Stop::Bad:
      return loop.count(Verdict::Bad) == 0;
    case Until::Stop::Count:
      break;
  }
  return loop.iterations() < until.count;
}

}  // namespace

RepeatReport debug_repeat(const RepeatOptions& options, const JobSinks& sinks, const CheckSinks& check_sinks) {
  CheckIdentity identity;
  identity.command = options.command;
  identity.model = options.model.name();
  if (!options.model.empty()) read_raw_proto(options.model, &identity.model_sha256);
  for (const std::string& word : options.check.command) identity.check += (identity.check.empty() ? "" : " ") + word;
  CheckLoop loop(options.check, identity, sinks, check_sinks);
  std::function<void(const std::filesystem::path&)> write;
  if (options.write) {
    write = [&](const std::filesystem::path& path) {
      try {
        options.write(path);
      } catch (const Error& error) {
        if (loop.iterations() == 0) throw CannotBegin{error};
        throw;
      }
    };
  }
  try {
    while (goes_on(options.until, loop) && loop.iterations() < kMostIterations) {
      loop.check(Json::object(), "", write);
    }
  } catch (const CannotBegin& first) {
    throw Error(first.why);
  }
  RepeatReport report;
  report.iterations = loop.iterations();
  report.good = loop.count(Verdict::Good);
  report.bad = loop.count(Verdict::Bad);
  report.undecided = report.iterations - report.good - report.bad;
  report.ended = !goes_on(options.until, loop);
  report.summary = loop.summary();
  return report;
}

}  // namespace vernier
