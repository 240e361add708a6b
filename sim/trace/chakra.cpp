// From protobuf to plain values. Two generations of the schema are read [Chakra-schema]: the current one with
// `ctrl_deps`, `data_deps` and `attr`, with or without a version, and the one of 2023 with `parent` and `attribute`.
// They share field numbers, so the wire types of the first nodes' fields determine the generation.
#include <chakra.pb.h>
#include <fmt/format.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/unknown_field_set.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <unordered_map>

#include "attributes.hpp"
#include "fabricast/core/stop.hpp"
#include "groups.hpp"

namespace fabricast::trace {

namespace {

namespace pb = fabricast::chakra;
using google::protobuf::UnknownField;
using google::protobuf::UnknownFieldSet;

[[noreturn]] void fail(const std::string& file, std::string message, std::string hint = {}) {
  Diagnostic d;
  d.where.file = file;
  d.message = std::move(message);
  d.hint = std::move(hint);
  throw UserError(std::vector<Diagnostic>{std::move(d)});
}

// ---- attributes

std::string printable(std::string text) {
  for (std::size_t bad = 0; (bad = find_not_utf8(text)) != std::string::npos;) text[bad] = '?';
  return text;
}

std::int64_t clamped(std::uint64_t v) {
  return static_cast<std::int64_t>(std::min(v, std::uint64_t{std::numeric_limits<std::int64_t>::max()}));
}
std::optional<std::int64_t> rounded(double v) {
  if (!(v > -9e18 && v < 9e18)) return std::nullopt;
  return static_cast<std::int64_t>(v);
}
std::optional<std::int64_t> number_of(const std::string& text) {
  std::int64_t v = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return v;
}

std::optional<std::int64_t> integer_of(const pb::Attribute& a) {
  switch (a.value_case()) {
    case pb::Attribute::kDoubleVal: return rounded(a.double_val());
    case pb::Attribute::kFloatVal: return rounded(a.float_val());
    case pb::Attribute::kInt32Val: return a.int32_val();
    case pb::Attribute::kInt64Val: return a.int64_val();
    case pb::Attribute::kUint32Val: return a.uint32_val();
    case pb::Attribute::kUint64Val: return clamped(a.uint64_val());
    case pb::Attribute::kSint32Val: return a.sint32_val();
    case pb::Attribute::kSint64Val: return a.sint64_val();
    case pb::Attribute::kFixed32Val: return a.fixed32_val();
    case pb::Attribute::kFixed64Val: return clamped(a.fixed64_val());
    case pb::Attribute::kSfixed32Val: return a.sfixed32_val();
    case pb::Attribute::kSfixed64Val: return a.sfixed64_val();
    case pb::Attribute::kBoolVal: return a.bool_val();
    case pb::Attribute::kStringVal: return number_of(a.string_val());
    case pb::Attribute::kBoolList:
    case pb::Attribute::VALUE_NOT_SET: break;
  }
  return std::nullopt;
}
std::optional<std::int64_t> integer_of(const pb::OldAttribute& a) {
  if (a.has_i()) return a.i();
  if (a.has_u()) return clamped(a.u());
  if (a.has_b()) return a.b();
  if (a.has_f()) return rounded(a.f());
  return a.has_s() ? number_of(a.s()) : std::nullopt;
}
std::string text_of(const pb::Attribute& a) { return a.has_string_val() ? a.string_val() : std::string(); }
std::string text_of(const pb::OldAttribute& a) { return a.s(); }
const auto& flags_of(const pb::Attribute& a) { return a.bool_list().values(); }
const auto& flags_of(const pb::OldAttribute& a) { return a.bools(); }

template <class List>
Attributes attributes_of(const List& list) {
  Attributes out;
  for (const auto& a : list) {
    const std::string& name = a.name();
    if (std::optional<std::int64_t>* const target = out.integer(name))
      *target = integer_of(a);
    else if (name == "is_cpu_op")
      out.is_cpu_op = integer_of(a).value_or(0) != 0;
    else if (name == "involved_dim")
      out.involved_dim.assign(flags_of(a).begin(), flags_of(a).end());
    else if (Attributes::is_group(name)) {
      out.group = printable(text_of(a));
      if (const auto n = integer_of(a); out.group.empty() && n) out.group = fmt::format("{}", *n);
    }
  }
  return out;
}

// ---- nodes

NodeKind kind_of(pb::NodeType type) {
  switch (type) {
    case pb::MEM_LOAD_NODE: return NodeKind::load;
    case pb::MEM_STORE_NODE: return NodeKind::store;
    case pb::COMP_NODE: return NodeKind::compute;
    case pb::COMM_SEND_NODE: return NodeKind::send;
    case pb::COMM_RECV_NODE: return NodeKind::receive;
    case pb::COMM_COLL_NODE: return NodeKind::collective;
    case pb::STORAGE_NODE:
    case pb::BATCH_NODE:
    case pb::CHECKPOINT_NODE: throw UserError(fmt::format("is a {}, which is not modelled", pb::NodeType_Name(type)));
    case pb::INVALID_NODE:
    case pb::METADATA_NODE: break;
  }
  return NodeKind::mark;
}

/// proto2 stores an enum value that it does not know, such as type 99, among the unknown fields.
template <class Node>
void refuse_unknown_type(const Node& node) {
  if (node.has_type()) return;
  const UnknownFieldSet& aside = node.GetReflection()->GetUnknownFields(node);
  for (int i = 0; i < aside.field_count(); ++i)
    if (aside.field(i).number() == pb::Node::kTypeFieldNumber && aside.field(i).type() == UnknownField::TYPE_VARINT)
      throw UserError(fmt::format("has unknown type {}", aside.field(i).varint()));
}

class Decoder {
 public:
  explicit Decoder(std::string file) { trace_.file = std::move(file); }

