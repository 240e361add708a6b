// A file of a fabric, told by its content: our own, InfraGraph, Slurm's, ibnetdiscover's.
#include "fabricast/discover/fabric.hpp"
#include "fabricast/scenario/fabric_file.hpp"
#include "reader.hpp"

namespace fabricast::fuzz {

void read_fabric(std::string_view bytes) {
  const std::string text(bytes);
  const auto read = taken(text, [&] { return read_fabric_file({{"file", text}}, {}); });
  if (!read) return;
  for (const Diagnostic& warning : read->warnings) require_stated(warning, text);
  require(!read->format.empty());
  require_clean(fabric_yaml(read->fabric));
}

}  // namespace fabricast::fuzz
