// Requests of a serving load from a file: CSV with a header and a line for each request.
//
//     arrival_s,input,output,cached
//     0.000,812,120,0
//     0.041,1533,64,1024
//
// Columns may come in any order; `cached`, tokens of the prompt that a prefix cache has, may be absent. Arrivals are seconds
// and never fall from one line to the next.
#pragma once

#include <string>
#include <vector>

#include "fabricast/workload/serving_load.hpp"

namespace fabricast {

/// \throws UserError with file, line and column of the first fault
std::vector<ServingRequest> read_request_trace(const std::string& text, const std::string& file);

}  // namespace fabricast
