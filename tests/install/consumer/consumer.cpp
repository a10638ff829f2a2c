// An outside program: it uses a function, a value and an exception of the installed library and prints what they say.
#include <array>
#include <iostream>

#include "vernier/vernier.h"

int main() {
  const auto format = vernier::parse_format("fp16");
  if (!format) return 1;
  std::cout << vernier::format_name(*format) << ": " << vernier::bits_of(*format) << " bits\n";

  const std::array<float, 6> values{1, 2, 3, 4, 5, 6};
  const vernier::Tensor tensor = vernier::Tensor::of({2, 3}, values);
  std::cout << vernier::shape_text(tensor.shape()) << ' ' << vernier::dtype_name(tensor.dtype()) << ": "
            << tensor.byte_size() << " bytes\n";

  try {
    vernier::Tensor::of({7}, values);
  } catch (const vernier::Error& error) {  // only caught when the library's type information is the program's
    if (error.kind() == vernier::ErrorKind::Input) std::cout << "input error: cannot fill a tensor\n";
  }
}
