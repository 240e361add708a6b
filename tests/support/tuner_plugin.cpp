#include "tuner_plugin.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>

namespace fabricast::test {

namespace {

const std::vector<std::string> functions = {"broadcast", "reduce", "allgather", "reducescatter", "allreduce"};
const std::vector<std::string> algorithms = {"tree",      "ring", "collnet_direct", "collnet_chain", "nvls",
                                             "nvls_tree", "pat"};
const std::vector<std::string> protocols = {"ll", "ll128", "simple"};

/// The plugin takes a word it does not know for another; here that is a fault.
int index_of(const std::vector<std::string>& words, const std::string& word) {
  const auto it = std::find(words.begin(), words.end(), word);
  if (it == words.end()) throw std::runtime_error("the plugin does not know '" + word + "'");
  return static_cast<int>(it - words.begin());
}

}  // namespace

Allowed everything() {
  Allowed all;
  for (auto& row : all) row.fill(true);
  return all;
}

TunerPlugin::TunerPlugin(const std::string& table) {
  std::istringstream in(table);
  for (std::string text; std::getline(in, text);) {
    if (text.size() + 1 >= 256) throw std::runtime_error("a line is too long: " + text);
    if (text.empty() || text[0] == '#') continue;
    std::vector<std::string> fields;
    std::istringstream cells(text);
    for (std::string cell; std::getline(cells, cell, ',');) fields.push_back(cell);
    if (fields.size() < 8 || fields.size() > 10) throw std::runtime_error("8 to 10 fields: " + text);
    lines_.push_back({index_of(functions, fields[0]), index_of(algorithms, fields[3]), index_of(protocols, fields[4]),
                      std::stoi(fields[5]), std::stoi(fields[6]), std::stoi(fields[7]), std::stoull(fields[1]),
                      std::stoull(fields[2])});
  }
}

TunerAnswer TunerPlugin::ask(int function, std::uint64_t bytes, int nodes, int ranks, const Allowed& allowed) const {
  for (const Line& l : lines_) {
    if (l.function != function || bytes < l.least || bytes > l.most) continue;
    if ((l.nodes != -1 && l.nodes != nodes) || (l.ranks != -1 && l.ranks != ranks)) continue;
    if (!allowed[static_cast<std::size_t>(l.algorithm)][static_cast<std::size_t>(l.protocol)]) continue;
    return {true, l.algorithm, l.protocol, l.channels == -1 ? 1 : l.channels};
  }
  return {};
}

}  // namespace fabricast::test
