// SPDX-License-Identifier: GPL-2.0-or-later
// The pipeline of the card, from top to bottom: doorbells, commands, timers, reception,
// transmission, and at the end of a batch completions, events and interrupts.
#include "nic.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include "ctrl/card_commands.h"
#include "ctrl/eswitch_commands.h"
#include "ctrl/rate_commands.h"
#include "ctrl/vport_commands.h"
#include "function.h"
#include "function_config.h"

namespace verna {
namespace {

constexpr Nanos kBeat = 500'000'000;       // the contract promises a second
constexpr Nanos kDeferredRetry = 100'000;  // for room in an event queue
constexpr uint32_t kDoorbellsPerRun = 256;
constexpr uint32_t kCommandsPerRun = 16;
constexpr size_t kAgeingPerRun = 128;  // rules that are looked at

}  // namespace

struct Nic::Impl {
  Impl(const NicConfig& config, HostBus& host, Port& port, Rng seed);

  std::string start();
  RunResult run(Nanos now, uint32_t byte_budget);
  bool prepare_sleep(Nanos now);
  void reset(FunctionId fn);
  void set_num_vfs(size_t count, Nanos now);

  void set_now(Nanos now);
  bool take_orders(Nanos now);
  bool run_timers(Nanos now);
  bool age_flows(Nanos now);
  Nanos next_ageing() const;
  bool receive(uint32_t byte_budget, Nanos now);
  bool receive_wire(uint32_t byte_budget, Nanos now);
  bool transmit(uint32_t byte_budget, Nanos now);
  bool run_self_tests();
  void flush(Nanos now);
  void beat(Nanos now);
  Nanos next_deadline(Nanos port_deadline, Nanos now);

  std::vector<std::unique_ptr<Function>> make_functions(HostBus& host);
  CommandResult execute(const CommandBytes& command, Nanos now);
  void empty_pf_vport(Nanos now);
  void set_switch_mode(verna_eswitch_mode mode, Nanos now);
  void choose_wire(bool was_switching);
  void reset_vports();
  void vport_changed(FunctionId fn);
  bool is_there(FunctionId fn) const {
    return fn == 0 || (fn < functions.size() && vswitch->enabled(fn));
  }
  bool switching() const {
    return active.size() > 1 || (vswitch && vswitch->mode() == VERNA_ESWITCH_SWITCHDEV);
  }
  template <typename Test>
  bool any(Test test) const {
    return std::any_of(active.begin(), active.end(), test);
  }

