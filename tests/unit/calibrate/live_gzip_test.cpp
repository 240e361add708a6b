// Gzipped telemetry: the same rows as unpacked, damage that is located, memory that does not grow with the file.
#include <catch2/catch.hpp>

#include <sys/resource.h>
#include <zlib.h>

#include "fabricast/core/error.hpp"

#include "../../../calibrate/live/gzip.hpp"
#include "support/telemetry.hpp"

namespace fabricast {
namespace {

void append_little_endian(std::string& to, std::uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) to += static_cast<char>(value >> shift & 0xff);
}

/// CRC-32 bit by bit, as RFC 1952 defines it.
std::uint32_t checksum(const std::string& text) {
  std::uint32_t crc = 0xffffffff;
  for (const char c : text) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
  }
  return ~crc;
}

/// A gzip file by hand (RFC 1951, 1952), so that not both sides are zlib: stored blocks behind a header with a name.
std::string stored(const std::string& text) {
  std::string out("\x1f\x8b\x08\x08\0\0\0\0\0\x03trace.json\0", 21);
  constexpr std::size_t longest = 65'535;
  for (std::size_t at = 0;; at += longest) {
    const std::string block = text.substr(at, longest);
    const bool last = at + longest >= text.size();
    const auto length = static_cast<std::uint32_t>(block.size());
    out += last ? '\x01' : '\0';
    std::string lengths;
    append_little_endian(lengths, length | (~length & 0xffff) << 16);
    out += lengths + block;
    if (last) break;
  }
  append_little_endian(out, checksum(text));
  append_little_endian(out, static_cast<std::uint32_t>(text.size()));
  return out;
}

/// Packs pieces of text as zlib does.
class Packer {
 public:
  Packer() { REQUIRE(deflateInit2(&stream_, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK); }
  ~Packer() { deflateEnd(&stream_); }
  Packer(const Packer&) = delete;
  Packer& operator=(const Packer&) = delete;
  void add(const std::string& text) { run(text, Z_NO_FLUSH); }
  std::string finish() {
    run({}, Z_FINISH);
    return std::move(out_);
  }

 private:
  void run(std::string text, int flush) {
    stream_.next_in = reinterpret_cast<Bytef*>(text.data());
    stream_.avail_in = static_cast<uInt>(text.size());
    char buffer[4096];
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(buffer);
      stream_.avail_out = sizeof buffer;
      deflate(&stream_, flush);
      out_.append(buffer, sizeof buffer - stream_.avail_out);
    } while (stream_.avail_out == 0);
  }

  z_stream stream_{};
  std::string out_;
};

std::string packed(const std::string& text) {
  Packer packer;
  packer.add(text);
  return packer.finish();
}

/// What a source gives, in pieces of uneven length, and the message at which it ends.
struct Given {
  std::string text, message, hint;
};
Given all_of(const LiveSource& source, std::size_t piece = 1000) {
  Given given;
  std::string buffer(piece + 7, '\0');
  try {
    for (std::size_t n = 0;; ++n) {
      const std::size_t got = source.read(given.text.size(), buffer.data(), 1 + (piece * (n + 1)) % (piece + 7));
      if (got == 0) break;
      given.text.append(buffer, 0, got);
    }
  } catch (const UserError& e) {
    REQUIRE(e.diagnostics().size() == 1);
    CHECK(e.diagnostics()[0].where.file == "a.gz");
    given.message = e.diagnostics()[0].message;
    given.hint = e.diagnostics()[0].hint;
  }
  return given;
}
Given all_of_text(std::string text) { return all_of(live::unpacked(text_source("a.gz", std::move(text)))); }

const std::string& sample() {
  static const std::string text = telemetry_text("kineto/rank0.json");
  return text;
}

