// Reads the output of other tools that a user passes with `--text`. Texts are split into lines here; ToolReader
// recognises and parses them.
#include "tools.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "fabricast/core/error.hpp"
#include "fabricast/core/scan.hpp"
#include "tool_reader.hpp"

namespace fabricast {

std::string SmiGpu::value(const std::string& path) const {
  const auto found = values.find(path);
  return found == values.end() ? std::string() : found->second;
}

std::optional<double> SmiGpu::number(const std::string& path) const {
  const std::string text = value(path);
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  return end == text.c_str() ? std::nullopt : std::optional(number);
}

std::size_t NvlinkGpu::active() const {
  return static_cast<std::size_t>(std::count_if(gbps.begin(), gbps.end(), [](const auto& g) { return g.second > 0; }));
}

ToolFacts read_tool_texts(const std::vector<ToolText>& texts) {
  ToolFacts facts;
  std::vector<Diagnostic> faults;
  for (const ToolText& text : texts) {
    // A new reader for each text: the output of a tool does not continue in another file.
    ToolReader reader(facts);
    std::string_view rest = text.content;
    while (!rest.empty()) {
      std::string_view line = take_until(rest, '\n');
      if (line.ends_with('\r')) line.remove_suffix(1);
      reader.take(line);
    }
    // A file in which nothing is recognised is most likely the wrong file, so it is an error and not ignored.
    if (reader.known()) continue;
    Diagnostic d;
    d.where = {text.name, 1, 1, 1};
    d.message = text.content.empty() ? "the file is empty" : "this is not the output of a command that doctor knows";
    d.hint =
        "known: nvidia-smi -q; nvidia-smi nvlink -s or -e; dmesg; systemctl status nvidia-fabricmanager; "
        "nvidia-imex-ctl -N; mlnx_qos -i DEV; dcb pfc show dev DEV";
    faults.push_back(d);
  }
  if (!faults.empty()) throw UserError(std::move(faults));
  return facts;
}

}  // namespace fabricast