  NicConfig config;
  Trace trace;
  Rng rng;
  TimerQueue timers;
  Scheduler scheduler;
  RateTree rates{scheduler};
  std::unique_ptr<Switch> vswitch;  // null: the card cannot have VFs
  std::vector<std::unique_ptr<Function>> functions;
  std::vector<Function*> active;  // that are there, the PF first
  Function& pf;
  Mac wire;
  PauseReceiver pause_receiver;
  PauseSender pause_sender;
  CardCommands card_commands;
  std::optional<VportCommands> vport_commands;
  std::optional<EswitchCommands> eswitch_commands;
  std::optional<RateCommands> rate_commands;
  PacketView packet;         // the frame that is being received
  bool frames_left = false;  // this run's budget ended before the frames did
  Nanos next_beat = 0;
};

Nic::Impl::Impl(const NicConfig& cfg, HostBus& host, Port& port, Rng seed)
    : config(cfg),
      rng(seed),
      vswitch(cfg.num_vfs
                  ? std::make_unique<Switch>(
                        wire, trace, 1u + std::min(cfg.num_vfs, NicConfig::kMaxVfs), rng.next64(),
                        [this](uint32_t bytes) { scheduler.charge_copies(bytes); })
                  : nullptr),
      functions(make_functions(host)),
      active{functions[0].get()},
      pf(*functions[0]),
      wire(port, pf.counters(), trace),
      pause_receiver(cfg.link_speed_mbps, pf.counters(),
                     [this](Nanos until) { scheduler.pause(until); }),
      pause_sender(wire, timers, pf.counters(), cfg.mac, cfg.link_speed_mbps,
                   [this] { return pf.eth().short_of_buffers(); }),
      card_commands(scheduler, pause_receiver, pause_sender, pf.eth()) {
  wire.set_pause(&pause_receiver, cfg.mac);
  if (!vswitch) return;
  for (size_t fn = 1; fn < functions.size(); fn++) rates.add_leaf(&functions[fn]->tx_group());
  rate_commands.emplace(pf.bus(), rates);
  vport_commands.emplace(pf.bus(), *vswitch, rates, [this](FunctionId fn) { vport_changed(fn); });
  eswitch_commands.emplace(pf.bus(), *vswitch, pf.eth().limits().max_queues,
                           [this](verna_eswitch_mode mode, uint16_t queue, Nanos now) {
                             set_switch_mode(mode, now);
                             pf.eth().set_undecided_queue(queue);
                           });
  reset_vports();
}

std::vector<std::unique_ptr<Function>> Nic::Impl::make_functions(HostBus& host) {
  const FunctionEnvironment environment = {host,
                                           wire,
                                           vswitch.get(),
                                           scheduler,
                                           rates,
                                           timers,
                                           trace,
                                           rng,
                                           [this](const CommandBytes& command, Nanos now) {
        return execute(command, now); }};
  std::vector<std::unique_ptr<Function>> made;
  const uint16_t num_vfs = std::min(config.num_vfs, NicConfig::kMaxVfs);
  for (FunctionId fn = 0; fn <= num_vfs; fn++)
    made.push_back(std::make_unique<Function>(environment, function_config(config, fn)));
  return made;
}

std::string Nic::Impl::start() {
  std::string error = check_config(config);
  if (!error.empty()) return error;
  if (!config.pcap_path.empty() && !wire.capture(config.pcap_path.c_str()))
    return fmt::format("pcap file \"{}\": {}", config.pcap_path, std::strerror(errno));
  pf.link_is_known();
  return {};
}

Nic::RunResult Nic::Impl::run(Nanos now, uint32_t byte_budget) {
  pf.counters().dev[VERNA_DEV_engine_runs]++;
  set_now(now);
  const Nanos port_deadline = wire.port().poll(now);
  bool worked = take_orders(now);
  worked |= run_timers(now);
  worked |= age_flows(now);
  worked |= receive(byte_budget, now);
  worked |= transmit(byte_budget, now);
  worked |= run_self_tests();
  flush(now);
  beat(now);
  return {worked, next_deadline(port_deadline, now)};
}

void Nic::Impl::set_now(Nanos now) {
  trace.set_now(now);
  wire.set_now(now);
  scheduler.set_now(now);
  if (vswitch) vswitch->set_now(now);
}

/// Doorbells and commands; each function has its share of both. What has died is taken apart.
bool Nic::Impl::take_orders(Nanos now) {
  const auto share = [this](uint32_t all) {
    return std::max<uint32_t>(1, all / static_cast<uint32_t>(active.size()));
  };
  bool worked = false;
  for (Function* f : active) {
    f->watch_link();
    worked |= f->take_doorbells(share(kDoorbellsPerRun), now) > 0;
    if (f->dead()) f->halt();
    worked |= f->run_commands(share(kCommandsPerRun), now) > 0;
  }
  return worked;
}

bool Nic::Impl::run_timers(Nanos now) {
  if (timers.next() > now) return false;
  timers.run(now);
  return true;
}

/// Rules end that nothing used. Each function has its share of looks, and the switch a whole one.
bool Nic::Impl::age_flows(Nanos now) {
  if (next_ageing() > now) return false;
  const size_t share = std::max<size_t>(1, kAgeingPerRun / active.size());
  for (Function* f : active) f->age_flows(now, share);
  if (vswitch) vswitch->flows().tables().age(now, kAgeingPerRun, [](const FlowRule&) {});
  return true;
}

Nanos Nic::Impl::next_ageing() const {
  Nanos next = vswitch ? vswitch->flows().tables().next_ageing() : kNever;
  for (const Function* f : active) next = std::min(next, f->next_ageing());
  return next;
}

/// From the wire, then what the switch and the functions themselves have for each of them.
bool Nic::Impl::receive(uint32_t byte_budget, Nanos now) {
  bool worked = receive_wire(byte_budget, now);
  if (switching()) vswitch->flush();
  for (Function* f : active) {
    if (switching()) worked |= f->receive_vport(now);
    worked |= f->receive_loopback(byte_budget, now);
    f->end_batch(frames_left, now);
  }
  if (pf.eth().take_shortage()) pause_sender.shortage(now);
  return worked;
}

bool Nic::Impl::receive_wire(uint32_t byte_budget, Nanos now) {
  auto& port = pf.counters().port;
  const uint64_t before = port[VERNA_PORT_rx_frames];
  uint32_t max_frame = 0;
  for (const Function* f : active) max_frame = std::max(max_frame, f->max_frame());
  frames_left = false;
  for (int64_t left = byte_budget; left > 0;) {
    const RxFrame frame = wire.receive(max_frame);
    if (!frame.data) break;
    parse_packet(frame.data, frame.len, &packet);
    uint32_t copies = 1;
    if (switching()) {
      port[VERNA_PORT_rx_to_switch]++;
      copies = std::max(copies, vswitch->receive(packet));
    } else {
      pf.receive(packet, now);
    }
    wire.release();
    left -= int64_t{frame.len + kFrameCost} * copies;
    frames_left |= left <= 0;
  }
  return port[VERNA_PORT_rx_frames] != before;
}

bool Nic::Impl::transmit(uint32_t byte_budget, Nanos now) {
  const uint64_t before = scheduler.turns();
  scheduler.run(now, byte_budget);
  return scheduler.turns() != before;
}

bool Nic::Impl::run_self_tests() {
  bool worked = false;
  for (Function* f : active) worked |= f->run_self_test();
  return worked;
}

/// The end of a batch: frames become visible, then completions, then the interrupts for them.
void Nic::Impl::flush(Nanos now) {
  wire.flush();
  if (switching()) vswitch->flush();
  for (Function* f : active) f->flush(now);
}

void Nic::Impl::beat(Nanos now) {
  if (now < next_beat) return;
  for (Function* f : active) f->beat();
  next_beat = any([](const Function* f) { return !f->dead(); }) ? now + kBeat : kNever;
}

Nanos Nic::Impl::next_deadline(Nanos port_deadline, Nanos now) {
  Nanos deadline = std::min(
      {timers.next(), next_ageing(), port_deadline, next_beat, scheduler.next_deadline(now)});
  if (any([](const Function* f) { return f->deferred(); }))
    deadline = std::min(deadline, now + kDeferredRetry);
  return deadline;
}

bool Nic::Impl::prepare_sleep(Nanos now) {
  const auto rung = [](const Function* f) { return f->has_doorbells(); };
  if (any(rung) || any([](const Function* f) { return f->has_work(); })) return false;
  if (std::min(timers.next(), next_ageing()) <= now || scheduler.can_send(now)) return false;
  bool idle = scheduler.arm_all(now);
  for (Function* f : active) idle &= f->prepare_sleep();
  if (!idle || !wire.port().prepare_sleep(scheduler.wire_full())) return false;
  if (!any(rung)) return true;
  wire.port().cancel_sleep();
  return false;
}

CommandResult Nic::Impl::execute(const CommandBytes& command, Nanos now) {
  if (eswitch_commands && EswitchCommands::knows(command))
    return eswitch_commands->execute(command, now);
  const uint16_t opcode = command.as<verna_cmd_hdr>().opcode;
  if (CardCommands::knows(opcode)) return card_commands.execute(command);
  if (!vport_commands) return CommandResult::fail(VERNA_CMD_BAD_OPCODE);
  return RateCommands::knows(opcode) ? rate_commands->execute(command)
                                     : vport_commands->execute(command);
}

/// What the PF's vport still has is the PF's, as it was decided.
void Nic::Impl::empty_pf_vport(Nanos now) {
  while (switching() && pf.receive_vport(now)) {
  }
}

void Nic::Impl::set_switch_mode(verna_eswitch_mode mode, Nanos now) {
  if (mode == vswitch->mode()) return;
  empty_pf_vport(now);
  const bool switched = switching();
  vswitch->set_mode(mode);
  choose_wire(switched);
}

/// Frames of the PF pass the switch, or do not, from now on.
void Nic::Impl::choose_wire(bool was_switching) {
  if (was_switching != switching()) pf.use_switch(switching());
}

/// A VF has what the administrator gave it, the PF its own.
void Nic::Impl::vport_changed(FunctionId fn) {
  const Bridge::Mac& mac = vswitch->bridge().config(vport_of(fn)).mac;
  uint8_t bytes[6];
  std::copy(mac.begin(), mac.end(), bytes);
  functions[fn]->set_mac(bytes);
  functions[fn]->repeat_requests();
}

/// All as at first. Addresses go before they come, so that none is in the way of another.
void Nic::Impl::reset_vports() {
  for (FunctionId fn = 0; fn < functions.size(); fn++) {
    vswitch->reset_function(fn);
    vswitch->configure(fn, {}, VERNA_VPORT_LINK_AUTO);
  }
  rates.reset();
  for (FunctionId fn = 0; fn < functions.size(); fn++) {
    BridgePortConfig vport;
    vport.mac = default_mac(config, fn);
    vport.spoof_check = fn != 0;
    vport.trusted = fn == 0;
    vswitch->configure(fn, vport, VERNA_VPORT_LINK_AUTO);
    vport_changed(fn);
  }
}

void Nic::Impl::reset(FunctionId fn) {
  next_beat = 0;
  if (fn != 0) {
    functions[fn]->reset();
    vswitch->reset_function(fn);
    return;
  }
  pause_receiver.enable(false);
  pause_sender.enable(false);
  for (Function* f : active) f->reset();
  scheduler.reset_classes();
  if (!vswitch) return;
  const bool switched = switching();
  reset_vports();
  vswitch->set_mode(VERNA_ESWITCH_LEGACY);
  choose_wire(switched);
}

void Nic::Impl::set_num_vfs(size_t count, Nanos now) {
  count = std::min(count, functions.size() - 1);
  const bool switched = switching();
  if (count == 0) empty_pf_vport(now);
  for (FunctionId fn = 1; fn < functions.size(); fn++) {
    if (vswitch->enabled(fn) == (fn <= count)) continue;
    functions[fn]->reset();
    vswitch->enable(fn, fn <= count);
    functions[fn]->link_is_known();
  }
  next_beat = 0;
  active.resize(1);
  for (FunctionId fn = 1; fn <= count; fn++) active.push_back(functions[fn].get());
  choose_wire(switched);
}

Nic::Nic(const NicConfig& config, HostBus& bus, Port& port, Rng rng)
    : impl_(std::make_unique<Impl>(config, bus, port, rng)) {}

Nic::~Nic() { impl_->reset(0); }

std::string Nic::start() { return impl_->start(); }

Nic::RunResult Nic::run(Nanos now, uint32_t byte_budget) { return impl_->run(now, byte_budget); }

bool Nic::prepare_sleep(Nanos now) { return impl_->prepare_sleep(now); }

void Nic::cancel_sleep() { impl_->wire.port().cancel_sleep(); }

void Nic::ring_doorbell(FunctionId fn, uint32_t uar, uint32_t value) {
  if (fn < impl_->functions.size()) impl_->functions[fn]->ring_doorbell(uar, value);
}

uint32_t Nic::read_register(FunctionId fn, uint32_t offset, Nanos) {
  return impl_->is_there(fn) ? impl_->functions[fn]->read_register(offset) : ~uint32_t{0};
}

void Nic::write_register(FunctionId fn, uint32_t offset, uint32_t value, Nanos now) {
  if (!impl_->is_there(fn)) return;
  if (impl_->functions[fn]->write_register(offset, value) == RegFile::Effect::kReset)
    reset(fn, now);
}

void Nic::reset(FunctionId fn, Nanos) {
  if (impl_->is_there(fn)) impl_->reset(fn);
}

void Nic::set_num_vfs(uint16_t count, Nanos now) { impl_->set_num_vfs(count, now); }

void Nic::set_link_admin(bool up, Nanos) {
  impl_->wire.set_admin_up(up);
  for (Function* f : impl_->active) {
    f->watch_link();
    f->flush_events();
  }
}

void Nic::set_polling(bool on) { impl_->scheduler.set_polling(on); }

const Counters& Nic::counters() const { return impl_->pf.counters(); }

Counters& Nic::counters() { return impl_->pf.counters(); }

const Counters& Nic::counters(FunctionId fn) const { return impl_->functions[fn]->counters(); }

const Counters& Nic::vport_mac_counters() const { return impl_->pf.vport_counters(); }

const std::array<uint64_t, VERNA_VPORT_NUM_COUNTERS>* Nic::vport_counters(uint32_t number) const {
  return impl_->vswitch ? impl_->vswitch->counters(number) : nullptr;
}

Port& Nic::port() { return impl_->wire.port(); }

std::string Nic::control(const std::string& request, Nanos now) {
  constexpr std::string_view kFunction = "fn ";  // and its number, and what is asked of it
  if (!request.starts_with(kFunction)) return impl_->pf.control(request, now);
  const char* end = request.data() + request.size();
  FunctionId fn = 0;
  const auto [stop, error] = std::from_chars(request.data() + kFunction.size(), end, fn);
  if (error != std::errc() || stop == end || *stop != ' ' || !impl_->is_there(fn))
    return impl_->pf.control(request, now);  // which says that it knows no such thing
  return impl_->functions[fn]->control(std::string(stop + 1, end), now);
}

}  // namespace verna
