// The interpreter of pickles (pickle.hpp). Opcodes and their arguments are those of Python's pickletools, protocols 2
// to 5. PyTorch writes protocol 2; a dump that was loaded and saved again has protocol 4 or 5.
#include "pickle.hpp"

#include <fmt/format.h>

#include <bit>
#include <unordered_map>

namespace fabricast::live {

namespace {

constexpr std::size_t most_values = 4'000'000;
constexpr std::size_t most_marks = 1000;

class PickleMachine {
 public:
  explicit PickleMachine(std::string_view bytes) : bytes_(bytes) {}

  PickleResult run() {
    PickleResult result;
    while (error_.empty() && !stopped_) {
      result.offset = at_;
      step();
    }
    result.error = error_;
    if (error_.empty()) {
      pickle_.root = stack_.back();
      result.pickle = std::move(pickle_);
    } else {
      result.part = std::move(pickle_);
    }
    return result;
  }

 private:
  using Kind = PickleValue::Kind;

  void fail(std::string why) {
    if (error_.empty()) error_ = std::move(why);
  }
  /// The next `size` bytes as an unsigned number, lowest byte first.
  std::uint64_t number(std::size_t size) {
    if (bytes_.size() - at_ < size) {
      fail("the pickle is cut off");
      return 0;
    }
    std::uint64_t n = 0;
    for (std::size_t i = 0; i < size; ++i) n |= std::uint64_t{static_cast<unsigned char>(bytes_[at_ + i])} << (8 * i);
    at_ += size;
    return n;
  }
  std::string_view take(std::uint64_t size) {
    if (bytes_.size() - at_ < size) {
      fail("the pickle is cut off");
      return {};
    }
    const std::string_view text = bytes_.substr(at_, size);
    at_ += size;
    return text;
  }
  PickleValue& push(Kind kind) {
    if (pickle_.values.size() >= most_values) fail("the pickle has too many values");
    if (!error_.empty()) return scrap_;
    stack_.push_back(static_cast<std::uint32_t>(pickle_.values.size()));
    pickle_.values.emplace_back();
    pickle_.values.back().kind = kind;
    return pickle_.values.back();
  }
  void push_integer(std::int64_t n) { push(Kind::integer).integer = n; }
  void push_text(std::string_view text) { push(Kind::text).text = text; }
  void push_real() {
    const std::string_view raw = take(8);
    std::uint64_t bits = 0;
    // The only number that is written highest byte first.
    for (const char c : raw) bits = bits << 8 | static_cast<unsigned char>(c);
    push(Kind::real).real = std::bit_cast<double>(bits);
  }
  void push_long(std::uint64_t size) {
    if (size > 8) {
      // Numbers beyond 64 bits do not occur in dumps; their value is not needed to read the rest.
      take(size);
      push(Kind::none);
      return;
    }
    std::uint64_t n = number(size);
    if (size > 0 && size < 8 && (n >> (8 * size - 1)) != 0) n |= ~std::uint64_t{0} << (8 * size);
    push_integer(static_cast<std::int64_t>(n));
  }