  void add(const pb::Node& n) {
    TraceNode node = begin(n);
    node.is_recorded = n.start_time_micros() > 0;
    node.start = 1e-6 * static_cast<double>(n.start_time_micros());
    node.seconds = 1e-6 * static_cast<double>(n.duration_micros());
    need(n.ctrl_deps());
    need(n.data_deps());
    end(node, attributes_of(n.attr()), Generation::current, n.inputs().values());
  }
  void add(const pb::OldNode& n) {
    const TraceNode node = begin(n);
    need(n.parent());
    end(node, attributes_of(n.attribute()), Generation::old, n.inputs());
  }

  RankTrace finish() {
    faults_.throw_if_any();
    if (trace_.nodes.size() >= none || trace_.needs.size() >= none)
      fail(trace_.file, "the file has more than 4e9 nodes");
    trace_.first_dependency.push_back(static_cast<std::uint32_t>(trace_.needs.size()));
    return std::move(trace_);
  }

 private:
  template <class Node>
  TraceNode begin(const Node& n) {
    if ((trace_.nodes.size() & 0xffff) == 0) stop_if_requested();
    trace_.first_dependency.push_back(static_cast<std::uint32_t>(trace_.needs.size()));
    TraceNode node;
    node.id = n.id();
    guarded(node.id, [&] { refuse_unknown_type(n), node.kind = kind_of(n.type()); });
    const auto [at, is_new] = labels_.try_emplace(n.name(), static_cast<std::uint32_t>(trace_.labels.size()));
    if (is_new) trace_.labels.push_back(printable(n.name()));
    node.label = at->second;
    is_group_init_ = n.type() == pb::METADATA_NODE && !n.name().empty();
    return node;
  }
  template <class Ids>
  void need(const Ids& ids) {
    trace_.needs.insert(trace_.needs.end(), ids.begin(), ids.end());
  }
  void end(TraceNode node, const Attributes& attributes, Generation generation, const std::string& inputs) {
    const auto index = static_cast<std::uint32_t>(trace_.nodes.size());
    guarded(node.id, [&] {
      fill_node(node, trace_.comms, index, attributes, generation);
      if (!is_group_init_) return;
      for (TraceGroup& group : parse_process_groups(inputs)) trace_.groups.push_back(std::move(group));
    });
    trace_.nodes.push_back(node);
  }
  template <class Work>
  void guarded(std::uint64_t id, Work work) {
    try {
      work();
    } catch (const UserError& e) {
      for (const Diagnostic& d : e.diagnostics())
        faults_.add(trace_.file, fmt::format("node {} {}", id, d.message), d.hint);
    }
  }

