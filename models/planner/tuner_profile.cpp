// Reads tuner profiles strictly: every key must be known, every number within its limits. The plugin is compiled with
// this file, so it needs nothing else of the project.
#include "fabricast/planner/tuner_profile.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>

#include "fabricast/core/fingerprint.hpp"

namespace fabricast {

namespace {

using TunerJson = nlohmann::json;

constexpr std::string_view format_name = "fabricast tuner profile";
constexpr std::uint64_t most_tuned_bytes = std::numeric_limits<std::int64_t>::max();
/// Ranks and nodes of a communicator are int in NCCL.
constexpr std::uint64_t most_ranks = std::numeric_limits<std::int32_t>::max();
/// NCCL's limit, which is also that of its masks of channels.
constexpr std::uint64_t most_tuned_channels = 64;

std::string in_quotes(std::string_view word) { return "'" + std::string(word) + "'"; }

/// A value of the file and where it is. Members throw a TunerFault that begins with the place.
class TunerValue {
 public:
  TunerValue(const TunerJson& json, std::string place) : json_(json), place_(std::move(place)) {}

  [[noreturn]] void wrong(const std::string& what) const {
    throw TunerFault{place_.empty() ? what : place_ + ": " + what};
  }

  /// An object with exactly these keys.
  void expect_keys(std::initializer_list<std::string_view> keys) const {
    if (!json_.is_object()) wrong("not an object");
    for (const auto& item : json_.items())
      if (std::find(keys.begin(), keys.end(), item.key()) == keys.end()) wrong("unknown key " + in_quotes(item.key()));
    for (const std::string_view key : keys)
      if (!json_.contains(key)) wrong("the key " + in_quotes(key) + " is missing");
  }
  /// \pre the key is there
  TunerValue operator[](std::string_view key) const {
    return {json_.at(std::string(key)), (place_.empty() ? "" : place_ + ".") + std::string(key)};
  }
  std::vector<TunerValue> items() const {
    if (!json_.is_array()) wrong("not a list");
    std::vector<TunerValue> out;
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
    if (!within) wrong(json_.dump() + " is not between " + std::to_string(least) + " and " + std::to_string(most));
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
  const TunerJson& json_;
  std::string place_;
};

CollectiveOp collective_of(const TunerValue& value) {
  const auto op = value.word<CollectiveOp>();
  if (is_point_to_point(op)) value.wrong("NCCL does not ask a tuner about " + in_quotes(name_of(op)));
  return op;
}

Algorithm algorithm_of(const TunerValue& value) {
  const auto algorithm = value.word<Algorithm>();
  if (!is_in_cost_model(algorithm)) value.wrong("NCCL does not let a tuner choose " + in_quotes(name_of(algorithm)));
  return algorithm;
}

std::array<double, 3> gain_of(const TunerValue& value) {
  const std::vector<TunerValue> items = value.items();
  if (items.size() != 3) value.wrong("not three numbers");
  const std::array<double, 3> gain{items[0].number(), items[1].number(), items[2].number()};
  if (!(gain[0] > 0 && gain[0] <= gain[1] && gain[1] <= gain[2] && gain[2] < 1))
    value.wrong("not ascending from above 0 to below 1");
  return gain;
}

TunerRule rule_of(const TunerValue& value) {
  value.expect_keys({"from", "to", "algorithm", "protocol", "channels", "gain"});
  TunerRule o;
  o.from = value["from"].whole(0, most_tuned_bytes);
  o.to = value["to"].whole(o.from, most_tuned_bytes);
  o.algorithm = algorithm_of(value["algorithm"]);
  o.protocol = value["protocol"].word<Protocol>();
  o.channels = static_cast<int>(value["channels"].whole(1, most_tuned_channels));
  o.gain = gain_of(value["gain"]);
  return o;
}

std::vector<TunerRule> rules_of(const TunerValue& value) {
  std::vector<TunerRule> out;
  for (const TunerValue& item : value.items()) {
    out.push_back(rule_of(item));
    if (out.size() > 1 && out.back().from <= out[out.size() - 2].to)
      item.wrong("does not begin above the end of the range before it");
  }
  return out;
}

TunerRules table_of(const TunerValue& value) {
  value.expect_keys({"collective", "nodes", "ranks", "overrides"});
  TunerRules t;
  t.op = collective_of(value["collective"]);
  t.shape.nodes = value["nodes"].whole(1, most_ranks);
  t.shape.ranks = value["ranks"].whole(t.shape.nodes, most_ranks);
  t.rules = rules_of(value["overrides"]);
  return t;
}

std::vector<TunerRules> tables_of(const TunerValue& value) {
  std::vector<TunerRules> tables;
  for (const TunerValue& item : value.items()) {
    TunerRules table = table_of(item);
    for (const TunerRules& before : tables)
      if (before.op == table.op && before.shape == table.shape)
        item.wrong("a second table of " + std::string(name_of(table.op)) + " for this shape");
    tables.push_back(std::move(table));
  }
  return tables;
}

TunerProfile profile_of(const TunerValue& value) {
  value.expect_keys({"format", "version", "fabricast", "scenario", "nccl", "tables"});
  if (value["format"].text() != format_name) value["format"].wrong("not " + in_quotes(format_name));
  value["version"].whole(1, 1);
  TunerProfile profile;
  profile.fabricast = value["fabricast"].text();
  profile.scenario = value["scenario"].text();
  profile.nccl = value["nccl"].text();
  profile.tables = tables_of(value["tables"]);
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

/// Rounded to three significant digits: a small gain must not become 0, which a reader refuses.
double three_digits(double gain) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g", gain);
  return std::strtod(text.data(), nullptr);
}

}  // namespace

std::variant<TunerProfile, TunerFault> parse_tuner_profile(std::string_view text) {
  try {
    const TunerJson json = TunerJson::parse(text);
    return profile_of(TunerValue(json, ""));
  } catch (const TunerFault& fault) { return fault; } catch (const TunerJson::parse_error& error) {
    return TunerFault{"not JSON at byte " + std::to_string(error.byte)};
  } catch (const TunerJson::exception& error) { return TunerFault{error.what()}; }
}

std::string wrong_tuner_name(const std::string& path, std::string_view text) {
  const std::string digits = digits_in(path);
  if (digits.empty()) return "the name does not end in a fingerprint of 16 digits and .json";
  const std::string found = fingerprint(std::string(text));
  return found == digits ? "" : "the content has the fingerprint " + found + ", not that of the name";
}

std::variant<TunerProfile, TunerFault> read_tuner_profile(const std::string& path) {
  std::error_code error;
  // A pipe or a device might never end.
  if (!std::filesystem::is_regular_file(path, error)) return TunerFault{error ? error.message() : "not a file"};
  if (std::filesystem::file_size(path, error) > most_tuner_profile_bytes) return TunerFault{"more than 16 MiB"};
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) return TunerFault{"cannot be read"};
  if (std::string wrong = wrong_tuner_name(path, text); !wrong.empty()) return TunerFault{std::move(wrong)};
  return parse_tuner_profile(text);
}

std::string tuner_profile_json(const TunerProfile& profile) {
  using OrderedJson = nlohmann::ordered_json;
  OrderedJson tables = OrderedJson::array();
  for (const TunerRules& table : profile.tables) {
    OrderedJson rules = OrderedJson::array();
    for (const TunerRule& r : table.rules)
      rules.push_back({{"from", r.from},
                       {"to", r.to},
                       {"algorithm", name_of(r.algorithm)},
                       {"protocol", name_of(r.protocol)},
                       {"channels", r.channels},
                       {"gain", {three_digits(r.gain[0]), three_digits(r.gain[1]), three_digits(r.gain[2])}}});
    tables.push_back({{"collective", name_of(table.op)},
                      {"nodes", table.shape.nodes},
                      {"ranks", table.shape.ranks},
                      {"overrides", rules}});
  }
  const OrderedJson json{{"format", format_name},        {"version", 1},         {"fabricast", profile.fabricast},
                         {"scenario", profile.scenario}, {"nccl", profile.nccl}, {"tables", tables}};
  return json.dump(1) + "\n";
}

}  // namespace fabricast
