# `cpack -G DEB` in the build tree: fabricast_VERSION_ARCH.deb and fabricast-dev_VERSION_ARCH.deb.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME fabricast)
set(CPACK_PACKAGE_VENDOR "Fabricast")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL fabricast)
if(TARGET fabricast_mpi)
  list(APPEND CPACK_COMPONENTS_ALL fabricast-mpi)
endif()
if(TARGET fabricast_library)
  list(APPEND CPACK_COMPONENTS_ALL fabricast-dev)
endif()
if(TARGET fabricast_c)
  list(APPEND CPACK_COMPONENTS_ALL libfabricast libfabricast-dev)
endif()
if(TARGET fabricast_python)
  list(APPEND CPACK_COMPONENTS_ALL python3-fabricast)
endif()
if(TARGET fabricast_door_mcp)
  list(APPEND CPACK_COMPONENTS_ALL fabricast-mcp fabricast-serve)
endif()
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(FABRICAST_MAINTAINER "The Fabricast authors <fabricast@localhost>" CACHE STRING "Who answers for the packages")
set(CPACK_DEBIAN_PACKAGE_MAINTAINER ${FABRICAST_MAINTAINER})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "forecasts collective communication on GPU clusters")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_FABRICAST_PACKAGE_NAME fabricast)
set(CPACK_DEBIAN_FABRICAST_PACKAGE_SECTION science)
set(CPACK_DEBIAN_FABRICAST_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENT_FABRICAST_DESCRIPTION "Fabricast forecasts how long the collectives of NCCL, and the training and
inference steps around them, take on a GPU cluster: before the cluster exists,
or without stopping it. It takes a short description of nodes, switches,
routing and faults, and simulates the traffic on the links of the fabric.")

set(CPACK_DEBIAN_FABRICAST-MPI_PACKAGE_NAME fabricast-mpi)
set(CPACK_DEBIAN_FABRICAST-MPI_PACKAGE_SECTION science)
set(CPACK_DEBIAN_FABRICAST-MPI_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_FABRICAST-MPI_PACKAGE_DEPENDS "fabricast (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_FABRICAST-MPI_DESCRIPTION "What `fabricast plan` needs to share the rows of a sweep among MPI ranks.")

set(CPACK_DEBIAN_FABRICAST-DEV_PACKAGE_NAME fabricast-dev)
set(CPACK_DEBIAN_FABRICAST-DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_FABRICAST-DEV_PACKAGE_DEPENDS "libfmt-dev, libyaml-cpp-dev, libpugixml-dev, libprotobuf-dev, libsqlite3-dev, zlib1g-dev, pkg-config")
set(CPACK_DEBIAN_FABRICAST-DEV_PACKAGE_SUGGESTS "fabricast (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_FABRICAST-DEV_DESCRIPTION "Headers and the static library of Fabricast, for programs that forecast by
themselves. CMake finds them by find_package(fabricast).")

set(CPACK_DEBIAN_LIBFABRICAST_PACKAGE_NAME libfabricast0)
set(CPACK_DEBIAN_LIBFABRICAST_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBFABRICAST_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENT_LIBFABRICAST_DESCRIPTION "The C library of Fabricast, which forecasts collective communication on GPU
clusters. Programs and the Python package rest on it.")

set(CPACK_DEBIAN_LIBFABRICAST-DEV_PACKAGE_NAME libfabricast-dev)
set(CPACK_DEBIAN_LIBFABRICAST-DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBFABRICAST-DEV_PACKAGE_DEPENDS "libfabricast0 (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_LIBFABRICAST-DEV_DESCRIPTION "Header, pkg-config and CMake files of the C library of Fabricast.")

set(CPACK_DEBIAN_PYTHON3-FABRICAST_PACKAGE_NAME python3-fabricast)
set(CPACK_DEBIAN_PYTHON3-FABRICAST_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON3-FABRICAST_PACKAGE_DEPENDS "libfabricast0 (= ${PROJECT_VERSION}), python3, python3-numpy, libstdc++6")
set(CPACK_DEBIAN_PYTHON3-FABRICAST_PACKAGE_SUGGESTS python3-pandas)
set(CPACK_COMPONENT_PYTHON3-FABRICAST_DESCRIPTION "The Python package of Fabricast: scenarios as dicts, answers as NumPy arrays and
pandas tables.")

foreach(door MCP SERVE)
  string(TOLOWER fabricast-${door} package_name)
  set(CPACK_DEBIAN_FABRICAST-${door}_PACKAGE_NAME ${package_name})
  set(CPACK_DEBIAN_FABRICAST-${door}_PACKAGE_SECTION science)
  set(CPACK_DEBIAN_FABRICAST-${door}_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_FABRICAST-${door}_PACKAGE_RECOMMENDS fabricast)
endforeach()
set(CPACK_COMPONENT_FABRICAST-MCP_DESCRIPTION "`fabricast mcp`: forecasts for assistants, over the Model Context Protocol.")
set(CPACK_COMPONENT_FABRICAST-SERVE_DESCRIPTION "`fabricast serve`: forecasts over HTTP, and a page that redraws the report as one
types.")

# What a Debian package has besides.
configure_file(${package}/copyright ${made}/copyright COPYONLY)
execute_process(COMMAND date -R -u -d ${FABRICAST_RELEASE_DATE} OUTPUT_VARIABLE stamp OUTPUT_STRIP_TRAILING_WHITESPACE
  ERROR_QUIET)
file(WRITE ${made}/changelog "fabricast (${PROJECT_VERSION}) unstable; urgency=medium

  * See CHANGELOG.md in /usr/share/doc/fabricast.

 -- ${CPACK_DEBIAN_PACKAGE_MAINTAINER}  ${stamp}
")
set(CPACK_FABRICAST_MADE ${made})
set(CPACK_PRE_BUILD_SCRIPTS ${package}/debian_files.cmake)

include(CPack)
