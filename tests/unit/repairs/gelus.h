// GELU as exporters write it: PyTorch's, Hugging Face's three, and ones with the factors elsewhere.
#pragma once

#include <string>

#include "bench.h"

namespace vernier::testing {

inline constexpr const char* kErfGelus[] = {
    "[in] a = Div(x, root2)\n [curve] b = Erf(a)\n [up] c = Add(b, one)\n [mul] d = Mul(x, c)\n [last] g = Mul(d, "
    "half)\n",
    "[in] a = Mul(inverse2, x)\n [h] h = Mul(x, half)\n [curve] b = Erf(a)\n [up] c = Add(one, b)\n [last] g = Mul(c, "
    "h)\n"};
inline constexpr const char* kTanhGelus[] = {
    "[cube] p = Pow(x, three)\n [k] k = Mul(p, kappa)\n [in] i = Add(x, k)\n [beta] j = Mul(i, beta)\n"
    " [curve] t = Tanh(j)\n [up] c = Add(t, one)\n [h] h = Mul(x, half)\n [last] g = Mul(h, c)\n",
    "[sq] s = Mul(x, x)\n [cube] p = Mul(x, s)\n [k] k = Mul(kappa, p)\n [in] i = Add(x, k)\n [beta] j = Mul(beta, i)\n"
    " [curve] t = Tanh(j)\n [up] c = Add(one, t)\n [d] d = Mul(x, c)\n [last] g = Mul(half, d)\n",
    "[a] a = Mul(x, beta)\n [b] b = Mul(x, kappa)\n [sq] s = Mul(b, x)\n [in] i = Add(s, one)\n [j] j = Mul(a, i)\n"
    " [curve] t = Tanh(j)\n [up] c = Add(t, one)\n [h] h = Mul(half, x)\n [last] g = Mul(h, c)\n"};

inline Model gelu_net(const std::string& pieces, const std::string& behind = "[mm] y = MatMul(g, w)",
                      const std::string& outputs = "float[2,4] y") {
  return parsed("g (float[2,4] q) => (" + outputs +
                    ") <float one = {1}, float half = {0.5}, float three = {3}, float root2 = {1.4142135},"
                    " float inverse2 = {0.70710677}, float kappa = {0.044715}, float beta = {0.7978846}> {"
                    " [scale] x = Mul(q, three)\n " +
                    pieces + behind + " }",
                {{"w", zeros({4, 4})}});
}

}  // namespace vernier::testing
