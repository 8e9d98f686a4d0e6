// SPDX-License-Identifier: GPL-2.0-or-later
// RDMA commands but those of queue pairs.
#include <algorithm>
#include <cstring>

#include "rdma/engine_impl.h"

namespace verna {
namespace {

constexpr uint8_t kRemoteRights =
    VERNA_ACCESS_REMOTE_WRITE | VERNA_ACCESS_REMOTE_READ | VERNA_ACCESS_REMOTE_ATOMIC;
constexpr uint64_t kMaxRegion = uint64_t{1} << 46;
constexpr uint16_t kMaxVlan = 4094;

bool pbl_is_clear(const verna_pbl& pbl) {
  static constexpr verna_pbl kZero{};
  return std::memcmp(&pbl, &kZero, sizeof pbl) == 0;
}

/// Rights that a peer has to change memory imply that the owner has them (IBA 10.6.3.1).
bool access_is_sound(uint8_t access) {
  if (access & ~VERNA_ACCESS_ALL) return false;
  const bool remote_change = access & (VERNA_ACCESS_REMOTE_WRITE | VERNA_ACCESS_REMOTE_ATOMIC);
  return !remote_change || (access & VERNA_ACCESS_LOCAL_WRITE);
}

/// Checks of a region of all of memory.
CommandResult check_dma_mr(const verna_cmd_create_mr& c) {
  if (c.access & (kRemoteRights | VERNA_ACCESS_ZERO_BASED))
    return VERNA_BAD_FIELD(verna_cmd_create_mr, access);
  if (c.iova != 0) return VERNA_BAD_FIELD(verna_cmd_create_mr, iova);
  if (c.length != 0) return VERNA_BAD_FIELD(verna_cmd_create_mr, length);
  if (!pbl_is_clear(c.mem)) return VERNA_BAD_FIELD(verna_cmd_create_mr, mem);
  return CommandResult::ok();
}

CommandResult check_mr(const verna_cmd_create_mr& c) {
  if (!access_is_sound(c.access)) return VERNA_BAD_FIELD(verna_cmd_create_mr, access);
  if (c.flags & ~VERNA_MR_F_DMA) return VERNA_BAD_FIELD(verna_cmd_create_mr, flags);
  if (c.reserved != 0) return VERNA_BAD_FIELD(verna_cmd_create_mr, reserved);
  if (c.flags & VERNA_MR_F_DMA) return check_dma_mr(c);
  if (c.length > kMaxRegion) return VERNA_BAD_FIELD(verna_cmd_create_mr, length);
  if (!(c.access & VERNA_ACCESS_ZERO_BASED) && range_wraps(c.iova, c.length))
    return VERNA_BAD_FIELD(verna_cmd_create_mr, iova);
  return CommandResult::ok();
}

}  // namespace

CommandResult pbl_failure(PblStatus status, uint32_t mem_offset) {
  switch (status) {
    case PblStatus::kNoResource:
      return CommandResult::fail(VERNA_CMD_NO_RESOURCE);
    case PblStatus::kDmaFault:
      return CommandResult::fail(VERNA_CMD_DMA_FAULT);
    default:
      return CommandResult::fail(VERNA_CMD_BAD_PARAM, mem_offset);
  }
}

CommandResult RdmaEngine::Impl::execute(const CommandBytes& command, Nanos now) {
  switch (command.as<verna_cmd_hdr>().opcode) {
    case VERNA_CMD_CREATE_PD:
      return create_pd();
    case VERNA_CMD_DESTROY_PD:
      return destroy_pd(command.as<verna_cmd_object>());
    case VERNA_CMD_CREATE_MR:
      return create_mr(command.as<verna_cmd_create_mr>());
    case VERNA_CMD_DESTROY_MR:
      return destroy_mr(command.as<verna_cmd_object>());
    case VERNA_CMD_CREATE_QP:
      return create_qp(command.as<verna_cmd_create_qp>());
    case VERNA_CMD_MODIFY_QP:
      return modify_qp(command.as<verna_cmd_modify_qp>(), now);
    case VERNA_CMD_QUERY_QP:
      return query_qp(command.as<verna_cmd_query>());
    case VERNA_CMD_DESTROY_QP:
      return destroy_qp_command(command.as<verna_cmd_object>());
    case VERNA_CMD_SET_GID:
      return set_gid(command.as<verna_cmd_set_gid>());
    default:
      return CommandResult::fail(VERNA_CMD_BAD_OPCODE);
  }
}

CommandResult RdmaEngine::Impl::create_pd() {
  if (pds.size() >= services.limits.max_pds) return CommandResult::fail(VERNA_CMD_NO_RESOURCE);
  auto pd = std::make_unique<ProtectionDomain>();
  const uint32_t pdn = pd->pdn = pdns.allocate();
  pds.emplace(pdn, std::move(pd));
  return CommandResult::ok(pdn);
}

CommandResult RdmaEngine::Impl::destroy_pd(const verna_cmd_object& c) {
  if (c.reserved != 0) return VERNA_BAD_FIELD(verna_cmd_object, reserved);
  const ProtectionDomain* pd = find_pd(c.id);
  if (!pd) return CommandResult::fail(VERNA_CMD_NOT_FOUND);
  if (pd->users > 0) return CommandResult::fail(VERNA_CMD_BUSY);
  pds.erase(c.id);
  pdns.release(c.id);
  return CommandResult::ok();
}

CommandResult RdmaEngine::Impl::create_mr(const verna_cmd_create_mr& c) {
  ProtectionDomain* pd = find_pd(c.pdn);
  if (!pd) return VERNA_BAD_FIELD(verna_cmd_create_mr, pdn);
  const CommandResult checked = check_mr(c);
  if (checked.status != VERNA_CMD_OK) return checked;
  if (services.memory.size() >= services.limits.max_mrs)
    return CommandResult::fail(VERNA_CMD_NO_RESOURCE);

  auto region = std::make_unique<MemoryRegion>();
  region->pd = pd;
  region->fn = c.hdr.function;
  region->access = c.access;
  region->dma = c.flags & VERNA_MR_F_DMA;
  region->invalid = false;
  region->start = c.access & VERNA_ACCESS_ZERO_BASED ? 0 : c.iova;
  region->length = c.length;
  if (!region->dma && c.length > 0) {
    const PblStatus status = PageList::load(services.env.bus, c.hdr.function, c.mem, c.length,
                                            services.env.pbl_quota, &region->pages);
    if (status != PblStatus::kOk) return pbl_failure(status, offsetof(verna_cmd_create_mr, mem));
  } else if (!region->dma && c.mem.num_pages != 0) {
    return VERNA_BAD_FIELD(verna_cmd_create_mr, mem);
  }
  pd->users++;
  return CommandResult::ok(services.memory.add(std::move(region)));
}

CommandResult RdmaEngine::Impl::destroy_mr(const verna_cmd_object& c) {
  if (c.reserved != 0) return VERNA_BAD_FIELD(verna_cmd_object, reserved);
  if (!services.memory.remove(c.id, c.hdr.function))
    return CommandResult::fail(VERNA_CMD_NOT_FOUND);
  return CommandResult::ok();
}

CommandResult RdmaEngine::Impl::set_gid(const verna_cmd_set_gid& c) {
  if (c.index >= services.gids.size()) return VERNA_BAD_FIELD(verna_cmd_set_gid, index);
  if (c.valid > 1) return VERNA_BAD_FIELD(verna_cmd_set_gid, valid);
  if (c.reserved0 != 0) return VERNA_BAD_FIELD(verna_cmd_set_gid, reserved0);
  if (c.reserved1 != 0) return VERNA_BAD_FIELD(verna_cmd_set_gid, reserved1);
  GidEntry entry;
  if (c.valid) {
    if (c.vlan > kMaxVlan && c.vlan != VERNA_VLAN_NONE)
      return VERNA_BAD_FIELD(verna_cmd_set_gid, vlan);
    if (c.mac[0] & 1) return VERNA_BAD_FIELD(verna_cmd_set_gid, mac);
    entry.valid = true;
    entry.ipv4 = gid_is_ipv4(c.gid);
    entry.vlan = c.vlan == 0 ? uint16_t{VERNA_VLAN_NONE} : uint16_t{c.vlan};
    std::memcpy(entry.mac, c.mac, sizeof entry.mac);
    std::memcpy(entry.gid, c.gid, sizeof entry.gid);
  }
  services.gids.set(c.index, entry);
  return CommandResult::ok();
}

}  // namespace verna
