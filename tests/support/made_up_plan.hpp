// A page as a capacity plan has it, with made-up numbers: as large as one asks for.
#pragma once

#include <cstddef>

#include "fabricast/page/page.hpp"

namespace fabricast {

/// \param hostile  names hold what must not get into a page as it is
Page made_up_plan(std::size_t rows, bool hostile = true);

}  // namespace fabricast
