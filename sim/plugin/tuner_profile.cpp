// Reads tuner profiles strictly: every key must be known, every number within its limits.
#include "tuner_profile.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>

#include "fabricast/core/fingerprint.hpp"

namespace fabricast::plugin {

namespace {

using Json = nlohmann::json;

constexpr std::string_view format_name = "fabricast tuner profile";
constexpr std::uint64_t most_bytes = std::numeric_limits<std::int64_t>::max();
/// Ranks and nodes of a communicator are int in NCCL.
constexpr std::uint64_t most_ranks = std::numeric_limits<std::int32_t>::max();
/// NCCL's limit, which is also that of its masks of channels.
constexpr std::uint64_t most_channels = 64;
constexpr std::uintmax_t most_file_bytes = 16 << 20;

std::string in_quotes(std::string_view word) { return "'" + std::string(word) + "'"; }

/// A value of the file and where it is. Members throw a Fault that begins with the place.
class Value {
 public:
  Value(const Json& json, std::string place) : json_(json), place_(std::move(place)) {}

  [[noreturn]] void wrong(const std::string& what) const { throw Fault{place_.empty() ? what : place_ + ": " + what}; }

  /// An object with exactly these keys.
  void expect_keys(std::initializer_list<std::string_view> keys) const {
    if (!json_.is_object()) wrong("not an object");
    for (const auto& item : json_.items())
      if (std::find(keys.begin(), keys.end(), item.key()) == keys.end()) wrong("unknown key " + in_quotes(item.key()));
    for (const std::string_view key : keys)
      if (!json_.contains(key)) wrong("the key " + in_quotes(key) + " is missing");
  }
  /// \pre the key is there
  Value operator[](std::string_view key) const {
    return {json_.at(std::string(key)), (place_.empty() ? "" : place_ + ".") + std::string(key)};
  }
  std::vector<Value> items() const {
    if (!json_.is_array()) wrong("not a list");
    std::vector<Value> out;
    for (std::size_t i = 0; i < json_.size(); ++i) out.emplace_back(json_[i], place_ + "[" + std::to_string(i) + "]");
    return out;
  }
  std::string text() const {
    if (!json_.is_string()) wrong("not a text");
    return json_.get<std::string>();
  }
  std::uint64_t whole(std::uint64_t least, std::uint64_t most) const {
    if (!json_.is_number_integer()) wrong("not a whole number");
    const bool within =
        json_.is_number_unsigned() && json_.get<std::uint64_t>() >= least && json_.get<std::uint64_t>() <= most;
    if (!within) wrong(json_.dump() + " is not in " + std::to_string(least) + " to " + std::to_string(most));
    return json_.get<std::uint64_t>();
  }
  double number() const {
    if (!json_.is_number()) wrong("not a number");
    return json_.get<double>();
  }
  template <NamedEnum E>
  E word() const {
    const std::string word = text();
    const std::optional<E> found = enum_from<E>(word);
    if (!found) wrong("unknown word " + in_quotes(word));
    return *found;
  }

