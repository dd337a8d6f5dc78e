# The install tree: libraries with their CMake package (find_package(saccade)) and pkg-config files, public headers, the command.
# Nothing is installed when saccade is part of another project, unless that asks for it.
option(SACCADE_INSTALL "Install rules" ${PROJECT_IS_TOP_LEVEL})
if(NOT SACCADE_INSTALL OR NOT TARGET saccade)
  return()
endif()
include(CMakePackageConfigHelpers)
target_compile_features(saccade INTERFACE cxx_std_20)  # the headers ask for it

set(libraries saccade)
foreach(library saccade_openmp saccade_onednn saccade_model)
  if(TARGET ${library})
    list(APPEND libraries ${library})
    set_target_properties(${library} PROPERTIES INSTALL_RPATH "$ORIGIN")  # where saccade::saccade lies
  endif()
endforeach()
install(TARGETS ${libraries} EXPORT saccade-targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/saccade)
install(EXPORT saccade-targets NAMESPACE saccade:: DESTINATION ${package})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/runtime/include/saccade ${PROJECT_BINARY_DIR}/generated/include/saccade
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
if(TARGET saccade_command)
  install(TARGETS saccade_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/saccade-config.cmake.in ${PROJECT_BINARY_DIR}/saccade-config.cmake
                              INSTALL_DESTINATION ${package})
# Before 1.0 every minor version may change the C++ interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/saccade-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/saccade-config.cmake ${PROJECT_BINARY_DIR}/saccade-config-version.cmake DESTINATION ${package})

# NAME.pc for each library. Paths are relative to the file, so the tree may be moved.
file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
foreach(library IN LISTS libraries)
  set(requires)
  set(private)
  if(library STREQUAL "saccade_model")
    set(private " -lsimdjson -lutf8proc")
  endif()
  if(NOT library STREQUAL "saccade")
    set(requires "saccade = ${PROJECT_VERSION}")
  endif()
  file(WRITE ${PROJECT_BINARY_DIR}/${library}.pc "prefix=\${pcfiledir}/${up}
libdir=\${prefix}/${CMAKE_INSTALL_LIBDIR}
includedir=\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}

Name: ${library}
Description: ${PROJECT_DESCRIPTION}
Version: ${PROJECT_VERSION}
Requires: ${requires}
Cflags: -I\${includedir}
Libs: -L\${libdir} -l${library}
Libs.private:${private} -lstdc++ -lm -lpthread
")
  install(FILES ${PROJECT_BINARY_DIR}/${library}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
