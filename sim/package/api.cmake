# What is installed of the doors. Components: `libfabricast` (the C library), `libfabricast-dev` (header, pkg-config and
# CMake files).
if(NOT TARGET fabricast_c)
  return()
endif()
set_target_properties(fabricast_c PROPERTIES EXPORT_NAME c)
target_include_directories(fabricast_c INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
install(TARGETS fabricast_c EXPORT fabricast-c
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libfabricast NAMELINK_COMPONENT libfabricast-dev
  PUBLIC_HEADER DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT libfabricast-dev)
file(RELATIVE_PATH pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" pc_prefix ${pc_prefix})
configure_file(${package}/fabricast.pc.in ${made}/fabricast.pc @ONLY)
install(FILES ${made}/fabricast.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT libfabricast-dev)
include(CMakePackageConfigHelpers)
set(c_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/fabricast-c)
configure_package_config_file(${package}/fabricast-cConfig.cmake.in ${made}/fabricast-cConfig.cmake
  INSTALL_DESTINATION ${c_cmake_dir})
# The binary interface holds within a major version.
write_basic_package_version_file(${made}/fabricast-cConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${made}/fabricast-cConfig.cmake ${made}/fabricast-cConfigVersion.cmake DESTINATION ${c_cmake_dir}
  COMPONENT libfabricast-dev)
install(EXPORT fabricast-c NAMESPACE fabricast:: DESTINATION ${c_cmake_dir} FILE fabricast-cTargets.cmake
  COMPONENT libfabricast-dev)

# The Python package, for Debian (`python3-fabricast`, on libfabricast) and as a wheel (with the library in it).
if(TARGET fabricast_python)
  foreach(component python3-fabricast fabricast-wheel)
    set(place lib/python3/dist-packages/fabricast)
    if(component STREQUAL fabricast-wheel)
      set(place fabricast)
      install(FILES $<TARGET_FILE:fabricast_c> DESTINATION ${place} RENAME $<TARGET_SONAME_FILE_NAME:fabricast_c>
        PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE
        COMPONENT ${component} EXCLUDE_FROM_ALL)
      install(TARGETS fabricast_python LIBRARY DESTINATION ${place} COMPONENT ${component} EXCLUDE_FROM_ALL)
      install(FILES ${python_files} DESTINATION ${place} COMPONENT ${component} EXCLUDE_FROM_ALL)
    else()
      install(TARGETS fabricast_python LIBRARY DESTINATION ${place} COMPONENT ${component})
      install(FILES ${python_files} DESTINATION ${place} COMPONENT ${component})
    endif()
  endforeach()
endif()

# The servers, beside the command that runs them.
foreach(door mcp serve)
  if(TARGET fabricast_door_${door})
    install(TARGETS fabricast_door_${door} RUNTIME COMPONENT fabricast-${door})
    set_target_properties(fabricast_door_${door} PROPERTIES INSTALL_RPATH "$ORIGIN/${module_dir}")
  endif()
endforeach()
