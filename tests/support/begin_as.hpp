// A list of messages against the beginnings of those expected: what is wrong and where, whatever the advice after it.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace fabricast::test {

class BeginAs : public Catch::MatcherBase<std::vector<std::string>> {
 public:
  explicit BeginAs(std::vector<std::string> expected) : expected_(std::move(expected)) {}
  bool match(const std::vector<std::string>& found) const override {
    if (found.size() != expected_.size()) return false;
    for (std::size_t i = 0; i < found.size(); ++i)
      if (!found[i].starts_with(expected_[i])) return false;
    return true;
  }
  std::string describe() const override { return "begin as " + Catch::Detail::stringify(expected_); }

 private:
  std::vector<std::string> expected_;
};

template <class... Text>
BeginAs begin_as(const Text&... expected) {
  return BeginAs({std::string(expected)...});
}

}  // namespace fabricast::test
