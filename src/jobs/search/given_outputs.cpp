// Labels for scripts that decide: they want the outputs of the file, not what the labels are judged by.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analysis/judged_views.h"
#include "jobs/search/objective.h"

namespace vernier {
namespace {

using Views = std::vector<const JudgedView*>;  // of each output of the file in turn; null where there is none

class GivenTally : public Tally {
 public:
  GivenTally(std::unique_ptr<Tally> inner, Views views) : inner_(std::move(inner)), views_(std::move(views)) {}
  bool add(std::size_t sample, const std::vector<Tensor>& ref, const std::vector<Tensor>& got) override {
    return inner_->add(sample, given(ref), given(got));
  }
  Trial trial() const override { return inner_->trial(); }

 private:
  std::vector<Tensor> given(std::vector<Tensor> outputs) const {
    if (outputs.size() > views_.size()) outputs.resize(views_.size());  // what the file does not give out stands behind
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (views_[i] != nullptr) outputs[i] = as_given(*views_[i], outputs[i]);
    }
    return outputs;
  }

  const std::unique_ptr<Tally> inner_;
  const Views views_;
};

class GivenObjective : public Objective {
 public:
  GivenObjective(std::unique_ptr<Objective> inner, std::vector<JudgedView> views)
      : inner_(std::move(inner)), views_(std::move(views)) {}
  DecidedBy decided_by() const override { return inner_->decided_by(); }
  std::string text() const override { return inner_->text(); }
  std::string key() const override { return inner_->key(); }
  std::string fingerprint() const override { return inner_->fingerprint(); }
  bool passes_reference() const override { return inner_->passes_reference(); }
  std::unique_ptr<Tally> begin(const std::vector<std::string>& outputs) const override {
    Views views;
    std::vector<std::string> whole;
    for (const std::string& output : outputs) {
      const auto view = std::ranges::find(views_, output, &JudgedView::output);
      if (view != views_.end() && view->added()) continue;
      whole.push_back(output);
      views.push_back(view == views_.end() ? nullptr : &*view);
    }
    return std::make_unique<GivenTally>(inner_->begin(whole), std::move(views));
  }

 private:
  const std::unique_ptr<Objective> inner_;
  const std::vector<JudgedView> views_;
};

}  // namespace

std::unique_ptr<Objective> of_whole_outputs(std::unique_ptr<Objective> objective, std::vector<JudgedView> views) {
  std::erase_if(views, [](const JudgedView& view) { return !view.added(); });
  return of_given_outputs(std::move(objective), std::move(views));
}

std::unique_ptr<Objective> of_given_outputs(std::unique_ptr<Objective> objective, std::vector<JudgedView> views) {
  if (views.empty()) return objective;
  return std::make_unique<GivenObjective>(std::move(objective), std::move(views));
}

}  // namespace vernier
