// The fields of the sections `jobs` and `background`, and ranges of hosts.
#include "fabricast/scenario/jobs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "fabricast/core/error.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/core/text.hpp"

namespace fabricast {

void visit_fields(FieldVisitor& visit, JobWorkload& workload) {
  visit("kind", workload.kind, "kind of work that the job repeats");
  // The keys of a section depend on `kind`, so they are visited after it.
  if (workload.kind == JobKind::training_step) return visit_fields(visit, workload.training);
  visit("collective", workload.collective, "operation; its size is counted as nccl-tests does");
  visit("size", workload.size, "size of a call", between(1, 0x1p50));
  visit("duty", workload.duty, "fraction of the time in which a call runs if the job is alone; 100%: back to back",
        between(0.0001, 1));
}

void visit_fields(FieldVisitor& visit, JobSpec& job) {
  visit("name", job.name, "name of the job");
  visit("nodes", job.nodes, "hosts of the job; required", between(1, 4e6));
  visit("placement", job.placement, "as cluster.placement, on the hosts that previous jobs leave free");
  visit("seed", job.seed, "seed of a random placement", at_least(0));
  visit("order", job.order, "host numbers in rank order, for placement list", between(0, 4e6));
  visit("class", job.traffic_class, "name of one of fabric.congestion.classes (default: that of NCCL's variables)");
  visit("workload", job.workload, "work that the job repeats indefinitely");
}

void visit_fields(FieldVisitor& visit, BackgroundSpec& flows) {
  visit("name", flows.name, "name of the flows");
  visit("kind", flows.kind,
        "checkpoint_write (hosts to storage), dataset_read (storage to hosts), or flows (hosts to any targets)");
  visit("job", flows.job, "job whose hosts take part (default: the scenario's own job)");
  visit("hosts", flows.hosts, "hosts that take part, instead of a job's: numbers and ranges, e.g. [0-31, 40]");
  visit("targets", flows.targets, "hosts at the other end; storage hosts do not belong to any job");
  visit("rate", flows.rate, "rate of each host, over all its connections", line_rates);
  visit("total", flows.total, "rate of all hosts together, instead of `rate`", line_rates);
  visit("duty", flows.duty, "fraction of the time in which the flows are active", between(0.0001, 1));
  visit("connections", flows.connections, "queue pairs between a host and each target, spread over the host's NICs",
        between(1, 1024));
  visit("network", flows.network,
        "compute: the fabric of the jobs; own: a separate network, where they do not affect jobs");
  visit("class", flows.traffic_class, "name of one of fabric.congestion.classes (default: the first)");
}

namespace {

constexpr std::uint32_t most_hosts = 4'000'000;

std::uint32_t host_of(const std::string& word, const std::string& path, const std::string& whole) {
  const auto number = parse_integer(word);
  if (!number || number.value < 0 || number.value >= most_hosts)
    throw UserError::at(path, fmt::format("'{}' is not a host number or a range of them", whole),
                        "write e.g. [0-31, 40]");
  return static_cast<std::uint32_t>(number.value);
}

}  // namespace

std::vector<std::uint32_t> parse_hosts(const std::vector<std::string>& ranges, const std::string& path) {
  std::vector<std::uint32_t> hosts;
  for (const std::string& range : ranges) {
    const std::vector<std::string> ends = split(range, '-');
    // Refused by the same message as any other text that is no number.
    if (ends.size() > 2) host_of(range, path, range);
    const std::uint32_t first = host_of(ends.front(), path, range), last = host_of(ends.back(), path, range);
    if (last < first)
      throw UserError::at(path, fmt::format("the range '{}' is descending", range),
                          fmt::format("write {}-{}", last, first));
    for (std::uint32_t host = first; host <= last; ++host) hosts.push_back(host);
    // More entries than numbers means that one occurs twice. Stopping here bounds the memory for a list of large
    // ranges.
    if (hosts.size() > most_hosts) break;
  }
  std::sort(hosts.begin(), hosts.end());
  if (const auto twice = std::adjacent_find(hosts.begin(), hosts.end()); twice != hosts.end())
    throw UserError::at(path, fmt::format("host {} is listed twice", *twice));
  return hosts;
}

// The inverse of parse_hosts: two neighbours are listed, three or more become a range.
std::string hosts_text(std::vector<std::uint32_t> hosts) {
  std::sort(hosts.begin(), hosts.end());
  std::string text;
  for (std::size_t i = 0; i < hosts.size();) {
    std::size_t last = i;
    while (last + 1 < hosts.size() && hosts[last + 1] == hosts[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", hosts[i]);
    if (last > i) text += fmt::format("{}{}", last > i + 1 ? "-" : ", ", hosts[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace fabricast
