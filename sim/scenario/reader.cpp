// From a file to a Scenario: defaults that depend on the hardware, files that the scenario names, and checks across
// sections.
//
//    1  text -> YAML; the section of a study and short forms are set apart or written out
//    2  hardware: the shipped data, overlaid by profiles, and the topology file that `node` names
//    3  `node` alone, since defaults of other sections (fabric, routing, NCCL's version) depend on it
//    4  all fields, in the order of visit_fields; unknown keys
//    5  checks across sections, and the files that sections name; faults of all steps are collected
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "check_faults.hpp"
#include "fabricast/core/file.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/hardware/device_names.hpp"
#include "fabricast/planner/graph_file.hpp"
#include "fabricast/planner/nccl.hpp"
#include "fabricast/routing/routing.hpp"
#include "fabricast/scenario/allocation.hpp"
#include "fabricast/scenario/scenario.hpp"
#include "fabricast/scenario/traffic_classes.hpp"
#include "fabricast/scenario/unstated.hpp"
#include "job_hosts.hpp"
#include "named_file.hpp"
#include "read_fabric.hpp"
#include "request_trace.hpp"
#include "tuner_file.hpp"
#include "usual_routing.hpp"
#include "yaml_reader.hpp"

namespace fabricast {

namespace {

std::size_t index_of(std::span<const std::string_view> names, std::string_view name) {
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

class Reading {
 public:
  Reading(const std::string& text, std::string path, const std::vector<std::string>& overrides)
      : path_(std::move(path)) {
    std::vector<Diagnostic> faults;
    std::vector<Override> list = split_overrides(overrides, faults);
    if (!faults.empty()) throw UserError(std::move(faults));
    root_ = parse_yaml(text, path_, "start with `fabricast: 1`");
    // On the tree, before any field is read: a study's axes name keys, which the reader would report as unknown, and a
    // list as placement is no word.
    set_study_apart();
    move_placement_list();
    move_placement_list(list);
    overrides_ = list;
    replace_sizes();
    reader_.emplace(root_, path_, std::move(list));
  }

  ReadResult read() {
    Scenario& s = result_.scenario;
    s.file = path_;
    static const Shared<Hardware> shipped(shipped_hardware());
    s.hardware = shipped;
    // In the order of dependence. A profile changes parameters of which nodes are made; a topology file changes the
    // node; a model file gives dimensions that keys of `model` override.
    guarded([&] { overlay_profiles(s); });
    guarded([&] { read_topology_file(s); });
    read_node(s);
    guarded([&] { read_model_config(s); });
    guarded([&] { visit_fields(*reader_, s); });
    reader_->finish();
    if (!reader_->given("fabricast"))
      reader_->add(at("fabricast", "the format version is missing", "start with `fabricast: 1`"));
    if (!reader_->given("node")) reader_->add(at("node", "the section is missing", "e.g. node: {gpu: h100-sxm}"));
    if (!reader_->given("cluster")) reader_->add(at("cluster", "the section is missing", "e.g. cluster: {nodes: 16}"));
    if (!reader_->given("workload"))
      reader_->add(at("workload", "the section is missing", "e.g. workload: {collective: all_reduce}"));
    if (!reader_->failed()) guarded([&] { check(s); });
    if (reader_->failed()) throw UserError(reader_->take_diagnostics());
    s.node.hardware = nullptr;  // a Scenario is a value and must not point into itself
    s.node.layout = nullptr;
    s.unstated = unstated_keys(s);
    s.places = reader_->places();
    return std::move(result_);
  }

 private:
  /// Defaults of other sections depend on the node, so the node is read first. If it names something unknown, the rest
  /// of the file is read with the default node, so that one run reports all errors.
  void read_node(Scenario& s) {
    s.node.spec = default_node(s.hardware, "", "");
    // A reader of its own, whose errors are dropped: the main reader reads the section again and reports them once.
    YamlReader ahead(root_, path_, overrides_);
    try {
      s.node.hardware = &*s.hardware;
      ahead("node", s.node, "");
    } catch (const UserError& e) {
      for (Diagnostic d : e.diagnostics()) {
        d.where = ahead.place(d.path);
        reader_->add(std::move(d));
      }
      s.node.hardware = nullptr;
      s.node.spec = default_node(s.hardware, "", "");
    }
    set_defaults(s);
  }

  static Diagnostic at(std::string path, std::string message, std::string hint) {
    return {Diagnostic::Severity::error, {}, std::move(path), std::move(message), std::move(hint)};
  }

  /// Runs `f` and collects its errors, which get their position in the file later.
  template <class F>
  void guarded(F f) {
    try {
      f();
    } catch (const UserError& e) {
      for (const Diagnostic& d : e.diagnostics()) reader_->add(d);
    }
  }

  /// The axes of a study are not part of the scenario (scenario/study.hpp).
  void set_study_apart() {
    for (const auto& section : root_) {
      if (!section.first.IsScalar() || section.first.Scalar() != "sweep") continue;
      const YAML::Mark mark = section.first.Mark();
      result_.warnings.push_back({Diagnostic::Severity::warning,
                                  {path_, mark.line + 1, mark.column + 1, 5},
                                  "sweep",
                                  "is only for `fabricast plan`, and is ignored here",
                                  {}});
    }
    root_.remove("sweep");
    root_.remove("objective");
  }

  /// `placement: [3, 1, 2]` is a short form of `placement: list` and `order: [3, 1, 2]`.
  void move_placement_list() {
    move_placement_list(root_["cluster"]);
    const YAML::Node jobs = std::as_const(root_)["jobs"];
    if (jobs.IsDefined() && jobs.IsSequence())
      for (std::size_t i = 0; i < jobs.size(); ++i) move_placement_list(jobs[i]);
  }
  static void move_placement_list(YAML::Node of) {
    if (!of.IsMap()) return;
    const YAML::Node placement = std::as_const(of)["placement"];
    if (!placement.IsDefined() || !placement.IsSequence()) return;
    of["order"] = placement;
    of["placement"] = YAML::Node("list");
  }
  static void move_placement_list(std::vector<Override>& list) {
    constexpr std::string_view key = "placement";
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string path = list[i].path;
      const bool of_job = path.starts_with("jobs[") && path.ends_with("].placement");
      if ((path == "cluster.placement" || of_job) && list[i].value.starts_with('[')) {
        list.push_back({path.substr(0, path.size() - key.size()) + "order", list[i].value});
        list[i].value = "list";
      }
    }
  }

  /// `--set workload.sizes` replaces the range of sizes that the file gives, and a range replaces its sizes. Both in one
  /// file, or both in options, stay an error.
  void replace_sizes() {
    YAML::Node workload = root_["workload"];
    if (!workload.IsMap()) return;
    const auto set = [&](std::string_view key) {
      return std::any_of(overrides_.begin(), overrides_.end(),
                         [&](const Override& o) { return o.path == fmt::format("workload.{}", key); });
    };
    const bool sizes = set("sizes"), range = set("from") || set("to") || set("factor");
    if (sizes == range) return;
    if (range) workload.remove("sizes");
    if (sizes)
      for (const char* key : {"from", "to", "factor"}) workload.remove(key);
  }

  /// The text at a path, before fields are read: their defaults depend on it.
  std::string early(std::initializer_list<const char*> keys) const {
    YAML::Node node;
    node.reset(root_);
    std::string path;
    bool there = true;
    for (const char* key : keys) {
      path += (path.empty() ? "" : ".") + std::string(key);
      const YAML::Node next = there && node.IsMap() ? std::as_const(node)[key] : YAML::Node(YAML::NodeType::Undefined);
      there = next.IsDefined();
      if (there) node.reset(next);
    }
    std::string text = there && node.IsScalar() ? node.Scalar() : std::string();
    for (const Override& o : overrides_)
      if (o.path == path) text = o.value;
    return text;
  }

  /// Reads the file of `node.topology`, or of NCCL_TOPO_FILE, which is the same setting as a variable of NCCL.
  void read_topology_file(Scenario& s) {
    topology_ = early({"node", "topology"});
    topology_env_ = early({"nccl", "env", "NCCL_TOPO_FILE"});
    if (topology_.empty() && topology_env_.empty()) return;
    if (!topology_.empty() && !topology_env_.empty() && beside(path_, topology_) != beside(path_, topology_env_))
      throw UserError::at("nccl.env.NCCL_TOPO_FILE", "names a different file than node.topology", "give one of them");
    const bool own = !topology_.empty();
    const std::string file = beside(path_, own ? topology_ : topology_env_);
    layout_ = read_topology(read_named(own ? "node.topology" : "nccl.env.NCCL_TOPO_FILE", file), file);
    s.node.layout = &*layout_;
  }

  /// `workload.model.config`: the dimensions of a Hugging Face model, which other keys of `model` override.
  void read_model_config(Scenario& s) {
    const std::string config = early({"workload", "model", "config"});
    if (config.empty()) return;
    const std::string file = beside(path_, config);
    const auto imported = read_hugging_face(read_named("workload.model.config", file), file);
    s.workload.training.model.imported = s.workload.inference.model.imported = imported;
  }

  /// `workload.load.file`: requests with their own arrival times.
  void read_requests(LoadSpec& load) {
    if (load.file.empty()) return;
    load.file = beside(path_, load.file);
    load.trace = read_request_trace(read_named("workload.load.file", load.file), load.file);
  }

  void read_graph_file(Scenario& s) {
    const auto it = s.nccl.env.find("NCCL_GRAPH_FILE");
    if (it == s.nccl.env.end() || it->second.empty()) return;
    const std::string file = beside(path_, it->second);
    s.nccl.graphs = read_graphs(read_named("nccl.env.NCCL_GRAPH_FILE", file), file);
  }

  // `early` sees overrides of single keys only. `--set node={...}` may set the file without it, and then the node would
  // have been made without it.
  void check_topology(const Scenario& s) {
    const auto env = s.nccl.env.find("NCCL_TOPO_FILE");
    if (s.node.spec.topology != topology_ || (env == s.nccl.env.end() ? std::string() : env->second) != topology_env_)
      reader_->add(at("node.topology", "--set sets the file together with other keys, which is not supported",
                      "use --set node.topology=FILE or --set nccl.env.NCCL_TOPO_FILE=FILE"));
    for (Diagnostic d : contradictions(s.node.spec, s.hardware)) reader_->add(std::move(d));
  }

  void overlay_profiles(Scenario& s) {
    const auto overlay = [&](const char* key, const std::string& profile) {
      const std::string file = beside(path_, profile);
      overlay_profile(s.hardware.change(), read_named(key, file), file);
    };
    const std::string of_node = early({"node", "profile"}), own = early({"profile"});
    if (of_node.ends_with(".json")) overlay("node.profile", of_node);
    if (!own.empty()) overlay("profile", own);
  }

  // Defaults that depend on the node. Switches as fast as its NICs, the NCCL that machines with such GPUs usually run,
  // rails if there is a NIC per GPU.
  void set_defaults(Scenario& s) {
    const NodeSpec& node = s.node.spec;
    const auto link = s.hardware->link_type(node.nics.link, node.nics.rate);
    s.fabric.basics.switch_box.rate = node.nics.rate;
    s.fabric.basics.switch_box.latency = link.latency.us();
    s.nccl.version = to_text(usual_version(s.hardware->gpus.find(node.gpu)->second.compute_capability));
    if (const NodePreset* preset = find_node(s.hardware, node.profile)) s.nvlink_domain.nodes = preset->nvlink_domain;
    const bool rails = node.nics.count >= node.gpus && node.gpus > 1;
    s.fabric.kind = index_of(names_of(topologies()), rails ? "rail_optimized" : "fat_tree");
    s.routing.kind = index_of(names_of(routing_policies()), usual_routing(node.nics.link));
  }

  /// The keys of `open_keys` that nothing states. A named machine and a topology file state keys of the host, too.
  std::vector<std::string> unstated_keys(const Scenario& s) const {
    const NodePreset* preset = find_node(s.hardware, s.node.spec.profile);
    const bool host_known = preset != nullptr || !s.node.spec.topology.empty();
    const bool gdr_known = preset != nullptr && !preset->gdr.empty();
    std::vector<std::string> keys;
    for (const std::string_view key : open_keys) {
      const bool known = key == "nccl.version" ? s.nccl.version_given && nccl_versions(s).known()
                         : key == "node.gdr"   ? gdr_known || reader_->given("node.gdr")
                                               : host_known || reader_->given(std::string(key));
      if (!known || only_assumed(s, key)) keys.emplace_back(key);
    }
    return keys;
  }

  /// Whether the file lists a key in `assumed` and no `--set` states it.
  /// The effective scenario states every key. Its list `assumed` says which of these were not stated originally, so
  /// that its intervals are as wide as before.
  bool only_assumed(const Scenario& s, std::string_view key) const {
    const auto sets = [&](const Override& o) { return key == o.path || key.starts_with(o.path + "."); };
    return std::find(s.unstated.begin(), s.unstated.end(), key) != s.unstated.end() &&
           std::none_of(overrides_.begin(), overrides_.end(), sets);
  }

  // What is not a version is an error: the rules of another version would be a confident wrong answer. A release newer
  // than the known ones is a warning, because its rules are most likely those of the newest known.
  void check_version(Scenario& s) {
    const int capability = gpu_of(s).compute_capability;
    const auto versions = parse_nccl_versions(s.nccl.version, capability);
    s.nccl.version_given = versions && reader_->given("nccl.version") && !only_assumed(s, "nccl.version");
    if (!versions)
      return reader_->add(at("nccl.version", fmt::format("'{}' is not an NCCL version", s.nccl.version),
                             fmt::format("write e.g. \"2.28\", \"2.21.5\", \"2.18-2.21\" or unknown; the newest known "
                                         "version is {}",
                                         to_text(newest_nccl))));
    // Reports and the effective scenario show one form of a version.
    s.nccl.version = usual_form(s.nccl.version);
    if (versions->last.minor <= newest_nccl.minor) return;
    result_.warnings.push_back(
        at("nccl.version",
           fmt::format("'{}' is newer than the newest known version; the rules of {} are used", s.nccl.version,
                       to_text(newest_nccl)),
           fmt::format("newer versions may choose differently; \"{}\" means the same without a warning",
                       to_text(newest_nccl))));
    result_.warnings.back().severity = Diagnostic::Severity::warning;
  }

  void check(Scenario& s) {
    const auto refuse = [&](std::string path, std::string message, std::string hint = {}) {
      reader_->add(at(std::move(path), std::move(message), std::move(hint)));
    };
    check_version(s);
    for (std::size_t op = 0; op < s.measured.texts.size(); ++op)
      guarded([&] { (void)measured_values(s.measured, static_cast<CollectiveOp>(op)); });
    for (Diagnostic& doubt : doubts_about_gpu(s.hardware, early({"node", "gpu"})))
      result_.warnings.push_back(std::move(doubt));
    if (reader_->given("node.nics.rate"))
      for (Diagnostic& doubt : doubts_about_nics(s.hardware, s.node.spec.nics.rate))
        result_.warnings.push_back(std::move(doubt));
    if (s.workload.kind == WorkloadKind::trace)
      for (std::string* file : {&s.workload.trace.path, &s.workload.trace.file, &s.workload.trace.groups})
        if (!file->empty()) *file = beside(path_, *file);
    if (s.workload.kind == WorkloadKind::training_step)
      guarded([&] { complete(s.workload.training, s.hardware, std::int64_t{s.cluster.nodes} * s.node.spec.gpus); });
    if (s.workload.kind == WorkloadKind::inference) guarded([&] { read_requests(s.workload.inference.load); });
    if (s.workload.kind == WorkloadKind::inference)
      guarded([&] { complete(s.workload.inference, s.hardware, s.node.spec, s.cluster.nodes, s.nvlink_domain.nodes); });
    for (std::size_t i = 0; i < s.unstated.size(); ++i)
      if (std::find(open_keys.begin(), open_keys.end(), s.unstated[i]) == open_keys.end())
        refuse(fmt::format("assumed[{}]", i), fmt::format("'{}' cannot be assumed", s.unstated[i]),
               suggestion(s.unstated[i], open_keys));
    if (reader_->given("workload.sizes") && s.workload.sizes.empty()) refuse("workload.sizes", "the list is empty");
    if (s.workload.sizes.empty() && s.workload.from > s.workload.to)
      refuse("workload.from",
             fmt::format("{} is more than `to`, which is {}", to_text(s.workload.from), to_text(s.workload.to)));
    if (s.workload.sizes.empty() && s.sizes().size() > 10000)
      refuse("workload.factor", "gives more than 10000 sizes", "use a larger factor");
    if (reader_->given("workload.sizes") &&
        (reader_->given("workload.from") || reader_->given("workload.to") || reader_->given("workload.factor")))
      refuse("workload.sizes", "cannot be combined with from, to or factor", "give sizes, or from, to and factor");
    constexpr std::int64_t most_gpus = std::int64_t{1} << 22;
    if (const std::int64_t gpus = std::int64_t{s.cluster.nodes} * s.node.spec.gpus; gpus > most_gpus)
      refuse("cluster.nodes",
             fmt::format("{} nodes of {} GPUs are too many to simulate", s.cluster.nodes, s.node.spec.gpus),
             fmt::format("at most {} GPUs", most_gpus));
    check_domains(s, refuse);
    if (s.nvlink_domain.nodes > 1 && s.node.spec.intranode != Intranode::nvswitch)
      refuse("nvlink_domain.nodes", "an NVLink domain of several hosts needs `intranode: nvswitch`");
    check_topology(s);
    guarded([&] { read_graph_file(s); });
    guarded([&] { s.nccl.tuner = read_tuner_file(s.nccl.env, path_); });
    guarded([&] { read_fabric_files(s, *reader_, result_.warnings); });
    for (std::size_t i = 0; i < s.jobs.size(); ++i) check_job(s, i, refuse);
    for (std::size_t i = 0; i < s.background.size(); ++i) check_flows(s, i, refuse);
    if (!reader_->failed()) guarded([&] { check_placement(s, refuse); });
    for (std::size_t i = 1; i < s.site.cables.size(); ++i)
      if (s.site.cables[i].up_to <= s.site.cables[i - 1].up_to)
        refuse(fmt::format("site.cables[{}].up_to", i), "is not longer than that of the previous class",
               "list the shortest class first");
    if (s.site.cables.empty()) refuse("site.cables", "the list is empty");
    check_faults(
        s, [this](const std::string& key) { return reader_->given(key); }, refuse, result_.warnings);
    // For its warnings only: build_world parses the variables again, with those of the provider.
    (void)parse_nccl_environment(main_version(s), s.nccl.env, result_.warnings);
    check_classes(s, refuse, result_.warnings);
    for (Diagnostic& w : result_.warnings)
      if (w.where.file.empty()) w.where = reader_->place(w.path);
  }

  /// Names occur in tables and CSV, where they need no quotes.
  template <class Refuse>
  static void check_name(const std::string& name, const std::string& path, Refuse refuse) {
    if (name == "main") refuse(path + ".name", "'main' is the scenario's own job", "use another name");
    if (name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") !=
        std::string::npos)
      refuse(path + ".name", fmt::format("'{}' has characters other than letters, digits, _ . -", name));
  }

  template <class Refuse>
  void check_job(Scenario& s, std::size_t i, Refuse refuse) {
    JobSpec& job = s.jobs[i];
    const std::string path = fmt::format("jobs[{}]", i);
    if (job.name.empty()) job.name = fmt::format("job{}", i + 1);
    check_name(job.name, path, refuse);
    for (std::size_t j = 0; j < i; ++j)
      if (s.jobs[j].name == job.name) refuse(path + ".name", fmt::format("another job has the name '{}'", job.name));
    if (!reader_->given(path + ".nodes")) refuse(path, "`nodes` is missing", "e.g. nodes: 16");
    if (job.placement != Placement::list && !job.order.empty()) refuse(path + ".order", "is only for placement: list");
    if (job.placement == Placement::list) check_order(job.order, job.nodes, path + ".order", refuse);
    if (s.nvlink_domain.nodes > 1 && job.nodes % std::min(s.nvlink_domain.nodes, job.nodes) != 0)
      refuse(path + ".nodes",
             fmt::format("{} hosts do not fill NVLink domains of {}", job.nodes, s.nvlink_domain.nodes));
    if (job.workload.kind != JobKind::training_step) return;
    if (!job.workload.training.model.config.empty())
      return refuse(path + ".workload.model.config", "model files are only for the scenario's own workload",
                    "give the model's dimensions, or a preset");
    // The faults of a job's workload have the paths of a scenario's own workload.
    try {
      complete(job.workload.training, s.hardware, std::int64_t{job.nodes} * s.node.spec.gpus);
    } catch (const UserError& e) {
      for (const Diagnostic& d : e.diagnostics())
        refuse(d.path.starts_with("workload") ? path + "." + d.path : path + ".workload", d.message, d.hint);
    }
  }

  template <class Refuse>
  void check_flows(Scenario& s, std::size_t i, Refuse refuse) {
    BackgroundSpec& flows = s.background[i];
    const std::string path = fmt::format("background[{}]", i);
    if (flows.name.empty()) flows.name = fmt::format("{}{}", name_of(flows.kind), i + 1);
    check_name(flows.name, path, refuse);
    for (std::size_t j = 0; j < i; ++j)
      if (s.background[j].name == flows.name)
        refuse(path + ".name", fmt::format("other flows have the name '{}'", flows.name));
    for (const JobSpec& job : s.jobs)
      if (job.name == flows.name) refuse(path + ".name", fmt::format("a job has the name '{}'", flows.name));
    if ((flows.rate.value > 0) == (flows.total.value > 0))
      refuse(path, "needs either `rate` of each host or `total` of all hosts", "write e.g. rate: 2GBps");
    if (flows.targets.empty() && flows.network == FlowNetwork::compute)
      refuse(path, "`targets` is missing: the hosts at the other end", "write e.g. targets: [124-127]");
    if (!flows.job.empty() && !flows.hosts.empty())
      refuse(path + ".hosts", "cannot be combined with `job`", "give one of them");
    if (!flows.job.empty() && !find_by_name(s.jobs, flows.job))
      refuse(path + ".job", fmt::format("there is no job '{}'", flows.job), suggestion(flows.job, names_of(s.jobs)));
  }

  std::string path_;
  YAML::Node root_;
  std::vector<Override> overrides_;
  std::optional<YamlReader> reader_;
  std::string topology_, topology_env_;  ///< as given
  std::optional<NodeLayout> layout_;
  ReadResult result_;
};

}  // namespace

SourceSpan Scenario::place(std::string path) const { return place_of(places, file, std::move(path)); }

void Scenario::locate(Diagnostic& d) const {
  if (d.path.empty() || d.where.line > 0) return;
  if (d.where.file.empty())
    d.where = place(d.path);
  else
    d.where = place_of(fabric_places, d.where.file, d.path);
}

ReadResult parse_scenario(const std::string& text, const std::string& path, const std::vector<std::string>& overrides) {
  return Reading(text, path, overrides).read();
}

ReadResult read_scenario(const std::string& path, const std::vector<std::string>& overrides) {
  constexpr std::size_t most = std::size_t{4} << 20;  // far more than any scenario; rejects mistaken names early
  return parse_scenario(read_file(path, most), path, overrides);
}

Scenario plain_scenario(const std::string& node) {
  return parse_scenario("fabricast: 1\nnode: {profile: " + node + "}\ncluster: {nodes: 1}\nworkload: {}\n", "scenario")
      .scenario;
}

}  // namespace fabricast
