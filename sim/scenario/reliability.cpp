// The fields of section `reliability`. Defaults and their sources are in docs/models/risk.md, most of them from
// [Grattafiori2024] and [FABRICS-8]; the rest are guesses.
#include "fabricast/scenario/reliability.hpp"

namespace fabricast {

namespace {
constexpr Range shares = between(0, 1);
constexpr Range times = between(0, 1e9);
}  // namespace

void visit_fields(FieldVisitor& visit, FailureShares& spec) {
  visit("gpu", spec.gpu, "fraction of GPUs that fail in a month", shares);
  visit("host", spec.host, "fraction of hosts that fail in a month for reasons other than a GPU or NIC", shares);
  visit("nic", spec.nic, "fraction of NICs that fail in a month", shares);
  visit("nic_cable", spec.nic_cable, "fraction of cables from NIC to leaf that fail in a month", shares);
  visit("leaf", spec.leaf, "fraction of leaf switches that fail in a month", shares);
  visit("spine", spec.spine, "fraction of spine switches that fail in a month", shares);
  visit("core", spec.core, "fraction of core switches that fail in a month", shares);
  visit("fabric_cable", spec.fabric_cable, "fraction of cables between switches that fail in a month", shares);
  visit("software", spec.software, "stops of the job caused by software, per GPU and month", shares);
}

void visit_fields(FieldVisitor& visit, DegradedSpec& spec) {
  visit("cable", spec.cable, "fraction of all cables whose rate degrades in a month", shares);
  visit("nic", spec.nic, "fraction of NICs whose rate degrades in a month", shares);
  visit("rates", spec.rates, "remaining fractions of the rate, equally likely", between(0.001, 0.999));
}

void visit_fields(FieldVisitor& visit, FlapSpec& spec) {
  visit("cable", spec.cable, "flaps per cable and month", between(0, 1e6));
  visit("median", spec.median, "median duration of a flap (log-normal)", between(1e-6, 1e6));
  visit("spread", spec.spread, "standard deviation of the logarithm of the duration", between(0, 5));
}

void visit_fields(FieldVisitor& visit, StragglerSpec& spec) {
  visit("hosts", spec.hosts, "fraction of hosts that become slower in a month", shares);
  visit("slowdown", spec.slowdown, "extra compute time of such a host, as a fraction", between(0, 10));
  visit("last", spec.last, "time until such a host is found and replaced", times);
}

void visit_fields(FieldVisitor& visit, PauseStormSpec& spec) {
  visit("nic", spec.nic, "fraction of NICs that start to pause their switch endlessly in a month", shares);
  visit("last", spec.last, "time until a watchdog or an operator ends a storm", times);
}

void visit_fields(FieldVisitor& visit, TransportSpec& spec) {
  visit("timeout", spec.timeout, "a lost packet is retransmitted after 4.096us x 2^timeout; 0: NCCL_IB_TIMEOUT",
        between(0, 31));
  visit("retries", spec.retries, "retries until the job stops; -1: NCCL_IB_RETRY_CNT", between(-1, 7));
}

void visit_fields(FieldVisitor& visit, RepairSpec& spec) {
  visit("cable", spec.cable, "time until a cable is replaced", times);
  visit("switch", spec.switches, "time until a switch is repaired", times);
  visit("host", spec.host, "time until a host is repaired, including its GPUs and NICs", times);
}

void visit_fields(FieldVisitor& visit, CheckpointSpec& spec) {
  visit("every", spec.every, "work between two checkpoints; 0s: the optimal interval", times);
  visit("asynchronous", spec.asynchronous, "whether training continues while a checkpoint is written");
  visit("bytes_per_parameter", spec.bytes_per_parameter, "bytes of a checkpoint per parameter", between(0, 1000));
  visit("storage", spec.storage, "rate at which each host reads and writes checkpoints");
  visit("copy", spec.copy, "rate at which each GPU copies its part to host memory, if asynchronous");
}

void visit_fields(FieldVisitor& visit, RestartSpec& spec) {
  visit("detect", spec.detect, "time until a hang of the job is detected", times);
  visit("start", spec.start, "time to restart the job, without reading the checkpoint", times);
}

void visit_fields(FieldVisitor& visit, ReliabilitySpec& spec) {
  visit("failures", spec.failures, "fractions of components that fail in a month of 30 days");
  visit("degraded", spec.degraded, "components that become slower instead of failing");
  visit("flaps", spec.flaps, "cables that are down for short times");
  visit("stragglers", spec.stragglers, "hosts that compute more slowly for a while");
  visit("pause_storms", spec.pause_storms, "NICs that send pauses endlessly, which spread over lossless switches");
  visit("planes", spec.planes, "ports of each NIC, each connected to its own leaves; 2: dual-ToR", between(1, 8));
  visit("reroute", spec.reroute, "time until switches route around a failed component", times);
  visit("transport", spec.transport, "when a queue pair gives up");
  visit("repair", spec.repair, "times until failed components work again");
  visit("spares", spec.spares, "spare hosts; -1: one for every 16 hosts of the job", between(-1, 4e6));
  visit("checkpoint", spec.checkpoint, "checkpoints of a training job");
  visit("restart", spec.restart, "restart after a failure that stops the job");
}

}  // namespace fabricast
