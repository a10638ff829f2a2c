# Installs the build into a prefix of its own, then builds and runs tests/install/consumer against it, knowing nothing
# but that prefix; last, looks for symbols of other libraries among those that the shared library exports.
cmake_minimum_required(VERSION 3.25)

# run(WHAT COMMAND...): fails with the command's output; leaves it in `output` otherwise.
function(run what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE errors)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${what} failed (${status}):\n${text}\n${errors}")
  endif()
  set(output "${text}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK_DIR})
set(prefix ${WORK_DIR}/prefix)
run("installing" ${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${prefix})
run("configuring the consumer" ${CMAKE_COMMAND} -S ${CONSUMER_DIR} -B ${WORK_DIR}/build -G Ninja
    -D CMAKE_CXX_COMPILER=${CXX} -D CMAKE_PREFIX_PATH=${prefix} -D CMAKE_CXX_FLAGS=-Wall\ -Wextra\ -Werror)
run("building the consumer" ${CMAKE_COMMAND} --build ${WORK_DIR}/build)
run("calling each job" ${WORK_DIR}/build/jobs)
if(NOT output MATCHES "^[0-9]+ jobs refused a missing model\n$")
  message(FATAL_ERROR "the jobs printed\n${output}")
endif()

# The same by pkg-config, and the examples as a project of their own.
file(GLOB_RECURSE pc ${prefix}/vernier.pc)
get_filename_component(pc_folder "${pc}" DIRECTORY)
set(ENV{PKG_CONFIG_PATH} "${pc_folder}")
run("asking pkg-config" pkg-config --cflags --libs vernier)
separate_arguments(flags UNIX_COMMAND "${output}")
run("building by pkg-config" ${CXX} -std=c++20 ${CONSUMER_DIR}/consumer.cpp -o ${WORK_DIR}/by_pkg_config ${flags}
    -Wl,-rpath,${prefix}/lib)
run("configuring the examples" ${CMAKE_COMMAND} -S ${EXAMPLES_DIR} -B ${WORK_DIR}/examples -G Ninja
    -D CMAKE_CXX_COMPILER=${CXX} -D CMAKE_PREFIX_PATH=${prefix} -D CMAKE_CXX_FLAGS=-Wall\ -Wextra\ -Werror)
run("building the examples" ${CMAKE_COMMAND} --build ${WORK_DIR}/examples)
set(ENV{VIRTUAL_ENV} ${VENV})  # whose ONNX Runtime runs the networks
run("the first example" ${WORK_DIR}/examples/diagnose ${DIGITS}/digits.onnx ${DIGITS}/test.npz 20)
if(NOT output MATCHES "^all low: [0-9.]+ dB\n(kept: [^\n]+\n)*result: [0-9.]+ dB\n$")
  message(FATAL_ERROR "examples/cpp/diagnose printed\n${output}")
endif()
run("the second example" ${WORK_DIR}/examples/in_memory ${DIGITS}/digits.onnx counts 8)
if(NOT output MATCHES "^my model: [0-9.]+ dB over 8 samples\n$")
  message(FATAL_ERROR "examples/cpp/in_memory printed\n${output}")
endif()

run("running the consumer" ${WORK_DIR}/build/consumer)
set(expected "float16: 16 bits\n2x3 float32: 24 bytes\ninput error: cannot fill a tensor\n")
if(NOT output STREQUAL expected)
  message(FATAL_ERROR "the consumer printed\n${output}instead of\n${expected}")
endif()

file(GLOB_RECURSE library ${prefix}/libvernier.so.${VERSION})
run("listing symbols" ${NM} --dynamic --defined-only --demangle ${library})
if(NOT output MATCHES "vernier::parse_format")
  message(FATAL_ERROR "${library} does not export vernier::parse_format:\n${output}")
endif()
string(REGEX REPLACE "[0-9a-f]+ [A-Za-z] ((typeinfo for |typeinfo name for |vtable for )?vernier::[^\n]*)\n" "" leaked
       "${output}")
if(NOT leaked STREQUAL "")
  message(FATAL_ERROR "${library} exports more than our own names:\n${leaked}")
endif()
