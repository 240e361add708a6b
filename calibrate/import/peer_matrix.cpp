// Matrices of the CUDA sample p2pBandwidthLatencyTest [CUDA-samples].
//
// The tool prints each matrix twice, with and without peer access, under similar titles. A matrix is kept even if some
// values are damaged; these stay empty.
#include <algorithm>

#include "format.hpp"
#include "scan.hpp"

namespace fabricast {

namespace {

class PeerMatrices : public BlockFormat {
 public:
  using BlockFormat::BlockFormat;

  bool begins(std::string_view text, int line) override {
    text = trimmed(text);
    PeerMatrix m;
    if (text.starts_with("P2P Connectivity Matrix"))
      m.kind = "connectivity";
    else if (text.find("P2P=") == std::string_view::npos || text.find("Matrix") == std::string_view::npos)
      return false;
    else if (text.starts_with("Unidirectional"))
      m.kind = "unidirectional_bandwidth";
    else if (text.starts_with("Bidirectional"))
      m.kind = "bidirectional_bandwidth";
    else if (text.find("Latency") != std::string_view::npos)
      m.kind = "gpu_latency";
    else
      return false;
    close();
    m.peer_to_peer = m.kind == "connectivity" || text.find("P2P=Enabled") != std::string_view::npos;
    m.line = line;
    matrix_ = m;
    open_ = true;
    return true;
  }

  bool continues(std::string_view text, int line) override {
    const std::vector<std::string_view> words = words_of(text);
    if (!open_ || words.empty()) return false;
    // Bandwidths have the header `D\D`, latencies `GPU` or `CPU`.
    if (words[0] == "D\\D" || words[0] == "GPU" || words[0] == "CPU") {
      header(words, line);
      return true;
    }
    if (matrix_.devices.empty() || !whole_number(words[0]) || words.size() < 2 || !numeric(words[1])) return false;
    // Text after a complete matrix may begin with numbers, too.
    if (std::find(seen_.begin(), seen_.end(), false) == seen_.end()) return false;  // it is complete
    row(words, line);
    return true;
  }

  void close() override {
    if (open_ && !matrix_.devices.empty()) {
      const std::size_t n = matrix_.devices.size();
      for (std::size_t i = 0; i < n; ++i)
        if (!seen_[i])
          sink_.problem(matrix_.line, "the row of device " + std::to_string(matrix_.devices[i]) + " is missing");
      constexpr std::size_t most_matrices = 1000;
      if (sink_.out.peers.size() < most_matrices)
        sink_.out.peers.push_back(std::move(matrix_));
      else
        sink_.problem(matrix_.line, "matrix ignored: the log has more than 1000");
    } else if (open_) {
      sink_.problem(matrix_.line, "truncated matrix");
    }
    matrix_ = {};
    open_ = false;
    seen_.clear();
  }

 private:
  void header(const std::vector<std::string_view>& words, int line) {
    // Latencies by the CPU clock follow those by the GPU clock under the same title.
    if (words[0] == "CPU" && !matrix_.devices.empty()) {
      const bool enabled = matrix_.peer_to_peer;
      close();
      matrix_.kind = "cpu_latency";
      matrix_.peer_to_peer = enabled;
      matrix_.line = line;
      open_ = true;
    }
    constexpr std::size_t most_devices = 64;
    std::vector<int> devices;
    for (std::size_t i = 1; i < words.size(); ++i)
      if (const auto d = small_number(words[i]); d && *d >= 0 && devices.size() < most_devices)
        devices.push_back(*d);
      else
        return sink_.problem(line, "'" + shown(words[i], 40) + "' is not a device number");
    if (!matrix_.devices.empty() || devices.empty())
      return sink_.problem(line, "the matrix has " + std::string(devices.empty() ? "no devices" : "two headers"));
    matrix_.devices = std::move(devices);
    matrix_.values.assign(matrix_.devices.size() * matrix_.devices.size(), std::nullopt);
    seen_.assign(matrix_.devices.size(), false);
  }

  void row(const std::vector<std::string_view>& words, int line) {
    const std::size_t n = matrix_.devices.size();
    const auto device = small_number(words[0]);
    std::size_t from = 0;
    while (from < n && matrix_.devices[from] != device) ++from;
    if (from == n) return sink_.problem(line, "the matrix has no column for device " + shown(words[0], 40));
    if (seen_[from]) return sink_.problem(line, "second row of device " + shown(words[0], 40));
    seen_[from] = true;
    if (words.size() != n + 1)
      return sink_.problem(
          line, "the row has " + std::to_string(words.size() - 1) + " values for " + std::to_string(n) + " columns");
    for (std::size_t to = 0; to < n; ++to) {
      const auto value = printed_number(words[to + 1]);
      if (value && value->value >= 0)
        matrix_.values[from * n + to] = value->value;
      else
        sink_.problem(line, "'" + shown(words[to + 1], 40) + "' is not a valid value");
    }
  }

  PeerMatrix matrix_;
  bool open_ = false;
  std::vector<bool> seen_;
};

}  // namespace

std::unique_ptr<BlockFormat> peer_matrix_format(ImportSink& sink) { return std::make_unique<PeerMatrices>(sink); }

}  // namespace fabricast
