// What each term of the models of collectives contributes to forecasts of sites that no fit has seen. Unlike the terms
// of steps (steps/terms.cpp), all other parameters are fitted again without the term, so a term counts only for what no
// other can take over. Each term costs a full cross-validation by fifths of the sites.
#include "fabricast/calibrate/terms.hpp"

#include <algorithm>

#include "interval_of.hpp"

namespace fabricast {

// The value beside each pattern is that at which the parameter has no effect: 0 for times, 1 for factors, and a rate so
// high that it takes no time.
const std::vector<ModelTerm>& model_terms() {
  static const std::vector<ModelTerm> terms = {
      {"slice", "a handshake for each slice in Simple", {{"architectures.*.slice", 0}}},
      {"ll burst", "more warps take part in LL as messages grow", {{"architectures.*.ll_burst", 0}}},
      {"host by GPU generation",
       "network and PCIe hops differ by GPU generation, as a proxy for the host",
       {{"architectures.*.network_hop", 1}, {"architectures.*.pcie_hop", 1}}},
      {"channel launch",
       "each channel adds to a launch",
       {{"software.channel_launch", 0}, {"software.channel_launch_before_2.9", 0}}},
      {"issue",
       "a process that drives several GPUs launches on one after another",
       {{"architectures.*.issue_per_gpu", 0}}},
      {"groups of sends", "host time of a group of sends and receives", {{"software.issue_group", 0}}},
      {"proxy message", "proxy thread time of each message", {{"networks.*.message", 0}}},
      {"proxy check", "the proxy thread checks every flag of LL", {{"software.ll_check", 1e9}}},
      {"slice at a NIC", "a slice that leaves through a NIC takes longer", {{"networks.*.nic_slice", 0}}},
      {"network start", "a call that uses the network starts later", {{"networks.*.start", 0}}},
      {"staging",
       "without GPUDirect RDMA, hops take longer and NICs are slower",
       {{"networks.*.staged_hop", 0}, {"networks.*.staged_efficiency", 1}}},
      {"GPUDirect RDMA via CPU", "it is slower through a CPU's root complex", {{"software.gdr_by_cpu_efficiency", 1}}},
      {"rendezvous", "large messages need a rendezvous", {{"networks.*.rendezvous", 0}}},
      {"peer messages",
       "sends and receives have a cost per peer",
       {{"networks.*.peer", 0}, {"networks.*.peer_chunk", 0}, {"networks.*.peer_small", 0}}},
      {"last receive", "a step that only receives takes less time", {{"software.last_receive", 1}}},
      {"both directions", "a block copies more when its threads go up and down a tree", {{"software.both_ways", 1}}},
      {"tree hop in LL", "a tree hop in LL takes longer than a ring hop", {{"software.tree_hop_ll", 1}}},
      {"NVLSTree hop", "its network hops take longer", {{"software.nvlstree_hop", 1}}},
      {"harness", "PyTorch and host timers add to a call", {{"software.pytorch", 0}, {"software.host_timed", 0}}},
      {"partial pooling", "parameters of the same name pull each other together", {}, true},
  };
  return terms;
}

int take_away(Hardware& hardware, const ModelTerm& term) {
  int taken = 0;
  for (const auto& [path, ref] : hardware.all_parameters())
    for (const auto& [pattern, value] : term.absent) {
      Parameter& p = *ref.parameter;
      // A parameter that is at this value already is not counted as removed.
      if (!names_parameter(pattern, path) || (p.low == p.high && p.value == value)) continue;
      // Without an interval it is a constant, which no fit moves (fit/problem.cpp).
      p.value = p.low = p.high = value;
      p.samples.clear();
      ++taken;
    }
  return taken;
}

namespace {

/// One system that is off by a factor of ten without the term would otherwise decide the mean.
double most_counted(double error) { return std::min(error, 1.0); }

/// The growth of each system's error in a band without a term. The order of systems is fixed, so bootstraps are
/// reproducible.
std::vector<double> growth(const ErrorTable& with, const ErrorTable& without, std::size_t band) {
  std::vector<double> list;
  for (const auto& [system, cells] : with.systems) {
    const ErrorTable::Cell& before = cells[band];
    const ErrorTable::Cell& after = without.systems.at(system)[band];
    if (before.rows > 0) list.push_back(most_counted(after.error) - most_counted(before.error));
  }
  return list;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double x : values) sum += x;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

}  // namespace

TermStudy study_terms(const std::vector<MeasuredCase>& cases, const Hardware& prior, const FitOptions& options,
                      const std::function<void(double share)>& progress) {
  const std::vector<ModelTerm>& terms = model_terms();
  const auto left_out = [&](const Hardware& hardware, const FitOptions& how) {
    // Without the bootstrap, whose intervals the study does not use.
    return leave_out(cases, hardware, how, LeftOut::fifth, false, false).leave_one_out.left_out;
  };
  const auto report = [&](std::size_t done) {
    if (progress) progress(static_cast<double>(done) / static_cast<double>(terms.size() + 1));
  };
  TermStudy study;
  // With all terms first: each term is compared with this table.
  report(0);
  const ErrorTable with = left_out(prior, options);
  study.median = with.median;
  for (std::size_t t = 0; t < terms.size(); ++t) {
    report(t + 1);
    Hardware hardware = prior;
    FitOptions how = options;
    TermWorth worth{&terms[t], take_away(hardware, terms[t]), {}, {}};
    // Partial pooling is a term of the fit and has no parameter of its own.
    if (terms[t].pooling) how.sibling_weight = 0;
    const ErrorTable without = left_out(hardware, how);
    for (std::size_t b = 0; b < bands.size(); ++b) {
      const std::vector<double> more = growth(with, without, b);
      // The bootstrap is over paired differences by system: systems differ far more from each other than by the term.
      worth.gain[b] = mean_of(more);
      worth.interval[b] = interval_of(more, mean_of);
    }
    study.terms.push_back(worth);
  }
  report(terms.size() + 1);
  return study;
}

}  // namespace fabricast
