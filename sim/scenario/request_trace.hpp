// Reads the requests of a serving load from CSV with a header and a line for each request.
//
//     arrival_s,input,output,cached
//     0.000,812,120,0
//     0.041,1533,64,1024
//
// Columns may be in any order. `cached` is the number of prompt tokens that a prefix cache holds, and is optional.
// Arrivals are in seconds and in ascending order.
#pragma once

#include <string>
#include <vector>

#include "fabricast/workload/serving_load.hpp"

namespace fabricast {

/// The requests, in the order of the file.
/// \throws UserError with file, line and column of the first error
std::vector<ServingRequest> read_request_trace(const std::string& text, const std::string& file);

}  // namespace fabricast
