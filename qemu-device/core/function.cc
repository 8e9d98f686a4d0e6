// SPDX-License-Identifier: GPL-2.0-or-later
#include "function.h"

#include "ctrl/card_commands.h"
#include "ctrl/describe.h"

namespace verna {
namespace {

constexpr uint32_t kFrameCost = 64;  // bytes of budget that a frame costs beyond its own

}  // namespace

Function::Function(const FunctionEnvironment& environment, const FunctionConfig& config)
    : env_(environment),
      id_(config.id),
      bus_(env_.host, config.id, counters_, env_.trace),
      quota_(config.device.max_pbl_entries),
      loopback_port_(1u << 20, false),
      loopback_(loopback_port_, loopback_counters_, env_.trace),
      eqs_(bus_, config.id, quota_, counters_, env_.trace, config.device,
           [this](verna_fatal code) { regs_.set_fatal(code); }),
      cqs_(bus_, quota_, eqs_, env_.timers, config.device),
      eth_({bus_, quota_, eqs_, [this](uint32_t cqn) { return cqs_.find(cqn); }, env_.scheduler,
            env_.timers, env_.wire, loopback_, counters_, env_.trace, config.device.num_uars,
            env_.rng.next64()},
           config.eth, config.port.mac),
      rdma_({bus_, quota_, eqs_, [this](uint32_t cqn) { return cqs_.find(cqn); }, env_.rng,
             env_.timers, env_.scheduler, env_.wire, loopback_, counters_, env_.trace},
            config.rdma),
      device_commands_(bus_, counters_, eqs_, cqs_, eth_, env_.wire, config.port),
      commands_(
          bus_, config.id, counters_, env_.trace,
          [this](const CommandBytes& command, Nanos now) { return execute(command, now); },
          [this](verna_fatal code) { die(code); }),
      cap_dev_(device_caps(config.device)),
      cap_eth_(ethernet_caps(eth_.limits())),
      cap_rdma_(rdma_caps(config.rdma, config.port.mac)),
      regs_(bus_, config.id, commands_, counters_, config.device, config.port.mac,
            build_caps(cap_dev_, cap_eth_, cap_rdma_)) {
  rdma_.set_mtu(eth_.mtu());
}

void Function::die(verna_fatal code) {
  regs_.set_fatal(code);
  eqs_.post_device_event(VERNA_EVENT_FATAL, 0, code);
}

void Function::link_is_known() {
  reported_link_ = env_.wire.link_up();
  regs_.set_link(reported_link_);
}

/// The last state is always reported, but a link that flaps does not fill EQ 0.
void Function::watch_link() {
  const bool up = env_.wire.link_up();
  regs_.set_link(up);
  if (up == reported_link_ || !eqs_.ready(0)) return;
  reported_link_ = up;
  if (!up) counters_.port[VERNA_PORT_link_down_events]++;
  eqs_.post_device_event(VERNA_EVENT_LINK, 0, up);
}

uint32_t Function::take_doorbells(uint32_t max, Nanos now) {
  uint32_t count = 0;
  if (doorbells_.take_overflow() && !dead()) {
    eth_.poll_all();
    rdma_.poll_all(now);
    count++;
  }
  DoorbellRing::Doorbell doorbell;
  for (; count < max && doorbells_.pop(&doorbell); count++) {
    counters_.dev[VERNA_DEV_doorbells]++;
    env_.trace.point(Stage::kDoorbell, doorbell.value, doorbell.uar);
    if (!dead()) ring(doorbell, now);
  }
  return count;
}

void Function::ring(const DoorbellRing::Doorbell& doorbell, Nanos now) {
  // The guest may write any number: it becomes an enum only where it is one.
  const uint32_t type = doorbell.value >> VERNA_DB_TYPE_SHIFT;
  const uint32_t id = doorbell.value & VERNA_DB_ID_MASK;
  bool known = false;
  switch (type) {
    case VERNA_DB_QP_SQ:
    case VERNA_DB_QP_RQ:
      known = rdma_.doorbell(static_cast<verna_db_type>(type), id, doorbell.uar, now);
      break;
    case VERNA_DB_TXQ:
    case VERNA_DB_RXQ:
      known = eth_.doorbell(static_cast<verna_db_type>(type), id, doorbell.uar);
      break;
    default:
      break;
  }
  if (!known) counters_.dev[VERNA_DEV_bad_doorbells]++;
}

CommandResult Function::execute(const CommandBytes& command, Nanos now) {
  const uint16_t opcode = command.as<verna_cmd_hdr>().opcode;
  if (CardCommands::knows(opcode)) return env_.card_command(command);
  switch (opcode >> 8) {
    case VERNA_CMD_NOP >> 8:
      return device_commands_.execute(command);
    case VERNA_CMD_CREATE_TXQ >> 8: {
      const CommandResult result = eth_.execute(command, now);
      rdma_.set_mtu(eth_.mtu());
      return result;
    }
    case VERNA_CMD_CREATE_PD >> 8:
      return rdma_.execute(command, now);
    case VERNA_CMD_ADD_FLOW >> 8:
      return eth_.execute_flow(command, now);
    default:
      return CommandResult::fail(VERNA_CMD_BAD_OPCODE);
  }
}

/// Frames for RDMA go to the engine that claims them, all others to Ethernet. A frame that a switch
/// floods is not ours because its IP address is: the MAC decides first.
void Function::receive(const PacketView& packet, Nanos now) {
  if (eth_.filter().is_local(packet.dmac()) && rdma_.claims(packet)) {
    counters_.port[VERNA_PORT_rx_to_rdma]++;
    rdma_.receive(packet, now);
  } else {
    eth_.receive(packet, now);
  }
}

bool Function::receive_loopback(uint32_t byte_budget, Nanos now) {
  const uint64_t before = loopback_counters_.port[VERNA_PORT_rx_frames];
  loopback_left_ = false;
  for (int64_t left = byte_budget; left > 0;) {
    const RxFrame frame = loopback_.receive(max_frame());
    if (!frame.data) break;
    left -= frame.len + kFrameCost;
    parse_packet(frame.data, frame.len, &packet_);
    if (rdma_.claims(packet_)) {
      loopback_counters_.port[VERNA_PORT_rx_to_rdma]++;
      rdma_.receive(packet_, now);
    } else if (eth_.loopback()) {
      eth_.receive_loopback(packet_, loopback_counters_, now);
    } else {
      loopback_counters_.port[VERNA_PORT_rx_drop_filter]++;
    }
    loopback_.release();
    loopback_left_ |= left <= 0;
  }
  return loopback_counters_.port[VERNA_PORT_rx_frames] != before;
}

bool Function::run_self_test() {
  if (!regs_.self_test().pending()) return false;
  regs_.self_test().run(bus_, id_);
  return true;
}

void Function::flush(Nanos now) {
  loopback_.flush();
  cqs_.flush(now);
  eqs_.flush();
}

bool Function::has_work() const {
  return commands_.pending() || regs_.self_test().pending() || eth_.batch_open();
}

bool Function::prepare_sleep() {
  eqs_.flush();  // arming may have found a queue broken
  return loopback_port_.prepare_sleep(false);
}

void Function::reset() {
  eth_.watch_buffers(false);
  rdma_.reset();
  eth_.reset();
  rdma_.set_mtu(eth_.mtu());
  cqs_.reset();
  eqs_.reset();
  regs_.reset();
  DoorbellRing::Doorbell dropped;
  doorbells_.take_overflow();
  for (size_t i = 0; i < DoorbellRing::kSlots && doorbells_.pop(&dropped); i++) {
  }
  counters_.dev[VERNA_DEV_resets]++;
}

std::string Function::control(const std::string& request) {
  return describe({regs_, eqs_, cqs_, eth_, rdma_, counters_, loopback_counters_, env_.scheduler,
                   quota_, env_.timers, env_.wire, env_.trace, cap_dev_, cap_eth_, cap_rdma_},
                  request);
}

}  // namespace verna
