// The session: rank 0 plans and orders measurements, and the other ranks follow its orders.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "fabricast/core/scan.hpp"
#include "fabricast/core/stop.hpp"
#include "fabricast/core/text.hpp"
#include "peer_link.hpp"
#include "rendezvous.hpp"

namespace fabricast {

using probe::SocketError;
using probe::steady_now;
using probe::Wire;

namespace {

struct OwnBackend {
  std::string name;
  std::unique_ptr<ProbeBackend> backend;
};

/// The part of this rank in measurements.
class Rank {
 public:
  Rank(const SessionOptions& options, std::vector<OwnBackend>& backends, Meeting& meeting)
      : options_(options), backends_(backends), meeting_(meeting) {}

  /// Measures and returns the samples on the first side; on other sides only an error, if there is one.
  SampleSet measure(const Measurement& m, int number, Seconds share) {
    const ProbeSide side = m.leader() == options_.place.rank ? ProbeSide::first : ProbeSide::second;
    Links links;
    SampleSet set;
    try {
      open(links, m, number, side);
      std::vector<PeerLink*> others;
      for (const auto& link : links) others.push_back(link.get());
      const std::unique_ptr<ProbeTrial> trial = backend_of(m.backend).prepare(m, options_.settings, side, others);
      for (const auto& link : links) link->tell("ready");
      for (const auto& link : links) link->hear();
      if (side == ProbeSide::second) return follow(*trial, *links.front(), share), SampleSet{};
      const auto run = [&](int repeats) { return lead(*trial, links, repeats); };
      set = repeat_until_tight(run, options_.repeats, share, steady_now);
      set.how = trial->how();
      if (set.error.empty())
        for (const auto& link : links) link->tell("end");
    } catch (const ProbeFailure& e) { set.error = e.what(); } catch (const nlohmann::json::exception&) {
      set.error = "the other rank sent a malformed message";
    } catch (const std::bad_alloc&) { set.error = "out of memory"; }
    if (!set.error.empty())
      for (const auto& link : links) link->fail(set.error);
    return set;
  }

 private:
  using Links = std::vector<std::unique_ptr<PeerLink>>;

  void open(Links& links, const Measurement& m, int number, ProbeSide side) {
    const double timeout = options_.timeout.value;
    const int self = options_.place.rank;
    if (side == ProbeSide::second) {
      links.push_back(std::make_unique<PeerLink>(meeting_.door[0], meeting_.pass, number, timeout));
      return;
    }
    for (int r = 0; r < static_cast<int>(meeting_.members.size()); ++r) {
      if (r == self || !m.concerns(r)) continue;
      const Member& other = meeting_.members[static_cast<std::size_t>(r)];
      links.push_back(
          std::make_unique<PeerLink>(other.address, other.port, options_.bind, meeting_.pass, number, timeout));
    }
  }

  ProbeBackend& backend_of(const std::string& name) {
    for (OwnBackend& b : backends_)
      if (b.name == name) return *b.backend;
    throw ProbeFailure(fmt::format("rank {} has no backend {}", options_.place.rank, name));
  }

  /// The first side orders a round, and collects samples from the side that has them.
  static std::vector<Seconds> lead(ProbeTrial& trial, const Links& links, int repeats) {
    for (const auto& link : links) link->tell(std::to_string(repeats));
    std::vector<Seconds> samples = trial.run(repeats);
    for (const auto& link : links) {
      const auto theirs = read_samples(link->hear());
      if (samples.empty()) samples = theirs;
    }
    return samples;
  }

  void follow(ProbeTrial& trial, PeerLink& link, Seconds share) const {
    while (true) {
      // The first side may still be in a round with other ranks.
      const std::string line = link.hear(share.value + 3 * options_.timeout.value);
      if (line == "end") return;
      const std::optional<int> repeats = small_number(line);
      if (!repeats || *repeats < 1) throw ProbeFailure("the other rank sent no number of repeats");
      link.tell(samples_text(trial.run(*repeats)));
    }
  }