  bool has(std::size_t count) {
    const std::size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() - floor >= count) return true;
    fail("the pickle takes a value that is not there");
    return false;
  }
  void tuple(std::size_t count) {
    if (!has(count)) return;
    std::vector<std::uint32_t> items(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    push(Kind::list).items = std::move(items);
  }
  /// The values above the last mark.
  std::vector<std::uint32_t> to_mark() {
    if (marks_.empty()) {
      fail("the pickle has no mark");
      return {};
    }
    std::vector<std::uint32_t> items(stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back()), stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return items;
  }
  void append(const std::vector<std::uint32_t>& items, Kind kind) {
    if (!error_.empty() || !has(1)) return;
    PickleValue& to = pickle_.values[stack_.back()];
    if (to.kind != kind || (kind == Kind::dictionary && items.size() % 2 != 0))
      return fail("the pickle appends to something other than a list or dictionary");
    held_ += items.size();
    if (held_ > 4 * most_values) return fail("the pickle has too many values");
    to.items.insert(to.items.end(), items.begin(), items.end());
  }
  void remember(std::uint64_t place) {
    if (!has(1)) return;
    if (memo_.size() >= most_values) return fail("the pickle has too many values");
    memo_[place] = stack_.back();
  }
  void recall(std::uint64_t place) {
    const auto it = memo_.find(place);
    if (it == memo_.end()) return fail("the pickle refers to a value that is not there");
    // A hostile pickle may recall one value again and again.
    if (stack_.size() > most_values) return fail("the pickle has too many values");
    stack_.push_back(it->second);
  }

  void step();

  std::string_view bytes_;
  std::size_t at_ = 0, held_ = 0;
  std::string error_;
  bool stopped_ = false;
  Pickle pickle_;
  PickleValue scrap_;
  std::vector<std::uint32_t> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, std::uint32_t> memo_;
};

void PickleMachine::step() {
  const auto opcode = static_cast<unsigned char>(number(1));
  if (!error_.empty()) return;
  switch (opcode) {
    case 0x80: number(1); return;        // PROTO
    case 0x95: number(8); return;        // FRAME
    case 'N': push(Kind::none); return;  // NONE
    case 0x88: push(Kind::boolean).integer = 1; return;
    case 0x89: push(Kind::boolean); return;
    case 'J': push_integer(static_cast<std::int32_t>(number(4))); return;  // BININT
    case 'K': push_integer(static_cast<std::int64_t>(number(1))); return;  // BININT1
    case 'M': push_integer(static_cast<std::int64_t>(number(2))); return;  // BININT2
    case 0x8a: push_long(number(1)); return;                               // LONG1
    case 'G': push_real(); return;                                         // BINFLOAT
    case 'X': push_text(take(number(4))); return;                          // BINUNICODE
    case 0x8c: push_text(take(number(1))); return;                         // SHORT_BINUNICODE
    case 0x8d: push_text(take(number(8))); return;                         // BINUNICODE8
    case '}': push(Kind::dictionary); return;                              // EMPTY_DICT
    case ']': push(Kind::list); return;                                    // EMPTY_LIST
    case ')': push(Kind::list); return;                                    // EMPTY_TUPLE
    case 0x85: tuple(1); return;
    case 0x86: tuple(2); return;
    case 0x87: tuple(3); return;
    case '(':  // MARK
      if (marks_.size() >= most_marks) return fail("the pickle is nested too deeply");
      marks_.push_back(stack_.size());
      return;
    case 't': {  // TUPLE
      std::vector<std::uint32_t> items = to_mark();
      if (error_.empty()) push(Kind::list).items = std::move(items);
      return;
    }
    case 'a':    // APPEND
    case 's': {  // SETITEM
      const std::size_t count = opcode == 'a' ? 1 : 2;
      if (!has(count)) return;
      const std::vector<std::uint32_t> items(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
      stack_.resize(stack_.size() - count);
      return append(items, opcode == 'a' ? Kind::list : Kind::dictionary);
    }
    case 'e': return append(to_mark(), Kind::list);        // APPENDS
    case 'u': return append(to_mark(), Kind::dictionary);  // SETITEMS
    case 'q': return remember(number(1));                  // BINPUT
    case 'r': return remember(number(4));                  // LONG_BINPUT
    case 0x94: return remember(memo_.size());              // MEMOIZE
    case 'h': return recall(number(1));                    // BINGET
    case 'j': return recall(number(4));                    // LONG_BINGET
    case '.':                                              // STOP
      if (!has(1)) return;
      stopped_ = true;
      return;
    default:
      // GLOBAL, REDUCE, BUILD, NEWOBJ and the like name and call Python code.
      fail(fmt::format("the pickle has the opcode 0x{:02x}, which dumps of the flight recorder do not use", opcode));
  }
}

}  // namespace

const PickleValue* Pickle::find(const PickleValue& of, std::string_view key) const {
  if (of.kind != PickleValue::Kind::dictionary) return nullptr;
  for (std::size_t i = of.items.size(); i >= 2; i -= 2) {
    const PickleValue& name = values[of.items[i - 2]];
    if (name.kind == PickleValue::Kind::text && name.text == key) return &values[of.items[i - 1]];
  }
  return nullptr;
}

PickleResult read_pickle(std::string_view bytes) { return PickleMachine(bytes).run(); }

}  // namespace fabricast::live
