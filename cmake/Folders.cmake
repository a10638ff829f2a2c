# vernier_folder(NAME SOURCES ... [USES ...] [PACKAGES ...] [API ...]): the library of one source folder, `vernier_` and
# its path with underscores. USES names the folders of src/ that it may include from; scripts/lib/folders.py holds every
# #include to that. PACKAGES are targets of third parties, API the headers of include/vernier whose functions are here.
function(vernier_folder name)
  cmake_parse_arguments(arg "" "" "SOURCES;USES;PACKAGES;API" ${ARGN})
  string(REPLACE "/" "_" target vernier_${name})
  list(TRANSFORM arg_USES PREPEND "vernier_" OUTPUT_VARIABLE uses)
  list(TRANSFORM uses REPLACE "/" "_")
  add_library(${target} STATIC ${arg_SOURCES})
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${target} PUBLIC ${uses} ${arg_PACKAGES} PRIVATE vernier_warnings)
  set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  vernier_fast_build(${target} ${uses} ${arg_PACKAGES})
  # For cmake/Install.cmake, which puts all folders into one shared library.
  set_property(GLOBAL APPEND PROPERTY VERNIER_FOLDER_TARGETS ${target})
  set_property(GLOBAL APPEND PROPERTY VERNIER_FOLDER_PACKAGES ${arg_PACKAGES})
endfunction()

# vernier_embed(DELIMITER OUTPUT_VARIABLE FILE...): the files as C++ constants of type std::string_view,
# k_<file with underscores for dots>. Editing one configures again.
function(vernier_embed delimiter output)
  set(constants "")
  foreach(name IN LISTS ARGN)
    set(source ${CMAKE_CURRENT_SOURCE_DIR}/${name})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
    file(READ ${source} text)
    string(LENGTH "${text}" length)
    if(length GREATER 60000)  # the standard promises 65536 characters
      message(FATAL_ERROR "${source}: too long for one string")
    endif()
    get_filename_component(base ${name} NAME)
    string(REPLACE "." "_" constant k_${base})
    string(APPEND constants "const std::string_view ${constant} = R\"${delimiter}(${text})${delimiter}\";\n")
  endforeach()
  set(${output} "${constants}" PARENT_SCOPE)
endfunction()
