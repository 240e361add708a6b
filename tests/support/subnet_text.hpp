// A fabric as the tools of a real InfiniBand subnet would print it.
#pragma once

#include <functional>
#include <string>

#include "fabricast/routing/routing.hpp"

namespace fabricast::test {

/// LIDs and GUIDs are made up: switches have LIDs 1, 2 ..., NIC ports those after them, `1 << lmc` apart.
struct SubnetText {
  explicit SubnetText(const Fabric& made, std::string speed_of_links = "4xNDR") : fabric(made), speed(speed_of_links) {}
  const Fabric& fabric;
  std::string speed;
  int lmc = 0;

  std::string ibnetdiscover() const;
  std::string port_list() const;
  std::string iblinkinfo(bool line = false, bool switches_only = false) const;
  /// What `static` routing, or another by destination, makes of tables. \param opensm as opensm-lfts.dump
  std::string tables(const Router& router, bool opensm = false) const;

  std::string name(VertexId v) const;  ///< node description
  std::string guid(VertexId v) const;  ///< 16 digits
  int lid(VertexId v) const;
  int port(LinkId link) const;  ///< by which the link leaves its source
};

}  // namespace fabricast::test
