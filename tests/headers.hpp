#pragma once

/** What most tests include: precompiled, never included by hand. */

#include <fstream>
#include <sstream>

#include <catch2/catch.hpp>

#include "sim/core/headers.hpp"
