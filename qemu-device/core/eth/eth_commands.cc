// SPDX-License-Identifier: GPL-2.0-or-later
// Commands 0x0100 to 0x01ff: queues, filters and MTU of the Ethernet side.
#include <algorithm>

#include "ctrl/pbl_result.h"
#include "eth/eth_engine.h"
#include "queue/ring_place.h"

namespace verna {
namespace {

constexpr uint32_t kModes = VERNA_RX_MODE_PROMISC | VERNA_RX_MODE_ALLMULTI | VERNA_RX_MODE_ENABLE;
constexpr uint32_t kFeatures = VERNA_ETH_ON_MERGE | VERNA_ETH_ON_MERGE_CWR |
                               VERNA_ETH_ON_MERGE_IDS | VERNA_ETH_ON_STRIP | VERNA_ETH_ON_STRIP_S |
                               VERNA_ETH_ON_FILTER | VERNA_ETH_ON_FILTER_S | VERNA_ETH_ON_LOOPBACK;
constexpr uint8_t kTxStride = 5;
constexpr uint8_t kRxStride = 4;
static_assert(sizeof(verna_tx_desc) == 1u << kTxStride);
static_assert(sizeof(verna_rx_desc) == 1u << kRxStride);

CommandResult init_result(TxQueue::Init init) {
  switch (init) {
    case TxQueue::Init::kOk:
      return CommandResult::ok();
    case TxQueue::Init::kBadLayout:
      return VERNA_BAD_FIELD(verna_cmd_create_ethq, ring_offset);
    default:
      return CommandResult::fail(VERNA_CMD_DMA_FAULT);
  }
}

}  // namespace

CommandResult EthEngine::execute(const CommandBytes& command, Nanos now) {
  now_ = now;
  switch (command.as<verna_cmd_hdr>().opcode) {
    case VERNA_CMD_CREATE_TXQ:
      return create_txq(command);
    case VERNA_CMD_DESTROY_TXQ:
      return destroy_txq(command);
    case VERNA_CMD_CREATE_RXQ:
      return create_rxq(command);
    case VERNA_CMD_DESTROY_RXQ:
      return destroy_rxq(command);
    case VERNA_CMD_MODIFY_TXQ:
      return modify_txq(command);
    case VERNA_CMD_SET_RX_MODE:
      return set_rx_mode(command);
    case VERNA_CMD_ADD_MAC:
      return add_mac(command);
    case VERNA_CMD_DEL_MAC:
      return del_mac(command);
    case VERNA_CMD_SET_MTU:
      return set_mtu(command);
    case VERNA_CMD_SET_RSS:
    case VERNA_CMD_DESTROY_RSS:
      return steering_.execute_rss(command);
    case VERNA_CMD_SET_ETH_FEATURES:
      return set_features(command);
    case VERNA_CMD_ADD_VLAN:
      return set_vlan(command, true);
    case VERNA_CMD_DEL_VLAN:
      return set_vlan(command, false);
    default:
      return CommandResult::fail(VERNA_CMD_BAD_OPCODE);
  }
}

/// Checks what TX and RX queues have in common and loads the memory.
CommandResult EthEngine::prepare_queue(const verna_cmd_create_ethq& cmd, uint8_t log_stride,
                                       bool taken, EthQueueSetup* setup) {
  if (taken) return CommandResult::fail(VERNA_CMD_EXISTS);
  if (cmd.reserved[0] || cmd.reserved[1] || cmd.reserved[2])
    return VERNA_BAD_FIELD(verna_cmd_create_ethq, reserved);
  if (cmd.log_size > limits_.log_max_entries)
    return VERNA_BAD_FIELD(verna_cmd_create_ethq, log_size);
  if (cmd.uar >= env_.num_uars) return VERNA_BAD_FIELD(verna_cmd_create_ethq, uar);
  Cq* cq = env_.find_cq(cmd.cqn);
  if (!cq) return VERNA_BAD_FIELD(verna_cmd_create_ethq, cqn);

  const uint64_t ring_end = cmd.ring_offset + (uint64_t{1} << (cmd.log_size + log_stride));
  const uint64_t rec_end = uint64_t{cmd.rec_offset} + sizeof(verna_wq_rec);
  const PblStatus status =
      PageList::load(env_.bus, cmd.hdr.function, cmd.mem, std::max(ring_end, rec_end),
                     env_.pbl_quota, &setup->memory);
  setup->id = cmd.id;
  setup->fn = cmd.hdr.function;
  setup->uar = cmd.uar;
  setup->layout = {cmd.rec_offset, cmd.ring_offset, cmd.log_size, log_stride};
  setup->cq = cq;
  if (status == PblStatus::kOk && !fits_record(setup->memory, cmd.rec_offset))
    return VERNA_BAD_FIELD(verna_cmd_create_ethq, rec_offset);
  return pbl_result(status, offsetof(verna_cmd_create_ethq, mem));
}

CommandResult EthEngine::create_txq(const CommandBytes& command) {
  const auto cmd = command.as<verna_cmd_create_ethq>();
  if (cmd.id >= txqs_.size()) return VERNA_BAD_FIELD(verna_cmd_create_ethq, id);
  EthQueueSetup setup;
  CommandResult result = prepare_queue(cmd, kTxStride, txqs_[cmd.id] != nullptr, &setup);
  if (result.status != VERNA_CMD_OK) return result;
  auto queue = std::make_unique<TxQueue>(context_);
  queue->join(env_.tx_group);
  result = init_result(queue->init(std::move(setup)));
  if (result.status == VERNA_CMD_OK) txqs_[cmd.id] = std::move(queue);
  return result;
}

CommandResult EthEngine::create_rxq(const CommandBytes& command) {
  const auto cmd = command.as<verna_cmd_create_ethq>();
  if (cmd.id >= rxqs_.size()) return VERNA_BAD_FIELD(verna_cmd_create_ethq, id);
  EthQueueSetup setup;
  CommandResult result = prepare_queue(cmd, kRxStride, rxqs_[cmd.id] != nullptr, &setup);
  if (result.status != VERNA_CMD_OK) return result;
  auto queue = std::make_unique<RxQueue>(context_);
  result = init_result(queue->init(std::move(setup)));
  if (result.status == VERNA_CMD_OK) rxqs_[cmd.id] = std::move(queue);
  return result;
}

CommandResult EthEngine::destroy_txq(const CommandBytes& command) {
  const auto cmd = command.as<verna_cmd_object>();
  if (cmd.reserved) return VERNA_BAD_FIELD(verna_cmd_object, reserved);
  if (!txq(cmd.id)) return CommandResult::fail(VERNA_CMD_NOT_FOUND);
  env_.scheduler.remove(txqs_[cmd.id].get());
  txqs_[cmd.id].reset();
  return CommandResult::ok();
}

CommandResult EthEngine::destroy_rxq(const CommandBytes& command) {
  const auto cmd = command.as<verna_cmd_object>();
  if (cmd.reserved) return VERNA_BAD_FIELD(verna_cmd_object, reserved);
  if (!rxq(cmd.id)) return CommandResult::fail(VERNA_CMD_NOT_FOUND);
  rxqs_[cmd.id]->flush(now_);
  rxqs_[cmd.id].reset();
  return CommandResult::ok();
}

CommandResult EthEngine::set_rx_mode(const CommandBytes& command) {
  const auto cmd = command.as<verna_cmd_rx_mode>();
  if (cmd.mode & ~kModes) return VERNA_BAD_FIELD(verna_cmd_rx_mode, mode);
  if (cmd.reserved) return VERNA_BAD_FIELD(verna_cmd_rx_mode, reserved);
  filter_.set_mode(cmd.mode);
  return CommandResult::ok();
}

CommandResult EthEngine::add_mac(const CommandBytes& command) {
  const auto cmd = command.as<verna_cmd_mac>();
  if (cmd.reserved) return VERNA_BAD_FIELD(verna_cmd_mac, reserved);
  if (all_zero(cmd.mac)) return VERNA_BAD_FIELD(verna_cmd_mac, mac);
  if (filter_.contains(cmd.mac)) return CommandResult::fail(VERNA_CMD_EXISTS);
  if (filter_.full()) return CommandResult::fail(VERNA_CMD_NO_RESOURCE);
  filter_.add(cmd.mac);
  return CommandResult::ok();
}

CommandResult EthEngine::del_mac(const CommandBytes& command) {
  const auto cmd = command.as<verna_cmd_mac>();
  if (cmd.reserved) return VERNA_BAD_FIELD(verna_cmd_mac, reserved);
  return filter_.remove(cmd.mac) ? CommandResult::ok() : CommandResult::fail(VERNA_CMD_NOT_FOUND);
}

CommandResult EthEngine::set_mtu(const CommandBytes& command) {
  const auto cmd = command.as<verna_cmd_mtu>();
  if (cmd.mtu < limits_.min_mtu || cmd.mtu > limits_.max_mtu)
    return VERNA_BAD_FIELD(verna_cmd_mtu, mtu);
  if (cmd.reserved) return VERNA_BAD_FIELD(verna_cmd_mtu, reserved);
  context_.mtu = cmd.mtu;
  return CommandResult::ok();
}

CommandResult EthEngine::set_features(const CommandBytes& command) {
  const auto cmd = command.as<verna_cmd_eth_features>();
  if (cmd.features & ~kFeatures) return VERNA_BAD_FIELD(verna_cmd_eth_features, features);
  if (cmd.merge_ns > VERNA_MAX_MERGE_NS) return VERNA_BAD_FIELD(verna_cmd_eth_features, merge_ns);
  if (cmd.merge_bytes > RxShared::kMaxMergeBytes)
    return VERNA_BAD_FIELD(verna_cmd_eth_features, merge_bytes);
  if (cmd.reserved) return VERNA_BAD_FIELD(verna_cmd_eth_features, reserved);
  flush_held();  // by the rules by which they were merged
  rx_.features = cmd.features;
  rx_.merge_ns = cmd.merge_ns;
  rx_.merge_bytes = cmd.merge_bytes ? cmd.merge_bytes : RxShared::kMaxMergeBytes;
  wire_.set_loopback(cmd.features & VERNA_ETH_ON_LOOPBACK);
  return CommandResult::ok();
}

CommandResult EthEngine::set_vlan(const CommandBytes& command, bool add) {
  const auto cmd = command.as<verna_cmd_vlan>();
  if (cmd.vid > VlanFilter::kMaxVid) return VERNA_BAD_FIELD(verna_cmd_vlan, vid);
  if (!is_vlan(cmd.tpid)) return VERNA_BAD_FIELD(verna_cmd_vlan, tpid);
  if (cmd.reserved) return VERNA_BAD_FIELD(verna_cmd_vlan, reserved);
  const bool service = cmd.tpid == kEthertypeQinq;
  if (vlans_.contains(cmd.vid, service) == add)
    return CommandResult::fail(add ? VERNA_CMD_EXISTS : VERNA_CMD_NOT_FOUND);
  vlans_.set(cmd.vid, service, add);
  return CommandResult::ok();
}

}  // namespace verna
