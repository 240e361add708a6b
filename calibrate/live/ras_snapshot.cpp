// Reads NCCL's RAS status: JSON here (`ncclras -f json`; src/ras/client_support.cc), text in ras_text.cpp.
#include "ras_snapshot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "fabricast/core/scan.hpp"
#include "json_items.hpp"

namespace fabricast::live {

namespace {

using nlohmann::json;

constexpr std::size_t longest_communicator = std::size_t{1} << 26;

int rank_number(const json& r, std::int64_t size) {
  const auto rank = r.at("rank").get<std::int64_t>();
  if (rank < 0 || rank >= size) throw std::out_of_range("rank");
  return static_cast<int>(rank);
}

std::string rank_place(const json& r) {
  return shown(fmt::format("{}, process {}, GPU {}", r.at("host").get<std::string>(), r.at("pid").get<std::int64_t>(),
                           r.at("cuda_dev").get<std::int64_t>()),
               120);
}

std::string error_of(const json& status) {
  constexpr int in_progress = 7;  // ncclInProgress
  const auto state = status.at("init_state").get<std::int64_t>(), error = status.at("async_error").get<std::int64_t>();
  if (error != 0 && error != in_progress) return fmt::format("asynchronous error, ncclResult {}", error);
  if (state == in_progress) return "is being initialized";
  if (state != 0) return fmt::format("initialization ended with ncclResult {}", state);
  return status.value("abort_flag", false) ? "the communicator is being aborted" : "";
}

RasCommunicator communicator_of(const json& c) {
  RasCommunicator out;
  const auto size = c.at("size").get<std::int64_t>();
  if (size < 1 || size > 1 << 20) throw std::out_of_range("size");
  out.size = static_cast<int>(size);
  // Communicators of equal hash differ in the second one.
  out.id = c.at("hash").get<std::string>();
  if (c.contains("secondary_hash")) out.id += ":" + c["secondary_hash"].get<std::string>();
  out.id = shown(out.id, 80);
  for (const json& r : c.at("ranks")) {
    RasRank rank;
    rank.rank = rank_number(r, size);
    rank.place = rank_place(r);
    for (const auto& [op, count] : r.at("collective_counts").items())
      rank.counts[shown(op, 40)] = count.get<std::int64_t>();
    rank.error = error_of(r.at("status"));
    out.ranks.push_back(std::move(rank));
  }
  for (const json& r : c.value("missing_ranks", json::array())) {
    const json& status = r.at("status");
    out.missing.push_back({rank_number(r, size), rank_place(r),
                           status.value("considered_dead", false) ? "RAS considers it dead"
                           : status.value("unresponsive", false)  ? "its process does not answer"
                                                                  : "no data from it"});
  }
  return out;
}

}  // namespace

void read_ras(const LiveSource& source, std::size_t piece, const std::function<void(RasCommunicator)>& take,
              const std::function<void(std::string)>& version,
              const std::function<void(int, int, std::string)>& problem) {
  ByteReader reader(source, piece);
  if (const std::string_view text = reader.rest();
      text.substr(std::min(text.size(), text.find_first_not_of(" \t\r\n"))).substr(0, 1) != "{")
    return read_ras_text(source, piece, take, version, problem);
  JsonItems items(reader, {"communicators"}, longest_communicator);
  JsonItem item;
  for (auto next = JsonItems::Next::end; (next = items.next(item)) != JsonItems::Next::end;) {
    if (next == JsonItems::Next::damaged) {
      problem(item.line, item.column, items.why());
      continue;
    }
    if (item.key != "communicators" && item.key != "nccl_version") continue;
    const json value = json::parse(item.text, nullptr, false);
    try {
      if (value.is_discarded())
        problem(item.line, item.column, "malformed JSON");
      else if (item.key == "nccl_version")
        version(shown(value.get<std::string>(), 20));
      else if (item.element)
        take(communicator_of(value));
    } catch (const json::exception&) {
      problem(item.line, item.column, "a communicator lacks a value, or has one of the wrong type");
    } catch (const std::out_of_range&) {
      problem(item.line, item.column, "a rank or the size of a communicator is impossible");
    }
  }
}

}  // namespace fabricast::live
