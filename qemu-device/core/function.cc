// SPDX-License-Identifier: GPL-2.0-or-later
#include "function.h"

#include "ctrl/card_commands.h"
#include "ctrl/describe.h"
#include "ctrl/eswitch_commands.h"
#include "ctrl/rate_commands.h"
#include "ctrl/vport_commands.h"

namespace verna {
Function::Function(const FunctionEnvironment& environment, const FunctionConfig& config)
    : env_(environment),
      id_(config.id),
      bus_(env_.host, id_, counters_, env_.trace),
      quota_(config.device.max_pbl_entries),
      loopback_port_(1u << 20, false),
      loopback_(loopback_port_, loopback_counters_, env_.trace),
      vport_mac_(env_.vswitch
                     ? std::make_unique<Mac>(env_.vswitch->port(id_),
                                             is_pf() ? vport_counters_ : counters_, env_.trace)
                     : nullptr),
      wire_(is_pf() ? &env_.wire : vport_mac_.get()),
      wire_counters_(&counters_),
      eqs_(bus_, id_, quota_, counters_, env_.trace, config.device,
           [this](verna_fatal code) { regs_.set_fatal(code); }),
      cqs_(bus_, quota_, eqs_, env_.timers, config.device),
      eth_({bus_, quota_, eqs_, [this](uint32_t cqn) { return cqs_.find(cqn); }, env_.scheduler,
            tx_group_, env_.timers, *wire_, loopback_, counters_, env_.trace,
            config.device.num_uars, env_.rng.next64()},
           config.eth, config.port.mac),
      rdma_({bus_, quota_, eqs_, [this](uint32_t cqn) { return cqs_.find(cqn); }, env_.rng,
             env_.timers, env_.scheduler, tx_group_, wire_, loopback_, counters_, env_.trace},
            config.rdma),
      device_commands_(bus_, id_, counters_, env_.vswitch, eqs_, cqs_, eth_, regs_, config.port),
      commands_(
          bus_, id_, counters_, env_.trace,
          [this](const CommandBytes& command, Nanos now) { return execute(command, now); },
          [this](verna_fatal code) { die(code); }),
      cap_dev_(device_caps(config.device)),
      cap_eth_(ethernet_caps(eth_.limits())),
      cap_rdma_(rdma_caps(config.rdma, config.port.mac)),
      cap_vport_(vport_caps(config.max_vfs, Bridge::kMaxAddresses)),
      cap_eswitch_(eswitch_caps()),
      regs_(bus_, id_, commands_, counters_, config.device, config.port.mac,
            build_caps(cap_dev_, cap_eth_, cap_rdma_, cap_vport_, cap_eswitch_)) {
  rdma_.set_mtu(eth_.mtu());
}

void Function::use_switch(bool on) {
  wire_ = on ? vport_mac_.get() : &env_.wire;
  wire_counters_ = on ? &vport_counters_ : &counters_;
  eth_.connect(*wire_);
  rdma_.connect(*wire_);
}

void Function::set_mac(const uint8_t (&mac)[6]) {
  eth_.set_mac(mac);
  regs_.set_mac(mac);
  device_commands_.set_mac(mac);
}

void Function::die(verna_fatal code) {
  regs_.set_fatal(code);
  eqs_.post_device_event(VERNA_EVENT_FATAL, 0, code);
}

void Function::link_is_known() {
  reported_link_ = wire_->link_up();
  regs_.set_link(reported_link_);
}

/// The last state is always reported, but a link that flaps does not fill EQ 0.
void Function::watch_link() {
  const bool up = wire_->link_up();
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

/// It is for the PF to say.
bool Function::is_about_card(const CommandBytes& command) const {
  const uint16_t opcode = command.as<verna_cmd_hdr>().opcode;
  return CardCommands::knows(opcode) || VportCommands::knows(opcode) ||
         RateCommands::knows(opcode) || (env_.vswitch && EswitchCommands::knows(command));
}

CommandResult Function::execute(const CommandBytes& command, Nanos now) {
  const uint16_t opcode = command.as<verna_cmd_hdr>().opcode;
  if (is_about_card(command))
    return is_pf() ? env_.card_command(command, now) : CommandResult::fail(VERNA_CMD_BAD_FUNCTION);
  switch (opcode >> 8) {
    case VERNA_CMD_NOP >> 8:
      return device_commands_.execute(command);
    case VERNA_CMD_CREATE_TXQ >> 8:
      return execute_eth(command, now);
    case VERNA_CMD_CREATE_PD >> 8:
      return rdma_.execute(command, now);
    case VERNA_CMD_ADD_FLOW >> 8:
      return eth_.execute_flow(command, now);
    default:
      return CommandResult::fail(VERNA_CMD_BAD_OPCODE);
  }
}

/// What the MAC filter lets in the switch must bring: if that refuses, nothing has changed.
CommandResult Function::execute_eth(const CommandBytes& command, Nanos now) {
  const CommandResult result = eth_.execute(command, now);
  rdma_.set_mtu(eth_.mtu());
  if (!env_.vswitch || result.status != VERNA_CMD_OK) return result;
  const Bridge::Status status = tell_switch(command);
  if (status == Bridge::Status::kOk) return result;
  CommandBytes undo = command;
  store_le<uint16_t>(undo.bytes + offsetof(verna_cmd_hdr, opcode), VERNA_CMD_DEL_MAC);
  (void)eth_.execute(undo, now);
  return vport_result(status, offsetof(verna_cmd_mac, mac));
}

/// Only an address that is added can be refused.
Bridge::Status Function::tell_switch(const CommandBytes& command) {
  const auto cmd = command.as<verna_cmd_mac>();
  Bridge::Mac mac;
  std::copy(std::begin(cmd.mac), std::end(cmd.mac), mac.begin());
  switch (cmd.hdr.opcode) {
    case VERNA_CMD_ADD_MAC:
      return env_.vswitch->bridge().add_address(vport_of(id_), mac);
    case VERNA_CMD_DEL_MAC:
      (void)env_.vswitch->bridge().remove_address(vport_of(id_), mac);
      break;
    case VERNA_CMD_SET_RX_MODE:
      repeat_rx_mode();
      break;
    default:
      break;
  }
  return Bridge::Status::kOk;
}

void Function::repeat_requests() {
  eth_.filter().for_each([this](const std::array<uint8_t, 6>& mac) {
    (void)env_.vswitch->bridge().add_address(vport_of(id_), mac);
  });
  repeat_rx_mode();
}

void Function::repeat_rx_mode() {
  const uint32_t mode = eth_.filter().mode();
  env_.vswitch->bridge().set_promiscuous(vport_of(id_), mode & VERNA_RX_MODE_PROMISC,
                                         mode & VERNA_RX_MODE_ALLMULTI);
}

/// Frames for RDMA go to the engine that claims them, all others to Ethernet. A frame that a switch
/// floods is not ours because its IP address is: the MAC decides first.
void Function::receive(const PacketView& packet, Nanos now) {
  if (eth_.filter().is_local(packet.dmac()) && rdma_.claims(packet)) {
    wire_counters_->port[VERNA_PORT_rx_to_rdma]++;
    rdma_.receive(packet, now);
  } else {
    eth_.receive(packet, *wire_counters_, now);
  }
}

bool Function::receive_vport(Nanos now) {
  uint64_t& frames = wire_counters_->port[VERNA_PORT_rx_frames];
  const uint64_t before = frames;
  for (;;) {
    const RxFrame frame = wire_->receive(max_frame());
    if (!frame.data) break;
    parse_packet(frame.data, frame.len, &packet_);
    packet_.origin = env_.vswitch->port(id_).origin();
    if (packet_.origin.is_function())
      eth_.receive_undecided(packet_, *wire_counters_, now);
    else
      receive(packet_, now);
    wire_->release();
  }
  return frames != before;
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
  if (dead() || !regs_.self_test().pending()) return false;
  regs_.self_test().run(bus_, id_);
  return true;
}

/// Once until software asks, and not before EQ 0 can take it.
void Function::tell_aged(FlowTables& flows, uint32_t direction) {
  if (!flows.wants_notice() || !eqs_.exists(0) || dead()) return;
  if (!eqs_.ready(0)) {
    notice_waits_ = true;
    return;
  }
  eqs_.post_device_event(VERNA_EVENT_FLOW_AGED, direction, 0);
  flows.set_noticed();
}

void Function::flush(Nanos now) {
  loopback_.flush();
  cqs_.flush(now);
  notice_waits_ = false;
  tell_aged(eth_.steering().flows(), VERNA_FLOW_RX);
  if (is_pf() && env_.vswitch) tell_aged(env_.vswitch->flows().tables(), VERNA_FLOW_SWITCH);
  eqs_.flush();
}

void Function::halt() {
  if (halted_) return;
  halted_ = true;
  rdma_.reset();
  eth_.halt();
  cqs_.reset();
}

bool Function::has_work() const {
  if (dead()) return !halted_;
  return commands_.pending() || regs_.self_test().pending() || eth_.batch_open();
}

bool Function::prepare_sleep() {
  eqs_.flush();  // arming may have found a queue broken
  if (vport_mac_ && !vport_mac_->port().prepare_sleep(false)) return false;
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
  halted_ = false;
  DoorbellRing::Doorbell dropped;
  doorbells_.take_overflow();
  for (size_t i = 0; i < DoorbellRing::kSlots && doorbells_.pop(&dropped); i++) {
  }
  counters_.dev[VERNA_DEV_resets]++;
}

std::string Function::control(const std::string& request, Nanos now) {
  return describe({env_.vswitch,   id_,          regs_,
                   eqs_,           cqs_,         eth_,
                   rdma_,          counters_,    loopback_counters_,
                   env_.scheduler, env_.rates,   quota_,
                   env_.timers,    *wire_,       env_.trace,
                   cap_dev_,       cap_eth_,     cap_rdma_,
                   cap_vport_,     cap_eswitch_, now},
                  request);
}

}  // namespace verna