 private:
  const Json& json_;
  std::string place_;
};

CollectiveOp collective_of(const Value& value) {
  const auto op = value.word<CollectiveOp>();
  if (is_point_to_point(op)) value.wrong("NCCL does not ask a tuner about " + in_quotes(name_of(op)));
  return op;
}

Algorithm algorithm_of(const Value& value) {
  const auto algorithm = value.word<Algorithm>();
  if (!is_in_cost_model(algorithm)) value.wrong("NCCL does not let a tuner choose " + in_quotes(name_of(algorithm)));
  return algorithm;
}

std::array<double, 3> gain_of(const Value& value) {
  const std::vector<Value> items = value.items();
  if (items.size() != 3) value.wrong("not three numbers");
  const std::array<double, 3> gain{items[0].number(), items[1].number(), items[2].number()};
  if (!(gain[0] > 0 && gain[0] <= gain[1] && gain[1] <= gain[2] && gain[2] < 1))
    value.wrong("not ascending from above 0 to below 1");
  return gain;
}

Override override_of(const Value& value) {
  value.expect_keys({"from", "to", "algorithm", "protocol", "channels", "gain"});
  Override o;
  o.from = value["from"].whole(0, most_bytes);
  o.to = value["to"].whole(o.from, most_bytes);
  o.algorithm = algorithm_of(value["algorithm"]);
  o.protocol = value["protocol"].word<Protocol>();
  o.channels = static_cast<int>(value["channels"].whole(1, most_channels));
  o.gain = gain_of(value["gain"]);
  return o;
}

std::vector<Override> overrides_of(const Value& value) {
  std::vector<Override> out;
  for (const Value& item : value.items()) {
    out.push_back(override_of(item));
    if (out.size() > 1 && out.back().from <= out[out.size() - 2].to)
      item.wrong("does not begin above the end of the range before it");
  }
  return out;
}

/// One collective on communicators of one shape.
struct Table {
  CollectiveOp op = CollectiveOp::all_reduce;
  Shape shape;
  std::vector<Override> overrides;
};

Table table_of(const Value& value) {
  value.expect_keys({"collective", "nodes", "ranks", "overrides"});
  Table t;
  t.op = collective_of(value["collective"]);
  t.shape.nodes = value["nodes"].whole(1, most_ranks);
  t.shape.ranks = value["ranks"].whole(t.shape.nodes, most_ranks);
  t.overrides = overrides_of(value["overrides"]);
  return t;
}

std::vector<Table> tables_of(const Value& value) {
  std::vector<Table> tables;
  for (const Value& item : value.items()) {
    Table table = table_of(item);
    for (const Table& before : tables)
      if (before.op == table.op && before.shape == table.shape)
        item.wrong("a second table of " + std::string(name_of(table.op)) + " for this shape");
    tables.push_back(std::move(table));
  }
  return tables;
}

TunerProfile profile_of(const Value& value, Shape shape) {
  value.expect_keys({"format", "version", "fabricast", "scenario", "nccl", "tables"});
  if (value["format"].text() != format_name) value["format"].wrong("not " + in_quotes(format_name));
  value["version"].whole(1, 1);
  value["fabricast"].text();
  TunerProfile profile;
  profile.scenario = value["scenario"].text();
  profile.nccl = value["nccl"].text();
  for (Table& table : tables_of(value["tables"])) {
    if (table.shape != shape) continue;
    profile.has_shape = true;
    profile.overrides[static_cast<std::size_t>(table.op)] = std::move(table.overrides);
  }
  return profile;
}

/// The 16 digits in `ANYTHING.0123456789abcdef.json`, or an empty text.
std::string digits_in(const std::string& path) {
  const std::filesystem::path name = std::filesystem::path(path).filename();
  const std::string digits = name.stem().extension().string();
  const bool fits = name.extension() == ".json" && digits.size() == 17 &&
                    digits.find_first_not_of("0123456789abcdef", 1) == std::string::npos;
  return fits ? digits.substr(1) : "";
}

}  // namespace

std::size_t TunerProfile::size() const {
  std::size_t sum = 0;
  for (const std::vector<Override>& ranges : overrides) sum += ranges.size();
  return sum;
}

std::variant<TunerProfile, Fault> parse_profile(std::string_view text, Shape shape) {
  try {
    const Json json = Json::parse(text);
    return profile_of(Value(json, ""), shape);
  } catch (const Fault& fault) { return fault; } catch (const Json::parse_error& error) {
    return Fault{"not JSON at byte " + std::to_string(error.byte)};
  } catch (const Json::exception& error) { return Fault{error.what()}; }
}

std::variant<TunerProfile, Fault> read_profile(const std::string& path, Shape shape) {
  std::error_code error;
  // A pipe or a device might never end.
  if (!std::filesystem::is_regular_file(path, error)) return Fault{error ? error.message() : "not a file"};
  if (std::filesystem::file_size(path, error) > most_file_bytes) return Fault{"more than 16 MiB"};
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) return Fault{"cannot be read"};
  const std::string digits = digits_in(path);
  if (digits.empty()) return Fault{"the name does not end in a fingerprint of 16 digits and .json"};
  const std::string found = fingerprint(text);
  if (found != digits) return Fault{"the content has the fingerprint " + found + ", not that of the name"};
  return parse_profile(text, shape);
}

const Override* find(const std::vector<Override>& ranges, std::uint64_t bytes) noexcept {
  const auto first =
      std::partition_point(ranges.begin(), ranges.end(), [=](const Override& o) { return o.to < bytes; });
  return first != ranges.end() && first->from <= bytes ? &*first : nullptr;
}

}  // namespace fabricast::plugin
