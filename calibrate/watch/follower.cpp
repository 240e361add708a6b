// Follows files by looking at all of them at each poll. That is cheap beside reading them, and works on network file
// systems, which do not tell of changes.
#include "follower.hpp"

#include <algorithm>
#include <filesystem>
#include <queue>

#include "fabricast/core/error.hpp"

namespace fabricast::live {

namespace {

constexpr std::size_t watch_piece = std::size_t{1} << 14;
constexpr std::size_t most_files = 65'536;

std::string beginning_of_source(const LiveSource& source) {
  std::string text(std::size_t{1} << 14, '\0');
  text.resize(source.read(0, text.data(), text.size()));
  return text;
}

}  // namespace

std::vector<std::string> Follower::listed() const {
  std::vector<std::string> all;
  for (const std::string& path : paths_) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) {
      all.push_back(path);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(path, error))
      if (entry.is_regular_file(error) && !entry.path().filename().string().starts_with('.'))
        all.push_back(entry.path().string());
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  if (all.size() > most_files) all.resize(most_files);
  return all;
}

void Follower::visit(const std::string& path) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error || size == 0) return;
  const std::int64_t changed = std::filesystem::last_write_time(path, error).time_since_epoch().count();
  std::unique_ptr<File>& file = files_[path];
  // A file that is shorter than before is another one.
  if (file && size < file->size) file.reset();
  if (!file) {
    auto fresh = std::make_unique<File>();
    fresh->source = live_file(path);
    const auto format = live_format_of(beginning_of_source(fresh->source));
    if (format == LiveFormat::inspector)
      fresh->reader = inspector_reader(fresh->source, watch_piece, to_, true);
    else if (format != LiveFormat::ras)
      return static_cast<void>(files_.erase(path));
    file = std::move(fresh);
  }
  const bool same = file->size == size && file->changed == changed;
  file->size = size;
  file->changed = changed;
  // A status is a snapshot: the same one again says that nothing has moved, which is what a hang is told by. A file that
  // has not been written again says nothing.
  if (!file->reader && !same)
    read_ras(
        file->source, watch_piece, [this](const RasCommunicator& c) { to_.add(c); }, [](const std::string&) {},
        [&](int line, int column, std::string why) { to_.problem(path, line, column, std::move(why)); });
}

void Follower::poll() {
  for (const std::string& path : listed()) {
    try {
      visit(path);
    } catch (const UserError& e) {
      to_.problem(path, 0, 0, e.what());
      files_.erase(path);
    }
  }
  using Entry = std::pair<std::uint64_t, File*>;
  const auto later = [](const Entry& a, const Entry& b) {
    return a.first != b.first ? a.first > b.first : a.second->source.name > b.second->source.name;
  };
  std::priority_queue<Entry, std::vector<Entry>, decltype(later)> next(later);
  const auto advance = [&](File* file) {
    try {
      if (file->reader->next(file->pending)) next.emplace(file->pending.when, file);
    } catch (const UserError& e) {
      // It has vanished since it was listed.
      to_.problem(file->source.name, 0, 0, e.what());
    }
  };
  for (const auto& [path, file] : files_)
    if (file && file->reader) advance(file.get());
  while (!next.empty()) {
    File* file = next.top().second;
    next.pop();
    to_.add(file->pending);
    advance(file);
  }
}

}  // namespace fabricast::live
