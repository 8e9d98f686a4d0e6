// SPDX-License-Identifier: GPL-2.0-or-later
// Small types that every block of the card uses.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <type_traits>

namespace verna {

/// Card clock in nanoseconds. The core never reads a clock: whoever runs the card passes the time.
using Nanos = uint64_t;
inline constexpr Nanos kNever = std::numeric_limits<Nanos>::max();

/// Number of a function (vport); 0 is the physical function.
using FunctionId = uint16_t;

/// Little- and big-endian loads and stores at any alignment.
template <typename T>
inline T load_le(const void* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;  // every host of QEMU that we build for is little endian, asserted below
}
template <typename T>
inline void store_le(void* p, T v) {
  std::memcpy(p, &v, sizeof v);
}
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "the contract's __leNN are read as they are");

inline uint16_t load_be16(const uint8_t* p) { return static_cast<uint16_t>(p[0] << 8 | p[1]); }
inline uint32_t load_be24(const uint8_t* p) {
  return static_cast<uint32_t>(p[0]) << 16 | static_cast<uint32_t>(p[1]) << 8 | p[2];
}
inline uint32_t load_be32(const uint8_t* p) { return __builtin_bswap32(load_le<uint32_t>(p)); }
inline uint64_t load_be64(const uint8_t* p) { return __builtin_bswap64(load_le<uint64_t>(p)); }
inline void store_be16(uint8_t* p, uint16_t v) { store_le(p, __builtin_bswap16(v)); }
inline void store_be24(uint8_t* p, uint32_t v) {
  p[0] = static_cast<uint8_t>(v >> 16);
  p[1] = static_cast<uint8_t>(v >> 8);
  p[2] = static_cast<uint8_t>(v);
}
inline void store_be32(uint8_t* p, uint32_t v) { store_le(p, __builtin_bswap32(v)); }
inline void store_be64(uint8_t* p, uint64_t v) { store_le(p, __builtin_bswap64(v)); }

/// A field of several elements, such as one that is reserved, or an address.
template <typename T, size_t N>
bool all_zero(const T (&values)[N]) {
  return std::all_of(std::begin(values), std::end(values), [](T v) { return v == 0; });
}
/// A structure of the contract, which has no padding.
template <typename T>
  requires std::is_class_v<T>
bool all_zero(const T& record) {
  static_assert(std::has_unique_object_representations_v<T>);
  uint8_t bytes[sizeof record];
  std::memcpy(bytes, &record, sizeof record);
  return all_zero(bytes);
}

}  // namespace verna
