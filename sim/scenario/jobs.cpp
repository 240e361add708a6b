// Sections `jobs` and `background`: their fields, and hosts by ranges of numbers.
#include "fabricast/scenario/jobs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "fabricast/core/error.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/core/text.hpp"

namespace fabricast {

void visit_fields(FieldVisitor& visit, JobWorkload& workload) {
  visit("kind", workload.kind, "what the job repeats");
  if (workload.kind == JobKind::training_step) return visit_fields(visit, workload.training);
  visit("collective", workload.collective, "operation, as nccl-tests counts its bytes");
  visit("size", workload.size, "bytes of a call", between(1, 0x1p50));
  visit("duty", workload.duty, "part of the time in which a call runs, were the job alone: 100% is back to back",
        between(0.0001, 1));
}

void visit_fields(FieldVisitor& visit, JobSpec& job) {
  visit("name", job.name, "name of the job");
  visit("nodes", job.nodes, "hosts of the job", between(1, 4e6));
  visit("placement", job.placement, "as cluster.placement, on what the jobs before it leave");
  visit("seed", job.seed, "seed of a random placement", at_least(0));
  visit("order", job.order, "host numbers in rank order, for placement list", between(0, 4e6));
  visit("workload", job.workload, "what it repeats for ever");
}

void visit_fields(FieldVisitor& visit, BackgroundSpec& flows) {
  visit("name", flows.name, "name of the flows");
  visit("kind", flows.kind,
        "checkpoint_write (hosts to storage), dataset_read (storage to hosts), or flows (hosts to any targets)");
  visit("job", flows.job, "whose hosts; left out: the scenario's own job");
  visit("hosts", flows.hosts, "hosts instead of a job's: numbers and ranges, e.g. [0-31, 40]");
  visit("targets", flows.targets, "hosts at the other end; those of storage are no job's");
  visit("rate", flows.rate, "of each host, all its connections together", line_rates);
  visit("total", flows.total, "of all hosts together, instead of rate", line_rates);
  visit("duty", flows.duty, "part of the time in which they flow", between(0.0001, 1));
  visit("connections", flows.connections, "queue pairs of a host with each target, spread over its NICs",
        between(1, 1024));
  visit("network", flows.network, "compute: the jobs' fabric; own: one of their own, where they disturb nobody");
}

namespace {

constexpr std::uint32_t most_hosts = 4'000'000;

std::uint32_t host_of(const std::string& word, const std::string& path, const std::string& whole) {
  const auto number = parse_integer(word);
  if (!number || number.value < 0 || number.value >= most_hosts)
    throw UserError::at(path, fmt::format("'{}' is no host or range of hosts", whole),
                        "numbers and ranges: [0-31, 40]");
  return static_cast<std::uint32_t>(number.value);
}

}  // namespace

std::vector<std::uint32_t> parse_hosts(const std::vector<std::string>& ranges, const std::string& path) {
  std::vector<std::uint32_t> hosts;
  for (const std::string& range : ranges) {
    const std::vector<std::string> ends = split(range, '-');
    if (ends.size() > 2) host_of(range, path, range);
    const std::uint32_t first = host_of(ends.front(), path, range), last = host_of(ends.back(), path, range);
    if (last < first)
      throw UserError::at(path, fmt::format("the range '{}' runs down", range), fmt::format("{}-{}", last, first));
    for (std::uint32_t host = first; host <= last; ++host) hosts.push_back(host);
    // More than there are numbers: one is there twice, and a list of such ranges would take any memory.
    if (hosts.size() > most_hosts) break;
  }
  std::sort(hosts.begin(), hosts.end());
  if (const auto twice = std::adjacent_find(hosts.begin(), hosts.end()); twice != hosts.end())
    throw UserError::at(path, fmt::format("host {} is there twice", *twice));
  return hosts;
}

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
