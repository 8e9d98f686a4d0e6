// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/mapped_bus.h"

#include <algorithm>

namespace verna {

namespace {

/// An aligned word, such as an index in a queue record, is read in one piece.
void copy_in(void* to, const uint8_t* from, size_t len) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(from);
  if (len == 8 && address % 8 == 0)
    store_le(to, __atomic_load_n(reinterpret_cast<const uint64_t*>(from), __ATOMIC_RELAXED));
  else if (len == 4 && address % 4 == 0)
    store_le(to, __atomic_load_n(reinterpret_cast<const uint32_t*>(from), __ATOMIC_RELAXED));
  else
    std::memcpy(to, from, len);
}

bool wraps(uint64_t addr, size_t len) { return len && addr + (len - 1) < addr; }

}  // namespace

MappedBus::MappedBus(const verna_host_ops& ops, void* opaque, uint16_t num_vectors,
                     uint16_t num_vfs, uint16_t vf_vectors)
    : ops_(ops), opaque_(opaque) {
  functions_.push_back(std::make_unique<Function>(num_vectors));
  for (uint16_t i = 0; i < num_vfs; i++)
    functions_.push_back(std::make_unique<Function>(vf_vectors));
}

bool MappedBus::vectors_pending() const {
  return std::any_of(functions_.begin(), functions_.end(),
                     [](const auto& function) { return function->vectors.any(); });
}

std::optional<MappedBus::Vector> MappedBus::take_vector() {
  for (; taking_ < functions_.size(); taking_++, has_more_ = false) {
    PendingVectors& vectors = functions_[taking_]->vectors;
    if (!has_more_ && !vectors.any()) continue;
    has_more_ = true;
    if (const auto number = vectors.take())
      return Vector{static_cast<FunctionId>(taking_), *number};
  }
  taking_ = 0;
  return std::nullopt;
}

MappedBus::Piece MappedBus::find(FunctionId fn, uint64_t addr, uint64_t len, bool write) {
  const uint32_t generation = generation_.load(std::memory_order_acquire);
  if (fn >= functions_.size()) return {};
  for (const Entry& e : functions_[fn]->entries) {
    const uint64_t offset = addr - e.addr;
    if (offset < e.map.len && e.generation == generation && (e.map.writable || !write))
      return {static_cast<uint8_t*>(e.map.host) + offset, std::min(len, e.map.len - offset),
              e.map.region, e.map.offset + offset};
  }
  return ask(fn, addr, len, write);
}

MappedBus::Piece MappedBus::ask(FunctionId fn, uint64_t addr, uint64_t len, bool write) {
  // Read before asking: a change meanwhile makes the entry void.
  Entry entry{addr, {}, generation_.load(std::memory_order_acquire)};
  entry.map.len = len;
  if (!ops_.map(opaque_, fn, addr, write, &entry.map) || entry.map.len == 0) return {};
  if (entry.map.keep) remember(functions_[fn].get(), entry);
  return {static_cast<uint8_t*>(entry.map.host), std::min(len, entry.map.len), entry.map.region,
          entry.map.offset};
}

// Replaces what the new entry covers, or what it only extends: mappings grow downwards, because the
// host tells how far memory goes on, not where it begins.
void MappedBus::remember(Function* function, const Entry& entry) {
  for (Entry& e : function->entries)
    if (e.map.len && e.addr + e.map.len == entry.addr + entry.map.len) {
      e = entry;
      return;
    }
  function->entries[function->victim] = entry;
  function->victim = (function->victim + 1) % function->entries.size();
}

bool MappedBus::read(FunctionId fn, uint64_t addr, void* dst, size_t len) {
  if (wraps(addr, len)) return false;
  uint8_t* to = static_cast<uint8_t*>(dst);
  while (len) {
    const Piece piece = find(fn, addr, len, false);
    if (!piece.host) return false;
    copy_in(to, piece.host, piece.len);
    to += piece.len;
    addr += piece.len;
    len -= piece.len;
  }
  return true;
}

bool MappedBus::write(FunctionId fn, uint64_t addr, const void* src, size_t len) {
  if (wraps(addr, len)) return false;
  const uint8_t* from = static_cast<const uint8_t*>(src);
  while (len) {
    const Piece piece = find(fn, addr, len, true);
    if (!piece.host) return false;
    std::memcpy(piece.host, from, piece.len);
    ops_.written(opaque_, piece.region, piece.offset, piece.len);
    from += piece.len;
    addr += piece.len;
    len -= piece.len;
  }
  return true;
}

// Eight aligned bytes, which are within one page and so in one piece.
uint64_t* MappedBus::find64(FunctionId fn, uint64_t addr, Piece* piece) {
  if (addr % 8) return nullptr;
  *piece = find(fn, addr, 8, true);
  if (!piece->host || piece->len < 8 || reinterpret_cast<uintptr_t>(piece->host) % 8)
    return nullptr;
  return reinterpret_cast<uint64_t*>(piece->host);
}

bool MappedBus::write_release64(FunctionId fn, uint64_t addr, uint64_t value) {
  Piece piece;
  uint64_t* word = find64(fn, addr, &piece);
  if (!word) return false;
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
  ops_.written(opaque_, piece.region, piece.offset, 8);
  return true;
}

bool MappedBus::atomic64(FunctionId fn, uint64_t addr, AtomicOp op, uint64_t operand,
                         uint64_t compare, uint64_t* original) {
  Piece piece;
  uint64_t* word = find64(fn, addr, &piece);
  if (!word) return false;
  if (op == AtomicOp::kFetchAdd) {
    *original = __atomic_fetch_add(word, operand, __ATOMIC_SEQ_CST);
  } else {
    *original = compare;
    __atomic_compare_exchange_n(word, original, operand, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  }
  ops_.written(opaque_, piece.region, piece.offset, 8);
  return true;
}

}  // namespace verna
