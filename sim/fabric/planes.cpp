#include "fabricast/fabric/planes.hpp"

#include <fmt/format.h>

#include "fabricast/fabric/fabric.hpp"

namespace fabricast {

std::string PlaneDistances::text() const {
  return fmt::format("planes {} {} {} {} {}", planes_, nics_, leaves_, spines_, name_of(choice_));
}

const PlaneDistances* planes_of(const Fabric& fabric) { return dynamic_cast<const PlaneDistances*>(fabric.metric()); }

}  // namespace fabricast
