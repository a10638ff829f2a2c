# Two ways to compile the same sources in a third of the time: headers that nearly every source reads are compiled once,
# and sources of one target are compiled together. Each source still includes what it uses: scripts/lib/includes.py, one
# of the default tests, looks. With both options off all of them compile one by one.
option(VERNIER_PRECOMPILE "Precompile the headers that nearly every source reads" ON)
option(VERNIER_UNITY "Compile the sources of a target together" ON)

if(VERNIER_PRECOMPILE)
  file(WRITE ${PROJECT_BINARY_DIR}/precompiled.cpp "")
  # vernier_precompiled_headers(NAME PACKAGES ... HEADERS ...)
  function(vernier_precompiled_headers name)
    cmake_parse_arguments(arg "" "" "PACKAGES;HEADERS" ${ARGN})
    add_library(${name} STATIC ${PROJECT_BINARY_DIR}/precompiled.cpp)
    target_link_libraries(${name} PRIVATE ${arg_PACKAGES} vernier_warnings)
    # As every target of ours is compiled: a precompiled header serves only the very same options.
    set_target_properties(${name} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
    target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
  endfunction()

  set(standard
      <algorithm> <array> <bit> <cerrno> <charconv> <chrono> <cmath> <cstddef> <cstdint> <cstring> <exception>
      <filesystem> <fstream> <functional> <limits> <map> <memory> <mutex> <numeric> <optional> <set> <span> <string>
      <string_view> <thread> <tuple> <unordered_map> <unordered_set> <utility> <vector> <fmt/format.h>)
  vernier_precompiled_headers(vernier_precompiled_standard PACKAGES fmt::fmt HEADERS ${standard})
  vernier_precompiled_headers(vernier_precompiled_onnx PACKAGES fmt::fmt ONNX::onnx_proto
                              HEADERS ${standard} <onnx/onnx_pb.h>)
endif()

# vernier_fast_build(TARGET LIBRARY...): for a target of ours that links these libraries. ONNX's messages are precompiled
# for whatever has ONNX::onnx_proto, or a target that has it, among them.
function(vernier_fast_build target)
  set(kind standard)
  foreach(library IN LISTS ARGN)
    set(inherited "")
    if(TARGET ${library})
      get_target_property(inherited ${library} VERNIER_PRECOMPILED_KIND)
    endif()
    if(library STREQUAL "ONNX::onnx_proto" OR inherited STREQUAL "onnx")
      set(kind onnx)
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES VERNIER_PRECOMPILED_KIND ${kind})
  if(VERNIER_UNITY)
    # GCC takes a source that another one includes for a header, whose classes may not hold those of anonymous namespaces.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
  endif()
  if(VERNIER_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM vernier_precompiled_${kind})
    # CMake compiles programs with -fPIE, which the precompiled headers are not.
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "EXECUTABLE")
      set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
      target_compile_options(${target} PRIVATE -fPIC)
    endif()
    # GCC looks through all precompiled headers whenever it collects its garbage.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=600000>)
  endif()
endfunction()
