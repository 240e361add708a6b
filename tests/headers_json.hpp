#pragma once

/** Beside headers.hpp, what tests of JSON include: precompiled, never included by hand. */

#include <nlohmann/json.hpp>
