# Warnings and sanitizers for our own targets only: linked PRIVATE, never exported.
add_library(vernier_warnings INTERFACE)
target_compile_options(vernier_warnings INTERFACE -Wall -Wextra -Wconversion -Wshadow
                       $<$<BOOL:${VERNIER_STRICT}>:-Werror>)
# GCC 12 warns of what its own library does in `"text" + std::string` (its bugs 105329 and 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(vernier_warnings INTERFACE -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow)
endif()
# On ARM64 GCC notes, at every use of some standard types, that versions before 10 passed them in another way.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  target_compile_options(vernier_warnings INTERFACE -Wno-psabi)
endif()
# The standard library checks indices and empty optionals where speed does not matter.
target_compile_definitions(vernier_warnings INTERFACE $<$<CONFIG:Debug>:_GLIBCXX_ASSERTIONS>)
# Results must not depend on whether a compiler may contract a*b+c: the scalar and the SIMD path agree bit for bit.
target_compile_options(vernier_warnings INTERFACE -ffp-contract=off)
if(VERNIER_SANITIZE)
  target_compile_options(vernier_warnings INTERFACE
    $<$<NOT:$<BOOL:$<TARGET_PROPERTY:VERNIER_NOT_INSTRUMENTED>>>:-fsanitize=${VERNIER_SANITIZE};-fno-omit-frame-pointer>)
  target_link_options(vernier_warnings INTERFACE -fsanitize=${VERNIER_SANITIZE})
  # Undefined behaviour traps, and the address sanitizer's handler prints the stack (handle_sigill=1). Messages of its own
  # would take a third of the time that the build takes.
  if(VERNIER_SANITIZE MATCHES "address.*undefined" AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(vernier_warnings INTERFACE
      $<$<NOT:$<BOOL:$<TARGET_PROPERTY:VERNIER_NOT_INSTRUMENTED>>>:-fsanitize-undefined-trap-on-error>)
  endif()
  # Tables of the address sanitizer are ten million addresses: tests start the program a thousand times, and each start
  # would adjust them all.
  if(VERNIER_SANITIZE MATCHES address)
    target_link_options(vernier_warnings INTERFACE $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
  endif()
endif()
if(VERNIER_FUZZ)  # libFuzzer is led by the branches that an input takes: in the libraries above all
  target_compile_options(vernier_warnings INTERFACE -fsanitize=fuzzer-no-link,address,undefined -fno-omit-frame-pointer)
  target_link_options(vernier_warnings INTERFACE -fsanitize=address,undefined)
endif()
