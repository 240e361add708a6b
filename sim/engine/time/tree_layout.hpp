// Where the trees of a plan run inside the nodes: what is common to trees over chains of GPUs and to NVLSTree.
//
//   tree      a node is its chain of g GPUs, of which the first ones are joined to other nodes
//   NVLSTree  a node is one head, for which the NVSwitch adds up and hands out; each head has trees of its own      (1)
#pragma once

#include "fabricast/collective/communicator.hpp"

namespace fabricast {

struct TreeLayout {
  int gpus = 1;                      ///< of a node that a slice passes: its chain, or one head
  std::vector<ChannelShape> shapes;  ///< by channel
  std::vector<int> index;            ///< by channel: which of the two trees
  TreePattern pattern = TreePattern::tree;
  bool by_nvswitch = false;         ///< GPUs of a node meet in the NVSwitch: shapes hold the head
  std::size_t head = 0, heads = 1;  ///< which of them, of how many
};

/// A tree over the chains of the search.
TreeLayout chain_layout(const Communicator& comm, int channels);
/// The trees that join head number `head` of all nodes.
TreeLayout head_layout(const Communicator& comm, int channels, std::size_t head);

}  // namespace fabricast
