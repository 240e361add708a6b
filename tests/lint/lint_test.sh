#!/bin/sh
# A tree that breaks each rule once, and the same tree mended.
# Usage: lint_test.sh LINT_SCRIPT WORK_DIR
set -eu
lint=$1 tree=$2/lint-tree/tree
rm -rf "$2/lint-tree"
mkdir -p "$tree/include/fabricast/core" "$tree/sim/core" "$tree/sim/answer/step" "$tree/models/planner" "$tree/calibrate" "$tree/tests"
cd "$tree"

printf '#pragma once\n#include <vector>\n' > include/fabricast/core/good.hpp
printf '#include "../../core/near.hpp"\n#include "fabricast/core/good.hpp"\n// exit(1) in words\nvoid f() { _exit(1); }\n' > sim/answer/step/good.cpp
sh "$lint" "$tree"

printf '#include <vector>\n' > include/fabricast/core/twice.hpp
printf '#pragma once\nstruct Same {\n};\n' > include/fabricast/core/one.hpp
printf '#pragma once\nclass Same : Other {};\n' > include/fabricast/core/two.hpp
printf '#pragma once\n#include <fmt/format.h>\n' > include/fabricast/core/shows.hpp
printf '#include "fabricast/planner/planner.hpp"\n' > sim/core/up.cpp
printf '#include "../answer/step/near.hpp"\n' > sim/core/sideways.cpp
printf '#include "fabricast/attic/attic.hpp"\n' > sim/answer/step/nowhere.cpp
printf '#include <yaml-cpp/yaml.h>\n' > models/planner/yaml.cpp
printf 'void g() {\n  std::cout << 1;\n}\n' > calibrate/prints.cpp
printf 'void g() { exit(1); }\n' > sim/core/ends.cpp
printf '#pragma once\nstruct Timed {\n  double time = 0;  ///< s, of a call\n};\n' > include/fabricast/core/bare.hpp
printf 'void g() {\n  a.b = 1, c = 2;\n}\n' > sim/core/joined.cpp
yes '// long' | head -n 501 > sim/core/long.cpp
printf 'see /wor''k/notes\n' > tests/words.txt
printf '// TO''DO later\n' > sim/core/later.cpp
printf '// the hand-''over of a cache\n' > sim/core/words.cpp

cat > expected <<'END'
calibrate/prints.cpp:2: only sim/cli prints and ends the program
include/fabricast/core/bare.hpp:3: a bare number with a unit in its comment: use a type of core/units.hpp
include/fabricast/core/shows.hpp:2: a public header shows more than the standard library
include/fabricast/core/twice.hpp:1: #pragma once is missing
include/fabricast/core/two.hpp:2: Same is the name of another type in include/fabricast/core/one.hpp
models/planner/yaml.cpp:1: yaml-cpp is included outside sim/scenario/
sim/answer/step/nowhere.cpp:1: the layer "attic" has no place in tests/lint/lint.sh
sim/core/ends.cpp:1: only sim/cli prints and ends the program
sim/core/joined.cpp:2: two statements joined by a comma
sim/core/later.cpp:1: a word that is not to be here
sim/core/long.cpp:501: more than 500 lines: split it by concept
sim/core/sideways.cpp:1: core includes report, which lies above it
sim/core/up.cpp:1: core includes planner, which lies above it
sim/core/words.cpp:1: the word here is KV-cache transfer
tests/words.txt:1: a word that is not to be here
END
if sh "$lint" "$tree" > ../found; then echo 'the lint found nothing'; exit 1; fi
LC_ALL=C sort ../found | diff expected -
