// Where the trees of a plan run inside the nodes, in a form common to trees over chains of GPUs and to NVLSTree.
//
//   tree      a node is its chain of g GPUs, of which the first ones connect to other nodes
//   NVLSTree  a node is one head, for which the NVSwitch reduces and multicasts; each head has its own trees        (1)
#pragma once

#include "fabricast/collective/communicator.hpp"

namespace fabricast {

struct TreeLayout {
  int gpus = 1;                      ///< GPUs of a node that a slice passes: the chain, or one head
  std::vector<ChannelShape> shapes;  ///< by channel
  std::vector<int> index;            ///< by channel: which of the two trees
  TreePattern pattern = TreePattern::tree;
  bool by_nvswitch = false;         ///< NVLSTree: shapes contain only the head
  std::size_t head = 0, heads = 1;  ///< number of the head; number of heads
};

/// A tree over the chains of the search.
TreeLayout chain_layout(const Communicator& comm, int channels);
/// The trees that connect the heads with number `head` of all nodes.
TreeLayout head_layout(const Communicator& comm, int channels, std::size_t head);

}  // namespace fabricast