  RankTrace trace_;
  Faults faults_;
  bool is_group_init_ = false;
  std::unordered_map<std::string, std::uint32_t> labels_;
};

// ---- binary files

struct Message {
  std::size_t begin = 0;
  std::string_view bytes;
};

/// The messages of a file, each preceded by its length as a varint.
class Frames {
 public:
  Frames(const std::string& file, std::string_view all) : file_(file), all_(all) {}
  bool next(Message& m) {
    if (at_ == all_.size()) return false;
    const std::size_t start = at_;
    std::uint64_t length = 0;
    int shift = 0;
    for (;; shift += 7) {
      if (at_ == all_.size()) truncated(start);
      const auto byte = static_cast<unsigned char>(all_[at_++]);
      if (shift > 28) fail(file_, fmt::format("byte {}: not the length of a message", start), is_it);
      length |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) break;
    }
    if (length > all_.size() - at_) truncated(start, length);
    m = {at_, all_.substr(at_, length)};
    at_ += length;
    return true;
  }

 private:
  static constexpr const char* is_it = "is the file a complete Chakra trace?";
  [[noreturn]] void truncated(std::size_t start, std::uint64_t length = 0) const {
    fail(file_,
         fmt::format("the file ends at byte {}, inside the message of {} bytes that begins at byte {}", all_.size(),
                     length, start),
         is_it);
  }
  const std::string& file_;
  std::string_view all_;
  std::size_t at_ = 0;
};

enum class Schema { unknown, first, old, current };

bool has(const UnknownFieldSet& set, int number, UnknownField::Type type) {
  for (int i = 0; i < set.field_count(); ++i)
    if (set.field(i).number() == number && set.field(i).type() == type) return true;
  return false;
}

bool parse(UnknownFieldSet& set, std::string_view bytes) {
  set.Clear();
  return set.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

/// The generation of a node, from its fields; unknown if they do not determine it.
Schema schema_of(std::string_view node) {
  UnknownFieldSet set, inner;
  if (!parse(set, node)) return Schema::unknown;
  // The schema of 2022 has the run time, the operations and so on as fields. Only it uses fields 12 to 22.
  for (int i = 0; i < set.field_count(); ++i)
    if (set.field(i).number() > 11 && set.field(i).number() <= 22) return Schema::first;
  for (int i = 0; i < set.field_count(); ++i) {
    const UnknownField& f = set.field(i);
    if (f.type() != UnknownField::TYPE_LENGTH_DELIMITED || (f.number() != 10 && f.number() != 11)) continue;
    if (!parse(inner, f.length_delimited())) continue;
    // An attribute of 2023 has its type, a number, in field 2.
    if (f.number() == 11 && has(inner, 1, UnknownField::TYPE_LENGTH_DELIMITED) &&
        has(inner, 2, UnknownField::TYPE_VARINT))
      return Schema::old;
    if (f.number() == 10 && has(inner, 1, UnknownField::TYPE_LENGTH_DELIMITED)) return Schema::current;
  }
  return Schema::unknown;
}

/// A node has a number as id (field 1) or type (field 3). Metadata has only text and messages.
bool is_node(std::string_view bytes) {
  UnknownFieldSet set;
  return parse(set, bytes) && (has(set, 1, UnknownField::TYPE_VARINT) || has(set, 3, UnknownField::TYPE_VARINT));
}

Schema schema_of_file(const std::string& file, std::string_view bytes) {
  constexpr int looked_at = 1000;
  Frames frames(file, bytes);
  Message m;
  for (int i = 0; i < looked_at && frames.next(m); ++i) {
    if (i == 0 && !is_node(m.bytes)) continue;
    if (const Schema s = schema_of(m.bytes); s != Schema::unknown) return s;
  }
  return Schema::current;
}

template <class Node>
RankTrace decode_binary(const std::string& file, std::string_view bytes) {
  Decoder decoder(file);
  Frames frames(file, bytes);
  Message m;
  Node node;  // reused for all messages, to reuse its memory
  for (bool is_first = true; frames.next(m); is_first = false) {
    if (is_first && !is_node(m.bytes)) {
      UnknownFieldSet set;
      if (!parse(set, m.bytes))
        fail(file, fmt::format("byte {}: the message is not metadata", m.begin),
             "is the file a complete Chakra trace?");
      continue;
    }
    node.Clear();
    if (!node.ParseFromArray(m.bytes.data(), static_cast<int>(m.bytes.size())))
      fail(file, fmt::format("byte {}: the message is not a node", m.begin), "is the file a complete Chakra trace?");
    decoder.add(node);
  }
  return decoder.finish();
}

// ---- JSON files: an object of metadata, then one object per node

bool is_json(std::string_view bytes) {
  const std::size_t first = bytes.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || bytes[first] != '{') return false;
  const std::string_view begin = bytes.substr(0, 4096);
  // A binary file begins with '{' if its first message has 123 bytes. It then also contains a control character: 0x08,
  // the tag of a node's id.
  return std::none_of(begin.begin(), begin.end(),
                      [](char c) { return c >= 0 && c < 0x20 && c != '\t' && c != '\n' && c != '\r'; });
}

[[noreturn]] void fail_at(const std::string& file, std::string_view text, std::size_t byte, std::string message) {
  Diagnostic d;
  d.where = span_at(file, text, byte);
  d.message = std::move(message);
  throw UserError(std::vector<Diagnostic>{std::move(d)});
}

/// The object that begins at `at`; moves `at` past it.
std::string_view next_object(const std::string& file, std::string_view text, std::size_t& at) {
  const std::size_t begin = at;
  int depth = 0;
  for (bool in_string = false; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string) {
      if (c == '\\')
        ++at;
      else if (c == '"')
        in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth == 0) {
      return text.substr(begin, ++at - begin);
    }
  }
  fail_at(file, text, begin, fmt::format("the file ends at byte {}, inside this object", text.size()));
}

