// Reads dumps of forwarding tables, which have a block per switch:
//
//   Unicast lids [0x0-0x10] of switch Lid 4 guid 0x900a840300b1c000 (leaf1):
//     Lid  Out   Destination
//          Port     Info
//   0x0001 030 : (Channel Adapter portguid 0x0000000000100001: 'node1 mlx5_0')
//   2 valid lids dumped
//
// OpenSM writes `[0-16]`, the name in quotes, and # instead of the colon.
#include "fabricast/discover/forwarding.hpp"

#include <fmt/format.h>

#include <unordered_map>

#include "cursor.hpp"
#include "fabricast/core/scan.hpp"
#include "subnet_builder.hpp"
#include "subnet_readers.hpp"

namespace fabricast {

namespace {

class ForwardingReader {
 public:
  explicit ForwardingReader(FileProblems& problems) : problems_(problems) {}

  void line(std::string_view text, int number) {
    if (text.starts_with("Unicast lids")) return begin(Cursor(text, number));
    // Collectives of NCCL are unicast, so multicast tables are skipped up to the next unicast one.
    if (text.starts_with("Multicast mlids")) return void(multicast_ = true);
    if (multicast_) return;
    if (text.starts_with("0x")) return entry(Cursor(text, number));
    const std::string_view words = trimmed(text);
    if (words.ends_with("lids dumped")) return count(Cursor(words, number));
    const bool known = words.starts_with("Lid ") || words.starts_with("LID ") || words.starts_with("Port ") ||
                       words.starts_with("***") || text.front() == '#' || words.starts_with("Switch:") ||
                       words.starts_with("osm_");
    if (!known) problems_.error(number, 1, "unexpected line in a dump of forwarding tables");
  }

  ForwardingTables finish(int lines) {
    if (tables_.switches.empty() && !problems_.failed())
      problems_.error(std::max(1, lines), 0, "the file has no forwarding table",
                      "use the output of dump_fts, ibroute or OpenSM");
    return std::move(tables_);
  }

 private:
  void fail(const Cursor& at, std::string message, std::string hint = {}) {
    problems_.error(at.line(), at.column(), std::move(message), std::move(hint));
  }

  // A faulty heading leaves no table open, so that its entries do not end up in the table before.
  void begin(Cursor at) {
    multicast_ = false;
    open_ = false;
    entries_ = 0;
    if (!at.until(']')) return fail(at, "missing ] after the range of LIDs");
    at.spaces();
    if (!at.take("of switch")) return fail(at, "expected `of switch`");
    at.spaces();
    ForwardingTable table;
    table.line = at.line();
    if (at.take("Lid ")) {
      const auto lid = at.number(0, most_lid);
      if (!lid) return fail(at, "invalid LID");
      table.lid = *lid;
    } else if (!at.take("DR path")) {
      return fail(at, "expected the LID of the switch");
    }
    const std::size_t guid_at = at.rest().find("guid ");
    if (guid_at == std::string_view::npos) return fail(at, "expected the GUID of the switch");
    at.skip(guid_at + 5);
    const auto guid = at.guid();
    if (!guid) return fail(at, "invalid GUID");
    table.guid = *guid;
    at.spaces();
    if (!at.take("(")) return fail(at, "expected the name of the switch", "is the line truncated?");
    std::string_view name = trimmed(at.rest());
    if (!name.ends_with("):")) return fail(at, "missing `):` after the name of the switch", "is the line truncated?");
    name.remove_suffix(2);
    if (name.size() >= 2 && name.front() == '\'' && name.back() == '\'') name = name.substr(1, name.size() - 2);
    table.name = shown(name);
    if (const auto [it, fresh] = by_guid_.emplace(table.guid, table.line); !fresh)
      return fail(at, fmt::format("duplicate table of switch {}", table.guid),
                  fmt::format("the first one is on line {}", it->second));
    tables_.switches.push_back(std::move(table));
    open_ = true;
  }

  void entry(Cursor at) {
    if (!open_) {
      if (!problems_.failed()) fail(at, "entry without a switch", "the line `Unicast lids ...` is missing");
      return;
    }
    const auto lid_text = at.guid();
    // A LID has 16 bits; the cursor pads hexadecimal numbers to 64.
    if (!lid_text || lid_text->compare(0, 12, "000000000000") != 0) return fail(at, "invalid LID");
    const auto lid = static_cast<std::size_t>(std::stoul(lid_text->substr(12), nullptr, 16));
    if (lid > static_cast<std::size_t>(most_lid))
      return fail(at, "invalid LID", fmt::format("must be 0 to {:#x}", most_lid));
    at.spaces();
    const auto port = at.number(0, 255);
    if (!port) {
      // ibroute --all lists LIDs without a route, too.
      if (at.rest().find("(illegal port)") == std::string_view::npos)
        fail(at, "expected a port", "is the line truncated?");
      return;
    }
    if (!at.at_end() && !is_space(at.rest().front())) return fail(at, "invalid port: must be 0 to 255");
    std::vector<std::uint8_t>& table = tables_.switches.back().port_of_lid;
    if (table.size() <= lid) table.resize(lid + 1, no_port);
    if (seen(table, lid)) return fail(at, fmt::format("duplicate entry for LID {:#06x}", lid));
    table[lid] = static_cast<std::uint8_t>(*port);
    ++entries_;
  }

  static bool seen(const std::vector<std::uint8_t>& table, std::size_t lid) { return table[lid] != no_port; }

  /// `14 valid lids dumped`. A table that lost lines has fewer.
  void count(Cursor at) {
    const Cursor begin = at;
    const auto stated = at.number(0, most_lid + 1);
    if (open_ && stated && *stated != entries_ && at.rest().starts_with(" valid"))
      fail(begin, fmt::format("the table states {} entries but has {}", *stated, entries_), "is the table damaged?");
    open_ = false;
  }

  FileProblems& problems_;
  ForwardingTables tables_;
  std::unordered_map<std::string, int> by_guid_;
  bool open_ = false, multicast_ = false;
  int entries_ = 0;
};

}  // namespace

ForwardingTables read_forwarding_tables(std::istream& in, FileProblems& problems) {
  ForwardingReader reader(problems);
  int last = 0;
  each_line(in, problems, [&](std::string_view text, int line) { reader.line(text, last = line); });
  return reader.finish(last);
}

}  // namespace fabricast
