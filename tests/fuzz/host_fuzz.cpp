// Files of a host, for the doctor: a line `== PATH` begins each. Those that are not there are as on a healthy host.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include "fabricast/calibrate/doctor.hpp"
#include "reader.hpp"
#include "support/host_tree.hpp"

namespace fabricast::fuzz {

namespace {

namespace fs = std::filesystem;

/// A healthy host, made once; what is written into it is taken back at the end of its life.
class ChangedHost {
 public:
  ~ChangedHost() {
    std::error_code failed;
    for (auto it = before_.rbegin(); it != before_.rend(); ++it) {
      if (it->second)
        std::ofstream(it->first, std::ios::binary) << *it->second;
      else
        fs::remove(it->first, failed);
    }
  }

  void write(std::string_view path, std::string_view content) {
    const fs::path file = fs::path(root()) / path;
    make_folder(file.parent_path());
    std::error_code failed;
    if (fs::is_directory(file, failed) || !fs::is_directory(file.parent_path(), failed)) return;
    std::optional<std::string> old;
    if (std::ifstream in(file, std::ios::binary); in)
      old.emplace(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    before_.emplace_back(file, std::move(old));
    std::ofstream(file, std::ios::binary) << content;
  }

  static std::string root() {
    static const HostTree host;
    static const bool made = (write_healthy_host(host, true), true);
    return made ? host.root() : std::string();
  }

 private:
  void make_folder(const fs::path& folder) {
    std::error_code failed;
    if (fs::exists(folder, failed)) return;
    make_folder(folder.parent_path());
    if (fs::create_directory(folder, failed)) before_.emplace_back(folder, std::nullopt);
  }

  std::vector<std::pair<fs::path, std::optional<std::string>>> before_;
};

/// A path below the root.
bool is_path(std::string_view path) {
  if (path.empty() || path.size() > 200 || path.front() == '/' || path.back() == '/') return false;
  if (path.find("..") != std::string_view::npos || path.find("//") != std::string_view::npos) return false;
  for (const char c : path)
    if (static_cast<unsigned char>(c) <= 0x20 || c == 0x7f) return false;
  return find_not_utf8(path) == std::string_view::npos;
}

}  // namespace

void read_host(std::string_view bytes) {
  ChangedHost host;
  while (bytes.starts_with("== ")) {
    const auto line = bytes.substr(0, bytes.find('\n'));
    bytes.remove_prefix(std::min(bytes.size(), line.size() + 1));
    const auto next = bytes.starts_with("== ") ? 0 : bytes.find("\n== ");
    const auto content = bytes.substr(0, next == 0 || next == std::string_view::npos ? next : next + 1);
    if (is_path(line.substr(3))) host.write(line.substr(3), content);
    bytes.remove_prefix(content.size());
  }
  const DoctorReport report = doctor(ChangedHost::root(), {});
  for (const Finding& f : report.findings) require(!f.check.empty() && !f.subject.empty());
  require_clean(doctor_text(report, "1"));
  require_clean(doctor_json(report, "1"));
}

}  // namespace fabricast::fuzz
