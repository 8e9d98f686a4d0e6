// SPDX-License-Identifier: GPL-2.0-or-later
#include "rdma/opcodes.h"

#include <array>

namespace verna {
namespace {

constexpr uint8_t ext_length(uint32_t flags) {
  uint8_t len = 0;
  if (flags & kOpDeth) len += 8;
  if (flags & kOpReth) len += 16;
  if (flags & kOpAtomicEth) len += 28;
  if (flags & kOpAeth) len += 4;
  if (flags & kOpAtomicAck) len += 8;
  if (flags & kOpImm) len += 4;
  if (flags & kOpIeth) len += 4;
  return len;
}

constexpr uint32_t kReq = kOpKnown | kOpRequest;
constexpr uint32_t kResp = kOpKnown;
constexpr uint32_t kOnly = kOpFirst | kOpLast;
constexpr uint32_t kData = kOpPayload;

struct Row {
  uint8_t opcode;
  uint32_t flags;
};

/// What RC and UC share.
constexpr Row kConnected[] = {
    {kSendFirst, kReq | kOpSend | kOpFirst | kData},
    {kSendMiddle, kReq | kOpSend | kData},
    {kSendLast, kReq | kOpSend | kOpLast | kData | kOpAckReq},
    {kSendLastImm, kReq | kOpSend | kOpLast | kData | kOpAckReq | kOpImm},
    {kSendOnly, kReq | kOpSend | kOnly | kData | kOpAckReq},
    {kSendOnlyImm, kReq | kOpSend | kOnly | kData | kOpAckReq | kOpImm},
    {kWriteFirst, kReq | kOpWrite | kOpFirst | kData | kOpReth},
    {kWriteMiddle, kReq | kOpWrite | kData},
    {kWriteLast, kReq | kOpWrite | kOpLast | kData | kOpAckReq},
    {kWriteLastImm, kReq | kOpWrite | kOpLast | kData | kOpAckReq | kOpImm},
    {kWriteOnly, kReq | kOpWrite | kOnly | kData | kOpAckReq | kOpReth},
    {kWriteOnlyImm, kReq | kOpWrite | kOnly | kData | kOpAckReq | kOpReth | kOpImm},
};

/// What RC has alone.
constexpr Row kReliable[] = {
    {kReadRequest, kReq | kOpRead | kOnly | kOpReth | kOpAckReq},
    {kReadResponseFirst, kResp | kOpRead | kOpFirst | kData | kOpAeth},
    {kReadResponseMiddle, kResp | kOpRead | kData},
    {kReadResponseLast, kResp | kOpRead | kOpLast | kData | kOpAeth},
    {kReadResponseOnly, kResp | kOpRead | kOnly | kData | kOpAeth},
    {kAcknowledge, kResp | kOnly | kOpAeth},
    {kAtomicAcknowledge, kResp | kOpAtomic | kOnly | kOpAeth | kOpAtomicAck},
    {kCompareSwap, kReq | kOpAtomic | kOnly | kOpAtomicEth | kOpAckReq},
    {kFetchAdd, kReq | kOpAtomic | kOnly | kOpAtomicEth | kOpAckReq},
    {kSendLastInv, kReq | kOpSend | kOpLast | kData | kOpAckReq | kOpIeth},
    {kSendOnlyInv, kReq | kOpSend | kOnly | kData | kOpAckReq | kOpIeth},
};

constexpr Row kDatagram[] = {
    {kServiceUd | kSendOnly, kReq | kOpSend | kOnly | kData | kOpDeth},
    {kServiceUd | kSendOnlyImm, kReq | kOpSend | kOnly | kData | kOpDeth | kOpImm},
    {kCnp, kOpKnown | kOpCnp | kData},
};

constexpr std::array<OpInfo, 256> make_table() {
  std::array<OpInfo, 256> table{};
  const auto set = [&table](uint8_t opcode, uint32_t flags) {
    table[opcode] = OpInfo{flags, ext_length(flags)};
  };
  for (const Row& row : kConnected) {
    set(kServiceRc | row.opcode, row.flags);
    set(kServiceUc | row.opcode, row.flags & ~uint32_t{kOpAckReq});
  }
  for (const Row& row : kReliable) set(row.opcode, row.flags);
  for (const Row& row : kDatagram) set(row.opcode, row.flags);
  return table;
}

constexpr std::array<OpInfo, 256> kTable = make_table();

}  // namespace

const OpInfo& op_info(uint8_t opcode) { return kTable[opcode]; }

}  // namespace verna
