// A large value that copies share.
//
// A copy costs a pointer. What is shared is never changed: a copy that is to differ first gets a value of its own. So
// objects of this type behave as plain values do.
//
// For values that are read in many places and changed in few, such as the table of hardware in every trial of a study.
//
//   Shared<Hardware> mine = shipped;     // a pointer
//   mine.change().gpus["x"] = {...};     // now a copy of its own; `shipped` is as before
//
// Safe to copy and to read from several threads, as a plain value is.
#pragma once

#include <memory>
#include <utility>

namespace fabricast {

/// A T that is read as a `const T&` and copied as a pointer. Never empty, except after it was moved from: then it may
/// only be assigned or destroyed.
template <class T>
class Shared {
 public:
  /// A default T, which is allocated at once.
  Shared() : Shared(T{}) {}
  Shared(T value) : value_(std::make_shared<const T>(std::move(value))) {}  // NOLINT: a Shared is used as the value

  operator const T&() const { return *value_; }  // NOLINT: likewise
  /// The value. A reference stays valid until this object is changed, assigned or destroyed.
  const T& operator*() const { return *value_; }
  const T* operator->() const { return value_.get(); }

  /// A value of its own, to change. Copies made before keep theirs; make none while the reference is in use, because
  /// they would see the changes. Each call copies the whole value, even if nothing shares it: call it once for a group
  /// of changes.
  T& change() {
    auto own = std::make_shared<T>(*value_);
    value_ = own;
    return *own;
  }

 private:
  std::shared_ptr<const T> value_;
};

}  // namespace fabricast
