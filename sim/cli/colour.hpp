// Colour on a terminal: what a reader looks for first stands out, and context steps back.
//
// Colour only repeats what the words say, so nothing is lost without it. Files and pipes never get it. Pure functions,
// except `shows_colour`.
#pragma once

#include <string>
#include <string_view>

namespace fabricast {

/// Whether a stream gets colour: it is a terminal, TERM is not `dumb`, NO_COLOR is unset or empty (no-color.org), and
/// no launcher has started this process as a rank.
/// \param stream  file descriptor
bool shows_colour(int stream);

/// A rendered diagnostic (`render`): its kind, carets and hint are coloured.
std::string coloured_diagnostic(std::string_view text);
/// A report: lines of context, which start with `#`, are dim, and verdicts that need attention are red.
std::string coloured_report(std::string_view text);

}  // namespace fabricast
