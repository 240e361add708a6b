#!/bin/sh
# Rules of the house that a compiler does not know (docs/architecture.md).
# Usage: lint.sh SOURCE_DIR. Prints file:line: what is wrong, and fails if anything is.
set -u
cd "$1" || exit 2

sources() { find include sim models calibrate -name '*.hpp' -o -name '*.cpp' -o -name '*.inc' | LC_ALL=C sort; }
headers() { find include sim models calibrate tests -name '*.hpp' | LC_ALL=C sort; }
texts() {
  find . \( -name .git -o -name 'build*' \) -prune -o -type f ! -name '*.png' ! -name '*.json' -print |
    LC_ALL=C sort | sed 's#^\./##'
}

# Layers from the ground up: each may include itself and what is named before it.
layers='core fabric topology routing hardware collective protocol planner workload trace engine count share time flow bound chunk loss discover scenario traffic step residual report gate bill risk jobs plan page plugin calibrate ask api cli'

arrows_point_down() {
  grep -n '^#include "' $(sources) | awk -F: -v layers="$layers" '
    function area(path, part) {
      split(path, part, "/")
      if (part[1] == "include") return part[3]
      if (part[2] == "engine" && part[4] != "") return part[3]
      if (part[2] == "answer") return part[3] ~ /^(collective|step|inference|common)$/ ? "report" : part[3]
      return part[1] == "calibrate" ? "calibrate" : part[2]
    }
    BEGIN { n = split(layers, name, " "); for (i = 1; i <= n; ++i) rank[name[i]] = i }
    {
      split($3, quoted, "\""); target = quoted[2]
      if (target ~ /^fabricast\//) target = "include/" target
      else if (target !~ /^(sim|models|calibrate)\//) { dir = $1; sub(/[^\/]*$/, "", dir); target = dir target }
      while (sub(/[^\/]+\/\.\.\//, "", target)) {}
      from = area($1); to = area(target)
      if (!(from in rank)) print $1 ":" $2 ": the layer \"" from "\" has no place in tests/lint/lint.sh"
      else if (!(to in rank)) print $1 ":" $2 ": the layer \"" to "\" has no place in tests/lint/lint.sh"
      else if (rank[to] > rank[from]) print $1 ":" $2 ": " from " includes " to ", which lies above it"
    }'
}

# Libraries stay behind their adapters; public headers show the standard library alone.
libraries_stay_behind_adapters() {
  adapter() {  # library, where it may be included
    grep -nE "^#include [<\"]($1)[/.>]" $(sources) | grep -vE "^($2)" | sed -E "s#^([^:]*:[0-9]+):.*#\1: $1 is included outside $2#"
  }
  adapter 'yaml-cpp' 'sim/scenario/'
  adapter 'pugixml' 'sim/core/xml.cpp'
  adapter 'nlohmann' 'models/hardware/|models/workload/|models/planner/(regressions|ofi_regions|tuner_profile).cpp|sim/(scenario|residual|plugin|cli)/|sim/answer/(common|collective|step|inference|gate|bill|risk|jobs|plan|ask)/|sim/api/|sim/answer/page/page_json.cpp|sim/trace/groups.cpp|calibrate/'
  adapter 'google|chakra' 'sim/trace/chakra.cpp'
  adapter 'simgrid|xbt' 'sim/engine/chunk/'
  adapter 'Eigen' 'calibrate/fit/|calibrate/check/|sim/residual/'
  adapter 'nlopt' 'calibrate/residuals/'
  adapter 'boost' 'sim/cli/|sim/routing/parting.cpp|sim/residual/residual.cpp'
  adapter 'cuda|cuda_runtime[a-z_]*|nccl|infiniband|hwloc' 'calibrate/probe/'
  adapter 'mpi' 'sim/answer/plan/mpi/'
  adapter 'sqlite3' 'sim/answer/plan/sqlite_store.cpp'
  adapter 'zlib' 'calibrate/live/gzip.cpp'
  adapter 'httplib' 'sim/cli/watch.cpp'
  grep -nE '^#include <[^>]*[/.]' $(find include -name '*.hpp') |
    sed -E 's#^([^:]*:[0-9]+):.*#\1: a public header shows more than the standard library#'
}

headers_are_read_once() {
  grep -L '^#pragma once$' $(headers) /dev/null | grep -v '^/dev/null$' | sed 's/$/:1: #pragma once is missing/'
}

# Units are types (core/units.hpp). Numbers in the units of another program say so in their name or in the file comment.
units_are_types() {
  grep -rnE '(double|float)>? [^;]*; *///< *(s|ms|us|B|KiB|MiB|GiB|B/s|GB/s|W)([ ;,.:]|$)' include --include='*.hpp' |
    grep -v '^include/fabricast/core/units.hpp' |
    sed -E 's#^([^:]*:[0-9]+):.*#\1: a bare number with a unit in its comment: use a type of core/units.hpp#' | LC_ALL=C sort
}

# One statement, one line: no assignments joined by a comma.
statements_stand_alone() {
  grep -nE '^ +[*a-zA-Z_][][a-zA-Z0-9_.>-]* [-+*/|&]?= [^;(){}"]*, [*a-zA-Z_][][a-zA-Z0-9_.>-]* [-+*/|&]?= [^;]*;' $(sources) |
    sed -E 's#^([^:]*:[0-9]+):.*#\1: two statements joined by a comma#'
}

files_are_short() {
  wc -l $(sources; find tests -name '*.cpp' -o -name '*.hpp') |
    awk '$1 > 500 && $2 != "total" { print $2 ":" $1 ": more than 500 lines: split it by concept" }'
}

# Two types of one name in one program are one type to the linker, and neither to the program.
public_types_have_one_name() {
  find include -name '*.hpp' | LC_ALL=C sort | xargs grep -nE '^(struct|class) [A-Za-z_]+ ?(final )?(:.*)?\{' | awk '{
      split($1, place, ":"); name = $2; sub(/[{:].*/, "", name)
      if (name in first) print place[1] ":" place[2] ": " name " is the name of another type in " first[name]
      else first[name] = place[1]
    }'
}

# Only sim/cli prints and ends the program. A forked child is not meant: _exit, and its last words.
only_the_command_line_prints() {
  grep -nE '(^|[^_[:alnum:]])(std::(cout|cerr|clog)|(f|v|vf)?printf|f?puts|putchar|fmt::print|exit|abort|quick_exit|terminate)( <<|\(|;)' \
    $(sources | grep -v '^sim/cli/') | grep -vE '^[^:]*:[0-9]+: *(//|\*)' |
    grep -vE 'fmt::print\(stderr, "chunk engine: ' |
    sed -E 's#^([^:]*:[0-9]+):.*#\1: only sim/cli prints and ends the program#'
}

# Words are written in two parts, so that this file does not hold them.
no_forbidden_words() {
  for word in '/wor''k/' '(^|[^[:alnum:]_])share''d/' 'clau''de' 'anthro''pic' 'open''ai' 'chat''gpt' 'copi''lot' \
      '(^|[^[:alnum:]])TO''DO([^[:alnum:]]|$)' '(^|[^[:alnum:]])FIX''ME([^[:alnum:]]|$)'; do
    texts | tr '\n' '\0' | xargs -0 grep -nIiE "$word" | sed -E 's#^([^:]*:[0-9]+):.*#\1: a word that is not to be here#'
  done
}

# Words that the documents and the program left behind: one word for each idea (docs/glossary.md).
one_word_per_idea() {
  called() {  # old word, word of the glossary
    find README.md docs scenarios include sim models calibrate -type f \( -name '*.md' -o -name '*.yaml' -o -name '*.hpp' -o -name '*.cpp' \) \
      ! -name CHANGELOG.md ! -name 'validation*.md' -print0 2>/dev/null | LC_ALL=C sort -z | xargs -0 grep -nwE "$1" /dev/null |
      sed -E "s#^([^:]*:[0-9]+):.*#\1: the word here is $2#"
  }
  called 'hand''-overs?|hand''overs?' 'KV-cache transfer'
  called 'crowd''s?|crowd''ed' 'contention'
  called 'exchan''ges of|exchan''ges wait|other exchan''ges' 'collective'
  called 'models? of exp''erts' 'MoE model'
  called 'laid ov''er|laid un''der' 'override or default'
  called 'held agai''nst' 'compared with'
  called 'in the me''an' 'on average'
  called 'dra''ws? of the (hash|network|hardware)' 'sample'
  called 'fe''lt' 'affected by'
  called 'x''/:' 'factor or 90 % interval'
}

found=$(arrows_point_down; libraries_stay_behind_adapters; headers_are_read_once; units_are_types; statements_stand_alone
  files_are_short
  public_types_have_one_name; only_the_command_line_prints; no_forbidden_words; one_word_per_idea)
[ -z "$found" ] && exit 0
echo "$found"
exit 1
