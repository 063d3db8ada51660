# Plain requirements; a missing one names its Debian package.
macro(stepcast_require name package)
  find_package(${name} QUIET ${ARGN})
  if(NOT ${name}_FOUND)
    message(FATAL_ERROR "stepcast needs ${name}; on Debian: apt-get install ${package}")
  endif()
endmacro()

stepcast_require(nlohmann_json nlohmann-json3-dev 3.11)
stepcast_require(fmt libfmt-dev)
stepcast_require(CLI11 libcli11-dev)
stepcast_require(ZLIB zlib1g-dev)
stepcast_require(Eigen3 libeigen3-dev)
stepcast_require(Threads libc6-dev)
stepcast_require(SimGrid libsimgrid-dev)
if(STEPCAST_TESTS)
  stepcast_require(Catch2 catch2 2.13)
endif()

# SimGrid's own config gives variables; wrap them once so that only sim/engine links it.
add_library(stepcast_simgrid INTERFACE)
target_include_directories(stepcast_simgrid SYSTEM INTERFACE ${SimGrid_INCLUDE_DIR})
target_link_libraries(stepcast_simgrid INTERFACE ${SimGrid_LIBRARY})
