// Reads a CSV file of requests (request_trace.hpp). A trace may have a million lines, so it is parsed from views of the
// text, and the first fault ends reading: a damaged file would have a fault in each line.
#include "request_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "fabricast/core/error.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/core/scan.hpp"
#include "fabricast/workload/inference_spec.hpp"

namespace fabricast {

namespace {

enum TraceColumn : std::size_t { arrival, input, output, cached, columns };
constexpr std::array<std::string_view, columns> column_names{"arrival_s", "input", "output", "cached"};
constexpr double longest = 1e8;  // tokens, as of `workload.input`

/// A field of a line, with the column where it starts.
struct TraceField {
  std::string_view text;
  int column = 1;
};

// Without quotes: all fields are numbers. The column in the text is kept for messages.
std::vector<TraceField> fields_of(std::string_view line) {
  std::vector<TraceField> fields;
  const char* begin = line.data();
  for (bool more = true; more;) {
    const std::size_t comma = line.find(',');
    more = comma != std::string_view::npos;
    const std::string_view text = trimmed(line.substr(0, comma));
    fields.push_back({text, static_cast<int>((text.empty() ? line.data() : text.data()) - begin) + 1});
    if (more) line.remove_prefix(comma + 1);
  }
  return fields;
}

class TraceReader {
 public:
  TraceReader(std::string_view text, const std::string& file) : rest_(text), file_(file) {}

  std::vector<ServingRequest> read() {
    read_header();
    std::vector<ServingRequest> requests;
    for (std::string_view line; next(line);) {
      if (trimmed(line).empty()) continue;
      requests.push_back(request_of(line));
      if (requests.size() > static_cast<std::size_t>(most_requests))
        refuse(1, fmt::format("more than {} requests", most_requests), "split the trace, or use a part of it");
      // The simulation takes requests in the order of arrival. Sorting here would hide a wrong unit or a joined file.
      if (requests.size() > 1 && requests.back().arrival < requests[requests.size() - 2].arrival)
        refuse(1, "the request arrives before the previous one", "sort the lines by arrival_s");
    }
    if (requests.empty()) refuse(1, "the file has no requests", "write a line for each request, below the header");
    return requests;
  }

 private:
  bool next(std::string_view& line) {
    if (rest_.empty()) return false;
    const std::size_t end = rest_.find('\n');
    line = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    ++line_;
    return true;
  }

  [[noreturn]] void refuse(int column, std::string message, std::string hint) const {
    Diagnostic d;
    d.where = {file_, line_, column, 1};
    d.message = std::move(message);
    d.hint = std::move(hint);
    throw UserError({std::move(d)});
  }

  void read_header() {
    std::string_view line;
    if (!next(line)) {
      line_ = 1;
      refuse(1, "the file is empty", "write a header `arrival_s,input,output`, then a line for each request");
    }
    const std::vector<TraceField> fields = fields_of(line);
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const auto name = std::find(column_names.begin(), column_names.end(), fields[i].text);
      if (name == column_names.end())
        refuse(fields[i].column, fmt::format("unknown column '{}'", shown(fields[i].text, 40)),
               suggestion(fields[i].text, column_names));
      at_[static_cast<std::size_t>(name - column_names.begin())] = i;
    }
    for (const TraceColumn needed : {arrival, input, output})
      if (!at_[needed])
        refuse(1, fmt::format("the column '{}' is missing", column_names[needed]), "e.g. arrival_s,input,output");
    fields_ = fields.size();
  }

  double number(const std::vector<TraceField>& fields, TraceColumn column, double least, double most) const {
    const TraceField& field = fields[*at_[column]];
    const auto n = parse_number(field.text);
    // The negated condition also refuses NaN.
    if (!n || !(n.value >= least && n.value <= most))
      refuse(field.column, fmt::format("'{}' is not a valid {}", shown(field.text, 40), column_names[column]),
             fmt::format("write a number from {:g} to {:g}", least, most));
    return n.value;
  }
  std::int64_t tokens(const std::vector<TraceField>& fields, TraceColumn column, double least, double most) const {
    const double n = number(fields, column, least, most);
    if (n != std::floor(n))
      refuse(fields[*at_[column]].column, "the number of tokens must be whole", fmt::format("write {:.0f}", n));
    return static_cast<std::int64_t>(n);
  }

  ServingRequest request_of(std::string_view line) const {
    const std::vector<TraceField> fields = fields_of(line);
    if (fields.size() != fields_)
      refuse(1, fmt::format("the line has {} fields, but the header has {}", fields.size(), fields_), {});
    ServingRequest r;
    r.arrival = Seconds{number(fields, arrival, 0, 1e9)};
    r.input = tokens(fields, input, 1, longest);
    r.output = tokens(fields, output, 1, longest);
    // At least the last token of a prompt is computed, because the output starts from it.
    if (at_[cached]) r.cached = tokens(fields, cached, 0, static_cast<double>(r.input - 1));
    return r;
  }

  std::string_view rest_;
  const std::string& file_;
  int line_ = 0;
  std::array<std::optional<std::size_t>, columns> at_;
  std::size_t fields_ = 0;
};

}  // namespace

std::vector<ServingRequest> read_request_trace(const std::string& text, const std::string& file) {
  return TraceReader(text, file).read();
}

}  // namespace fabricast
