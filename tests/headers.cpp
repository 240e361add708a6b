// Compiles the precompiled headers of the tests (headers.hpp).
