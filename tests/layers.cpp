// A library has a source. What it holds are the layers (CMakeLists.txt).
