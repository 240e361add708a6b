// Which hosts a job has: whether they fill NVLink domains, fit on the fabric and are listed once (job_hosts.hpp).
#include "job_hosts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "fabricast/scenario/allocation.hpp"
#include "fabricast/scenario/world.hpp"

namespace fabricast {

void check_domains(const Scenario& s, const Refusal& refuse) {
  const int nodes = s.cluster.nodes, domain = std::min(s.nvlink_domain.nodes, nodes);
  if (domain <= 1 || nodes % domain == 0) return;
  const EvenDomains even = even_domains(nodes, domain);
  // Even filling may add hosts to the job. That is allowed only if nothing names or counts hosts.
  const bool more = s.workload.kind == WorkloadKind::collective && s.cluster.placement != Placement::list;
  if (s.jobs.empty() && (even.hosts() == nodes || more)) return;
  refuse("cluster.nodes", fmt::format("{} hosts do not fill NVLink domains of {}", nodes, domain),
         s.jobs.empty() ? fmt::format("use a multiple of {}, or {} hosts, which fill {} domains evenly", domain,
                                      even.hosts(), even.domains)
                        : fmt::format("use a multiple of {}", domain));
}

void check_placement(const Scenario& s, const Refusal& refuse) {
  const ClusterSpec& c = s.cluster;
  if (c.placement != Placement::list && !c.order.empty()) refuse("cluster.order", "is only for placement: list", {});
  if (c.placement == Placement::list) check_order(c.order, c.nodes, "cluster.order", refuse);
  // Without a size the fabric is as large as its users need. A stated size must hold them all.
  const int size = hosts_on_fabric(s);
  if (c.size > 0 && c.size < size)
    refuse("cluster.size",
           fmt::format("{} hosts are fewer than {} ({})", c.size,
                       s.jobs.empty() && c.taken.empty() && s.background.empty()
                           ? "the job needs"
                           : "jobs, storage and taken hosts need together",
                       size),
           {});
  if (c.filled.value > 0 && c.size == 0)
    refuse("cluster.filled", "is a fraction of all hosts on the fabric, but cluster.size is missing",
           "write e.g. size: 128");
}

void check_order(const std::vector<int>& order, int nodes, const std::string& path, const Refusal& refuse) {
  if (static_cast<int>(order.size()) != nodes)
    refuse(path, fmt::format("lists {} hosts, but the job has {} nodes", order.size(), nodes), {});
  std::vector<int> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
    refuse(path, fmt::format("host {} is listed twice", *twice), {});
}

}  // namespace fabricast
