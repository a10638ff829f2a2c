#!/usr/bin/env bash
# readme.sh VERSION PREFIX: prints the README of a program archive. What it needs of a system is read from what is in it.
set -euo pipefail
version=$1
prefix=$2

# newest KIND: the newest version of these symbols that any binary asks for.
newest() {
  find "$prefix/bin" "$prefix/lib" -type f \( -name vernier -o -name '*.so*' \) -exec objdump -T {} + |
    grep -oE "\($1_[0-9.]+\)" | tr -d '()' | sort -uV | tail -n 1
}

cat <<README
# Vernier $version

Finds, explains and fixes the layers that break an ONNX network in low precision. Unpack it where you like, and run

    bin/vernier --help

It needs

- Linux on $(uname -m), with glibc $(newest GLIBC | tr _ " " | cut -d" " -f2) or newer and libstdc++ with $(newest GLIBCXX) or newer;
- ONNX Runtime 1.21 or newer: \`pip install onnxruntime\` in a virtual environment that is active, or a library of your own
  that \`VERNIER_ORT_LIBRARY\` names. \`bin/vernier doctor\` says what it found.

| folder | holds |
|---|---|
| bin | the program |
| lib, include | the C++ library: \`find_package(vernier)\` with this folder in CMAKE_PREFIX_PATH, or lib/pkgconfig |
| lib/vernier | libraries of others, which the program and the library look for there |
| share/doc/vernier | licences (LICENSE and third-party.txt), the bill of materials, what changed |

Plug-ins for MPI are not among them, since they are those of one machine's MPI: build Vernier there.
README
