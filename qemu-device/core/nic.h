// SPDX-License-Identifier: GPL-2.0-or-later
// The card: owns the blocks and wires them together. nic.cc reads as the pipeline.
#pragma once

#include <memory>
#include <string>

#include "base/counters.h"
#include "base/rng.h"
#include "host/host_bus.h"
#include "mac/port.h"
#include "rdma/rdma_engine.h"

namespace verna {

struct NicConfig {
  uint8_t mac[6] = {0x52, 0x56, 0x4e, 0, 0, 1};
  uint16_t num_vectors = 129;
  uint16_t num_uars = 1024;
  uint16_t max_queue_pairs = 128;  // Ethernet TX and RX queues each
  uint32_t max_cqs = 65536;
  uint32_t max_eqs = 256;
  uint64_t max_pbl_entries = 16u << 20;
  uint32_t link_speed_mbps = 100000;
  RdmaLimits rdma;
  std::string pcap_path;  // empty: no capture

  static constexpr uint16_t kMaxVfs = 64;
  uint16_t num_vfs = 0;  // that can be enabled; each has what follows
  uint16_t vf_vectors = 17;
  uint16_t vf_uars = 128;
  uint16_t vf_queue_pairs = 16;
  uint32_t vf_max_qps = 1024;
};

/// One network card without a host and without a wire, which it is given. It has a physical
/// function, number 0, and virtual ones from 1 on, of which as many are there as set_num_vfs()
/// says.
///
/// Threads: run() and every other function but ring_doorbell() are called by one thread at a time
/// (the shim's card lock). ring_doorbell() may be called by any thread at any time.
class Nic {
 public:
  Nic(const NicConfig& config, HostBus& bus, Port& port, Rng rng);
  ~Nic();

  /// Empty, or why the card cannot be made from its config (names the value and the range). Call
  /// once before anything else.
  std::string start();

  struct RunResult {
    bool more;       // something was done and more may be left: run again at once
    Nanos deadline;  // else nothing happens before this without a doorbell, frame or register write
  };
  /// Works for a bounded time: about `byte_budget` bytes of frames out and in, a bounded number of
  /// commands, doorbells and timers.
  RunResult run(Nanos now, uint32_t byte_budget);

  /// The owner wants to sleep: arms doorbells and the port. False: there is work, run again.
  bool prepare_sleep(Nanos now);
  /// The owner woke up and will run() now.
  void cancel_sleep();

  /// A vCPU wrote `value` to doorbell page `uar` of a function. Any thread; wait-free.
  void ring_doorbell(FunctionId fn, uint32_t uar, uint32_t value);

  /// Registers (BAR 0), 32-bit, 4-byte aligned offsets. Of a function that is not there all are
  /// ones.
  uint32_t read_register(FunctionId fn, uint32_t offset, Nanos now);
  void write_register(FunctionId fn, uint32_t offset, uint32_t value, Nanos now);

  /// Function level reset: as after power-on, but the link stays. That of the PF resets the VFs,
  /// and what was said of them, but they stay there.
  void reset(FunctionId fn, Nanos now);
  /// VFs 1 to `count` are there from now on, others not; those that come are as after power-on.
  void set_num_vfs(uint16_t count, Nanos now);
  /// QMP set_link.
  void set_link_admin(bool up, Nanos now);
  /// Tells the scheduler whether queues are polled after a doorbell (the engine is awake) or not.
  void set_polling(bool on);

  /// Of the PF.
  const Counters& counters() const;
  Counters& counters();
  /// Of any function.
  const Counters& counters(FunctionId fn) const;
  /// Port group of the MAC between the PF and its vport; all zero while there never was a VF.
  const Counters& vport_mac_counters() const;
  /// Of a vport; null: there is none.
  const std::array<uint64_t, VERNA_VPORT_NUM_COUNTERS>* vport_counters(uint32_t number) const;
  Port& port();

  /// Answers one question of vernactl, for example "regs", "qps", "counters", "trace on", and with
  /// "fn N " in front that of function N. JSON.
  std::string control(const std::string& request, Nanos now);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace verna
