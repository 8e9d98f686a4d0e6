// SPDX-License-Identifier: GPL-2.0-or-later
// The pipeline of the card, from top to bottom: doorbells, commands, timers, reception,
// transmission, and at the end of a batch completions, events and interrupts.
#include "nic.h"

#include <fmt/format.h>

#include <algorithm>

#include "ctrl/card_commands.h"
#include "function.h"

namespace verna {
namespace {

constexpr Nanos kBeat = 500'000'000;       // the contract promises a second
constexpr Nanos kDeferredRetry = 100'000;  // for room in an event queue
constexpr uint32_t kDoorbellsPerRun = 256;
constexpr uint32_t kCommandsPerRun = 16;
constexpr uint32_t kFrameCost = 64;  // bytes of budget that a frame costs beyond its own

FunctionConfig function_config(const NicConfig& config) {
  FunctionConfig function;
  std::copy(std::begin(config.mac), std::end(config.mac), function.port.mac);
  function.port.speed_mbps = config.link_speed_mbps;
  function.device.num_vectors = config.num_vectors;
  function.device.num_uars = config.num_uars;
  function.device.max_cqs = config.max_cqs;
  function.device.max_eqs = config.max_eqs;
  function.device.max_pbl_entries =
      static_cast<uint32_t>(std::min<uint64_t>(config.max_pbl_entries, ~uint32_t{0}));
  function.eth.max_queues = config.max_queue_pairs;
  function.rdma = config.rdma;
  function.rdma.num_uars = config.num_uars;
  return function;
}

}  // namespace

struct Nic::Impl {
  Impl(const NicConfig& config, HostBus& host, Port& port, Rng seed);

  std::string start();
  RunResult run(Nanos now, uint32_t byte_budget);
  bool prepare_sleep(Nanos now);
  void reset();

  void set_now(Nanos now);
  bool run_timers(Nanos now);
  bool receive_wire(uint32_t byte_budget, Nanos now);
  bool discard_wire();
  bool transmit(uint32_t byte_budget, Nanos now);
  void flush(Nanos now);
  Nanos next_deadline(Nanos port_deadline, Nanos now);

