#include "fabricast/scenario/reliability.hpp"

namespace fabricast {

namespace {
constexpr Range shares = between(0, 1);
constexpr Range times = between(0, 1e9);
}  // namespace

void visit_fields(FieldVisitor& visit, FailureShares& spec) {
  visit("gpu", spec.gpu, "share of GPUs that fail in a month", shares);
  visit("host", spec.host, "share of hosts, by what is neither GPU nor NIC", shares);
  visit("nic", spec.nic, "share of NICs", shares);
  visit("nic_cable", spec.nic_cable, "share of cables from NIC to leaf", shares);
  visit("leaf", spec.leaf, "share of leaf switches", shares);
  visit("spine", spec.spine, "share of spine switches", shares);
  visit("core", spec.core, "share of core switches", shares);
  visit("fabric_cable", spec.fabric_cable, "share of cables between switches", shares);
  visit("software", spec.software, "stops of the job by software, per GPU and month", shares);
}

void visit_fields(FieldVisitor& visit, DegradedSpec& spec) {
  visit("cable", spec.cable, "share of all cables that lose a part of their rate in a month", shares);
  visit("nic", spec.nic, "share of NICs likewise", shares);
  visit("rates", spec.rates, "what is left of the rate; several are equally frequent", between(0.001, 0.999));
}

void visit_fields(FieldVisitor& visit, FlapSpec& spec) {
  visit("cable", spec.cable, "flaps of each cable in a month", between(0, 1e6));
  visit("median", spec.median, "how long a cable is then down, log-normal", between(1e-6, 1e6));
  visit("spread", spec.spread, "standard deviation of the logarithm of that time", between(0, 5));
}

void visit_fields(FieldVisitor& visit, StragglerSpec& spec) {
  visit("hosts", spec.hosts, "share of hosts that begin to compute slower in a month", shares);
  visit("slowdown", spec.slowdown, "by so much longer", between(0, 10));
  visit("last", spec.last, "until such a host is found and replaced", times);
}

void visit_fields(FieldVisitor& visit, TransportSpec& spec) {
  visit("timeout", spec.timeout, "a packet is sent again after 4.096us x 2^timeout; 0: NCCL_IB_TIMEOUT",
        between(0, 31));
  visit("retries", spec.retries, "how often, until the job stops; -1: NCCL_IB_RETRY_CNT", between(-1, 7));
}

void visit_fields(FieldVisitor& visit, RepairSpec& spec) {
  visit("cable", spec.cable, "until a cable is replaced", times);
  visit("switch", spec.switches, "until a switch is", times);
  visit("host", spec.host, "until a host is, for its GPUs and NICs, too", times);
}

void visit_fields(FieldVisitor& visit, CheckpointSpec& spec) {
  visit("every", spec.every, "work between two checkpoints; 0s: the best interval", times);
  visit("asynchronous", spec.asynchronous, "whether the step goes on while a checkpoint is written");
  visit("bytes_per_parameter", spec.bytes_per_parameter, "of a checkpoint", between(0, 1000));
  visit("storage", spec.storage, "at which each host reads and writes checkpoints");
  visit("copy", spec.copy, "at which each GPU copies its part to host memory, if asynchronous");
}

void visit_fields(FieldVisitor& visit, RestartSpec& spec) {
  visit("detect", spec.detect, "until it is found that the job hangs", times);
  visit("start", spec.start, "to start it anew, without reading the checkpoint", times);
}

void visit_fields(FieldVisitor& visit, ReliabilitySpec& spec) {
  visit("failures", spec.failures, "shares of components that fail in a month of 30 days");
  visit("degraded", spec.degraded, "those that get slower instead");
  visit("flaps", spec.flaps, "cables that are down for moments");
  visit("stragglers", spec.stragglers, "hosts that compute slower for a while");
  visit("planes", spec.planes, "ports of each NIC, each at leaves of its own: 2 is dual-ToR", between(1, 8));
  visit("reroute", spec.reroute, "until switches send around what is down", times);
  visit("transport", spec.transport, "when a queue pair gives up");
  visit("repair", spec.repair, "until what failed is back");
  visit("spares", spec.spares, "hosts that stand by; -1: one for every 16", between(-1, 4e6));
  visit("checkpoint", spec.checkpoint, "of a training step");
  visit("restart", spec.restart, "after a failure that stops the job");
}

}  // namespace fabricast
