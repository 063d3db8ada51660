#pragma once
// The one place that names Catch2.
#include <catch2/catch.hpp>