  NicConfig config;
  Trace trace;
  Rng rng;
  TimerQueue timers;
  Scheduler scheduler;
  Function pf;
  Mac wire;
  PauseReceiver pause_receiver;
  PauseSender pause_sender;
  CardCommands card_commands;
  PacketView packet;         // the frame that is being received
  bool frames_left = false;  // this run's budget ended before the frames did
  Nanos next_beat = 0;
};

Nic::Impl::Impl(const NicConfig& cfg, HostBus& host, Port& port, Rng seed)
    : config(cfg),
      rng(seed),
      pf({host, wire, scheduler, timers, trace, rng,
          [this](const CommandBytes& command) { return card_commands.execute(command); }},
         function_config(cfg)),
      wire(port, pf.counters(), trace),
      pause_receiver(cfg.link_speed_mbps, pf.counters(),
                     [this](Nanos until) { scheduler.pause(until); }),
      pause_sender(wire, timers, pf.counters(), cfg.mac, cfg.link_speed_mbps,
                   [this] { return pf.eth().short_of_buffers(); }),
      card_commands(scheduler, pause_receiver, pause_sender, pf.eth()) {
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
  pf.link_is_known();
  return {};
}

Nic::RunResult Nic::Impl::run(Nanos now, uint32_t byte_budget) {
  pf.counters().dev[VERNA_DEV_engine_runs]++;
  set_now(now);
  const Nanos port_deadline = wire.port().poll(now);
  pf.watch_link();

  bool worked = pf.take_doorbells(kDoorbellsPerRun, now) > 0;
  if (pf.dead()) {
    worked |= discard_wire();
    flush(now);
    return {worked, port_deadline};
  }
  worked |= pf.run_commands(kCommandsPerRun, now) > 0;
  worked |= run_timers(now);
  worked |= receive_wire(byte_budget, now);
  worked |= pf.receive_loopback(byte_budget, now);
  pf.end_batch(frames_left, now);
  worked |= transmit(byte_budget, now);
  worked |= pf.run_self_test();
  flush(now);
  if (now >= next_beat) {
    pf.beat();
    next_beat = now + kBeat;
  }
  return {worked, next_deadline(port_deadline, now)};
}

void Nic::Impl::set_now(Nanos now) {
  trace.set_now(now);
  wire.set_now(now);
  scheduler.set_now(now);
}

bool Nic::Impl::run_timers(Nanos now) {
  if (timers.next() > now) return false;
  timers.run(now);
  return true;
}

bool Nic::Impl::receive_wire(uint32_t byte_budget, Nanos now) {
  uint64_t& frames = pf.counters().port[VERNA_PORT_rx_frames];
  const uint64_t before = frames;
  frames_left = false;
  for (int64_t left = byte_budget; left > 0;) {
    const RxFrame frame = wire.receive(pf.max_frame());
    if (!frame.data) break;
    left -= frame.len + kFrameCost;
    parse_packet(frame.data, frame.len, &packet);
    pf.receive(packet, now);
    wire.release();
    frames_left |= left <= 0;
  }
  if (pf.eth().take_shortage()) pause_sender.shortage(now);
  return frames != before;
}

/// A card that stopped still takes frames off the wire, so that its peer is not held up.
bool Nic::Impl::discard_wire() {
  auto& port = pf.counters().port;
  const uint64_t before = port[VERNA_PORT_rx_frames];
  for (int i = 0; i < 64; i++) {
    if (!wire.receive(pf.max_frame()).data) break;
    port[VERNA_PORT_rx_drop_disabled]++;
    wire.release();
  }
  return port[VERNA_PORT_rx_frames] != before;
}

bool Nic::Impl::transmit(uint32_t byte_budget, Nanos now) {
  const uint64_t before = scheduler.turns();
  scheduler.run(now, byte_budget);
  return scheduler.turns() != before;
}

/// The end of a batch: frames become visible, then completions, then the interrupts for them.
void Nic::Impl::flush(Nanos now) {
  wire.flush();
  pf.flush(now);
}

Nanos Nic::Impl::next_deadline(Nanos port_deadline, Nanos now) {
  Nanos deadline =
      std::min({timers.next(), port_deadline, next_beat, scheduler.next_deadline(now)});
  if (pf.deferred()) deadline = std::min(deadline, now + kDeferredRetry);
  return deadline;
}

bool Nic::Impl::prepare_sleep(Nanos now) {
  if (pf.has_doorbells()) return false;
  if (!pf.dead()) {
    if (pf.has_work() || timers.next() <= now || scheduler.can_send(now)) return false;
    const bool armed = scheduler.arm_all(now);
    if (!pf.prepare_sleep() || !armed) return false;
  }
  if (!wire.port().prepare_sleep(scheduler.wire_full())) return false;
  if (!pf.has_doorbells()) return true;
  wire.port().cancel_sleep();
  return false;
}

void Nic::Impl::reset() {
  pause_receiver.enable(false);
  pause_sender.enable(false);
  pf.reset();
  scheduler.reset_classes();
}

Nic::Nic(const NicConfig& config, HostBus& bus, Port& port, Rng rng)
    : impl_(std::make_unique<Impl>(config, bus, port, rng)) {}

Nic::~Nic() { impl_->reset(); }

std::string Nic::start() { return impl_->start(); }

Nic::RunResult Nic::run(Nanos now, uint32_t byte_budget) { return impl_->run(now, byte_budget); }

bool Nic::prepare_sleep(Nanos now) { return impl_->prepare_sleep(now); }

void Nic::cancel_sleep() { impl_->wire.port().cancel_sleep(); }

void Nic::ring_doorbell(uint32_t uar, uint32_t value) { impl_->pf.ring_doorbell(uar, value); }

uint32_t Nic::read_register(uint32_t offset, Nanos) { return impl_->pf.read_register(offset); }

void Nic::write_register(uint32_t offset, uint32_t value, Nanos now) {
  if (impl_->pf.write_register(offset, value) == RegFile::Effect::kReset) reset(now);
}

void Nic::reset(Nanos) { impl_->reset(); }

void Nic::set_link_admin(bool up, Nanos) {
  impl_->wire.set_admin_up(up);
  impl_->pf.watch_link();
  impl_->pf.flush_events();
}

void Nic::set_polling(bool on) { impl_->scheduler.set_polling(on); }

const Counters& Nic::counters() const { return impl_->pf.counters(); }

Counters& Nic::counters() { return impl_->pf.counters(); }

Port& Nic::port() { return impl_->wire.port(); }

std::string Nic::control(const std::string& request, Nanos) { return impl_->pf.control(request); }

}  // namespace verna
