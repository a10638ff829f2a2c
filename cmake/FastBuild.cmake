# Two ways to compile the same sources in a third of the time: headers that nearly every source reads are compiled once,
# and sources of one target are compiled together. Each source still includes what it uses: scripts/lib/includes.py, one
# of the default tests, looks. With both options off all of them compile one by one.
option(VERNIER_PRECOMPILE "Precompile the headers that nearly every source reads" ON)
option(VERNIER_UNITY "Compile the sources of a target together" ON)
# 24 sources together take 15 % less than twice 12. The preset `dev` has 12: one edit compiles them all again.
set(VERNIER_UNITY_SOURCES 24 CACHE STRING "How many sources are compiled together")

# vernier_optimize_lightly(TARGET): for code that runs once or waits for the network. GCC compiles it in two thirds of the
# time that -O3 takes. Test programs, which nobody ships, are compiled with -Og: in five sixths of that.
set(VERNIER_LIGHT_LEVEL -O1)
function(vernier_optimize_lightly target)
  target_compile_options(${target} PRIVATE ${VERNIER_LIGHT_LEVEL})
endfunction()

# vernier_sanitize_lightly(TARGET): for code that never reads bytes as numbers, so it has no misaligned access. The
# address sanitizer finds null pointers and the ends of objects by itself; here it calls its check instead of copying it.
# GCC compiles this in four fifths of the time.
function(vernier_sanitize_lightly target)
  target_compile_options(${target} PRIVATE -fno-sanitize=null,alignment,object-size
                                           --param=asan-instrumentation-with-call-threshold=0)
endfunction()

# vernier_do_not_instrument(TARGET): for code of tests, which has no debug information either: the address sanitizer looks
# at the code that they call. GCC compiles them in two fifths of the time.
function(vernier_do_not_instrument target)
  set_target_properties(${target} PROPERTIES VERNIER_NOT_INSTRUMENTED ON)
  target_compile_options(${target} PRIVATE -g0 -fno-omit-frame-pointer)
endfunction()
if(VERNIER_SANITIZE MATCHES "address.*undefined" AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  set(VERNIER_ADDRESS_SANITIZER ON)
endif()

if(VERNIER_PRECOMPILE)
  file(WRITE ${PROJECT_BINARY_DIR}/precompiled.cpp "")
  # vernier_precompiled_headers(NAME PACKAGES ... HEADERS ...): NAME, and NAME_lightly for what is optimized lightly or not
  # instrumented. A precompiled header serves only the very same options.
  function(vernier_precompiled_headers name)
    cmake_parse_arguments(arg "" "" "PACKAGES;HEADERS" ${ARGN})
    foreach(target ${name} ${name}_lightly)
      add_library(${target} STATIC ${PROJECT_BINARY_DIR}/precompiled.cpp)
      target_link_libraries(${target} PRIVATE ${arg_PACKAGES} vernier_warnings)
      set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
      target_precompile_headers(${target} PRIVATE ${arg_HEADERS})
    endforeach()
    if(VERNIER_ADDRESS_SANITIZER)
      vernier_do_not_instrument(${name}_lightly)
    else()
      vernier_optimize_lightly(${name}_lightly)
    endif()
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
# for whatever has ONNX::onnx_proto, or a target that has it, among them. Where VERNIER_LIGHTLY is set, it is optimized
# lightly; where VERNIER_TEST_CODE is, it is not instrumented.
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
  set(lightly "")
  if(VERNIER_LIGHTLY AND CMAKE_BUILD_TYPE STREQUAL "Release")
    set(lightly _lightly)
    vernier_optimize_lightly(${target})
  elseif(VERNIER_TEST_CODE AND VERNIER_ADDRESS_SANITIZER)
    set(lightly _lightly)
    vernier_do_not_instrument(${target})
  elseif(VERNIER_LIGHTLY AND VERNIER_ADDRESS_SANITIZER)
    vernier_sanitize_lightly(${target})
  endif()
  if(VERNIER_UNITY)
    # GCC takes a source that another one includes for a header, whose classes may not hold those of anonymous namespaces.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${VERNIER_UNITY_SOURCES})
  endif()
  if(VERNIER_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM vernier_precompiled_${kind}${lightly})
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
