// A large value that copies share.
//
// A copy costs a pointer. What is shared is never changed: a copy that is to differ first gets a value of its own. So
// objects of this type behave as plain values do.
//
// Safe to copy and to read from several threads, as a plain value is.
#pragma once

#include <memory>
#include <utility>

namespace fabricast {

template <class T>
class Shared {
 public:
  Shared() : Shared(T{}) {}
  Shared(T value) : value_(std::make_shared<const T>(std::move(value))) {}  // NOLINT: a Shared is used as the value

  operator const T&() const { return *value_; }  // NOLINT: likewise
  const T& operator*() const { return *value_; }
  const T* operator->() const { return value_.get(); }

  /// A value of its own, to change. Copies made before keep theirs; make none while the reference is in use.
  T& change() {
    auto own = std::make_shared<T>(*value_);
    value_ = own;
    return *own;
  }

 private:
  std::shared_ptr<const T> value_;
};

}  // namespace fabricast
