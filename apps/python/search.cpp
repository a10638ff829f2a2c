// The search alone: numbered items, and an oracle of Python's.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <string>
#include <vector>

#include "calls.h"
#include "parts.h"
#include "search/minimal.h"
#include "vernier/report/note_text.h"
#include "vernier/verdict.h"
#include "words.h"

namespace nb = nanobind;

namespace vernier::python {
namespace {

/// What an oracle of Python's said: (verdict, damage or None).
Trial trial_of(const nb::object& said) {
  const auto answer = nb::cast<nb::tuple>(said);
  Trial trial;
  trial.verdict = nb::cast<Verdict>(answer[0]);
  if (const nb::object damage = answer[1]; !damage.is_none()) trial.damage = nb::cast<double>(damage);
  trial.metric = trial.damage;
  return trial;
}

nb::dict answer_of(const MinimalResult& result) {
  nb::list needed;
  for (const Certificate::Needed& one : result.certificate.needed) needed.append(one.item);
  nb::dict answer;
  answer["end"] = std::string(word_of(result.end));
  answer["kept"] = nb::cast(result.kept);
  answer["cost"] = result.cost;
  answer["trials"] = result.trials;
  answer["certified"] = result.certificate.complete && result.end != SearchEnd::Unstable;
  answer["needed"] = needed;
  answer["lower_bound"] = nb::cast(result.lower_bound);
  answer["notes"] = nb::cast(note_texts(result.notes));
  return answer;
}

nb::dict search(const std::vector<double>& damages, const std::vector<double>& costs, const nb::object& oracle,
                std::size_t max_trials, bool prove_minimum, const nb::object& listener) {
  std::vector<SearchItem> items;
  items.reserve(damages.size());
  for (std::size_t i = 0; i < damages.size(); ++i) items.push_back({damages[i], costs.at(i)});
  const MinimalResult result = call_for(listener, [&](const JobSinks& sinks) {
    MinimalOptions options;
    options.max_trials = max_trials;
    options.prove_minimum = prove_minimum;
    options.stop = [&] { return sinks.is_interrupted(); };
    return search_minimal(
        items,
        [&](const KeptSet& kept) {
          const nb::gil_scoped_acquire acquired;
          return trial_of(oracle(nb::cast(kept)));
        },
        options);
  });
  return answer_of(result);
}

}  // namespace

void add_search(nb::module_& module) {
  module.def("search", search, nb::arg("damages"), nb::arg("costs"), nb::arg("oracle"), nb::arg("max_trials"),
             nb::arg("prove_minimum"), nb::arg("listener").none());
}

}  // namespace vernier::python
