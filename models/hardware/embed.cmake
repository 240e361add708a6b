# Writes the data files as one C++ source. -DOUTPUT=... -DFILES=a;b;c
set(text "// Generated from models/hardware/data by embed.cmake.\n#include \"embedded_data.hpp\"\n\n#include <string>\n\n#include \"fabricast/core/error.hpp\"\n\nnamespace fabricast {\n\nstd::string_view embedded_data(std::string_view name) {\n")
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME)
  file(READ ${file} content)
  string(APPEND text "  if (name == \"${name}\") return R\"__data__(${content})__data__\";\n")
endforeach()
string(APPEND text "  throw InternalError(\"no embedded file \" + std::string(name));\n}\n\n}  // namespace fabricast\n")
file(WRITE ${OUTPUT} "${text}")
