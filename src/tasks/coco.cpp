#include "tasks/coco.h"

#include <algorithm>
#include <array>
#include <limits>

namespace vernier {
namespace {

constexpr std::size_t kOverlaps = 10, kRecalls = 101, kMost = 100;
constexpr std::array<std::size_t, 3> kFewer = {1, 10, kMost};

struct Sizes {
  double least, most;
};
// The reference's own bounds: everything, small, medium, large.
constexpr std::array<Sizes, 4> kSizes = {{{0, 1e10}, {0, 32. * 32}, {32. * 32, 96. * 96}, {96. * 96, 1e10}}};

// Where the reference's linspace(0.5, 0.95, 10) and linspace(0, 1, 101) lie, to the last bit.
double overlap_at(std::size_t t) {
  return t + 1 == kOverlaps ? 0.95 : 0.5 + static_cast<double>(t) * ((0.95 - 0.5) / 9);
}
double recall_at(std::size_t r) { return r + 1 == kRecalls ? 1 : static_cast<double>(r) * 0.01; }

/// What became of the detections of one image and category, best first.
struct Judged {
  std::vector<double> scores;
  std::array<std::vector<bool>, kOverlaps> hit, ignored;
  std::size_t wanted = 0;  // boxes that count
};

Judged judge(const CocoImage& image, std::size_t category, Sizes sizes) {
  std::vector<const TrueBox*> truth;
  for (const TrueBox& box : image.truth) {
    if (box.category == category) truth.push_back(&box);
  }
  const auto passed_over = [&](const TrueBox& box) {
    return box.crowd || box.area < sizes.least || box.area > sizes.most;
  };
  std::stable_sort(truth.begin(), truth.end(),
                   [&](const TrueBox* a, const TrueBox* b) { return !passed_over(*a) && passed_over(*b); });
  std::vector<const Detection*> got;
  for (const Detection& one : image.got) {
    if (one.category == category) got.push_back(&one);
  }
  std::stable_sort(got.begin(), got.end(), [](const Detection* a, const Detection* b) { return a->score > b->score; });
  if (got.size() > kMost) got.resize(kMost);

  Judged judged;
  for (const TrueBox* box : truth) judged.wanted += passed_over(*box) ? 0 : 1;
  for (const Detection* one : got) judged.scores.push_back(one->score);
  std::vector<double> overlaps(got.size() * truth.size());
  for (std::size_t d = 0; d < got.size(); ++d) {
    for (std::size_t g = 0; g < truth.size(); ++g) {
      overlaps[d * truth.size() + g] = overlap(got[d]->box, truth[g]->box, truth[g]->crowd);
    }
  }
  for (std::size_t t = 0; t < kOverlaps; ++t) {
    std::vector<bool> taken(truth.size(), false);
    for (std::size_t d = 0; d < got.size(); ++d) {
      double best = std::min(overlap_at(t), 1 - 1e-10);
      std::ptrdiff_t match = -1;
      for (std::size_t g = 0; g < truth.size(); ++g) {
        if (taken[g] && !truth[g]->crowd) continue;
        // Boxes that count come first: once one of them fits, those that do not are not looked at.
        if (match >= 0 && !passed_over(*truth[static_cast<std::size_t>(match)]) && passed_over(*truth[g])) break;
        if (overlaps[d * truth.size() + g] < best) continue;
        best = overlaps[d * truth.size() + g];
        match = static_cast<std::ptrdiff_t>(g);
      }
      const double area = got[d]->box.area();
      bool ignored = area < sizes.least || area > sizes.most;
      if (match >= 0) {
        taken[static_cast<std::size_t>(match)] = true;
        ignored = passed_over(*truth[static_cast<std::size_t>(match)]);
      }
      judged.hit[t].push_back(match >= 0);
      judged.ignored[t].push_back(ignored);
    }
  }
  return judged;
}

/// Sums that a figure is the mean of.
struct Mean {
  double sum = 0;
  std::size_t count = 0;
  void add(double value) { sum += value, ++count; }
  double value() const { return count == 0 ? -1 : sum / static_cast<double>(count); }
};

/// Precision at each recall, and the highest recall, of one overlap and at most `most` detections an image.
void accumulate(const std::vector<Judged>& images, std::size_t t, std::size_t most, Mean& precision, Mean& recall) {
  struct One {
    double score;
    bool hit;
  };
  std::vector<One> all;
  std::size_t wanted = 0;
  for (const Judged& image : images) {
    wanted += image.wanted;
    for (std::size_t d = 0; d < std::min(image.scores.size(), most); ++d) {
      if (image.ignored[t][d]) continue;
      all.push_back({image.scores[d], image.hit[t][d]});
    }
  }
  if (wanted == 0) return;
  std::stable_sort(all.begin(), all.end(), [](const One& a, const One& b) { return a.score > b.score; });
  std::vector<double> precisions(all.size()), recalls(all.size());
  double hits = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    hits += all[i].hit ? 1 : 0;
    precisions[i] = hits / (static_cast<double>(i + 1) + std::numeric_limits<double>::epsilon());
    recalls[i] = hits / static_cast<double>(wanted);
  }
  recall.add(recalls.empty() ? 0 : recalls.back());
  for (std::size_t i = precisions.size(); i-- > 1;) precisions[i - 1] = std::max(precisions[i - 1], precisions[i]);
  for (std::size_t r = 0; r < kRecalls; ++r) {
    const auto at = std::lower_bound(recalls.begin(), recalls.end(), recall_at(r));
    precision.add(at == recalls.end() ? 0 : precisions[static_cast<std::size_t>(at - recalls.begin())]);
  }
}

}  // namespace

CocoFigures coco_figures(const std::vector<CocoImage>& images, std::size_t categories) {
  std::array<std::array<Mean, 3>, kSizes.size()> recalls;
  std::array<Mean, kSizes.size()> precisions;
  Mean at50, at75, unused;
  for (std::size_t category = 0; category < categories; ++category) {
    for (std::size_t size = 0; size < kSizes.size(); ++size) {
      std::vector<Judged> judged;
      judged.reserve(images.size());
      for (const CocoImage& image : images) judged.push_back(judge(image, category, kSizes[size]));
      for (std::size_t t = 0; t < kOverlaps; ++t) {
        Mean precision;
        accumulate(judged, t, kMost, precision, recalls[size][2]);
        for (Mean* mean :
             {&precisions[size], size == 0 && t == 0 ? &at50 : &unused, size == 0 && t == 5 ? &at75 : &unused}) {
          mean->sum += precision.sum;
          mean->count += precision.count;
        }
        for (std::size_t few = 0; size == 0 && few < 2; ++few) {
          accumulate(judged, t, kFewer[few], unused, recalls[0][few]);
        }
      }
    }
  }
  return {precisions[0].value(), at50.value(),          at75.value(),          precisions[1].value(),
          precisions[2].value(), precisions[3].value(), recalls[0][0].value(), recalls[0][1].value(),
          recalls[0][2].value(), recalls[1][2].value(), recalls[2][2].value(), recalls[3][2].value()};
}

}  // namespace vernier
