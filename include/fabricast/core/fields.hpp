// One list of fields per spec: it reads the YAML, writes the effective scenario and documents the keys.
//
//   struct LeafSpineSpec { int leaves = 2; LinkSpec uplink; };
//   void visit_fields(FieldVisitor& visit, LeafSpineSpec& spec) {
//     visit("leaves", spec.leaves, "number of leaf switches", at_least(1));
//     visit("uplink", spec.uplink, "leaf to spine, each direction");
//   }
//
// A field is a scalar (bool, int, int64, double, string, quantity, named enum), a nested spec (with a visit_fields of
// its own, found by argument-dependent lookup), a vector of either, or a map of strings. To add a key, add a line to
// visit_fields; nothing else changes.
//
// The visitors are the YAML reader and the writer of the effective scenario (sim/scenario), and FieldTree
// (core/field_tree.hpp). A visitor may write to the fields. The order of the calls is the order in files and documents.
// Limits are in SI units; only the YAML reader enforces them. A spec that a program fills in is not checked here; what
// builds from it checks what it needs.
//
// Names and descriptions are kept as string_view: pass literals, or text that outlives the visit.
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

/// Limits of a number in SI units, both ends included. By default there are none. They should exclude what is surely a
/// mistake, such as a wrong unit, and no value that a system could have.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool proportion = false;  ///< also written `2:1`, or `3:2` for 1.5
  /// A fraction of something, also written `10%`.
  constexpr bool fraction() const { return low >= 0 && high <= 1; }
};
/// No upper limit.
constexpr Range at_least(double low) { return {low, std::numeric_limits<double>::infinity()}; }
/// \pre low <= high; equal ends allow one value, as "write 1"
constexpr Range between(double low, double high) { return {low, high}; }
/// Of one number to another, such as oversubscription.
constexpr Range proportion(double low, double high) { return {low, high, true}; }

/// Plausible line rates in bytes per second, 1 Mb/s to 1000 Tb/s. Anything outside is a mistake in the unit.
constexpr Range line_rates{0.125e6, 125e12};

/// A fraction, written `10%` or `0.1`, that may exceed the whole. The default is the whole, so that a factor that nobody
/// gave changes nothing. A plain double field is a number without a unit, or a fraction if its range is one.
struct Ratio {
  double value = 1;
};

/// A word from a closed list, with type-erased access to the field that holds it as an index.
struct WordRef {
  std::span<const std::string_view> words;  ///< those of EnumNames, in the order of the enumerators
  void* target;                             ///< the field; passed to `get` and `set`
  std::size_t (*get)(const void*);          ///< index of the current word
  void (*set)(void*, std::size_t);          ///< \pre the index is below words.size()
};

/// A field with a single value, by its type. The pointer is to the field of the spec that is visited and valid during
/// the call. A visitor must handle every alternative; std::visit makes the compiler check it.
using ScalarRef = std::variant<bool*, int*, std::int64_t*, double*, Ratio*, std::string*, Bytes*, Seconds*,
                               BytesPerSecond*, Metres*, Watts*, WordRef>;

/// What a spec says of one of its fields.
struct FieldInfo {
  std::string_view name;  ///< the key; empty for elements of a list
  std::string_view doc;   ///< one line on its meaning, shown by `describe` and in the JSON Schema
  Range range;            ///< of a number or quantity, or of each element of a list
};

/// Receives the fields of a spec in order. Derived classes implement the virtual functions; specs use operator().
class FieldVisitor {
 public:
  virtual ~FieldVisitor() = default;
  /// A field with a single value.
  virtual void scalar(const FieldInfo& info, ScalarRef value) = 0;
  /// A nested spec begins. Returns false to skip its fields; `leave` is then not called.
  virtual bool enter(const FieldInfo& info) = 0;
  /// A nested spec or a list ends.
  virtual void leave() = 0;
  /// A list begins that has `size` elements. Returns the length to give it. Its elements are then visited as fields
  /// with an empty name, and `leave` is called.
  virtual std::size_t enter_list(const FieldInfo& info, std::size_t size) = 0;
  /// A map of free keys to texts, such as `nccl.env`. There is no `leave` for it.
  virtual void string_map(const FieldInfo& info, std::map<std::string, std::string>& map) = 0;

  /// Visits a field of a spec; chooses the virtual function by the type. A type that is neither a scalar, a list, a map
  /// nor a spec with visit_fields does not compile.
  /// \throws what the visitor throws; the YAML reader collects its errors instead
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
