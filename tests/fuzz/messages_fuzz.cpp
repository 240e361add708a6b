// What ranks of a probe say to each other. The first byte says what it is; what is taken says the same again.
#include "calibrate/probe/messages.hpp"
#include "reader.hpp"

namespace fabricast::fuzz {

namespace {

constexpr int ranks = 3;

void look_at_hello(const std::string& text) {
  SessionOptions options;
  options.place.ranks = ranks;
  options.version = "1";
  const Hello hello = read_hello(text, options, {1});
  require_clean(hello.refused);
  if (!hello.refused.empty()) return;
  require(hello.rank == 2);
  require_clean(hello.member.host);
  options.place.rank = hello.rank;
  const std::string again = hello_text(options, hello.member);
  const Hello second = read_hello(again, options, {1});
  require(second.refused.empty() && hello_text(options, second.member) == again);
  require(hosts_of({hello.member.provenance}).size() == 1);
  provenance_line("1", {}, 1, "now", {hello.member.provenance});
}

template <class Read, class Write>
void look_at(const std::string& text, Read read, Write write) {
  try {
    const std::string again = write(read(text));
    require(write(read(again)) == again);
  } catch (const ProbeFailure& e) { require_clean(e.what()); }
}

}  // namespace

void read_messages(std::string_view bytes) {
  if (bytes.empty()) return;
  const std::string text(bytes.substr(1));
  const auto order = [](const std::string& t) { return read_order(t, ranks); };
  switch (bytes.front()) {
    case 'h': return look_at_hello(text);
    case 'r': return look_at(text, read_roster, roster_text);
    case 'o': return look_at(text, order, order_text);
    case 'm': return look_at(text, read_report, report_text);
    case 's': return look_at(text, read_samples, samples_text);
    default: return;
  }
}

}  // namespace fabricast::fuzz
