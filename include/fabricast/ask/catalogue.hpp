// What is built in, by catalogue (`fabricast list`), and the description of an entry (`fabricast describe`), as text
// with sources and intervals.
//
// Pure functions; safe to call concurrently.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fabricast {

/// The names of the catalogues, as `list` accepts them.
std::vector<std::string_view> catalogue_names();
/// The entries of a catalogue, or of all of them if the name is empty.
/// \throws UserError if there is no such catalogue
std::string catalogue_text(const std::string& name);
/// The entries of all catalogues with this name, or the key of a scenario.
/// \throws UserError if there is none
std::string description_of(const std::string& name);
/// All names that `description_of` knows apart from keys of a scenario.
std::vector<std::string_view> described_names();

}  // namespace fabricast
