// One list of fields per spec: it reads the YAML, prints the effective scenario and documents the keys.
//
//   struct LeafSpineSpec { int leaves = 2; LinkSpec uplink; };
//   void visit_fields(FieldVisitor& visit, LeafSpineSpec& spec) {
//     visit("leaves", spec.leaves, "number of leaf switches", at_least(1));
//     visit("uplink", spec.uplink, "leaf to spine, each direction");
//   }
//
// A field is a scalar (bool, int, int64, double, string, quantity, named enum), a nested spec (found by its own
// visit_fields), a vector of either, or a map of strings. Adding a key is adding a line there and nowhere else.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "fabricast/core/enum_names.hpp"
#include "fabricast/core/units.hpp"

namespace fabricast {

/// Admissible numbers, in SI units; both ends included.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool proportion = false;  ///< also written `2:1`, or `3:2` for 1.5
};
constexpr Range at_least(double low) { return {low, std::numeric_limits<double>::infinity()}; }
constexpr Range between(double low, double high) { return {low, high}; }
/// Of one number to another, such as oversubscription.
constexpr Range proportion(double low, double high) { return {low, high, true}; }

/// Line rates in bytes per second that are no slip of the pen: 1 Mb/s to 1000 Tb/s.
constexpr Range line_rates{0.125e6, 125e12};

/// A ratio is written `10%` or `0.1`; a plain double is a pure number.
struct Ratio {
  double value = 1;
};

/// A word out of a closed list.
struct WordRef {
  std::span<const std::string_view> words;
  void* target;
  std::size_t (*get)(const void*);
  void (*set)(void*, std::size_t);
};

using ScalarRef = std::variant<bool*, int*, std::int64_t*, double*, Ratio*, std::string*, Bytes*, Seconds*,
                               BytesPerSecond*, Metres*, Watts*, WordRef>;

struct FieldInfo {
  std::string_view name;
  std::string_view doc;
  Range range;
};

class FieldVisitor {
 public:
  virtual ~FieldVisitor() = default;
  virtual void scalar(const FieldInfo& info, ScalarRef value) = 0;
  /// Returns false to skip the nested fields.
  virtual bool enter(const FieldInfo& info) = 0;
  virtual void leave() = 0;
  /// Returns the length the list is to have; element i is then visited as a field named "" inside enter/leave.
  virtual std::size_t enter_list(const FieldInfo& info, std::size_t size) = 0;
  virtual void string_map(const FieldInfo& info, std::map<std::string, std::string>& map) = 0;

  template <class T>
  void operator()(std::string_view name, T& field, std::string_view doc, Range range = {}) {
    dispatch({name, doc, range}, field);
  }

 private:
  template <class T>
  void dispatch(const FieldInfo& info, T& field) {
    if constexpr (NamedEnum<T>)
      scalar(info, WordRef{EnumNames<T>::names, &field,
                           [](const void* p) { return static_cast<std::size_t>(*static_cast<const T*>(p)); },
                           [](void* p, std::size_t i) { *static_cast<T*>(p) = static_cast<T>(i); }});
    else if constexpr (std::is_constructible_v<ScalarRef, T*>)
      scalar(info, &field);
    else if (enter(info)) {
      visit_fields(*this, field);
      leave();
    }
  }
  template <class T>
  void dispatch(const FieldInfo& info, std::vector<T>& list) {
    list.resize(enter_list(info, list.size()));
    for (T& item : list) dispatch({"", info.doc, info.range}, item);
    leave();
  }
  void dispatch(const FieldInfo& info, std::map<std::string, std::string>& map) { string_map(info, map); }
};

}  // namespace fabricast
