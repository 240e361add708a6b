// Results as JSONL, and reading them back.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "fabricast/calibrate/probe_session.hpp"
#include "fabricast/core/quantity.hpp"

namespace fabricast {

using OrderedJson = nlohmann::ordered_json;

namespace {

/// Six significant digits: clocks and samples are not more exact, and lines stay short.
double rounded(double value) { return fabricast::rounded(value, 6); }

std::string line_of(const OrderedJson& json) {
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

OrderedJson end_of(int rank, const std::string& port) {
  OrderedJson end{{"rank", rank}};
  if (!port.empty()) end["port"] = port;
  return end;
}

}  // namespace

std::string provenance_line(const std::string& version, const std::vector<std::string>& command, std::uint64_t seed,
                            const std::string& time, const std::vector<std::string>& ranks) {
  // The token is secret.
  OrderedJson words = OrderedJson::array();
  bool secret = false;
  for (const std::string& word : command) {
    if (secret)
      words.push_back("...");
    else
      words.push_back(word.starts_with("--token=") ? "--token=..." : word);
    secret = word == "--token";
  }
  OrderedJson all = OrderedJson::array();
  for (const std::string& r : ranks) all.push_back(OrderedJson::parse(r));
  return line_of({{"fabricast", version}, {"time", time}, {"command", words}, {"seed", seed}, {"ranks", all}});
}

std::string result_line(const Measurement& m, const SampleSet& set) {
  OrderedJson line{
      {"backend", m.backend},   {"what", m.what},
      {"memory", m.memory},     {"peer", {{"from", end_of(m.from, m.from_port)}, {"to", end_of(m.to, m.to_port)}}},
      {"bytes", m.bytes.value}, {"connections", m.connections},
      {"key", m.key()}};
  if (m.gpus > 0) {
    line["gpus"] = m.gpus;
    line["in_place"] = m.in_place;
  }
  if (!m.algorithm.empty()) line["algorithm"] = m.algorithm;
  if (!m.protocol.empty()) line["protocol"] = m.protocol;
  if (m.channels > 0) line["channels"] = m.channels;
  if (!set.how.empty()) line["how"] = set.how;
  if (!set.error.empty()) line["error"] = set.error;
  if (!set.samples.empty()) {
    line["median_us"] = rounded(microseconds(set.median));
    line["low_us"] = rounded(microseconds(set.low));
    line["high_us"] = rounded(microseconds(set.high));
    if (m.stream) {
      const auto rate = [&](Seconds time) { return rounded(gigabytes_per_second(m.bytes / time)); };
      line["rate_gbps"] = rate(set.median);
      line["rate_gbps_low"] = rate(set.high);
      line["rate_gbps_high"] = rate(set.low);
    }
    if (m.gpus > 0) {
      const double algbw = gigabytes_per_second(m.bytes / set.median);
      line["algbw_gbps"] = rounded(algbw);
      line["busbw_gbps"] = rounded(algbw * m.bus_factor);
    }
    OrderedJson samples = OrderedJson::array();
    for (const Seconds s : set.samples) samples.push_back(rounded(microseconds(s)));
    line["samples_us"] = samples;
  }
  return line_of(line);
}

std::vector<std::string> hosts_of(const std::vector<std::string>& ranks) {
  std::vector<std::string> hosts;
  for (const std::string& r : ranks) hosts.push_back(OrderedJson::parse(r).at("host"));
  return hosts;
}

EarlierResults read_earlier(const std::string& text, const std::string& file) {
  EarlierResults earlier;
  int number = 0;
  for (std::size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    ++number;
    const std::string line = text.substr(begin, end - begin);
    const auto fault = [&](const std::string& message) {
      Diagnostic d;
      d.where = {file, number, 1, 1};
      d.message = message;
      d.hint = "this is not a valid file of results of `calibrate probe`; give another --output";
      return UserError(std::vector<Diagnostic>{d});
    };
    const OrderedJson json = OrderedJson::parse(line, nullptr, false);
    if (!json.is_object()) throw fault("not a JSON object");
    try {
      if (json.contains("fabricast")) {
        earlier.hosts.clear();
        for (const OrderedJson& rank : json.at("ranks")) earlier.hosts.push_back(rank.at("host"));
      } else if (number == 1) {
        throw fault("the first line is not provenance: it has no \"fabricast\"");
      } else if (json.at("key").is_string() && !json.contains("error")) {
        earlier.keys.push_back(json.at("key"));
      }
    } catch (const OrderedJson::exception& e) {
      throw fault(std::string("a key is missing or has the wrong type: ") + e.what());
    }
    earlier.whole = end + 1;
  }
  return earlier;
}

}  // namespace fabricast
