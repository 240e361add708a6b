// An HTTP server for this machine: the questions of the command line, and a page that redraws the report as one types.
//
// One thread waits for everybody; a process per question computes (service/work_pool.hpp). A connection has a deadline
// for a whole request and for a whole response, so slow clients cost a descriptor and no more. A client that leaves ends
// its question. The server keeps nothing: killing it loses only what is being asked.
#pragma once

#include <functional>
#include <string>

#include "routes.hpp"

namespace fabricast {

struct HttpSettings {
  std::string address = "127.0.0.1";  ///< IPv4 or IPv6, numeric
  int port = 8080;                    ///< 0: any that is free
  HttpAccess access;                  ///< without hosts: the names of this machine's loopback
  ServiceLimits limits;
  ServiceFiles files;
  int connections = 256;  ///< at once; when they are taken, idle ones go first
  Seconds patience{10};   ///< for a whole request, and for a whole response
  Seconds idle{60};       ///< between requests
};

/// Whether an address is of the loopback.
bool is_loopback(const std::string& address);

/// Serves until a stop is requested.
/// \param ready  called with the port once connections are accepted
/// \throws Unavailable if the address cannot be used
void serve_http(HttpSettings settings, const std::function<void(int port)>& ready);

}  // namespace fabricast
