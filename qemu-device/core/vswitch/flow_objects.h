// SPDX-License-Identifier: GPL-2.0-or-later
// Meters and edits by number.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

namespace verna {

/// Objects that rules share: who holds one besides this table uses it. Numbers are not given again
/// soon; 0 is none.
template <typename T>
class FlowObjects {
 public:
  explicit FlowObjects(uint32_t max) : max_(max) {}

  /// Its number, or 0: there are too many.
  uint32_t add(std::shared_ptr<T> object) {
    if (objects_.size() >= max_) return 0;
    do last_++;
    while (last_ == 0 || objects_.contains(last_));
    objects_.emplace(last_, std::move(object));
    return last_;
  }
  /// Null: there is none of this number.
  std::shared_ptr<T> find(uint32_t id) const {
    const auto found = objects_.find(id);
    return found == objects_.end() ? nullptr : found->second;
  }
  /// Rules that use an object that exists.
  long users(uint32_t id) const { return objects_.find(id)->second.use_count() - 1; }
  void remove(uint32_t id) { objects_.erase(id); }
  void clear() { objects_.clear(); }
  const std::map<uint32_t, std::shared_ptr<T>>& all() const { return objects_; }

 private:
  uint32_t max_;
  uint32_t last_ = 0;
  std::map<uint32_t, std::shared_ptr<T>> objects_;
};

}  // namespace verna
