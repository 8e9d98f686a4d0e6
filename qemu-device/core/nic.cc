// SPDX-License-Identifier: GPL-2.0-or-later
// The pipeline of the card, from top to bottom: doorbells, commands, timers, reception,
// transmission, and at the end of a batch completions, events and interrupts.
#include "nic.h"

#include <fmt/format.h>

#include <algorithm>

#include "ctrl/caps.h"
#include "ctrl/cq_table.h"
#include "ctrl/describe.h"
#include "ctrl/device_commands.h"
#include "ctrl/doorbell.h"
#include "ctrl/reg_file.h"
#include "eth/eth_engine.h"
#include "host/counting_bus.h"
#include "mac/loopback_port.h"

namespace verna {
namespace {

constexpr Nanos kBeat = 500'000'000;       // the contract promises a second
constexpr Nanos kDeferredRetry = 100'000;  // for room in an event queue
constexpr uint32_t kDoorbellsPerRun = 256;
constexpr uint32_t kCommandsPerRun = 16;
constexpr uint32_t kFrameCost = 64;  // bytes of budget that a frame costs beyond its own

DeviceLimits device_limits(const NicConfig& config) {
  DeviceLimits limits;
  limits.num_vectors = config.num_vectors;
  limits.num_uars = config.num_uars;
  limits.max_cqs = config.max_cqs;
  limits.max_eqs = config.max_eqs;
  limits.max_pbl_entries =
      static_cast<uint32_t>(std::min<uint64_t>(config.max_pbl_entries, ~uint32_t{0}));
  return limits;
}

EthLimits eth_limits(const NicConfig& config) {
  EthLimits limits;
  limits.max_queues = config.max_queue_pairs;
  return limits;
}

RdmaLimits rdma_limits(const NicConfig& config) {
  RdmaLimits limits = config.rdma;
  limits.num_uars = config.num_uars;
  return limits;
}

PortIdentity port_identity(const NicConfig& config) {
  PortIdentity port{{}, config.link_speed_mbps};
  std::copy(std::begin(config.mac), std::end(config.mac), port.mac);
  return port;
}

}  // namespace

struct Nic::Impl {
  Impl(const NicConfig& config, HostBus& host, Port& port, Rng seed);

  std::string start();
  RunResult run(Nanos now, uint32_t byte_budget);
  bool prepare_sleep(Nanos now);
  void reset();

  CommandResult execute(const CommandBytes& command, Nanos now);
  uint32_t take_doorbells(Nanos now);
  void ring(const DoorbellRing::Doorbell& doorbell, Nanos now);
  bool run_timers(Nanos now);
  bool receive_wire(uint32_t byte_budget, Nanos now);
  bool receive_loopback(uint32_t byte_budget, Nanos now);
  bool discard_wire();
  bool transmit(uint32_t byte_budget, Nanos now);
  void flush(Nanos now);
  void watch_link();
  Nanos next_deadline(Nanos port_deadline, Nanos now);
  uint32_t max_frame() const { return eth.mtu() + VERNA_ETH_OVERHEAD; }
  bool dead() const { return regs.fatal() != VERNA_FATAL_NONE; }
  DescribeContext describe_context();

