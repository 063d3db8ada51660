#define CATCH_CONFIG_MAIN
#include "tests/support/test.hpp"

std::string stepcast::test::source_dir() { return STEPCAST_SOURCE_DIR; }