  const SessionOptions& options_;
  std::vector<OwnBackend>& backends_;
  Meeting& meeting_;
};

/// Other ranks: follow the orders of rank 0 until it ends the session.
void serve(const SessionOptions& options, std::vector<OwnBackend>& backends, Meeting& meeting) {
  Rank self(options, backends, meeting);
  Wire& zero = meeting.wires[0];
  const auto gone = [&](const std::string& why) {
    return Unavailable(fmt::format("rank 0 on {} {}", meeting.members[0].host, why));
  };
  try {
    while (true) {
      const Order order = read_order(zero.receive(probe::Deadline::max()), options.place.ranks);
      if (order.ends) {
        if (!order.reason.empty()) throw Unavailable("rank 0 ended the session: " + order.reason);
        return;
      }
      const SampleSet set = self.measure(order.measurement, order.number, order.share);
      zero.send(report_text({set.samples, set.error, set.how}), probe::after(options.timeout.value));
    }
  } catch (const SocketError& e) { throw gone(fmt::format("is gone: {}", e.what())); } catch (const ProbeFailure& e) {
    throw gone(fmt::format("is not a fabricast probe: {}", e.what()));
  }
}

/// Rank 0.
class Leader {
 public:
  Leader(const SessionOptions& options, std::vector<OwnBackend>& backends, Meeting& meeting)
      : options_(options), backends_(backends), meeting_(meeting), self_(options, backends, meeting) {}

  SessionOutcome run() {
    std::vector<Measurement> plan = make_plan();
    SessionOutcome outcome;
    outcome.planned = plan.size();
    std::erase_if(plan, options_.is_known);
    outcome.known = outcome.planned - plan.size();
    options_.on_plan(plan);
    if (options_.dry_run) return outcome;
    std::vector<std::string> provenance;
    for (const Member& m : meeting_.members) provenance.push_back(m.provenance);
    options_.on_start(provenance);
    const Seconds end = steady_now() + options_.budget;
    for (std::size_t i = 0; i < plan.size(); ++i) {
      stop_if_requested();
      const Seconds left = end - steady_now();
      if (left <= Seconds{}) {
        outcome.left_out = plan.size() - i;
        break;
      }
      const SampleSet set = measure(plan[i], static_cast<int>(i), share_of(plan, i, left));
      ++(set.error.empty() ? outcome.measured : outcome.failed);
      options_.on_result(plan[i], set);
    }
    return outcome;
  }

  /// Ends the session on all ranks.
  /// \param reason  why; empty: all measurements are done
  void end(const std::string& reason) {
    for (std::size_t r = 1; r < meeting_.wires.size(); ++r) {
      try {
        Order end;
        end.ends = true;
        end.reason = reason;
        meeting_.wires[r].send(order_text(end), probe::after(1));
      } catch (const std::exception&) {
        // The rank is gone already.
      }
    }
  }

 private:
  /// The shuffled plan of all backends. Why a backend cannot measure is a note, or an error if none can.
  std::vector<Measurement> make_plan() {
    std::vector<Measurement> plan;
    std::vector<std::string> notes;
    for (std::size_t b = 0; b < backends_.size(); ++b) {
      std::vector<BackendFacts> facts;
      std::map<std::string, int> missing;
      for (const Member& m : meeting_.members) {
        const BackendFacts* there = facts_of(m, backends_[b].name);
        facts.push_back(there ? *there : BackendFacts{backends_[b].name, "not requested", {}});
        if (!facts.back().unavailable.empty()) ++missing[facts.back().unavailable];
      }
      std::vector<Measurement> part;
      try {
        part = backends_[b].backend->plan(options_.settings, facts);
      } catch (const ProbeFailure& e) { missing[e.what()] = 0; }
      if (part.empty() && missing.empty())
        missing[fmt::format(
            "nothing to measure with {}: start two or more with mpirun, srun or torchrun, or with --rank "
            "and --ranks",
            counted(facts.size(), "rank"))] = 0;
      for (const auto& [reason, count] : missing) {
        const std::string where =
            count > 0 && facts.size() > 1 ? fmt::format(" ({} of {} ranks)", count, facts.size()) : "";
        notes.push_back(fmt::format("{}: {}{}", backends_[b].name, reason, where));
      }
      plan.insert(plan.end(), part.begin(), part.end());
    }
    if (plan.empty()) throw Unavailable(fmt::format("no backend can measure here\n  {}", fmt::join(notes, "\n  ")));
    for (const std::string& note : notes) options_.on_note(note);
    shuffle_plan(plan, options_.seed);
    return plan;
  }

  static const BackendFacts* facts_of(const Member& member, const std::string& backend) {
    for (const BackendFacts& f : member.backends)
      if (f.backend == backend) return &f;
    return nullptr;
  }

