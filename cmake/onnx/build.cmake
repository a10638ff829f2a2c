# Read by ONNX's own CMakeLists.txt (CMAKE_PROJECT_INCLUDE). What it changes of the build, once all targets are there:
#   - sources are compiled together, in a third of the time;
#   - without the texts of the operators' documentation, which nobody prints, and which each start would copy;
#   - the version converter once, with what we call of it, and without optimization: it runs once a model, and takes as
#     long to compile as a third of the rest.
if(NOT TARGET onnx)
  cmake_language(EVAL CODE "cmake_language(DEFER CALL include [[${CMAKE_CURRENT_LIST_FILE}]])")
  return()
endif()
get_target_property(sources onnx SOURCES)
list(FILTER sources EXCLUDE REGEX "version_converter/convert[.]cc$")
list(APPEND sources ${CMAKE_CURRENT_LIST_DIR}/version_converter.cc)
set_target_properties(onnx PROPERTIES SOURCES "${sources}" UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 10)
set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/version_converter.cc PROPERTIES COMPILE_OPTIONS "-O0")
target_compile_definitions(onnx PRIVATE __ONNX_NO_DOC_STRINGS)
