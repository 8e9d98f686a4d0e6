// SPDX-License-Identifier: GPL-2.0-or-later
// What is due first, of many that wait for a point in time.
#pragma once

#include <utility>
#include <vector>

#include "base/types.h"

namespace verna {

/// One that a heap holds; in one heap at a time.
class DueItem {
 public:
  bool is_waiting() const { return at_ != kNowhere; }

 private:
  template <typename T>
  friend class DueHeap;
  static constexpr size_t kNowhere = ~size_t{0};
  size_t at_ = kNowhere;
};

/// A heap of items that know where they are in it, so that one can leave from anywhere. Whatever
/// changes it costs O(log n).
template <typename T>
class DueHeap {
 public:
  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }
  /// When the first is due; kNever: there is none.
  Nanos next() const { return entries_.empty() ? kNever : entries_.front().when; }
  /// There must be one.
  T* first() const { return entries_.front().item; }

  void push(T* item, Nanos when) {
    entries_.push_back({when, item});
    rise(entries_.size() - 1);
  }
  /// It must be in this heap.
  void erase(T* item) {
    const size_t at = item->at_;
    const Entry last = entries_.back();
    entries_.pop_back();
    item->at_ = DueItem::kNowhere;
    if (last.item == item) return;
    place(at, last);
    settle(at);
  }
  /// The same for one that is due at another time now.
  void move(T* item, Nanos when) {
    entries_[item->at_].when = when;
    settle(item->at_);
  }
  /// `f` changes nothing of the heap.
  template <typename F>
  void for_each(F f) const {
    for (const Entry& entry : entries_) f(entry.item);
  }

 private:
  struct Entry {
    Nanos when;
    T* item;
  };
  void place(size_t at, const Entry& entry) {
    entries_[at] = entry;
    entry.item->at_ = at;
  }
  void settle(size_t at) {
    rise(at);
    sink(entries_[at].item->at_);
  }
  void rise(size_t at) {
    const Entry entry = entries_[at];
    for (; at > 0 && entries_[(at - 1) / 2].when > entry.when; at = (at - 1) / 2)
      place(at, entries_[(at - 1) / 2]);
    place(at, entry);
  }
  void sink(size_t at) {
    const Entry entry = entries_[at];
    for (size_t child = 2 * at + 1; child < entries_.size(); child = 2 * at + 1) {
      if (child + 1 < entries_.size() && entries_[child + 1].when < entries_[child].when) child++;
      if (entries_[child].when >= entry.when) break;
      place(at, entries_[child]);
      at = child;
    }
    place(at, entry);
  }

  std::vector<Entry> entries_;
};

}  // namespace verna