  NicConfig config;
  DeviceLimits limits;
  Counters counters;
  Counters loopback_counters;  // what the card sends to itself is not on the wire
  Trace trace;
  Rng rng;
  CountingBus bus;
  PblQuota quota;
  TimerQueue timers;
  Scheduler scheduler;
  DoorbellRing doorbells;
  LoopbackPort loopback_port;
  Mac wire;
  Mac loopback;
  EventQueues eqs;
  CqTable cqs;
  EthEngine eth;
  RdmaEngine rdma;
  PauseReceiver pause_receiver;
  PauseSender pause_sender;
  DeviceCommands device_commands;
  CommandQueue commands;
  verna_cap_dev cap_dev;
  verna_cap_eth cap_eth;
  verna_cap_rdma cap_rdma;
  RegFile regs;
  PacketView packet;         // the frame that is being received
  bool frames_left = false;  // this run's budget ended before the frames did
  bool reported_link = false;
  Nanos next_beat = 0;
};

Nic::Impl::Impl(const NicConfig& cfg, HostBus& host, Port& port, Rng seed)
    : config(cfg),
      limits(device_limits(cfg)),
      rng(seed),
      bus(host, counters, trace),
      quota(limits.max_pbl_entries),
      loopback_port(1u << 20, false),
      wire(port, counters, trace),
      loopback(loopback_port, loopback_counters, trace),
      eqs(bus, quota, counters, trace, limits, [this](verna_fatal code) { regs.set_fatal(code); }),
      cqs(bus, quota, eqs, timers, limits),
      eth({bus, quota, eqs, [this](uint32_t cqn) { return cqs.find(cqn); }, scheduler, timers, wire,
           loopback, counters, trace, limits.num_uars, rng.next64()},
          eth_limits(cfg), cfg.mac),
      rdma({bus, quota, eqs, [this](uint32_t cqn) { return cqs.find(cqn); }, rng, timers, scheduler,
            wire, loopback, counters, trace},
           rdma_limits(cfg)),
      pause_receiver(cfg.link_speed_mbps, counters,
                     [this](Nanos until) { scheduler.pause(until); }),
      pause_sender(wire, timers, counters, cfg.mac, cfg.link_speed_mbps,
                   [this] { return eth.short_of_buffers(); }),
      device_commands(bus, counters, eqs, cqs, eth, wire, pause_receiver, pause_sender,
                      port_identity(cfg)),
      commands(
          bus, counters, trace,
          [this](const CommandBytes& command, Nanos now) { return execute(command, now); },
          [this](verna_fatal code) {
            regs.set_fatal(code);
            eqs.post_device_event(VERNA_EVENT_FATAL, 0, code);
          }),
      cap_dev(device_caps(limits)),
      cap_eth(ethernet_caps(eth.limits())),
      cap_rdma(rdma_caps(rdma_limits(cfg), cfg.mac)),
      regs(bus, commands, counters, limits, cfg.mac, build_caps(cap_dev, cap_eth, cap_rdma)) {
  rdma.set_mtu(eth.mtu());
  wire.set_pause(&pause_receiver, cfg.mac);
}

std::string Nic::Impl::start() {
  const auto range = [](const char* name, uint64_t value, uint64_t low, uint64_t high) {
    return value >= low && value <= high
               ? std::string()
               : fmt::format("{} is {}, must be {} to {}", name, value, low, high);
  };
  for (const std::string& error :
       {range("num_vectors", config.num_vectors, 1, 2048),
        range("num_uars", config.num_uars, 1, 65535),
        range("max_queue_pairs", config.max_queue_pairs, 1, 1024),
        range("max_cqs", config.max_cqs, 1, 1u << 24), range("max_eqs", config.max_eqs, 1, 2048),
        range("max_pbl_entries", config.max_pbl_entries, 1024, 1u << 30),
        range("max_qps", config.rdma.max_qps, 2, 1u << 20)})
    if (!error.empty()) return error;
  const uint8_t* mac = config.mac;
  if ((mac[0] & 1) || std::all_of(mac, mac + 6, [](uint8_t b) { return b == 0; }))
    return fmt::format(
        "mac is {:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}, must be a unicast address", mac[0],
        mac[1], mac[2], mac[3], mac[4], mac[5]);
  if (!config.pcap_path.empty() && !wire.capture(config.pcap_path.c_str()))
    return fmt::format("pcap file \"{}\": {}", config.pcap_path, std::strerror(errno));
  reported_link = wire.link_up();
  regs.set_link(reported_link);
  return {};
}

CommandResult Nic::Impl::execute(const CommandBytes& command, Nanos now) {
  switch (command.as<verna_cmd_hdr>().opcode >> 8) {
    case VERNA_CMD_NOP >> 8:
      return device_commands.execute(command);
    case VERNA_CMD_CREATE_TXQ >> 8: {
      const CommandResult result = eth.execute(command, now);
      rdma.set_mtu(eth.mtu());
      return result;
    }
    case VERNA_CMD_CREATE_PD >> 8:
      return rdma.execute(command, now);
    case VERNA_CMD_ADD_FLOW >> 8:
      return eth.execute_flow(command, now);
    default:
      return CommandResult::fail(VERNA_CMD_BAD_OPCODE);
  }
}

Nic::RunResult Nic::Impl::run(Nanos now, uint32_t byte_budget) {
  counters.dev[VERNA_DEV_engine_runs]++;
  trace.set_now(now);
  wire.set_now(now);
  loopback.set_now(now);
  scheduler.set_now(now);
  const Nanos port_deadline = wire.port().poll(now);
  watch_link();

  bool worked = take_doorbells(now) > 0;
  if (dead()) {
    worked |= discard_wire();
    flush(now);
    return {worked, port_deadline};
  }
  worked |= commands.run(kCommandsPerRun, now) > 0;
  worked |= run_timers(now);
  frames_left = false;
  worked |= receive_wire(byte_budget, now);
  worked |= receive_loopback(byte_budget, now);
  eth.end_batch(frames_left, now);
  worked |= transmit(byte_budget, now);
  if (regs.self_test().pending()) {
    regs.self_test().run(bus);
    worked = true;
  }
  flush(now);
  if (now >= next_beat) {
    regs.beat();
    next_beat = now + kBeat;
  }
  return {worked, next_deadline(port_deadline, now)};
}

uint32_t Nic::Impl::take_doorbells(Nanos now) {
  uint32_t count = 0;
  if (doorbells.take_overflow() && !dead()) {
    eth.poll_all();
    rdma.poll_all(now);
    count++;
  }
  DoorbellRing::Doorbell doorbell;
  for (; count < kDoorbellsPerRun && doorbells.pop(&doorbell); count++) {
    counters.dev[VERNA_DEV_doorbells]++;
    trace.point(Stage::kDoorbell, doorbell.value, doorbell.uar);
    if (!dead()) ring(doorbell, now);
  }
  return count;
}

void Nic::Impl::ring(const DoorbellRing::Doorbell& doorbell, Nanos now) {
  // The guest may write any number: it becomes an enum only where it is one.
  const uint32_t type = doorbell.value >> VERNA_DB_TYPE_SHIFT;
  const uint32_t id = doorbell.value & VERNA_DB_ID_MASK;
  bool known = false;
  switch (type) {
    case VERNA_DB_QP_SQ:
    case VERNA_DB_QP_RQ:
      known = rdma.doorbell(static_cast<verna_db_type>(type), id, doorbell.uar, now);
      break;
    case VERNA_DB_TXQ:
    case VERNA_DB_RXQ:
      known = eth.doorbell(static_cast<verna_db_type>(type), id, doorbell.uar);
      break;
    default:
      break;
  }
  if (!known) counters.dev[VERNA_DEV_bad_doorbells]++;
}

bool Nic::Impl::run_timers(Nanos now) {
  if (timers.next() > now) return false;
  timers.run(now);
  return true;
}

/// Frames for RDMA go to the engine that claims them, all others to Ethernet.
bool Nic::Impl::receive_wire(uint32_t byte_budget, Nanos now) {
  const uint64_t before = counters.port[VERNA_PORT_rx_frames];
  for (int64_t left = byte_budget; left > 0;) {
    const RxFrame frame = wire.receive(max_frame());
    if (!frame.data) break;
    left -= frame.len + kFrameCost;
    parse_packet(frame.data, frame.len, &packet);
    // A frame that a switch floods is not ours because its IP address is: the MAC decides first.
    if (eth.filter().is_local(packet.dmac()) && rdma.claims(packet)) {
      counters.port[VERNA_PORT_rx_to_rdma]++;
      rdma.receive(packet, now);
    } else {
      eth.receive(packet, now);
    }
    wire.release();
    frames_left |= left <= 0;
  }
  if (eth.take_shortage()) pause_sender.shortage(now);
  return counters.port[VERNA_PORT_rx_frames] != before;
}

/// What queue pairs of this card send to each other, and Ethernet to itself in loopback mode.
bool Nic::Impl::receive_loopback(uint32_t byte_budget, Nanos now) {
  const uint64_t before = loopback_counters.port[VERNA_PORT_rx_frames];
  for (int64_t left = byte_budget; left > 0;) {
    const RxFrame frame = loopback.receive(max_frame());
    if (!frame.data) break;
    left -= frame.len + kFrameCost;
    parse_packet(frame.data, frame.len, &packet);
    if (rdma.claims(packet)) {
      loopback_counters.port[VERNA_PORT_rx_to_rdma]++;
      rdma.receive(packet, now);
    } else if (eth.loopback()) {
      eth.receive_loopback(packet, loopback_counters, now);
    } else {
      loopback_counters.port[VERNA_PORT_rx_drop_filter]++;
    }
    loopback.release();
    frames_left |= left <= 0;
  }
  return loopback_counters.port[VERNA_PORT_rx_frames] != before;
}

/// A card that stopped still takes frames off the wire, so that its peer is not held up.
bool Nic::Impl::discard_wire() {
  const uint64_t before = counters.port[VERNA_PORT_rx_frames];
  for (int i = 0; i < 64; i++) {
    if (!wire.receive(max_frame()).data) break;
    counters.port[VERNA_PORT_rx_drop_disabled]++;
    wire.release();
  }
  return counters.port[VERNA_PORT_rx_frames] != before;
}

bool Nic::Impl::transmit(uint32_t byte_budget, Nanos now) {
  const uint64_t before = scheduler.turns();
  scheduler.run(now, byte_budget);
  return scheduler.turns() != before;
}

/// The end of a batch: frames become visible, then completions, then the interrupts for them.
void Nic::Impl::flush(Nanos now) {
  wire.flush();
  loopback.flush();
  cqs.flush(now);
  eqs.flush();
}

/// The last state is always reported, but a link that flaps does not fill EQ 0.
void Nic::Impl::watch_link() {
  const bool up = wire.link_up();
  regs.set_link(up);
  if (up == reported_link || !eqs.ready(0)) return;
  reported_link = up;
  if (!up) counters.port[VERNA_PORT_link_down_events]++;
  eqs.post_device_event(VERNA_EVENT_LINK, 0, up);
}

Nanos Nic::Impl::next_deadline(Nanos port_deadline, Nanos now) {
  Nanos deadline =
      std::min({timers.next(), port_deadline, next_beat, scheduler.next_deadline(now)});
  if (cqs.deferred() || eqs.deferred()) deadline = std::min(deadline, now + kDeferredRetry);
  return deadline;
}

bool Nic::Impl::prepare_sleep(Nanos now) {
  if (!doorbells.empty()) return false;
  if (!dead()) {
    if (commands.pending() || regs.self_test().pending() || timers.next() <= now) return false;
    if (eth.batch_open()) return false;
    if (scheduler.can_send(now)) return false;
    const bool armed = scheduler.arm_all(now);
    eqs.flush();  // arming may have found a queue broken
    if (!armed || !loopback_port.prepare_sleep(false)) return false;
  }
  if (!wire.port().prepare_sleep(scheduler.wire_full())) return false;
  if (doorbells.empty()) return true;
  wire.port().cancel_sleep();
  return false;
}

void Nic::Impl::reset() {
  pause_receiver.enable(false);
  pause_sender.enable(false);
  eth.watch_buffers(false);
  rdma.reset();
  eth.reset();
  rdma.set_mtu(eth.mtu());
  cqs.reset();
  eqs.reset();
  regs.reset();
  DoorbellRing::Doorbell dropped;
  doorbells.take_overflow();
  for (size_t i = 0; i < DoorbellRing::kSlots && doorbells.pop(&dropped); i++) {
  }
  counters.dev[VERNA_DEV_resets]++;
}

DescribeContext Nic::Impl::describe_context() {
  return {regs,  eqs,    cqs,  eth,   rdma,    counters, loopback_counters, scheduler,
          quota, timers, wire, trace, cap_dev, cap_eth,  cap_rdma};
}

Nic::Nic(const NicConfig& config, HostBus& bus, Port& port, Rng rng)
    : impl_(std::make_unique<Impl>(config, bus, port, rng)) {}

Nic::~Nic() { impl_->reset(); }

std::string Nic::start() { return impl_->start(); }

Nic::RunResult Nic::run(Nanos now, uint32_t byte_budget) { return impl_->run(now, byte_budget); }

bool Nic::prepare_sleep(Nanos now) { return impl_->prepare_sleep(now); }

void Nic::cancel_sleep() { impl_->wire.port().cancel_sleep(); }

void Nic::ring_doorbell(uint32_t uar, uint32_t value) { impl_->doorbells.push(uar, value); }

uint32_t Nic::read_register(uint32_t offset, Nanos) { return impl_->regs.read(offset); }

void Nic::write_register(uint32_t offset, uint32_t value, Nanos now) {
  if (impl_->regs.write(offset, value) == RegFile::Effect::kReset) reset(now);
}

void Nic::reset(Nanos) { impl_->reset(); }

void Nic::set_link_admin(bool up, Nanos) {
  impl_->wire.set_admin_up(up);
  impl_->watch_link();
  impl_->eqs.flush();
}

void Nic::set_polling(bool on) { impl_->scheduler.set_polling(on); }

const Counters& Nic::counters() const { return impl_->counters; }

Counters& Nic::counters() { return impl_->counters; }

Port& Nic::port() { return impl_->wire.port(); }

std::string Nic::control(const std::string& request, Nanos) {
  return describe(impl_->describe_context(), request);
}

}  // namespace verna
