# What `cmake --install` and the .deb packages hold. Components: `fabricast` (program, data, docs), `fabricast-mpi` (its
# helper for MPI ranks) and `fabricast-dev` (library and headers); those of the doors are in api.cmake. `fabricast-nccl`
# (NCCL's plugins) and `fabricast-watch` (the exporter) are in no package.
include(GNUInstallDirs)

# The date on the manual page and in the packages' changelog.
set(FABRICAST_RELEASE_DATE "2026-11-21")
set(package ${CMAKE_CURRENT_LIST_DIR})
set(made ${CMAKE_BINARY_DIR}/package)
set_source_files_properties(sim/cli/manual.cpp PROPERTIES COMPILE_DEFINITIONS
  "FABRICAST_RELEASE_DATE=\"${FABRICAST_RELEASE_DATE}\"")

# The binary finds its data relative to itself, so an installed tree may be moved.
file(RELATIVE_PATH data_dir /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_DATADIR}/fabricast)
target_compile_definitions(fabricast_calibrate_quick PRIVATE FABRICAST_DATA_DIR="${data_dir}")

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME fabricast)
install(TARGETS fabricast)
# The module of the chunk engine, found relative to the program, or by users of the library where it was installed.
install(TARGETS fabricast_chunk LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/fabricast)
file(RELATIVE_PATH module_dir /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR}/fabricast)
set_target_properties(fabricast PROPERTIES INSTALL_RPATH "$ORIGIN/${module_dir}")
target_compile_definitions(fabricast_engine PRIVATE FABRICAST_CHUNK_MODULE="$<TARGET_FILE_NAME:fabricast_chunk>"
  FABRICAST_MODULE_DIR="${CMAKE_INSTALL_FULL_LIBDIR}/fabricast")
file(RELATIVE_PATH helper_dir /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR}/fabricast)
target_compile_definitions(fabricast_plan PRIVATE FABRICAST_HELPER_DIR="${helper_dir}")
if(TARGET fabricast_mpi)
  install(TARGETS fabricast_mpi RUNTIME DESTINATION ${CMAKE_INSTALL_LIBDIR}/fabricast COMPONENT fabricast-mpi)
endif()
if(TARGET fabricast_watch_program)
  install(TARGETS fabricast_watch_program COMPONENT fabricast-watch)
endif()
if(TARGET fabricast_nccl_tuner)
  install(TARGETS fabricast_nccl_tuner fabricast_nccl_profiler LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT fabricast-nccl)
