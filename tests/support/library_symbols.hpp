// Addresses of functions that a loaded library keeps to itself, from its symbol table (ELF, 64 bits, not stripped).
#pragma once

#include <map>
#include <string>
#include <vector>

namespace fabricast::test {

/// By name as the linker writes it. Names that the library does not have are left out; all are if it is stripped.
/// \param handle of dlopen
std::map<std::string, void*> internal_symbols(void* handle, const std::vector<std::string>& names);

}  // namespace fabricast::test
