// Language models: how surprised they are by a text.
#pragma once

#include <cstdint>
#include <span>

namespace vernier {

/// Negative log-likelihood of tokens, summed over texts of any length.
class Surprise {
 public:
  /// One text: scores [tokens, words] before the softmax; targets [tokens], those below zero left out.
  ///   -log softmax(scores[i])[targets[i]] = log sum exp(scores[i] - max) + max - scores[i][targets[i]]
  /// Edges: a row with a NaN or +inf makes everything NaN. Errors: Input when a target is no word.
  void add(std::span<const float> scores, std::size_t words, std::span<const std::int64_t> targets);

  /// exp(mean over tokens); NaN without tokens.
  double perplexity() const;
  std::int64_t tokens() const { return tokens_; }

 private:
  double sum_ = 0;
  std::int64_t tokens_ = 0;
};

}  // namespace vernier
