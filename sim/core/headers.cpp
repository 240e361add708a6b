// Compiles the precompiled header of every layer (headers.hpp).
