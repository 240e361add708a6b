// `calibrate probe`: options, files and progress. The measurements are in calibrate/probe.
//
// One process per rank runs this verb; they find each other by the variables of a launcher or by options. Rank 0 writes
// the results, one line of JSON each, so that an interrupted session keeps what it measured.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <set>

#include "commands.hpp"
#include "fabricast/calibrate/probe_session.hpp"
#include "fabricast/collective/collective.hpp"
#include "fabricast/core/file.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/core/text.hpp"
#include "options.hpp"
#include "stop.hpp"

namespace fabricast {

namespace {

// As a value, so that the functions that read it can be tested.
std::map<std::string, std::string> environment() {
  std::map<std::string, std::string> variables;
  for (char** e = environ; *e; ++e) {
    const std::string text = *e;
    if (const std::size_t equals = text.find('='); equals != std::string::npos)
      variables[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return variables;
}

std::vector<std::string> list_of(const Options& options, const std::string& name) {
  if (!options.has(name)) return {};
  const std::string text = options.text(name);
  std::vector<std::string> words = split(text, ',');
  for (const std::string& word : words)
    if (word.empty()) throw UserError(fmt::format("--{} '{}' has an empty element", name, text));
  return words;
}

std::vector<ProbeBackendEntry> chosen_backends(const Options& options) {
  if (!options.has("backend")) return probe_backends();
  std::vector<ProbeBackendEntry> chosen;
  for (const std::string& word : list_of(options, "backend")) {
    const ProbeBackendEntry* entry = find_by_name(probe_backends(), word);
    if (!entry)
      throw UserError(fmt::format("--backend: unknown backend '{}'", word),
                      suggestion(word, names_of(probe_backends())));
    if (find_by_name(chosen, word)) throw UserError(fmt::format("--backend: '{}' is listed twice", word));
    chosen.push_back(*entry);
  }
  return chosen;
}

/// The words of an option, which must be known.
std::vector<std::string> words_of(const Options& options, const std::string& name,
                                  const std::vector<std::string_view>& known) {
  std::vector<std::string> words = list_of(options, name);
  for (const std::string& word : words)
    if (std::find(known.begin(), known.end(), word) == known.end())
      throw UserError(fmt::format("--{}: unknown value '{}'", name, word), suggestion(word, known));
  return words;
}

// Bounded, so that a typing error does not ask for a million connections.
std::vector<int> counts_of(const Options& options, const std::string& name, int most) {
  std::vector<int> counts;
  for (const std::string& word : list_of(options, name)) {
    const auto count = parse_integer(word);
    if (!count || count.value < 1 || count.value > most)
      throw UserError(fmt::format("--{} '{}' is not a whole number between 1 and {}", name, word, most));
    counts.push_back(static_cast<int>(count.value));
  }
  return counts;
}

/// Adds the settings of the NCCL backend, which forces each of them on a separate communicator.
void add_nccl_settings(ProbeSettings& settings, const Options& options) {
  const auto first = [](const auto& names, std::size_t count) {
    return std::vector<std::string_view>(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(count));
  };
  constexpr auto& operations = EnumNames<CollectiveOp>::names;
  // All but scatter and gather, and `send`, which is between two GPUs instead of all.
  std::vector<std::string_view> collectives = first(operations, static_cast<std::size_t>(CollectiveOp::sendrecv) + 1);
  collectives.emplace_back("send");
  settings.collectives = words_of(options, "collective", collectives);
  settings.algorithms = words_of(options, "algorithm", first(EnumNames<Algorithm>::names, algorithm_count));
  settings.protocols = words_of(options, "protocol", first(EnumNames<Protocol>::names, 3));
  settings.channels = counts_of(options, "channels", 64);
}

ProbeSettings settings_of(const Options& options, const std::map<std::string, std::string>& variables) {
  constexpr Bytes largest{1 << 30};
  ProbeSettings settings;
  for (const std::string& word : list_of(options, "size")) {
    const auto size = parse_bytes(word);
    if (!size) throw UserError("--size " + size.error, size.hint);
    if (size.value < Bytes{1} || size.value > largest)
      throw UserError(fmt::format("--size '{}' is out of range", word), "between 1B and 1GiB");
    settings.sizes.push_back(size.value);
  }
  settings.connections = counts_of(options, "connections", 1024);
  settings.memories = words_of(options, "memory", {"host", "gpu"});
  add_nccl_settings(settings, options);
  settings.gid = options.integer("gid", -1, 0, 255);
  settings.devices = list_of(options, "device");
  // NCCL's variables first: a probe should use the traffic class and service level of the jobs that it explains.
  // Options override them.
  settings.rdma = rdma_settings_from(variables);
  settings.rdma.traffic_class = options.integer("traffic-class", settings.rdma.traffic_class, 0, 255);
  settings.rdma.service_level = options.integer("service-level", settings.rdma.service_level, 0, 15);
  settings.rdma.partition = options.integer("partition", settings.rdma.partition, 0, 65535);
  settings.rdma.relaxed_ordering = options.integer("relaxed-ordering", settings.rdma.relaxed_ordering, 0, 2);
  return settings;
}

Seconds duration(const Options& options, const std::string& name, const char* otherwise) {
  const std::string text = options.text(name, otherwise);
  const auto time = parse_seconds(text);
  if (!time) throw UserError(fmt::format("--{} {}", name, time.error), time.hint);
  if (time.value < Seconds{0.01} || time.value > Seconds{1e6})
    throw UserError(fmt::format("--{} '{}' is out of range", name, text), "between 10ms and 1000000s");
  return time.value;
}

ProbePlace place_of(const Options& options, const std::map<std::string, std::string>& variables) {
  // Ranks from the command line replace those of a launcher.
  if (!options.has("ranks") && options.has("rank")) throw UserError("--rank needs --ranks", "e.g. --rank 0 --ranks 2");
  if (!options.has("ranks")) {
    auto with_master = variables;
    // The launcher's address is replaced, and must not be an error before.
    if (options.has("master")) with_master["MASTER_ADDR"] = "";
    ProbePlace place = place_from(with_master);
    if (options.has("master")) set_master(place, options.text("master"));
    return place;
  }
  ProbePlace place = place_from({});
  place.source = "--ranks";
  place.ranks = options.integer("ranks", 1, 1, 1 << 20);
  if (place.ranks > 1 && !options.has("rank")) throw UserError("--ranks needs --rank", "e.g. --rank 0 --ranks 2");
  place.rank = options.integer("rank", 0, 0, place.ranks - 1);
  if (options.has("master"))
    set_master(place, options.text("master"));
  else if (place.ranks > 1)
    throw UserError("--ranks needs --master", "give --master HOST:PORT, the address of rank 0, on all ranks");
  return place;
}

/// The file of results. Each result is one line, written at once, so that an interrupted file can be resumed.
class Output {
 public:
  Output(std::string path, bool resume) : path_(std::move(path)) {
    if (path_ == "-") return;
    const bool exists = std::filesystem::exists(path_);
    // Measurements may be the only ones of a window of maintenance, so they are never overwritten.
    if (exists && !resume)
      throw UserError(fmt::format("'{}' already exists", path_), "--resume continues it; or give another --output");
    if (exists) earlier_ = read_earlier(read_file(path_), path_);
    if (!exists) check_writable(path_);
    known_ = {earlier_.keys.begin(), earlier_.keys.end()};
  }
  ~Output() {
    if (file_) std::fclose(file_);
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  bool has(const std::string& key) const { return known_.contains(key); }

  void begin(const std::vector<std::string>& hosts, const std::string& provenance) {
    // Rows of one file are of one set of ranks; its provenance line names them.
    if (!earlier_.hosts.empty() && earlier_.hosts != hosts)
      throw UserError(fmt::format("'{}' was measured on other hosts or with other ranks", path_),
                      "give another --output");
    if (path_ != "-") {
      // A line that an interruption cut off is removed before new ones follow.
      if (earlier_.whole > 0) std::filesystem::resize_file(path_, earlier_.whole);
      file_ = std::fopen(path_.c_str(), earlier_.whole > 0 ? "ab" : "wb");
      if (!file_) throw UserError(fmt::format("cannot write '{}': {}", path_, system_reason(errno)));
    }
    write(provenance);
  }

  void write(const std::string& line) {
    if (!file_) return emit("-", line);
    // Ctrl-C waits for the end of the line.
    const HeldStop whole;
    if (std::fwrite(line.data(), 1, line.size(), file_) != line.size() || std::fflush(file_) != 0)
      throw UserError(fmt::format("cannot write '{}': {}", path_, system_reason(errno)));
  }

  bool on_stdout() const { return path_ == "-"; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  EarlierResults earlier_;
  std::set<std::string> known_;
  std::FILE* file_ = nullptr;
};

std::string in_words(const Measurement& m, const SampleSet& set) {
  std::string text = fmt::format("{:<60}", m.key());
  if (set.samples.empty()) return text + " failed: " + set.error + "\n";
  const auto rate = [&](Seconds time) { return gigabytes_per_second(m.bytes / time); };
  if (m.gpus > 0)
    text += fmt::format(" {:>9.4g} us, busbw {:.4g} GB/s", microseconds(set.median), rate(set.median) * m.bus_factor);
  else
    text += m.stream ? fmt::format(" {:>9.4g} GB/s ({:.4g} to {:.4g})", rate(set.median), rate(set.high), rate(set.low))
                     : fmt::format(" {:>9.4g} us ({:.4g} to {:.4g})", microseconds(set.median), microseconds(set.low),
                                   microseconds(set.high));
  return text +
         fmt::format(" {} samples{}\n", set.samples.size(), set.error.empty() ? "" : ", then failed: " + set.error);
}

void add_options(Options& options) {
  options.add()("backend", takes("NAME,..."), "backends to use, e.g. tcp,verbs (default: all that can run)")(
      "size", takes("SIZE,..."), "message sizes, e.g. 8B,64KiB,1MiB (default: by kind of measurement)")(
      "connections", takes("N,..."), "connections or queue pairs of a stream, e.g. 1,4,16 (default: 1,4)")(
      "device", takes("NAME,..."),
      "devices, ports or GPUs of this rank to use, e.g. mlx5_0,mlx5_1/1,gpu0 (default: all)")(
      "memory", takes("NAME,..."), "for verbs: memory of the data, host or gpu (default: both)")(
      "collective", takes("NAME,..."),
      "for nccl: collectives, e.g. all_reduce,send; send is between pairs of GPUs (default: all)")(
      "algorithm", takes("NAME,..."), "for nccl: algorithms to force, e.g. ring,tree (default: NCCL's choice)")(
      "protocol", takes("NAME,..."), "for nccl: protocols to force, e.g. ll,simple (default: NCCL's choice)")(
      "channels", takes("N,..."), "for nccl: numbers of channels to force, e.g. 1,4,16 (default: NCCL's choice)")(
      "gid", takes("N"), "for verbs: GID index (default: RoCE v2 over IPv4 if there is one)")(
      "traffic-class", takes("N"), "for verbs: traffic class of RoCE packets, 0 to 255 (default: NCCL_IB_TC, or 0)")(
      "service-level", takes("N"), "for verbs: service level, 0 to 15 (default: NCCL_IB_SL, or 0)")(
      "partition", takes("N"), "for verbs: index of the partition key (default: NCCL_IB_PKEY, or 0)")(
      "relaxed-ordering", takes("N"),
      "for verbs: relaxed ordering of PCIe writes: 0 off, 1 on, 2 if the library supports it (default: "
      "NCCL_IB_PCI_RELAXED_ORDERING, or 2)")("dry-run",
                                             "print the measurements, their time and their traffic, and stop")(
      "budget", takes("TIME"), "time for all measurements, e.g. 10s (default: 60s)")(
      "seed", takes("N"), "seed of the order of measurements (default: 1)")(
      "output", takes("FILE"), "JSONL file of results; - is standard output (default)")(
      "resume", "skip what the output file already has, and append to it")(
      "rank", takes("N"), "number of this process, from 0 (default: from torchrun, Open MPI, Slurm or PMIx)")(
      "ranks", takes("N"), "number of processes")(
      "master", takes("HOST:PORT"), "address where rank 0 listens (default: MASTER_ADDR and MASTER_PORT)")(
      "bind", takes("ADDRESS"), "local address to listen on and to connect from")(
      "token", takes("TEXT"), "secret that all ranks share (default: FABRICAST_TOKEN)")(
      "timeout", takes("TIME"), "time to wait for a rank that does not respond (default: 30s)");
}

}  // namespace

int probe_verb(const std::vector<std::string>& arguments) {
  Options options(
      "calibrate probe",
      "Measures GPUs and the network between ranks: copies, NCCL collectives, RDMA, sockets. Start it once per "
      "rank with mpirun, srun or torchrun, or give --rank, --ranks and --master.",
      {});
  options.example("mpirun -np 2 -N 1 fabricast calibrate probe --output probe.jsonl");
  options.example("fabricast calibrate probe --backend tcp --dry-run");
  add_options(options);
  if (!options.parse(arguments)) return 0;
  const auto variables = environment();
  SessionOptions session;
  session.place = place_of(options, variables);
  session.bind = options.text("bind");
  const auto token = variables.find("FABRICAST_TOKEN");
  session.token = options.text("token", token == variables.end() ? "" : token->second);
  session.version = version_text();
  session.timeout = duration(options, "timeout", "30s");
  session.budget = duration(options, "budget", "60s");
  session.seed = static_cast<std::uint64_t>(options.integer("seed", 1, 0, 2147483647));
  session.settings = settings_of(options, variables);
  session.dry_run = options.has("dry-run");
  session.provenance = host_provenance(variables, session.settings.rdma);
  const std::vector<ProbeBackendEntry> backends = chosen_backends(options);
  if (options.has("resume") && options.text("output", "-") == "-")
    throw UserError("--resume needs --output", "e.g. --output probe.jsonl");
  // Other ranks measure, but write nothing.
  const bool leads = session.place.rank == 0;
  Output output(leads && !session.dry_run ? options.text("output", "-") : "-", options.has("resume"));

  std::size_t planned = 0, done = 0;
  const auto progress = progress_bar();
  session.is_known = [&](const Measurement& m) { return output.has(m.key()); };
  session.on_note = [](const std::string& note) { fmt::print(stderr, "note: {}\n", note); };
  session.on_plan = [&](const std::vector<Measurement>& plan) {
    planned = plan.size();
    if (session.dry_run)
      emit("-", plan_text(plan, session.budget));
    else
      std::fputs(plan_text(plan, session.budget).c_str(), stderr);
  };
  session.on_start = [&](const std::vector<std::string>& ranks) {
    std::vector<std::string> command{"fabricast", "calibrate", "probe"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const std::string time = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
    output.begin(hosts_of(ranks), provenance_line(session.version, command, session.seed, time, ranks));
  };
  session.on_result = [&](const Measurement& m, const SampleSet& set) {
    output.write(result_line(m, set));
    if (!output.on_stdout()) emit("-", in_words(m, set));
    ++done;
    if (progress) progress(static_cast<double>(done) / static_cast<double>(planned));
  };
  try {
    const SessionOutcome outcome = run_probe_session(backends, session);
    if (!leads || session.dry_run) return 0;
    fmt::print(stderr, "{} measured, {} failed, {} already known, {} skipped for lack of time\n", outcome.measured,
               outcome.failed, outcome.known, outcome.left_out);
    // Single failed measurements are results; a session in which all fail is not.
    return outcome.measured == 0 && outcome.failed > 0 ? 1 : 0;
  } catch (const Interrupted&) {
    if (leads && !output.on_stdout())
      fmt::print(stderr, "{} of {} results are in {}; --resume continues\n", done, planned, output.path());
    throw;
  }
}

}  // namespace fabricast
