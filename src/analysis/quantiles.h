// Quantiles of the distributions that say how sure a figure is.
#pragma once

namespace vernier {

/// Of the normal distribution: P(Z <= z) = p, for p from 0.5 to below 1. By bisection: asked a handful of times.
double normal_quantile(double p);

/// Of Student's t distribution: P(T <= t) = p, for p in (0.5, 1) and `degrees` >= 1.
/// Accuracy: four digits for degrees >= 3 and p <= 0.9999. Source: G. W. Hill, Algorithm 396, CACM 13 (1970).
double student_quantile(double p, double degrees);

/// Poisson's upper limit of a rate where one event was seen, with a confidence of c: exp(-m) (1 + m) = 1 - c.
/// Source: F. Garwood, "Fiducial limits for the Poisson distribution", Biometrika 28 (1936).
double most_events(double c);

}  // namespace vernier
