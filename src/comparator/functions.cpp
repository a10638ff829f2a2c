#include "comparator/functions.h"

#include <array>

#include "vernier/error.h"

namespace vernier {
namespace {

struct Row {
  CompareFunction function;
  Figure (*measure)(Pair&);
};

constexpr std::array<Row, 8> kRows{{{CompareFunction::L2, l2},
                                    {CompareFunction::CosineSimilarity, cosine_similarity},
                                    {CompareFunction::Psnr, psnr},
                                    {CompareFunction::Snr, snr},
                                    {CompareFunction::Mse, mean_squared_error},
                                    {CompareFunction::Sqnr, sqnr},
                                    {CompareFunction::Kl, kl_divergence},
                                    {CompareFunction::Ulp, ulp_distance}}};

}  // namespace

Figure measure(CompareFunction function, Pair& pair) {
  for (const Row& row : kRows) {
    if (row.function == function) return row.measure(pair);
  }
  throw Error(ErrorKind::Internal, "a comparison function without a figure");
}

}  // namespace vernier
