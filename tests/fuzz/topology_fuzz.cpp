// A NCCL topology file. What is read hangs together.
#include "fabricast/hardware/layout.hpp"
#include "reader.hpp"

namespace fabricast::fuzz {

void read_topology(std::string_view bytes) {
  const std::string text(bytes);
  const auto layout = taken(text, [&] { return fabricast::read_topology(text, "file"); });
  if (!layout) return;
  const int hubs = static_cast<int>(layout->hubs.size()), cards = static_cast<int>(layout->cards.size());
  for (int i = 0; i < hubs; ++i) require(layout->hubs[static_cast<std::size_t>(i)].parent < i);
  for (const NodeLayout::Gpu& gpu : layout->gpus) {
    require(gpu.hub >= 0 && gpu.hub < hubs);
    for (const NodeLayout::NvLinks& links : gpu.nvlinks)
      require(links.count > 0 && links.peer >= NodeLayout::nvswitch &&
              links.peer < static_cast<int>(layout->gpus.size()));
  }
  for (const NodeLayout::Card& card : layout->cards) require(card.hub >= 0 && card.hub < hubs);
  for (const NodeLayout::Nic& nic : layout->nics) require(nic.card >= 0 && nic.card < cards && nic.rate > 0);
  for (const auto& link : layout->peer_links)
    for (const int hub : link) require(hub >= 0 && hub < hubs);
  require(layout->sockets() + layout->switches() == hubs);
}

}  // namespace fabricast::fuzz