  /// Orders a measurement, takes part in it if it concerns rank 0, and collects the results.
  SampleSet measure(const Measurement& m, int number, Seconds share) {
    // Notices ranks that were lost, also those that do not take part.
    for (std::size_t r = 1; r < meeting_.wires.size(); ++r)
      with_rank(static_cast<int>(r), [&](Wire& wire) { wire.ready(); });
    const std::string order = order_text({false, {}, m, number, share});
    for (const int r : others(m))
      with_rank(r, [&](Wire& wire) { wire.send(order, probe::after(options_.timeout.value)); });
    SampleSet set;
    std::map<int, std::string> errors;
    if (m.concerns(0)) {
      const SampleSet own = self_.measure(m, number, share);
      errors[0] = own.error;
      if (m.leader() == 0) set = own;
    }
    collect(m, share, set, errors);
    set.error = errors.size() == 1 ? errors.begin()->second : all_of(errors);
    return set;
  }

  /// The ranks that take part, without rank 0.
  std::vector<int> others(const Measurement& m) const {
    std::vector<int> ranks;
    for (int r = 1; r < static_cast<int>(meeting_.members.size()); ++r)
      if (m.concerns(r)) ranks.push_back(r);
    return ranks;
  }

  /// Collects the reports of the other ranks. If rank 0 took part and is done, the others must be done soon.
  void collect(const Measurement& m, Seconds share, SampleSet& set, std::map<int, std::string>& errors) {
    double patience = share.value + 5 * options_.timeout.value;
    if (m.concerns(0)) patience = 2 * options_.timeout.value;
    const probe::Deadline deadline = probe::after(patience);
    for (const int r : others(m)) {
      with_rank(r, [&](Wire& wire) {
        const RankReport report = read_report(wire.receive(deadline));
        errors[r] = report.error;
        if (r != m.leader()) return;
        set = summarise(report.samples);
        set.how = report.how;
      });
    }
  }

  /// All errors by rank. Ranks that only repeat the failure of another rank are left out.
  static std::string all_of(const std::map<int, std::string>& errors) {
    std::string text;
    for (const auto& [rank, error] : errors)
      if (!error.empty() && !error.starts_with(of_other))
        text += fmt::format("{}rank {}: {}", text.empty() ? "" : "; ", rank, error);
    if (text.empty())
      for (const auto& [rank, error] : errors) text = std::max(text, error);
    return text;
  }

  /// Calls `f` with the connection to a rank. Its failure ends the session.
  template <class F>
  auto with_rank(int rank, F f) -> decltype(f(std::declval<Wire&>())) {
    try {
      return f(meeting_.wires[static_cast<std::size_t>(rank)]);
    } catch (const SocketError& e) {
      throw Unavailable(fmt::format("rank {} on {} is gone: {}", rank, host_of(rank), e.what()));
    } catch (const ProbeFailure&) {
      throw Unavailable(fmt::format("rank {} on {} sent a malformed message", rank, host_of(rank)));
    }
  }

  const std::string& host_of(int rank) const { return meeting_.members[static_cast<std::size_t>(rank)].host; }

  const SessionOptions& options_;
  std::vector<OwnBackend>& backends_;
  Meeting& meeting_;
  Rank self_;
};

/// Sets the ports of this rank, limited to the devices that the user has named.
void offer_ports(BackendFacts& facts, ProbeBackend& backend, const std::vector<std::string>& devices) {
  try {
    facts.ports = backend.ports();
  } catch (const ProbeFailure& e) { facts.unavailable = e.what(); }
  if (facts.ports.empty() || devices.empty()) return;
  std::erase_if(facts.ports, [&](const ProbePort& port) {
    return std::none_of(devices.begin(), devices.end(), [&](const std::string& device) {
      return port.name == device || port.name.substr(0, port.name.rfind('/')) == device;
    });
  });
  if (facts.ports.empty()) facts.unavailable = fmt::format("no port is called {}", fmt::join(devices, " or "));
}

}  // namespace

SessionOutcome run_probe_session(const std::vector<ProbeBackendEntry>& entries, const SessionOptions& options) {
  std::vector<OwnBackend> backends;
  Member self;
  self.host = host_name();
  self.provenance = options.provenance;
  for (const ProbeBackendEntry& e : entries) {
    backends.push_back({std::string(e.name), e.make()});
    BackendFacts facts{std::string(e.name), backends.back().backend->unavailable(), {}};
    if (facts.unavailable.empty()) offer_ports(facts, *backends.back().backend, options.settings.devices);
    self.backends.push_back(std::move(facts));
  }
  Meeting meeting = meet(options, self);
  if (options.place.rank != 0) return serve(options, backends, meeting), SessionOutcome{};
  Leader leader(options, backends, meeting);
  try {
    const SessionOutcome outcome = leader.run();
    leader.end({});
    return outcome;
  } catch (const std::exception& e) {
    leader.end(e.what());
    throw;
  }
}

}  // namespace fabricast
