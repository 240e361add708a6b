// `import fabric`: reads a real fabric and writes a fabric file.
#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "commands.hpp"
#include "fabricast/core/file.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/core/text.hpp"
#include "fabricast/discover/check_paths.hpp"
#include "fabricast/discover/fabric.hpp"
#include "fabricast/discover/forwarding.hpp"
#include "fabricast/scenario/fabric_file.hpp"
#include "options.hpp"

namespace fabricast {

namespace {

std::vector<std::string> slurm_order(const std::string& path) { return read_slurm({path, read_file(path)}).hosts(); }

// A dump of a large subnet may have gigabytes, one line per switch and destination.
ForwardingTables tables_of(const std::string& path) {
  std::istringstream in(read_file(path, std::size_t{8} << 30));
  FileProblems problems(path);
  ForwardingTables tables = read_forwarding_tables(in, problems);
  problems.check();
  return tables;
}

/// A summary of the forwarding tables on this fabric.
/// \throws UserError if paths are broken
/// Broken paths usually mean that the dump and the scan are of different times.
std::string tables_text(const FileFabric& fabric, const std::string& path) {
  const ForwardingTables tables = tables_of(path);
  const PathsChecked checked = check_paths(fabric, tables);
  if (checked.broken > 0) {
    std::vector<Diagnostic> faults;
    for (const std::string& fault : checked.faults) faults.push_back({{}, {path, 0, 0, 1}, {}, fault, {}});
    Diagnostic& last = faults.back();
    last.hint = fmt::format("{} of {} paths are broken", checked.broken, checked.routes);
    throw UserError(std::move(faults));
  }
  return fmt::format("tables    {:>6}  {} paths, from each leaf to each NIC port, of up to {} cables\n",
                     tables.switches.size(), checked.routes, checked.longest);
}

}  // namespace

int import_fabric_verb(const std::vector<std::string>& arguments) {
  Options options(
      "import",
      "Reads a real fabric and reports what it contains and what looks wrong. WHAT is `fabric`. FILE is the output of "
      "ibnetdiscover or iblinkinfo (one file per subnet), Slurm's topology.conf or topology.yaml, or an InfraGraph. "
      "With "
      "--output, writes a fabric file for `fabric: {kind: file}`.",
      {"WHAT", "FILE..."});
  options.example("fabricast import fabric ibnetdiscover.txt --output fabric.yaml");
  options.example("fabricast import fabric ibnetdiscover.txt --lft lfts.dump");
  options.words("WHAT", {"fabric"});
  options.add()("output,o", takes("FILE"), "write the fabric file (YAML) to FILE; - prints it instead of text")(
      "lft", takes("FILE"), "check the forwarding tables of FILE, from dump_fts, ibroute or OpenSM")(
      "slurm", takes("FILE"), "file (topology.conf or topology.yaml) that defines the order of hosts")(
      "ports", takes("N"), "NIC ports of a host; other hosts are left out (default: the most frequent number)")(
      "nics", takes("NAME,..."), "NICs to use, in order, e.g. mlx5_0,mlx5_3 (default: all)")(
      "oversubscription", takes("RATIO"), "for topology.conf: down : up of each switch, e.g. 2:1 (default: 1)");
  if (!options.parse(arguments)) return 0;
  if (const std::string what = options.get<std::string>("WHAT"); what != "fabric")
    throw UserError(fmt::format("fabricast import: unknown import '{}'", what),
                    "use `import fabric FILE...`; `calibrate import` reads logs");
  const std::string output = output_path(options, "output");
  FabricFileOptions wanted;
  wanted.nics = options.integer("ports", 0, 1, 1024);
  if (options.has("nics")) wanted.names = split(options.text("nics"), ',');
  if (options.has("oversubscription")) {
    const Parsed<double> given = parse_proportion(options.get<std::string>("oversubscription"));
    if (!given || given.value < 1)
      throw UserError("--oversubscription: " + (given ? "must be 1 or more" : given.error), "e.g. 2:1");
    wanted.oversubscription = given.value;
  }
  if (!(wanted.oversubscription >= 1 && wanted.oversubscription <= 64))
    throw UserError("--oversubscription must be between 1 and 64");
  if (options.has("slurm")) wanted.order = slurm_order(options.text("slurm"));
  std::vector<NamedText> texts;
  for (const std::string& path : options.list("FILE...")) texts.push_back({path, read_file(path)});
  if (options.has("lft") && texts.size() > 1)
    throw UserError("--lft needs a single subnet", "LIDs of several subnets cannot be distinguished");
  const FabricFileResult read = read_fabric_file(texts, wanted);
  for (const Diagnostic& w : read.warnings) print_diagnostic(w);
  // What looks wrong in the real fabric is a warning, since the forecast is of the fabric as it is.
  for (Diagnostic w : fabric_findings(read.fabric)) {
    w.where.file = texts.front().file;
    print_diagnostic(w);
  }
  std::string text = fmt::format("{}: {}\n{}", texts.front().file, read.format, fabric_text(read.fabric));
  if (options.has("lft")) text += tables_text(read.fabric, options.text("lft"));
  if (!output.empty())
    emit(output, fmt::format("# Written by `fabricast import fabric` from {}.\n{}", texts.front().file,
                             fabric_yaml(read.fabric)));
  if (output != "-") emit("-", text);
  return 0;
}

}  // namespace fabricast
