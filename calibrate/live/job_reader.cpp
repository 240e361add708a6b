#include "job_reader.hpp"

#include <algorithm>

namespace fabricast::live {

void RecordReader::problem(std::string why) {
  const Position at = position();
  sink_.problem(name(), at.line, at.column, std::move(why));
}

bool RecordReader::refuse(std::string why) {
  problem(std::move(why));
  return false;
}

bool RecordReader::skip(std::string reason) {
  sink_.leave_out(std::move(reason));
  return false;
}

bool HeldReader::next(RankCall& call) {
  if (!read_) {
    read_ = true;
    read();
    std::stable_sort(calls_.begin(), calls_.end(),
                     [](const RankCall& a, const RankCall& b) { return a.when < b.when; });
  }
  if (at_ >= calls_.size()) return false;
  call = calls_[at_++];
  return true;
}

}  // namespace fabricast::live
