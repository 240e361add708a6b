# Hands expressions that mix units or ids to the compiler, which must refuse each; and a control, which it must take.
# Usage: cmake -DCXX=compiler -DINCLUDE=dir -DWORK=dir -P must_not_compile.cmake
function(compiles expression result)
  file(WRITE ${WORK}/expression.cpp "#include \"fabricast/core/id.hpp\"
#include \"fabricast/core/units.hpp\"
using namespace fabricast;
using namespace fabricast::literals;
auto value() { return ${expression}; }
")
  execute_process(COMMAND ${CXX} -std=c++20 -fsyntax-only -I${INCLUDE} ${WORK}/expression.cpp
    RESULT_VARIABLE code OUTPUT_QUIET ERROR_VARIABLE errors)
  if(code EQUAL 0)
    set(${result} TRUE PARENT_SCOPE)
  else()
    set(${result} FALSE PARENT_SCOPE)
    set(errors ${errors} PARENT_SCOPE)
  endif()
endfunction()

foreach(expression "1_KiB + 1_B" "1_KiB / 8_Gbps" "Rank(1) == Rank(2)" "2 * 1_KiB" "1_us < 2_us" "500_W / 700_W")
  compiles("${expression}" taken)
  if(NOT taken)
    message(FATAL_ERROR "refused, and should not be: ${expression}\n${errors}")
  endif()
endforeach()

foreach(expression "1_KiB + 1_us" "1_KiB + 1" "1_us + 0.5" "1_us * 1_us" "8_Gbps < 1_us" "8_Gbps + 1_KiB" "1_m + 1_us"
    "Rank(1) == LinkId(1)" "Rank(1) + 1" "1_us == 1e-6" "500_W + 1_us" "500_W < 1"
    "500_W / 1_us")
  compiles("${expression}" taken)
  if(taken)
    message(FATAL_ERROR "compiles, and must not: ${expression}")
  endif()
endforeach()
