// SPDX-License-Identifier: GPL-2.0-or-later
#include "ctrl/command_queue.h"

#include "hw/verna_rate.h"
#include "hw/verna_vport.h"

namespace verna {

uint32_t command_length(uint16_t opcode) {
  switch (opcode) {
    case VERNA_CMD_NOP:
    case VERNA_CMD_CREATE_PD:
      return sizeof(verna_cmd_hdr);
    case VERNA_CMD_QUERY_COUNTERS:
    case VERNA_CMD_QUERY_PORT:
    case VERNA_CMD_QUERY_QP:
    case VERNA_CMD_QUERY_FLOW:
    case VERNA_CMD_GET_AGED_FLOWS:
    case VERNA_CMD_QUERY_VPORT:
    case VERNA_CMD_QUERY_METER:
    case VERNA_CMD_QUERY_RATE_NODE:
      return sizeof(verna_cmd_query);
    case VERNA_CMD_CREATE_EQ:
      return sizeof(verna_cmd_create_eq);
    case VERNA_CMD_CREATE_CQ:
      return sizeof(verna_cmd_create_cq);
    case VERNA_CMD_SET_PAUSE:
      return sizeof(verna_cmd_set_pause);
    case VERNA_CMD_MODIFY_CQ:
      return sizeof(verna_cmd_modify_cq);
    case VERNA_CMD_DESTROY_EQ:
    case VERNA_CMD_DESTROY_CQ:
    case VERNA_CMD_DESTROY_TXQ:
    case VERNA_CMD_DESTROY_RXQ:
    case VERNA_CMD_DESTROY_PD:
    case VERNA_CMD_DESTROY_MR:
    case VERNA_CMD_DESTROY_QP:
    case VERNA_CMD_DESTROY_RSS:
    case VERNA_CMD_DEL_FLOW:
    case VERNA_CMD_DESTROY_METER:
    case VERNA_CMD_DESTROY_FLOW_EDIT:
    case VERNA_CMD_DESTROY_RATE_NODE:
      return sizeof(verna_cmd_object);
    case VERNA_CMD_CREATE_TXQ:
    case VERNA_CMD_CREATE_RXQ:
      return sizeof(verna_cmd_create_ethq);
    case VERNA_CMD_MODIFY_TXQ:
      return sizeof(verna_cmd_modify_txq);
    case VERNA_CMD_SET_TX_CLASSES:
      return sizeof(verna_cmd_set_tx_classes);
    case VERNA_CMD_SET_RX_MODE:
      return sizeof(verna_cmd_rx_mode);
    case VERNA_CMD_ADD_MAC:
    case VERNA_CMD_DEL_MAC:
      return sizeof(verna_cmd_mac);
    case VERNA_CMD_SET_MTU:
      return sizeof(verna_cmd_mtu);
    case VERNA_CMD_SET_RSS:
      return sizeof(verna_cmd_set_rss);
    case VERNA_CMD_SET_ETH_FEATURES:
      return sizeof(verna_cmd_eth_features);
    case VERNA_CMD_ADD_VLAN:
    case VERNA_CMD_DEL_VLAN:
      return sizeof(verna_cmd_vlan);
    case VERNA_CMD_CREATE_MR:
      return sizeof(verna_cmd_create_mr);
    case VERNA_CMD_CREATE_QP:
      return sizeof(verna_cmd_create_qp);
    case VERNA_CMD_MODIFY_QP:
      return sizeof(verna_cmd_modify_qp);
    case VERNA_CMD_SET_GID:
      return sizeof(verna_cmd_set_gid);
    case VERNA_CMD_ADD_FLOW:
      return sizeof(verna_cmd_add_flow);
    case VERNA_CMD_SET_FLOW_MISS:
      return sizeof(verna_cmd_flow_miss);
    case VERNA_CMD_SET_VPORT:
      return sizeof(verna_cmd_set_vport);
    case VERNA_CMD_SET_ESWITCH:
      return sizeof(verna_cmd_set_eswitch);
    case VERNA_CMD_SET_VPORT_GROUP:
      return sizeof(verna_cmd_vport_group);
    case VERNA_CMD_CREATE_RATE_NODE:
    case VERNA_CMD_MODIFY_RATE_NODE:
      return sizeof(verna_cmd_rate_node);
    case VERNA_CMD_CREATE_METER:
    case VERNA_CMD_MODIFY_METER:
    case VERNA_CMD_CREATE_FLOW_EDIT:
      return sizeof(verna_cmd_flow_object);
    default:
      return 0;
  }
}

CommandQueue::CommandQueue(HostBus& bus, FunctionId fn, Counters& counters, Trace& trace,
                           Execute execute, std::function<void(verna_fatal)> fatal)
    : bus_(bus),
      fn_(fn),
      counters_(counters),
      trace_(trace),
      execute_(std::move(execute)),
      fatal_(std::move(fatal)) {}

bool CommandQueue::enable(const Config& config) {
  if ((config.sq_addr | config.cq_addr) & (VERNA_PAGE_SIZE - 1)) return false;
  if (config.log_size < 1 || config.log_size > 8) return false;
  config_ = config;
  posted_ = done_ = 0;
  enabled_ = true;
  return true;
}

void CommandQueue::post(uint32_t count) {
  if (enabled_ && count - done_ <= 1u << config_.log_size) posted_ = count;
}

uint32_t CommandQueue::run(uint32_t max, Nanos now) {
  uint32_t count = 0;
  bool wants_event = false;
  while (count < max && pending()) {
    if (!run_one(&wants_event, now)) {
      enabled_ = false;
      fatal_(VERNA_FATAL_AQ_DMA);
      break;
    }
    count++;
  }
  if (wants_event) bus_.raise(fn_, 0);
  return count;
}

/// False: the queue's memory failed.
bool CommandQueue::run_one(bool* wants_event, Nanos now) {
  CommandBytes command;
  const uint64_t slot = done_ & ((1u << config_.log_size) - 1);
  if (!bus_.read(fn_, config_.sq_addr + slot * VERNA_CMD_SIZE, command.bytes, VERNA_CMD_SIZE))
    return false;
  const auto hdr = command.as<verna_cmd_hdr>();
  const CommandResult result = dispatch(command, now);
  counters_.dev[VERNA_DEV_commands]++;
  if (result.status != VERNA_CMD_OK) counters_.dev[VERNA_DEV_command_errors]++;
  trace_.point(Stage::kCommand, hdr.opcode, result.status);
  *wants_event |= (hdr.flags & VERNA_CMD_F_EVENT) != 0;
  return complete(hdr, result);
}

CommandResult CommandQueue::dispatch(const CommandBytes& command, Nanos now) {
  const auto hdr = command.as<verna_cmd_hdr>();
  const uint32_t length = command_length(hdr.opcode);
  if (length == 0) return CommandResult::fail(VERNA_CMD_BAD_OPCODE);
  if (!may_name(hdr)) return CommandResult::fail(VERNA_CMD_BAD_FUNCTION);
  if (hdr.flags & ~VERNA_CMD_F_EVENT) return VERNA_BAD_FIELD(verna_cmd_hdr, flags);
  for (uint32_t i = length; i < VERNA_CMD_SIZE; i++)
    if (command.bytes[i]) return CommandResult::fail(VERNA_CMD_BAD_PARAM, i);
  return execute_(command, now);
}

/// A function acts on itself; the PF is told which of its VFs some commands are about.
bool CommandQueue::may_name(const verna_cmd_hdr& hdr) const {
  if (hdr.opcode == VERNA_CMD_SET_VPORT || hdr.opcode == VERNA_CMD_QUERY_VPORT) return fn_ == 0;
  return hdr.function == fn_;
}

bool CommandQueue::complete(const verna_cmd_hdr& hdr, const CommandResult& result) {
  verna_cmd_comp comp{};
  comp.cmd_id = hdr.cmd_id;
  comp.status = static_cast<uint16_t>(result.status);
  comp.detail = result.detail;
  comp.result = result.result;
  comp.phase = ~(done_ >> config_.log_size) & VERNA_PHASE;

  uint8_t bytes[VERNA_CMD_COMP_SIZE];
  std::memcpy(bytes, &comp, sizeof bytes);
  const uint64_t slot = done_ & ((1u << config_.log_size) - 1);
  const uint64_t addr = config_.cq_addr + slot * VERNA_CMD_COMP_SIZE;
  constexpr uint32_t kBody = VERNA_CMD_COMP_SIZE - 8;
  if (!bus_.write(fn_, addr, bytes, kBody)) return false;
  if (!bus_.write_release64(fn_, addr + kBody, load_le<uint64_t>(bytes + kBody))) return false;
  done_++;
  return true;
}

}  // namespace verna
