# stepcast_library(sim_core SOURCES a.cpp LINK stepcast::x PRIVATE_LINK fmt::fmt)
# One folder is one target stepcast_<name> with alias stepcast::<name>; includes start at the root.
function(stepcast_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK;PRIVATE_LINK" ${ARGN})
  add_library(stepcast_${name} STATIC ${ARG_SOURCES})
  add_library(stepcast::${name} ALIAS stepcast_${name})
  target_include_directories(stepcast_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(stepcast_${name} PUBLIC ${ARG_LINK} PRIVATE stepcast::flags ${ARG_PRIVATE_LINK})
endfunction()

# stepcast_test(sim_core LABEL unit SOURCES a_test.cpp LINK stepcast::sim_core)
# One test program per mirrored folder; every TEST_CASE becomes a CTest test "<name>.<case>".
function(stepcast_test name)
  cmake_parse_arguments(ARG "" "LABEL" "SOURCES;LINK" ${ARGN})
  if(NOT ARG_LABEL)
    set(ARG_LABEL unit)
  endif()
  add_executable(${name}_test ${ARG_SOURCES})
  # Assertion macros are heavy to optimise and never hot.
  target_compile_options(${name}_test PRIVATE -O0)
  target_link_libraries(${name}_test PRIVATE stepcast::flags stepcast::tests_support ${ARG_LINK})
  string(REPLACE "_" "." prefix ${name})
  catch_discover_tests(${name}_test TEST_PREFIX "${prefix}." EXTRA_ARGS --warn NoTests PROPERTIES LABELS ${ARG_LABEL} TIMEOUT 900)
endfunction()