TEST_CASE("gzipped text is what was packed", "[live][gzip]") {
  for (const std::string& text : {std::string(), std::string("x"), sample()})
    for (const std::string& file : {stored(text), packed(text)}) {
      CHECK(is_gzip(file));
      const Given given = all_of_text(file);
      CHECK(given.message.empty());
      CHECK((given.text == text));
    }
  // Text that is not packed goes through, also if it is shorter than what tells gzip.
  for (const std::string& text : {std::string(), std::string("\x1f"), std::string("{}"), sample()})
    CHECK((all_of_text(text).text == text));
}

TEST_CASE("gzip of several members is one text, and zeros behind it are padding", "[live][gzip]") {
  const std::string text = sample(), first = text.substr(0, 1234), second = text.substr(1234);
  const Given given = all_of_text(packed(first) + stored(second) + packed("") + std::string(700, '\0'));
  CHECK(given.message.empty());
  CHECK((given.text == text));
}

TEST_CASE("what was read is given again", "[live][gzip]") {
  const LiveSource source = live::unpacked(text_source("a.gz", packed(sample())));
  std::string buffer(5000, '\0');
  // Recognising a format reads the beginning, the reader reads it again, and something may be skipped.
  for (const std::uint64_t offset : {0, 0, 5000, 100, 9000, 20'000, 3}) {
    REQUIRE(source.read(offset, buffer.data(), buffer.size()) == buffer.size());
    CHECK((buffer == sample().substr(offset, buffer.size())));
  }
  CHECK(source.read(sample().size() + 10, buffer.data(), buffer.size()) == 0);
}

TEST_CASE("gzip that is cut off gives what precedes, and the byte", "[live][gzip]") {
  for (const std::string& file : {packed(sample()), stored(sample())}) {
    std::size_t before = 0;
    for (std::size_t i = 1; i < 200; ++i) {
      const std::size_t size = 2 + (file.size() - 3) * i / 199;
      const Given given = all_of_text(file.substr(0, size));
      INFO("cut to " << size << " of " << file.size());
      CHECK((sample().starts_with(given.text)));
      CHECK(given.text.size() >= before);
      before = given.text.size();
      CHECK(given.message == fmt::format("byte {}: the compressed data is cut off here; {} bytes were unpacked "
                                         "before it",
                                         size, given.text.size()));
      CHECK_FALSE(given.hint.empty());
    }
    // Without the checksum all is there, but it is not known to be right.
    CHECK(before == sample().size());
  }
}

TEST_CASE("gzip that is still being written goes on", "[live][gzip]") {
  const std::string file = packed(sample());
  std::size_t size = 1;
  const LiveSource source = live::unpacked({"a.gz", [&](std::uint64_t offset, char* to, std::size_t most) {
                                              const std::size_t count =
                                                  offset < size ? std::min<std::size_t>(most, size - offset) : 0;
                                              file.copy(to, count, offset);
                                              return count;
                                            }});
  std::string text, buffer(1 << 20, '\0');
  for (; size <= file.size(); size = size == file.size() ? size + 1 : std::min(size + 500, file.size())) {
    // Before the second byte it is not known to be gzip.
    if (size < 2) continue;
    try {
      while (const std::size_t got = source.read(text.size(), buffer.data(), buffer.size()))
        text.append(buffer, 0, got);
    } catch (const UserError&) { CHECK(size < file.size()); }
  }
  CHECK((text == sample()));
}

TEST_CASE("changed bytes of gzip are found", "[live][gzip]") {
  const std::string file = packed(sample());
  int found = 0, all = 0;
  // The first ten bytes are flags, a time and an operating system.
  for (std::size_t at = 10; at < file.size(); at += file.size() / 300) {
    std::string bad = file;
    bad[at] = static_cast<char>(bad[at] ^ 1 << at % 8);
    const Given given = all_of_text(bad);
    ++all;
    found += given.message.empty() ? 0 : 1;
    CHECK((given.text != sample() || !given.message.empty()));
  }
  CHECK(found == all);
  // And its own sums.
  for (std::size_t back = 1; back <= 8; ++back) {
    std::string bad = file;
    bad[bad.size() - back] = static_cast<char>(bad[bad.size() - back] + 1);
    const Given given = all_of_text(bad);
    CHECK((given.text == sample()));
    CHECK(given.message.find("damaged gzip: incorrect") != std::string::npos);
  }
}

TEST_CASE("what follows gzip is located", "[live][gzip]") {
  const std::string file = packed(sample());
  const Given garbage = all_of_text(file + std::string(3, '\0') + "{\"next\": 1}");
  CHECK((garbage.text == sample()));
  CHECK(garbage.message == fmt::format("byte {}: the data after this point is not gzip; {} bytes were unpacked "
                                       "before it",
                                       file.size() + 3, sample().size()));
  const Given header = all_of_text(file + "\x1f\x8c and so on");
  CHECK((header.text == sample()));
  CHECK(header.message.find("damaged gzip: incorrect header check") != std::string::npos);
}

TEST_CASE("gzipped formats give the rows of unpacked ones", "[live][gzip]") {
  const std::vector<std::vector<std::string>> jobs = {
      {"kineto/rank0.json", "kineto/rank1.json"},
      {"inspector/node0-pid1025.log", "inspector/node1-pid1028.log"},
      {"inspector-2.30/nccl_inspector_metrics_00000000-1111-2222-3333-444444444444.prom"},
      {"profiler-plugin/trace_node0_16929001635433873586_0.json"},
      {"flight-recorder/hang_rank_0", "flight-recorder/hang_rank_1"},
      {"kineto/execution_trace_rank0.json"},
      {"ras/b.json"}};
  for (const auto& files : jobs) {
    const LiveFormat format = *live_format_of(telemetry_text(files[0]));
    std::vector<LiveSource> plain, gzipped;
    for (const std::string& file : files) {
      const std::string text = telemetry_text(file);
      plain.push_back(text_source(file, text));
      gzipped.push_back(live::unpacked(text_source(file, packed(text))));
    }
    const Imported a = import_job(format, plain), b = import_job(format, gzipped);
    INFO(files[0]);
    CHECK(a.job.records == b.job.records);
    CHECK(a.problems.size() == b.problems.size());
    CHECK(import_text(a) == import_text(b));
  }
}

TEST_CASE("a gzipped trace of any length takes the memory of a short one", "[live][gzip]") {
  const std::string event =
      "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"pid\": 1, \"tid\": 1, \"ts\": 1.5, \"dur\": 1.0,"
      " \"args\": {\"Input Dims\": [[1, 2], [2, 3]], \"note\": \"a \\\"quoted\\\" {bracket\"}},\n";
  std::string events;
  while (events.size() < 1'000'000) events += event;
  Packer packer;
  packer.add(
      "{\"schemaVersion\": 1, \"deviceProperties\": [], \"distributedInfo\": {\"rank\": 0},\n\"traceEvents\": [\n");
  for (int megabyte = 0; megabyte < 60; ++megabyte) packer.add(events);
  packer.add(
      "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ncclDevKernel_AllReduce\", \"ts\": 5, \"dur\": 7, \"args\": "
      "{\"Collective name\": \"allreduce\", \"In msg nelems\": 1024, \"Out msg nelems\": 1024, \"Group size\": 1, "
      "\"dtype\": \"Float\", \"Process Group Name\": \"0\", \"Process Group Ranks\": \"[0]\"}}]}\n");
  const LiveSource source = live::unpacked(text_source("trace.json.gz", packer.finish()));
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const long before = usage.ru_maxrss;
  const Imported in = import_job(LiveFormat::kineto, {source});
  CHECK(find_row(find_table(in, "all_reduce", 1), 4096)->time_us == 7);
  CHECK(in.problems.empty());
  getrusage(RUSAGE_SELF, &usage);
#ifdef FABRICAST_TEST_SPEED  // sanitizers keep what was freed
  CHECK(usage.ru_maxrss - before < 1'000);
#else
  CHECK(before > 0);
#endif
}

}  // namespace
}  // namespace fabricast
