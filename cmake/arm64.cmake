# Toolchain for ARM64 on a machine of another kind: Debian's cross compiler, Debian's packages for ARM64 as
# `scripts/bootstrap --with arm64` unpacks them, and QEMU, which runs what was built.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH checkout)
set(CMAKE_SYSROOT ${checkout}/.deps/arm64/root)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L ${CMAKE_SYSROOT}
    -E VERNIER_ORT_LIBRARY=${checkout}/.deps/arm64/onnxruntime/libonnxruntime.so)

# Programs are this machine's, all else is in those packages or in .deps.
set(CMAKE_FIND_ROOT_PATH ${checkout}/.deps)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig)
