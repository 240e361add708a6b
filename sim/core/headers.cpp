// Compiles the precompiled headers of every layer (headers.hpp).
