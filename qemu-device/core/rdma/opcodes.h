// SPDX-License-Identifier: GPL-2.0-or-later
// The opcodes of the base transport header, as one table.
#pragma once

#include <cstdint>

namespace verna {

/// BTH opcodes; the upper three bits name the service (kServiceMask).
enum BthOpcode : uint8_t {
  kSendFirst = 0x00,
  kSendMiddle = 0x01,
  kSendLast = 0x02,
  kSendLastImm = 0x03,
  kSendOnly = 0x04,
  kSendOnlyImm = 0x05,
  kWriteFirst = 0x06,
  kWriteMiddle = 0x07,
  kWriteLast = 0x08,
  kWriteLastImm = 0x09,
  kWriteOnly = 0x0a,
  kWriteOnlyImm = 0x0b,
  kReadRequest = 0x0c,
  kReadResponseFirst = 0x0d,
  kReadResponseMiddle = 0x0e,
  kReadResponseLast = 0x0f,
  kReadResponseOnly = 0x10,
  kAcknowledge = 0x11,
  kAtomicAcknowledge = 0x12,
  kCompareSwap = 0x13,
  kFetchAdd = 0x14,
  kSendLastInv = 0x16,
  kSendOnlyInv = 0x17,
};
inline constexpr uint8_t kServiceMask = 0xe0;
inline constexpr uint8_t kServiceRc = 0x00;
inline constexpr uint8_t kServiceUc = 0x20;
inline constexpr uint8_t kServiceUd = 0x60;
inline constexpr uint8_t kCnp = 0x81;  // congestion notification, to a QP of any connected service

/// Properties of an opcode.
enum OpFlag : uint32_t {
  kOpKnown = 1u << 0,
  kOpRequest = 1u << 1,  // else a response or a CNP
  kOpFirst = 1u << 2,    // begins a message
  kOpLast = 1u << 3,     // ends a message; an ONLY packet has both
  kOpSend = 1u << 4,
  kOpWrite = 1u << 5,
  kOpRead = 1u << 6,  // request or response
  kOpAtomic = 1u << 7,
  kOpPayload = 1u << 8,
  kOpAckReq = 1u << 9,  // as a requester we ask for an acknowledgement of it
  kOpReth = 1u << 10,
  kOpAtomicEth = 1u << 11,
  kOpAeth = 1u << 12,
  kOpAtomicAck = 1u << 13,
  kOpDeth = 1u << 14,
  kOpImm = 1u << 15,
  kOpIeth = 1u << 16,
  kOpCnp = 1u << 17,
};

struct OpInfo {
  uint32_t flags;
  uint8_t ext_len;  // bytes of extension headers after the BTH
  bool has(uint32_t flag) const { return (flags & flag) != 0; }
};

/// Entry of the table; flags are 0 for an opcode that is not known.
const OpInfo& op_info(uint8_t opcode);

}  // namespace verna
