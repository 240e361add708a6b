// Unpacks with zlib. The place in the packed file and the state of zlib are kept between two reads, because readers ask
// for one piece after the other.
#include "gzip.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "fabricast/core/error.hpp"

namespace fabricast {

bool is_gzip(std::string_view beginning) { return beginning.starts_with("\x1f\x8b"); }

namespace live {

namespace {

class Unpacker {
 public:
  explicit Unpacker(LiveSource packed) : packed_(std::move(packed)) {}
  ~Unpacker() { stop(); }
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;

  std::size_t read(std::uint64_t offset, char* to, std::size_t size) {
    if (kind_ == Kind::unknown) recognise();
    if (kind_ != Kind::gzip) return packed_.read(offset, to, size);
    if (offset < given_) start();
    // Nobody skips much: a reader goes on where it stopped.
    char skipped[4096];
    while (given_ < offset) {
      const std::size_t got = unpack(skipped, static_cast<std::size_t>(std::min<std::uint64_t>(4096, offset - given_)));
      if (got == 0) return 0;
    }
    return unpack(to, size);
  }

 private:
  enum class Kind { unknown, plain, gzip };
  struct Fault {
    std::string what;
    std::string_view hint;
  };
  static constexpr std::size_t piece = std::size_t{1} << 13;

  void recognise() {
    char first[2];
    const std::size_t got = packed_.read(0, first, sizeof first);
    // A file that is still being written may have its second byte later.
    if (got < sizeof first) return;
    kind_ = is_gzip({first, got}) ? Kind::gzip : Kind::plain;
    if (kind_ == Kind::gzip) start();
  }

  void stop() {
    if (running_) inflateEnd(&stream_);
    running_ = false;
    input_ = {};
  }

  void start() {
    stop();
    stream_ = {};
    input_.resize(piece);
    constexpr int largest_window = 15, gzip_alone = 16;
    if (inflateInit2(&stream_, largest_window + gzip_alone) != Z_OK) throw std::bad_alloc();
    running_ = true;
    ended_ = between_ = false;
    fault_ = {};
    taken_ = given_ = 0;
  }

  /// Byte of the packed file that zlib looks at, from 0.
  std::uint64_t at() const { return taken_ - stream_.avail_in; }

  [[noreturn]] void refuse(const Fault& fault) const {
    throw UserError({{Diagnostic::Severity::error,
                      {packed_.name, 0, 0, 1},
                      {},
                      fmt::format("byte {}: {}; {} bytes were unpacked before it", at(), fault.what, given_),
                      std::string(fault.hint)}});
  }

  /// Reads on in the packed file if nothing is at hand. \returns false at its end
  bool have_input() {
    if (stream_.avail_in > 0) return true;
    const std::size_t got = packed_.read(taken_, input_.data(), input_.size());
    taken_ += got;
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
    stream_.avail_in = static_cast<uInt>(got);
    return got > 0;
  }

  /// Behind the end of a member: another one, padding, or nothing.
  void next_member() {
    while (have_input() && *stream_.next_in == 0) {
      ++stream_.next_in;
      --stream_.avail_in;
    }
    if (!have_input()) {
      // All files of a job are open at a time, and most of the memory of this one is no longer needed.
      stop();
      ended_ = true;
    } else if (*stream_.next_in != 0x1f) {
      fault_ = {"the data after this point is not gzip", "the file was overwritten or appended to: copy it again"};
    } else {
      inflateReset(&stream_);
      between_ = false;
    }
  }

  std::size_t unpack(char* to, std::size_t size) {
    size = std::min<std::size_t>(size, std::numeric_limits<uInt>::max());
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    stream_.avail_out = static_cast<uInt>(size);
    bool cut = false;
    while (!ended_ && !cut && fault_.what.empty() && stream_.avail_out > 0) {
      if (between_) {
        next_member();
      } else if (!have_input()) {
        cut = true;
      } else {
        const int status = inflate(&stream_, Z_NO_FLUSH);
        if (status == Z_MEM_ERROR) throw std::bad_alloc();
        between_ = status == Z_STREAM_END;
        if (!between_ && status != Z_OK)
          fault_ = {fmt::format("damaged gzip: {}", stream_.msg ? stream_.msg : "unknown data"),
                    "`gzip -t FILE` tests it: copy the file again"};
      }
    }
    const std::size_t done = size - stream_.avail_out;
    given_ += done;
    if (done > 0) return done;  // what precedes the damage is given first
    if (!fault_.what.empty()) refuse(fault_);
    // Not kept: a file that is still being written goes on later.
    if (cut) refuse({"the compressed data is cut off here", "copy the file again, or wait until it is complete"});
    return 0;
  }

  LiveSource packed_;
  Kind kind_ = Kind::unknown;
  z_stream stream_{};
  std::vector<char> input_;
  bool running_ = false, ended_ = false;
  bool between_ = false;  ///< whether a member has ended and it is not known what follows
  Fault fault_;
  std::uint64_t taken_ = 0;  ///< bytes of the packed file that were read
  std::uint64_t given_ = 0;  ///< bytes of text
};

}  // namespace

LiveSource unpacked(LiveSource packed) {
  std::string name = packed.name;
  const auto unpacker = std::make_shared<Unpacker>(std::move(packed));
  return {std::move(name),
          [unpacker](std::uint64_t offset, char* to, std::size_t size) { return unpacker->read(offset, to, size); }};
}

}  // namespace live

}  // namespace fabricast
