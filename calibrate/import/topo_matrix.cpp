// The matrix of `nvidia-smi topo -m` [nvidia-smi].
//
// nvidia-smi prints tabs, which copying often turns into spaces. Columns are therefore recognised by their words, and
// empty cells only if the tabs survived.
#include <algorithm>
#include <array>

#include "format.hpp"
#include "scan.hpp"

namespace fabricast {

namespace {

constexpr std::size_t most_devices = 128;

bool is_device(std::string_view word) {
  // nvidia-smi names NICs by device; newer drivers print NIC0 and a legend.
  for (const std::string_view kind :
       {"GPU", "NIC", "mlx4_", "mlx5_", "bnxt_re", "hfi1_", "cxi", "rdmap", "ibp", "roce"})
    if (word.starts_with(kind) && word.size() > kind.size() && is_digit(word[kind.size()])) return true;
  return false;
}

bool is_link(std::string_view word) {
  constexpr std::array<std::string_view, 8> links = {"X", "PIX", "PXB", "PHB", "NODE", "SYS", "SOC", "C2C"};
  // NV18: 18 bonded links.
  if (word.starts_with("NV") && word.size() > 2 && word.size() <= 5)
    return std::all_of(word.begin() + 2, word.end(), is_digit);
  return std::find(links.begin(), links.end(), word) != links.end();
}

class TopoMatrices : public BlockFormat {
 public:
  using BlockFormat::BlockFormat;

  bool begins(std::string_view text, int line) override {
    std::string_view start = text;
    while (!start.empty() && is_space(start.front())) start.remove_prefix(1);
    if (!start.starts_with("GPU")) return false;
    const std::vector<std::string_view> words = words_of(text);
    std::size_t n = 0;
    // NICs may have any name. The columns of devices end at `CPU Affinity` or at the end of the line.
    const bool more = text.find("CPU Affinity") != std::string_view::npos;
    while (n < words.size() && words[n] != "CPU" && !is_link(words[n]) && (more || is_device(words[n]))) ++n;
    // A row starts with a device, too, but continues with links.
    if (n == 0 || (n < words.size() && words[n] != "CPU")) return false;
    // A single word without indentation is more likely text than the header of a matrix with one GPU.
    if (n == 1 && words.size() == 1 && !is_space(text.front())) return false;
    close();
    if (n > most_devices) {
      sink_.problem(
          line, "matrix ignored: it has " + std::to_string(n) + " devices, more than " + std::to_string(most_devices));
      return true;
    }
    matrix_.line = line;
    open_ = true;
    matrix_.devices.assign(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(n));
    matrix_.links.assign(n * n, {});
    matrix_.cpus.assign(n, {});
    matrix_.numa.assign(n, {});
    const std::string rest = n < words.size()
                                 ? std::string(text.substr(static_cast<std::size_t>(words[n].data() - text.data())))
                                 : std::string();
    has_cpus_ = rest.find("CPU Affinity") != std::string::npos;
    has_numa_ = rest.find("NUMA") != std::string::npos;
    return true;
  }

  bool continues(std::string_view text, int line) override {
    const std::string_view start = trimmed(text);
    if (!open_ || start.empty()) return false;
    const std::vector<std::string_view> words = words_of(text);
    if (words[0].ends_with(':') && words.size() == 2 && is_device(words[0].substr(0, words[0].size() - 1))) {
      matrix_.names[shown(words[0].substr(0, words[0].size() - 1))] = shown(words[1]);
      return true;
    }
    if (start.find('=') != std::string_view::npos || start.ends_with("egend:")) return true;  // the legend
    const auto device = std::find(matrix_.devices.begin(), matrix_.devices.end(), words[0]);
    if (device == matrix_.devices.end()) {
      if (!is_device(words[0]) || words.size() < 2) return false;
      sink_.problem(line, "the matrix has no column for " + shown(words[0], 40));
      return true;
    }
    row(words, static_cast<std::size_t>(device - matrix_.devices.begin()), text, line);
    return true;
  }

  void close() override {
    if (!open_) return;
    open_ = false;
    const std::size_t n = matrix_.devices.size();
    for (std::size_t i = 0; i < n; ++i)
      if (!seen(i)) sink_.problem(matrix_.line, "the row of " + matrix_.devices[i] + " is missing");
    // Hosts of a job print equal matrices. One that differs belongs to another host, and a case describes one kind of
    // host.
    if (!sink_.out.topo)
      sink_.out.topo = std::move(matrix_);
    else if (sink_.out.topo->devices != matrix_.devices || sink_.out.topo->links != matrix_.links)
      sink_.problem(matrix_.line, "matrix ignored: it differs from the first topology matrix");
    matrix_ = {};
  }

 private:
  bool seen(std::size_t row) const { return !matrix_.link(row, row).empty(); }

  void row(const std::vector<std::string_view>& words, std::size_t at, std::string_view text, int line) {
    const std::size_t n = matrix_.devices.size();
    if (seen(at)) return sink_.problem(line, "second row of " + matrix_.devices[at]);
    if (words.size() < n + 1) return sink_.problem(line, "truncated row");
    // X must be on the diagonal and nowhere else, or the columns have shifted.
    for (std::size_t i = 0; i < n; ++i)
      if (!is_link(words[i + 1]) || (words[i + 1] == "X") != (i == at))
        return sink_.problem(line, "'" + shown(words[i + 1], 40) + "' is not a link between " + matrix_.devices[at] +
                                       " and " + matrix_.devices[i]);
    for (std::size_t i = 0; i < n; ++i) matrix_.links[at * n + i] = words[i + 1];
    // Empty cells can be recognised only if the line still has its tabs.
    const std::string_view last = words[n];
    std::string_view rest = text.substr(static_cast<std::size_t>(last.data() + last.size() - text.data()));
    std::vector<std::string_view> cells;
    if (rest.find('\t') != std::string_view::npos) {
      while (!rest.empty()) {
        rest.remove_prefix(std::min(rest.find('\t'), rest.size()));
        if (!rest.empty()) rest.remove_prefix(1);
        cells.push_back(trimmed(rest.substr(0, rest.find('\t'))));
      }
    } else {
      cells.assign(words.begin() + static_cast<std::ptrdiff_t>(n) + 1, words.end());
    }
    if (has_cpus_ && !cells.empty()) matrix_.cpus[at] = shown(cells[0]);
    if (has_cpus_ && has_numa_ && cells.size() > 1) matrix_.numa[at] = shown(cells[1]);
  }

  TopoMatrix matrix_;
  bool open_ = false, has_cpus_ = false, has_numa_ = false;
};

}  // namespace

std::unique_ptr<BlockFormat> topo_matrix_format(ImportSink& sink) { return std::make_unique<TopoMatrices>(sink); }

}  // namespace fabricast