RankTrace decode_json(const std::string& file, std::string_view text) {
  google::protobuf::util::JsonParseOptions strict, lenient;
  lenient.ignore_unknown_fields = true;
  Decoder decoder(file);
  pb::GlobalMetadata metadata;
  pb::Node node;
  bool is_first = true;
  for (std::size_t at = 0;; is_first = false) {
    at = text.find_first_not_of(" \t\r\n", at);
    if (at == std::string_view::npos) break;
    const std::size_t begin = at;
    if (text[at] != '{') fail_at(file, text, at, "the object of a node must begin with '{'");
    const std::string_view object = next_object(file, text, at);
    const google::protobuf::StringPiece piece(object.data(), object.size());
    if (is_first && google::protobuf::util::JsonStringToMessage(piece, &metadata, strict).ok()) continue;
    node.Clear();
    const auto status = google::protobuf::util::JsonStringToMessage(piece, &node, lenient);
    if (!status.ok()) {
      const std::string reason = status.ToString();
      fail_at(file, text, begin, "not a node: " + printable(reason.substr(0, reason.find('\n'))));
    }
    decoder.add(node);
  }
  return decoder.finish();
}

}  // namespace

RankTrace decode(const std::string& file, std::string_view bytes) {
  const google::protobuf::LogSilencer quiet;  // protobuf prints parse errors otherwise
  if (bytes.empty()) fail(file, "the file is empty", "a trace contains at least its metadata");
  if (bytes.size() > std::size_t{std::numeric_limits<int>::max()}) fail(file, "the file is larger than 2 GiB");
  if (is_json(bytes)) return decode_json(file, bytes);
  switch (schema_of_file(file, bytes)) {
    case Schema::first:
      fail(file, "the file uses the Chakra schema of 2022, which is not supported",
           "convert the trace again with Chakra 0.0.4 or later");
    case Schema::old: return decode_binary<pb::OldNode>(file, bytes);
    case Schema::unknown:
    case Schema::current: break;
  }
  return decode_binary<pb::Node>(file, bytes);
}

}  // namespace fabricast::trace
