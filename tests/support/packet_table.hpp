// Tables of runs of packets: tests/data/packets, written by tests/packets.
#pragma once

#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace fabricast::test {

/// Cells by column.
using PacketRow = std::map<std::string, std::string>;

inline double number(const PacketRow& row, const std::string& column) { return std::stod(row.at(column)); }

/// The rows of a table with one line of columns. Fails the test if it is not there. \param data  the folder tests/data
inline std::vector<PacketRow> packet_table(const std::string& data, const std::string& name) {
  std::ifstream in(data + "/packets/" + name + ".csv");
  REQUIRE(in);
  std::vector<std::string> columns;
  std::vector<PacketRow> rows;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::vector<std::string> cells;
    std::istringstream words(line);
    for (std::string cell; std::getline(words, cell, ',');) cells.push_back(cell);
    if (columns.empty()) {
      columns = cells;
      continue;
    }
    REQUIRE(cells.size() == columns.size());
    PacketRow& row = rows.emplace_back();
    for (std::size_t i = 0; i < cells.size(); ++i) row[columns[i]] = cells[i];
  }
  return rows;
}

}  // namespace fabricast::test
