// Follows the files of a job that are still being written: NCCL Inspector's logs, line by line, and RAS statuses, whole
// each time they change. Files may appear, grow, be replaced and vanish.
//
// Not safe to use from several threads at once.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "../live/job_reader.hpp"
#include "collector.hpp"

namespace fabricast::live {

class Follower {
 public:
  /// \param paths  files, and directories that stand for the files in them
  Follower(std::vector<std::string> paths, Collector& to) : paths_(std::move(paths)), to_(to) {}
  /// Reads all that was written since the last call, of all files side by side.
  void poll();
  std::size_t files() const { return files_.size(); }  ///< that are followed

 private:
  struct File {
    LiveSource source;
    std::unique_ptr<CallReader> reader;  ///< of the Inspector; null for RAS
    RankCall pending;
    std::uintmax_t size = 0;
    std::int64_t changed = 0;  ///< time of the last change, in ticks of the file system
  };

  std::vector<std::string> listed() const;
  void visit(const std::string& path);

  std::vector<std::string> paths_;
  Collector& to_;
  std::map<std::string, std::unique_ptr<File>> files_;
};

}  // namespace fabricast::live
