// The section of the scenario and the files of a trace: which files there are, and all steps from them to a program.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>

#include "calls.hpp"
#include "fabricast/core/file.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/core/text.hpp"

namespace fabricast {

void visit_fields(FieldVisitor& visit, TraceSpec& spec) {
  visit("path", spec.path, "PREFIX of a trace per rank: PREFIX.RANK.et or PREFIX.RANK.json");
  visit("file", spec.file, "alternatively, one trace that all ranks run");
  visit("ranks", spec.ranks, "number of ranks; 0: the number of files of path", between(0, 1 << 20));
  visit("groups", spec.groups, "JSON file of process groups: {\"NAME\": [RANK, ...]}");
  visit("dimensions", spec.dimensions, "sizes of the dimensions that involved_dim refers to, fastest first",
        between(1, 1 << 20));
  visit("speedup", spec.speedup, "factor by which recorded computation on GPUs is faster", between(1e-3, 1e3));
  visit("fold", spec.fold, "simulate ranks with identical work as one");
  visit("parts", spec.parts,
        "process group to tensor, context, expert, data or pipeline: its category in the breakdown");
}

std::int64_t ranks_of(const Program& program) {
  double ranks = 0;
  for (const Actor& actor : program.actors) ranks += actor.ranks;
  return static_cast<std::int64_t>(ranks);
}

namespace {

namespace fs = std::filesystem;

void check(const TraceSpec& spec) {
  if (spec.path.empty() && spec.file.empty())
    throw UserError::at("workload.path", "no trace is given",
                        "write path: PREFIX for a file per rank, or file: and ranks:");
  if (!spec.path.empty() && !spec.file.empty())
    throw UserError::at("workload.file", "path and file cannot be combined",
                        "write path for a file per rank, or file for one that all ranks run");
  if (!spec.file.empty() && spec.ranks == 0)
    throw UserError::at("workload.ranks", "file requires the number of ranks", "write ranks: N");
  constexpr std::array<std::string_view, 5> collectives{"tensor", "context", "expert", "data", "pipeline"};
  for (const auto& [group, part] : spec.parts)
    if (std::find(collectives.begin(), collectives.end(), part) == collectives.end())
      throw UserError::at("workload.parts." + group, fmt::format("unknown part '{}'", part),
                          suggestion(part, collectives));
}

bool is_there(const std::string& file) {
  std::error_code error;
  return fs::exists(file, error);
}

/// The rank in the name of a file, or -1 if the name is not PREFIX.RANK.et or PREFIX.RANK.json.
std::int64_t rank_in(const std::string& name, const std::string& prefix) {
  const std::vector<std::string> parts = split(name.substr(std::min(prefix.size(), name.size())), '.');
  if (!name.starts_with(prefix) || parts.size() != 3 || !parts[0].empty() || (parts[2] != "et" && parts[2] != "json") ||
      parts[1].empty() || parts[1].size() > 7 || parts[1].find_first_not_of("0123456789") != std::string::npos)
    return -1;
  return std::stoll(parts[1]);
}

/// \returns the highest rank that has a file, or -1
std::int64_t highest_rank(const std::string& path) {
  const fs::path prefix(path);
  const fs::path folder = prefix.has_parent_path() ? prefix.parent_path() : fs::path(".");
  std::int64_t highest = -1;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    highest = std::max(highest, rank_in(at->path().filename().string(), prefix.filename().string()));
  return highest;
}

std::vector<std::string> files_of(const TraceSpec& spec) {
  if (!spec.file.empty()) return {spec.file};
  const std::int64_t found = highest_rank(spec.path) + 1;
  if (found == 0)
    throw UserError::at("workload.path", fmt::format("there is no '{}.0.et'", spec.path),
                        "write the PREFIX of PREFIX.RANK.et");
  if (spec.ranks > 0 && found > spec.ranks)
    throw UserError::at("workload.ranks",
                        fmt::format("{} ranks, but '{}' has a trace of rank {}", spec.ranks, spec.path, found - 1));
  const std::int64_t ranks = spec.ranks > 0 ? spec.ranks : found;
  std::vector<std::string> files;
  for (std::int64_t r = 0; r < ranks; ++r) {
    std::string binary = fmt::format("{}.{}.et", spec.path, r), json = fmt::format("{}.{}.json", spec.path, r);
    if (is_there(binary))
      files.push_back(std::move(binary));
    else if (is_there(json))
      files.push_back(std::move(json));
    else
      throw UserError::at(found < ranks ? "workload.ranks" : "workload.path",
                          fmt::format("rank {} of {} has no trace: there is no '{}'", r, ranks, binary));
  }
  return files;
}

}  // namespace

Program trace::program_of(Job job, NamedGroups named, const TraceSpec& spec, const KernelTime& kernel_time) {
  Faults faults;
  for (RankTrace& t : job.traces) link_nodes(t, faults);
  faults.throw_if_any();
  const Calls calls =
      join_calls(job, GroupTable(std::move(named), spec.groups, spec.dimensions, job.ranks()), spec, faults);
  faults.throw_if_any();
  return build_program(job, calls, fold(job, calls, spec.fold), spec, kernel_time, faults);
}

Program read_trace(const TraceSpec& spec, const KernelTime& kernel_time) {
  check(spec);
  trace::Job job;
  for (const std::string& file : files_of(spec))
    job.traces.push_back(trace::decode(file, read_file(file, std::numeric_limits<int>::max())));
  const std::size_t ranks = spec.file.empty() ? job.traces.size() : static_cast<std::size_t>(spec.ranks);
  for (std::uint32_t r = 0; r < ranks; ++r) job.trace_of.push_back(spec.file.empty() ? r : 0);
  trace::NamedGroups named;
  if (!spec.groups.empty()) named = trace::parse_groups(spec.groups, read_file(spec.groups));
  return trace::program_of(std::move(job), std::move(named), spec, kernel_time);
}

}  // namespace fabricast
