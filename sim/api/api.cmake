# The doors of Fabricast: the C library, and on it the Python package and the servers. Each is a component of its own.
if(NOT FABRICAST_API OR FABRICAST_FUZZ)
  return()
endif()
fabricast_layer(api QUICKLY DIR sim/api/common SOURCES network.cpp open_scenario.cpp question_options.cpp questions.cpp reply.cpp
  LINK fabricast_ask)
target_link_libraries(fabricast_api PRIVATE nlohmann_json::nlohmann_json)

# libfabricast.so.0: nothing of the layers shows but what include/fabricast.h declares. SOVERSION moves when a symbol
# goes or changes its meaning, which fabricast.h promises not to happen.
add_library(fabricast_c SHARED sim/api/c/fabricast.cpp)
set_target_properties(fabricast_c PROPERTIES OUTPUT_NAME fabricast VERSION 0.${PROJECT_VERSION_MINOR}.${PROJECT_VERSION_PATCH}
  SOVERSION 0 CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON SKIP_BUILD_RPATH ON UNITY_BUILD OFF
  LINK_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/c/exports.map PUBLIC_HEADER ${CMAKE_SOURCE_DIR}/include/fabricast.h)
target_link_libraries(fabricast_c PRIVATE fabricast_api)
target_link_options(fabricast_c PRIVATE -Wl,--version-script=${CMAKE_CURRENT_LIST_DIR}/c/exports.map
  $<$<NOT:$<BOOL:${FABRICAST_SANITIZE}>>:-Wl,-z,defs>)

# The Python package, for one interpreter: Debian's unless another is named. It needs headers of Python and pybind11.
set(FABRICAST_PYTHON AUTO CACHE STRING "The Python package (docs/python.md): AUTO, ON or OFF")
set_property(CACHE FABRICAST_PYTHON PROPERTY STRINGS AUTO ON OFF)
if(NOT FABRICAST_PYTHON STREQUAL OFF)
  find_program(FABRICAST_PYTHON_EXECUTABLE python3 PATHS /usr/bin NO_DEFAULT_PATH DOC "The interpreter of the package")
  find_program(FABRICAST_PYTHON_EXECUTABLE python3)
  if(FABRICAST_PYTHON_EXECUTABLE)
    execute_process(COMMAND ${FABRICAST_PYTHON_EXECUTABLE} -c
      "import sysconfig; print(sysconfig.get_path('include') + ';' + sysconfig.get_config_var('EXT_SUFFIX'))"
      OUTPUT_VARIABLE python_facts OUTPUT_STRIP_TRAILING_WHITESPACE)
    list(GET python_facts 0 python_include)
    list(GET python_facts 1 python_suffix)
  endif()
  find_path(PYBIND11_INCLUDE_DIR pybind11/pybind11.h)
endif()
if(python_include AND EXISTS ${python_include}/Python.h AND PYBIND11_INCLUDE_DIR)
  add_library(fabricast_python MODULE sim/api/python/core.cpp)
  set(python_tree ${CMAKE_BINARY_DIR}/python)
  set_target_properties(fabricast_python PROPERTIES PREFIX "" OUTPUT_NAME _core SUFFIX ${python_suffix}
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON UNITY_BUILD OFF
    LIBRARY_OUTPUT_DIRECTORY ${python_tree}/fabricast BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN")
  target_include_directories(fabricast_python SYSTEM PRIVATE ${python_include} ${PYBIND11_INCLUDE_DIR})
  target_compile_options(fabricast_python PRIVATE $<TARGET_PROPERTY:fabricast_options,INTERFACE_COMPILE_OPTIONS>)
  target_link_libraries(fabricast_python PRIVATE fabricast_c Threads::Threads)
  target_link_options(fabricast_python PRIVATE $<TARGET_PROPERTY:fabricast_options,INTERFACE_LINK_OPTIONS>)
  # A package that runs from the build tree: beside the module lie its library and links to the sources.
  set(python_files __init__.py _core.pyi answers.py backends.py errors.py network.py py.typed scenario.py)
  list(TRANSFORM python_files PREPEND ${CMAKE_SOURCE_DIR}/sim/api/python/fabricast/)
  add_custom_command(TARGET fabricast_python POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E create_symlink $<TARGET_FILE:fabricast_c>
      ${python_tree}/fabricast/$<TARGET_SONAME_FILE_NAME:fabricast_c>
    COMMAND ln -sf ${python_files} ${python_tree}/fabricast/ VERBATIM)
  add_custom_target(fabricast_wheel COMMAND ${FABRICAST_PYTHON_EXECUTABLE} -B
    ${CMAKE_SOURCE_DIR}/sim/api/python/build_by_cmake.py ${CMAKE_BINARY_DIR} ${CMAKE_BINARY_DIR}
    DEPENDS fabricast_python VERBATIM COMMENT "Writing the wheel")
  message(STATUS "Python package: for ${FABRICAST_PYTHON_EXECUTABLE}")
elseif(FABRICAST_PYTHON STREQUAL ON)
  message(FATAL_ERROR "FABRICAST_PYTHON=ON, but Python.h (python3-dev) or pybind11 (pybind11-dev) is not found")
else()
  message(STATUS "Python package: none (it needs python3-dev and pybind11-dev)")
endif()

# The servers, programs of their own: `fabricast mcp` and `fabricast serve` run them.
fabricast_layer(service QUICKLY DIR sim/api/service SOURCES request.cpp sandbox.cpp work_pool.cpp LINK fabricast_api)
target_link_libraries(fabricast_service PRIVATE nlohmann_json::nlohmann_json)
fabricast_layer(mcp_session QUICKLY DIR sim/api/mcp SOURCES session.cpp stdio.cpp LINK fabricast_service)
target_link_libraries(fabricast_mcp_session PRIVATE nlohmann_json::nlohmann_json)
fabricast_layer(http QUICKLY DIR sim/api/http SOURCES message.cpp routes.cpp server.cpp LINK fabricast_service)
fabricast_embed(fabricast_http sim/api/http embedded_serve)
target_link_libraries(fabricast_http PRIVATE nlohmann_json::nlohmann_json)
foreach(door mcp serve)
  add_executable(fabricast_door_${door} sim/cli/${door}_main.cpp sim/cli/service_options.cpp)
  set_target_properties(fabricast_door_${door} PROPERTIES OUTPUT_NAME fabricast-${door} UNITY_BUILD OFF)
  target_link_libraries(fabricast_door_${door} PRIVATE fabricast_command fabricast_service)
  target_compile_options(fabricast_door_${door} PRIVATE ${quickly})
  fabricast_program(fabricast_door_${door})
  target_precompile_headers(fabricast_door_${door} REUSE_FROM fabricast_headers_quickly)
endforeach()
target_link_libraries(fabricast_door_mcp PRIVATE fabricast_mcp_session)
target_link_libraries(fabricast_door_serve PRIVATE fabricast_http)
