# Everything third-party. docs/contributing/dependencies.md says why each was chosen; scripts/bootstrap provides it.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(CLI11 REQUIRED)
# No version here: its package file accepts only the very minor version asked for. 3.0 is the oldest that was tried.
find_package(simdjson REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)

find_package(PkgConfig REQUIRED)
pkg_check_modules(hwy REQUIRED IMPORTED_TARGET libhwy)
pkg_check_modules(libzip REQUIRED IMPORTED_TARGET libzip)
pkg_check_modules(utf8proc REQUIRED IMPORTED_TARGET libutf8proc)
pkg_check_modules(yaml_cpp REQUIRED IMPORTED_TARGET yaml-cpp)

# ONNX is built with lite protobuf. Full protobuf registers the descriptors of ONNX's messages in one table of the
# process, and aborts when a distribution's ONNX Runtime registers them again. It is the shared library because the static
# one of distributions is not position independent: it cannot become part of libvernier.so.
find_package(Protobuf REQUIRED)
# ONNX's own package file asks for a Protobuf package file, which distributions do not ship: its targets are taken directly.
include("${VERNIER_ONNX}/lib/cmake/ONNX/ONNXTargets.cmake")
file(STRINGS "${VERNIER_ONNX}/lib/cmake/ONNX/ONNXConfig.cmake" onnx_version REGEX "set\\(ONNX_VERSION ")
string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" VERNIER_ONNX_VERSION "${onnx_version}")

# Headers only: the library is loaded at run time (src/engines/onnxruntime/runtime.h).
find_path(ONNXRUNTIME_INCLUDE_DIR onnxruntime_c_api.h
          HINTS "${VERNIER_DEPS}/onnxruntime/include" PATH_SUFFIXES onnxruntime REQUIRED)
add_library(vernier_onnxruntime_headers INTERFACE)
target_include_directories(vernier_onnxruntime_headers SYSTEM INTERFACE "${ONNXRUNTIME_INCLUDE_DIR}")

find_path(STB_INCLUDE_DIR stb_image.h PATH_SUFFIXES stb REQUIRED)
add_library(vernier_stb INTERFACE)
target_include_directories(vernier_stb SYSTEM INTERFACE "${STB_INCLUDE_DIR}")
