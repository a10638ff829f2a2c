// Quantiles of the distributions that say how sure a figure is.
#pragma once

namespace vernier {

/// Of the normal distribution: P(Z <= z) = p, for p from 0.5 to below 1. By bisection: asked a handful of times.
double normal_quantile(double p);

/// Of Student's t distribution: P(T <= t) = p, for p in (0.5, 1) and `degrees` >= 1.
/// Accuracy: four digits for degrees >= 3 and p <= 0.9999. Source: G. W. Hill, Algorithm 396, CACM 13 (1970).
double student_quantile(double p, double degrees);

/// How often an event occurs at most in as many new samples, with a confidence of c, if it was seen once: m = s - 1
/// with (1 + s) / 2^s = 1 - c. Of s events in both, as many fall into either, so at most one was seen with that chance.
/// Source: W. Nelson, "Confidence intervals for the ratio of two Poisson means and Poisson predictor intervals", IEEE
/// Transactions on Reliability R-19 (1970).
double most_new_events(double c);

}  // namespace vernier
