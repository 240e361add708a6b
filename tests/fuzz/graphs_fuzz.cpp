// Search graphs, as NCCL dumps them: what is written reads back to the same text.
#include "fabricast/planner/graph_file.hpp"
#include "reader.hpp"

namespace fabricast::fuzz {

void read_graphs(std::string_view bytes) {
  const std::string text(bytes);
  const auto graphs = taken(text, [&] { return fabricast::read_graphs(text, "file"); });
  if (!graphs) return;
  const std::string written = write_graphs(*graphs);
  require(write_graphs(fabricast::read_graphs(written, "file")) == written);
}

}  // namespace fabricast::fuzz
