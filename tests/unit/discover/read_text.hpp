// Reads texts, and gives faults as `line:column: message`.
#pragma once

#include <fmt/format.h>

#include <sstream>
#include <string>
#include <vector>

#include "fabricast/discover/fabric.hpp"
#include "fabricast/discover/forwarding.hpp"
#include "fabricast/discover/slurm.hpp"

namespace fabricast::test {

inline std::vector<std::string> texts(const std::vector<Diagnostic>& list) {
  std::vector<std::string> out;
  for (const Diagnostic& d : list) out.push_back(fmt::format("{}:{}: {}", d.where.line, d.where.column, d.message));
  return out;
}

struct SubnetRead {
  DiscoveredSubnet subnet;
  std::vector<std::string> errors, warnings;
};

inline SubnetRead read_subnet_text(const std::string& text) {
  FileProblems problems("subnet.txt");
  SubnetRead read;
  const auto format = subnet_format(text);
  if (!format) {
    read.errors = {"no format"};
    return read;
  }
  std::istringstream in(text);
  read.subnet = read_subnet(*format, in, problems);
  read.errors = texts(problems.errors()), read.warnings = texts(problems.warnings());
  return read;
}

/// The fabric of a text without faults, its hosts and tiers found.
inline FileFabric fabric_of_text(const std::string& text, std::vector<Diagnostic>* warnings = nullptr) {
  std::vector<Diagnostic> stated;
  const SubnetRead read = read_subnet_text(text);
  FileFabric fabric = fabric_of_subnets({read.subnet}, stated);
  choose_hosts(fabric, 0, {}, stated);
  find_tiers(fabric, stated);
  if (warnings) *warnings = std::move(stated);
  return fabric;
}

}  // namespace fabricast::test
