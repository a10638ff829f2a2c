# What an installation holds: one shared library with the public API, its headers and package file, and the program.
#   find_package(vernier REQUIRED)
#   target_link_libraries(mine PRIVATE vernier::vernier)
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

get_property(folder_targets GLOBAL PROPERTY VERNIER_FOLDER_TARGETS)
get_property(packages GLOBAL PROPERTY VERNIER_FOLDER_PACKAGES)
list(REMOVE_DUPLICATES packages)

# The folders' object files, not their archives: an archive gives only what something else already refers to.
add_library(vernier_shared SHARED)
foreach(folder IN LISTS folder_targets)
  target_sources(vernier_shared PRIVATE $<TARGET_OBJECTS:${folder}>)
endforeach()
target_link_libraries(vernier_shared PRIVATE ${packages} vernier_warnings)
target_link_options(vernier_shared PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/exports.map)
if(NOT VERNIER_SANITIZE)  # a sanitizer's own symbols come from the program
  target_link_options(vernier_shared PRIVATE -Wl,--no-undefined)
endif()
target_compile_features(vernier_shared INTERFACE cxx_std_20)
target_include_directories(vernier_shared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(vernier_shared PROPERTIES
  LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/exports.map
  OUTPUT_NAME vernier EXPORT_NAME vernier LINKER_LANGUAGE CXX
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

install(TARGETS vernier_shared EXPORT vernierTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/vernier DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
if(TARGET vernier)
  install(TARGETS vernier RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

# All that is installed.
add_custom_target(vernier_installed DEPENDS vernier_shared)
foreach(target vernier vernier_mpi_plugins)
  if(TARGET ${target})
    add_dependencies(vernier_installed ${target})
  endif()
endforeach()

# The exported target needs no other package, so that it serves as the package file itself.
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/vernier)
install(EXPORT vernierTargets NAMESPACE vernier:: FILE vernierConfig.cmake DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/vernierConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/vernierConfigVersion.cmake DESTINATION ${package_dir})

# For builds without CMake. Places are seen from the file's own, which `cmake --install --prefix` may choose.
set(pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH pc_to_headers /${pc_dir} /${CMAKE_INSTALL_INCLUDEDIR})
configure_file(${PROJECT_SOURCE_DIR}/cmake/vernier.pc.in ${CMAKE_CURRENT_BINARY_DIR}/vernier.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/vernier.pc DESTINATION ${pc_dir})
