// SPDX-License-Identifier: GPL-2.0-or-later
// The Internet checksum (RFC 1071): ones' complement sums of 16-bit words.
//
// A sum does not care about byte order if all its words have the same. Here all have the order of
// memory: what csum_fold() returns is copied into a header as it is (store_le), and numbers that
// are not in memory enter through csum_number(). Zero has two forms; a sum that is 0xffff is one
// over words that are not all zero.
#pragma once

#include <cstddef>

#include "base/types.h"

namespace verna {

/// A running sum, not folded. Two of them are added with csum_join(), never with +.
using CsumSum = uint64_t;

/// Ones' complement addition of two sums.
inline CsumSum csum_join(CsumSum a, CsumSum b) {
  const CsumSum sum = a + b;
  return sum + (sum < b);
}

/// Adds `len` bytes at any alignment, the first of which is at an even offset of what is summed. An
/// odd last byte is the upper half of its word, as the checksum has it.
CsumSum csum_add(CsumSum sum, const void* data, size_t len);

/// The sum of bytes that begin at `offset` of what is summed, where `sum` counted them from 0.
inline CsumSum csum_at(CsumSum sum, size_t offset) {
  return offset & 1 ? sum << 8 | sum >> 56 : sum;
}

/// A number that stands in a 16-bit or 32-bit field in network order.
inline CsumSum csum_number(uint32_t number) { return __builtin_bswap32(number); }

/// The 16-bit sum in memory order, not inverted.
inline uint16_t csum_fold(CsumSum sum) {
  sum = (sum >> 32) + (sum & 0xffffffff);
  sum = (sum >> 32) + (sum & 0xffffffff);
  sum = (sum >> 16) + (sum & 0xffff);
  sum = (sum >> 16) + (sum & 0xffff);
  return static_cast<uint16_t>(sum);
}

/// What a header's checksum field has to hold, memory order.
inline uint16_t csum_finish(CsumSum sum) { return static_cast<uint16_t>(~csum_fold(sum)); }
/// The same for UDP, where 0 would mean "no checksum".
inline uint16_t csum_finish_udp(CsumSum sum) {
  const uint16_t value = csum_finish(sum);
  return value ? value : 0xffff;
}

/// Incremental update (RFC 1624): checksum field `check` after bytes of the packet whose sum was
/// `before` became bytes whose sum is `after`.
inline uint16_t csum_update(uint16_t check, CsumSum before, CsumSum after) {
  const CsumSum rest =
      csum_join(static_cast<uint16_t>(~check), static_cast<uint16_t>(~csum_fold(before)));
  return csum_finish(csum_join(rest, after));
}

/// Sums of the pseudo headers of TCP and UDP. `ip` is the IPv4 or IPv6 header (addresses are read
/// from it, at least 20 or 40 bytes), `proto` the upper layer, `length` its header and payload.
inline CsumSum csum_pseudo_ipv4(const uint8_t* ip, uint8_t proto, uint32_t length) {
  return csum_add(csum_join(csum_number(proto), csum_number(length)), ip + 12, 8);
}
inline CsumSum csum_pseudo_ipv6(const uint8_t* ip, uint8_t proto, uint32_t length) {
  return csum_add(csum_join(csum_number(proto), csum_number(length)), ip + 8, 32);
}

}  // namespace verna
