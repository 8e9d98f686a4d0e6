// SPDX-License-Identifier: GPL-2.0-or-later
#include "rdma/send_window.h"

namespace verna {

void SendRequestQueue::push(const SendRequest& request) {
  if (count_ == ring_.size()) {
    std::vector<SendRequest> larger(ring_.empty() ? 16 : ring_.size() * 2);
    for (uint32_t i = 0; i < count_; i++) larger[i] = at(i);
    ring_ = std::move(larger);
    head_ = 0;
  }
  ring_[(head_ + count_) & mask()] = request;
  count_++;
}

SendRequest* SendRequestQueue::find(uint32_t psn) {
  if (count_ == 0) return nullptr;
  if (back().contains(psn)) return &back();
  const uint32_t first = front().first_psn;
  const uint32_t wanted = psn_distance(first, psn);
  uint32_t low = 0;
  uint32_t high = count_ - 1;  // the last request that begins at or before psn lies in [low, high]
  while (low < high) {
    const uint32_t middle = low + (high - low + 1) / 2;
    if (psn_distance(first, at(middle).first_psn) <= wanted)
      low = middle;
    else
      high = middle - 1;
  }
  return at(low).contains(psn) ? &at(low) : nullptr;
}

void SendWindow::reset(uint32_t psn) {
  requests.clear();
  policy->reset(psn);
  congestion->reset();
  responses_due = 0;
  rnr_wait = blocked = wire_full = false;
}

}  // namespace verna
