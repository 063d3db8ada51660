#pragma once

namespace stepcast {
/// Mean of the largest of n independent lognormal variables with mean 1 (mu = -sigma^2 / 2):
///   E = integral over z of exp(sigma z - sigma^2 / 2) n Phi(z)^(n-1) phi(z) dz,  phi, Phi of the
///   standard normal,
/// by Simpson's rule to 1e-9 relative. n >= 1, sigma >= 0.
double expected_maximum_lognormal(int n, double sigma);
/// Standard deviation of the largest of n such variables.
double deviation_of_maximum_lognormal(int n, double sigma);
}  // namespace stepcast
