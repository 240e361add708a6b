// Escape codes of ECMA-48, chosen among those that are legible on light and dark backgrounds.
#include "colour.hpp"

#include <unistd.h>

#include <array>
#include <cstdlib>

namespace fabricast {

namespace {

constexpr std::string_view bold_red = "\033[1;31m", bold_yellow = "\033[1;33m", green = "\033[32m", cyan = "\033[36m",
                           dim = "\033[2m", reset = "\033[0m";

std::string painted(std::string_view code, std::string_view text) {
  return std::string(code) + std::string(text) + std::string(reset);
}

/// Applies `paint` to each line without its end.
template <class Paint>
std::string by_line(std::string_view text, Paint paint) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    out += paint(text.substr(0, end));
    if (end == std::string_view::npos) break;
    out += '\n';
    text.remove_prefix(end + 1);
  }
  return out;
}

/// The line with its first `word` painted.
std::string with(std::string_view line, std::string_view word, std::string_view code) {
  const std::size_t at = line.find(word);
  if (at == std::string_view::npos) return std::string(line);
  return std::string(line.substr(0, at)) + painted(code, word) + std::string(line.substr(at + word.size()));
}

/// The caret line below an excerpt: bars, blanks and carets alone.
bool is_carets(std::string_view line) {
  return line.find('^') != std::string_view::npos && line.find_first_not_of(" |^") == std::string_view::npos;
}

}  // namespace

bool shows_colour(int stream) {
  // mpirun and srun give ranks a terminal of their own, and forward what is written there to files and pipes as well.
  for (const char* rank : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"})
    if (std::getenv(rank)) return false;
  const char *no_color = std::getenv("NO_COLOR"), *term = std::getenv("TERM");
  if (no_color && *no_color) return false;
  return isatty(stream) != 0 && term && std::string_view(term) != "dumb";
}

std::string coloured_diagnostic(std::string_view text) {
  bool first = true;
  return by_line(text, [&](std::string_view line) {
    if (line.starts_with("  hint: ")) return with(line, "hint:", cyan);
    if (is_carets(line)) return painted(green, line);
    if (!first) return std::string(line);
    first = false;
    // The kind comes before the message, which may contain the other word.
    const std::size_t error = line.find("error:"), warning = line.find("warning:");
    return error < warning ? with(line, "error:", bold_red) : with(line, "warning:", bold_yellow);
  });
}

std::string coloured_report(std::string_view text) {
  return by_line(text, [](std::string_view line) {
    if (line.starts_with('#')) return painted(dim, line);
    // The last column of `check` and `gate`.
    for (const std::string_view verdict : std::array<std::string_view, 2>{"  slow", "  below"})
      if (line.ends_with(verdict)) {
        line.remove_suffix(verdict.size());
        return std::string(line) + painted(bold_red, verdict);
      }
    return std::string(line);
  });
}

}  // namespace fabricast
