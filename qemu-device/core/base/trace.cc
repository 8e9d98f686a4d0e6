// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/trace.h"

namespace verna {
namespace {

constexpr const char* kStageNames[] = {
    "doorbell",     "command",  "tx_fetch",   "tx_send",   "wire_out",   "wire_in",
    "switch",       "drop",     "flow",       "steer_eth", "rx_deliver", "rdma_in",
    "rdma_execute", "rdma_ack", "retransmit", "complete",  "event",      "interrupt",
};
static_assert(std::size(kStageNames) == static_cast<size_t>(Stage::kCount));

}  // namespace

const char* stage_name(Stage stage) {
  return stage < Stage::kCount ? kStageNames[static_cast<size_t>(stage)] : "?";
}

void Trace::enable(bool on) {
  if (!on)
    records_.reset();
  else if (!records_)
    records_ = std::make_unique<std::array<Record, kRecords>>();
  written_ = 0;
}

void Trace::store(Stage stage, uint64_t a, uint64_t b) {
  (*records_)[written_++ % kRecords] = {now_, packet_, a, b, stage};
}

}  // namespace verna
