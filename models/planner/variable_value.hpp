// Parses the value of a variable, and declares the tables that make up nccl_variables().
#pragma once

#include <fmt/format.h>

#include "fabricast/core/quantity.hpp"
#include "fabricast/planner/variables.hpp"

namespace fabricast {

/// The value of a variable. Reports errors and warnings at `nccl.env.NAME`.
class VariableValue {
 public:
  VariableValue(std::string_view name, std::string_view text, std::vector<Diagnostic>& faults,
                std::vector<Diagnostic>& warnings)
      : name_(name), text_(text), faults_(faults), warnings_(warnings) {}

  std::string_view text() const { return text_; }
  void refuse(std::string message, std::string hint = {}) const {
    faults_.push_back(diagnostic(Diagnostic::Severity::error, std::move(message), std::move(hint)));
  }
  void warn(std::string message, std::string hint = {}) const {
    warnings_.push_back(diagnostic(Diagnostic::Severity::warning, std::move(message), std::move(hint)));
  }
  std::optional<std::int64_t> integer(std::int64_t low, std::int64_t high) const {
    const auto value = parse_integer(text_);
    if (!value) return refuse(value.error), std::nullopt;
    if (value.value < low || value.value > high)
      return refuse(fmt::format("must be between {} and {}", low, high)), std::nullopt;
    return value.value;
  }
  template <class T>
  void read(T& target, std::int64_t low, std::int64_t high) const {
    if (const auto n = integer(low, high)) target = static_cast<T>(*n);
  }
  void read(std::optional<int>& target, std::int64_t low, std::int64_t high) const {
    if (const auto n = integer(low, high)) target = static_cast<int>(*n);
  }
  void read(std::optional<Bytes>& target, std::int64_t low, std::int64_t high) const {
    if (const auto n = integer(low, high)) target = Bytes{*n};
  }
  void read(std::optional<bool>& target) const {
    if (const auto n = integer(0, 1)) target = *n == 1;
  }
  /// Reads a number of threads, which must be whole warps.
  void threads(std::optional<int>& target, int low, int high) const {
    const auto n = integer(low, high);
    if (!n) return;
    if (*n % 32) return refuse("must be a multiple of 32");
    target = static_cast<int>(*n);
  }
  /// Reads a distance, by name or in NCCL's old digits.
  void distance(std::optional<PathType>& target) const;

 private:
  Diagnostic diagnostic(Diagnostic::Severity severity, std::string message, std::string hint) const {
    return {severity, {}, "nccl.env." + std::string(name_), std::move(message), std::move(hint)};
  }
  std::string_view name_, text_;
  std::vector<Diagnostic>& faults_;
  std::vector<Diagnostic>& warnings_;
};

std::span<const NcclVariable> variables_of_choice();   // algorithms, channels, buffers
std::span<const NcclVariable> variables_of_network();  // peers, NICs, sockets
std::span<const NcclVariable> variables_of_no_effect();

}  // namespace fabricast
