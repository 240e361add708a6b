// What every reader of a user's bytes is held to, whatever the bytes: it ends, and in a value or in messages that name a
// place in the file and hold nothing that a terminal acts on. What breaks this aborts.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "fabricast/core/error.hpp"

namespace fabricast::fuzz {

void require(bool condition);

/// Lines of UTF-8 without control characters, as we write them to a terminal.
void require_clean(std::string_view text);

/// Messages are there, are clean, and name places that `text` has.
/// \param text  of the file that is called "file" in messages
void require_stated(const UserError& error, std::string_view text);
void require_stated(const Diagnostic& diagnostic, std::string_view text);

/// What `read` returns; nothing if it refuses the text as it should.
template <class Read>
auto taken(std::string_view text, Read read) -> std::optional<decltype(read())> {
  try {
    return read();
  } catch (const UserError& e) { require_stated(e, text); }
  return std::nullopt;
}

#define FABRICAST_READER(name) void read_##name(std::string_view bytes);
#include "readers.inc"
#undef FABRICAST_READER

}  // namespace fabricast::fuzz
