// The message with which each side describes its port to the other.
#include <nlohmann/json.hpp>

#include "verbs_endpoint.hpp"

namespace fabricast {

using Json = nlohmann::json;

std::string peer_text(const VerbsPeer& p) {
  return Json{{"queue_pairs", p.queue_pairs},
              {"packet_number", p.packet_number},
              {"remote_key", p.remote_key},
              {"address", p.address},
              {"lid", p.lid},
              {"mtu", p.mtu},
              {"reads", p.reads},
              {"traffic_class", p.traffic_class},
              {"service_level", p.service_level},
              {"gid", p.gid},
              {"memory", p.memory}}
      .dump();
}

VerbsPeer peer_of(const std::string& text) {
  try {
    const Json j = Json::parse(text);
    return {j.at("queue_pairs"),   j.at("packet_number"), j.at("remote_key"), j.at("address"),
            j.at("lid"),           j.at("mtu"),           j.at("reads"),      j.at("traffic_class"),
            j.at("service_level"), j.at("gid"),           j.at("memory")};
  } catch (const Json::exception&) { throw ProbeFailure("the other rank sent a malformed description of its port"); }
}

}  // namespace fabricast
