# Warnings and sanitizers for our own targets only: linked PRIVATE, never exported.
add_library(vernier_warnings INTERFACE)
target_compile_options(vernier_warnings INTERFACE -Wall -Wextra -Wconversion -Wshadow
                       $<$<BOOL:${VERNIER_DEV}>:-Werror>)
# Results must not depend on whether a compiler may contract a*b+c: the scalar and the SIMD path agree bit for bit.
target_compile_options(vernier_warnings INTERFACE -ffp-contract=off)
if(VERNIER_SANITIZE)
  target_compile_options(vernier_warnings INTERFACE -fsanitize=${VERNIER_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(vernier_warnings INTERFACE -fsanitize=${VERNIER_SANITIZE})
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

# vernier_folder(NAME SOURCES ... USES ...): the library of one source folder. USES lists the folders and packages it may see.
function(vernier_folder name)
  cmake_parse_arguments(arg "" "" "SOURCES;USES" ${ARGN})
  add_library(vernier_${name} STATIC ${arg_SOURCES})
  target_include_directories(vernier_${name} PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(vernier_${name} PUBLIC ${arg_USES} PRIVATE vernier_warnings)
  set_target_properties(vernier_${name} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  # For cmake/Install.cmake, which puts all folders into one shared library.
  set_property(GLOBAL APPEND PROPERTY VERNIER_FOLDERS ${name})
  set_property(GLOBAL APPEND PROPERTY VERNIER_FOLDER_USES ${arg_USES})
endfunction()