endif()
install(DIRECTORY scenarios DESTINATION ${CMAKE_INSTALL_DATADIR}/fabricast)
install(FILES calibrate/data/cases.json calibrate/data/steps.json calibrate/data/training_steps.csv
  calibrate/data/serving.csv DESTINATION ${CMAKE_INSTALL_DATADIR}/fabricast)
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)
install(FILES README.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# The manual, completion and schema are written by the program itself. Where it can not run here, they are left out.
if(NOT CMAKE_CROSSCOMPILING AND NOT FABRICAST_SANITIZE AND NOT FABRICAST_FUZZ)
  find_program(GZIP gzip)
  if(GZIP)
    set(manual ${made}/fabricast.1.gz)
    set(compress COMMAND ${GZIP} -9nf ${made}/fabricast.1)
  else()
    set(manual ${made}/fabricast.1)
  endif()
  add_custom_command(OUTPUT ${manual} ${made}/fabricast.bash ${made}/_fabricast ${made}/scenario.schema.json
    COMMAND ${CMAKE_COMMAND} -E make_directory ${made}
    COMMAND sh -c "\"$1\" help --man > \"$2/fabricast.1\" && \"$1\" help --bash > \"$2/fabricast.bash\" && \
\"$1\" help --zsh > \"$2/_fabricast\" && \"$1\" schema > \"$2/scenario.schema.json\"" sh $<TARGET_FILE:fabricast> ${made}
    ${compress}
    DEPENDS fabricast VERBATIM COMMENT "Writing the manual, completion and the schema")
  add_custom_target(fabricast_manual ALL DEPENDS ${manual})
  install(FILES ${manual} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${made}/scenario.schema.json DESTINATION ${CMAKE_INSTALL_DATADIR}/fabricast)
  install(FILES ${made}/fabricast.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME fabricast)
  # Debian's zsh reads vendor-completions below /usr, and site-functions below /usr/local, as others do.
  install(CODE "
    set(folder site-functions)
    if(CMAKE_INSTALL_PREFIX MATCHES \"/usr$\")
      set(folder vendor-completions)
    endif()
    file(INSTALL DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/zsh/\${folder}\" TYPE FILE FILES \"${made}/_fabricast\")
  ")
endif()

# The library: all layers in one archive, but for the probes, which need drivers' libraries and are for the program.
if(NOT FABRICAST_SANITIZE AND NOT FABRICAST_FUZZ)
  get_property(layers GLOBAL PROPERTY FABRICAST_LAYERS)
  list(REMOVE_ITEM layers fabricast_probe fabricast_api fabricast_service fabricast_mcp_session fabricast_http)
  set(objects $<TARGET_OBJECTS:fabricast_chakra_pb>)
  set(needed Threads::Threads protobuf::libprotobuf)
  foreach(layer IN LISTS layers)
    list(APPEND objects $<TARGET_OBJECTS:${layer}>)
    get_target_property(links ${layer} LINK_LIBRARIES)
    list(APPEND needed ${links})
  endforeach()
  list(APPEND needed fmt::fmt)
  list(FILTER needed EXCLUDE REGEX "^fabricast_|^::@")
  # These are headers alone, and none of them is in ours.
  list(REMOVE_ITEM needed ${CMAKE_DL_LIBS} nlohmann_json::nlohmann_json Eigen3::Eigen)
  list(REMOVE_DUPLICATES needed)
  add_library(fabricast_library STATIC ${objects})
  set_target_properties(fabricast_library PROPERTIES OUTPUT_NAME fabricast EXPORT_NAME fabricast LINKER_LANGUAGE CXX)
  target_compile_features(fabricast_library INTERFACE cxx_std_20)
  target_link_options(fabricast_library INTERFACE -rdynamic)  # the chunk engine's module looks for it there
  target_include_directories(fabricast_library INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(fabricast_library PRIVATE ${needed})

  # How another project finds what ours is linked with. An unknown one stops here, not there.
  set(FABRICAST_FIND "")
  foreach(library IN LISTS needed)
    if(library MATCHES "^(fmt|pugixml|Threads|NLopt)::")
      string(APPEND FABRICAST_FIND "find_dependency(${CMAKE_MATCH_1})\n")
    elseif(library MATCHES "^protobuf::")
      string(APPEND FABRICAST_FIND "find_dependency(Protobuf)\n")
    elseif(library STREQUAL "yaml-cpp")
      string(APPEND FABRICAST_FIND "find_dependency(yaml-cpp)\n")
    elseif(library STREQUAL "SQLite::SQLite3")
      string(APPEND FABRICAST_FIND "find_dependency(SQLite3)\n")
    elseif(library STREQUAL "ZLIB::ZLIB")
      string(APPEND FABRICAST_FIND "find_dependency(ZLIB)\n")
    elseif(library MATCHES "^MPI::")
      string(APPEND FABRICAST_FIND "find_dependency(MPI)\n")
    else()
      message(FATAL_ERROR "${library}: say in sim/package/install.cmake how users of the library find it")
    endif()
  endforeach()

  include(CMakePackageConfigHelpers)
  set(cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/fabricast)
  configure_package_config_file(${package}/fabricastConfig.cmake.in ${made}/fabricastConfig.cmake
    INSTALL_DESTINATION ${cmake_dir})
  # Before 1.0 any minor version may change the headers.
  write_basic_package_version_file(${made}/fabricastConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME fabricast-dev)
  install(TARGETS fabricast_library EXPORT fabricast)
  install(EXPORT fabricast NAMESPACE fabricast:: DESTINATION ${cmake_dir} FILE fabricastTargets.cmake)
  install(FILES ${made}/fabricastConfig.cmake ${made}/fabricastConfigVersion.cmake DESTINATION ${cmake_dir})
  install(DIRECTORY include/fabricast DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp" PATTERN "*.inc"
    PATTERN "probe*.hpp" EXCLUDE PATTERN "port_mtu.hpp" EXCLUDE)
endif()

include(${package}/api.cmake)

# All that is installed, without tests: what forecast.sh builds, so that `cmake --install build` works after it.
add_custom_target(fabricast_installed)
foreach(target fabricast fabricast_chunk fabricast_mpi fabricast_nccl_tuner fabricast_nccl_profiler fabricast_manual
    fabricast_library fabricast_watch_program fabricast_c fabricast_python fabricast_door_mcp fabricast_door_serve)
  if(TARGET ${target})
    add_dependencies(fabricast_installed ${target})
  endif()
endforeach()

include(${package}/deb.cmake)
