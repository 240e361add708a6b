// What no measurement stands behind.
//
// Every parameter knows where it comes from. A forecast that rests on guesses says so first, however narrow its interval
// came out: on a kind of GPU whose rates nobody measured, or software that no fitted step ran.
#pragma once

#include <string>
#include <vector>

namespace fabricast {

struct World;

/// Of a training or an inference step, a sentence each; empty: all that decides was measured somewhere. Thread-safe.
std::vector<std::string> not_validated(const World& world);
/// `# not validated: ...`, a line each.
std::string not_validated_text(const World& world);

}  // namespace fabricast
