// SPDX-License-Identifier: GPL-2.0-or-later
// The C interface: adapts a host's callbacks and owns a card with its port.
#include "verna_core.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <random>

#include "card_options.h"
#include "ctrl/control_server.h"
#include "ctrl/doorbell.h"
#include "host/mapped_bus.h"
#include "mac/host_queue_port.h"
#include "mac/shm_link_port.h"
#include "nic.h"
#include "runner.h"

namespace {

/// From the system's entropy unless a seed makes the card reproducible.
verna::Rng make_rng(uint64_t seed) {
  if (seed) return verna::Rng(seed);
  std::random_device entropy;
  uint8_t bytes[32];
  for (size_t i = 0; i < sizeof bytes; i += 4) {
    const uint32_t word = entropy();
    std::memcpy(bytes + i, &word, sizeof word);
  }
  return verna::Rng(bytes);
}

verna::NicConfig make_config(const verna_card_config& c) {
  verna::NicConfig config;
  std::copy(c.mac, c.mac + 6, config.mac);
  config.num_vectors = static_cast<uint16_t>(c.vectors);
  config.num_uars = static_cast<uint16_t>(c.uars);
  config.link_speed_mbps = c.speed;
  config.rdma.max_qps = c.max_qps;
  config.num_vfs = static_cast<uint16_t>(c.vfs);
  if (c.vfs) {
    config.vf_vectors = static_cast<uint16_t>(c.vf_vectors);
    config.vf_uars = static_cast<uint16_t>(c.vf_uars);
  }
  if (c.pcap) config.pcap_path = c.pcap;
  return config;
}

void report(char* error, size_t error_len, const std::string& message) {
  if (!error_len) return;
  const size_t n = std::min(message.size(), error_len - 1);
  std::memcpy(error, message.data(), n);
  error[n] = 0;
}

}  // namespace

struct verna_card {
  verna_card(const verna_card_config& config, const verna_host_ops& ops, void* opaque)
      : bus(ops, opaque, static_cast<uint16_t>(config.vectors), static_cast<uint16_t>(config.vfs),
            static_cast<uint16_t>(config.vf_vectors)),
        host_port(config.link ? nullptr : std::make_unique<verna::HostQueuePort>(config.netdev)),
        link_port(config.link
                      ? std::make_unique<verna::ShmLinkPort>(config.link, config.link_ring_kib)
                      : nullptr),
        nic(make_config(config), bus, port(), make_rng(config.seed)),
        runner(nic, {config.poll_us * verna::Nanos{1000}, config.inline_kib << 10}),
        num_uars(config.uars),
        vf_uars(config.vf_uars),
        num_vfs(static_cast<uint16_t>(config.vfs)) {}

  verna::Port& port() {
    if (link_port) return *link_port;
    return *host_port;
  }

  verna::MappedBus bus;
  std::unique_ptr<verna::HostQueuePort> host_port;
  std::unique_ptr<verna::ShmLinkPort> link_port;
  verna::Nic nic;
  verna::Runner runner;
  uint32_t num_uars;
  uint32_t vf_uars;
  uint16_t num_vfs;
};

namespace {

/// Null: `*error` says why. Throws only what constructors throw for want of memory or descriptors.
std::unique_ptr<verna_card> make_card(const verna_card_config& config, const verna_host_ops& ops,
                                      void* opaque, std::string* error) {
  *error = verna::check_options(config);
  if (error->empty() && config.link)
    *error = verna::ShmLinkPort::check(config.link, config.link_ring_kib);
  if (!error->empty()) return nullptr;
  auto card = std::make_unique<verna_card>(config, ops, opaque);
  *error = card->nic.start();
  if (!error->empty()) return nullptr;
  if (!config.ctl) return card;
  auto server = verna::ControlServer::listen(config.ctl, error);
  if (server) {
    card->runner.set_control(std::move(server));
    return card;
  }
  *error = fmt::format("ctl={}: {}", config.ctl, *error);
  return nullptr;
}

}  // namespace

verna_card* verna_card_new(const verna_card_config* config, const verna_host_ops* ops, void* opaque,
                           char* error, size_t error_len) {
  std::string message;
  try {
    if (auto card = make_card(*config, *ops, opaque, &message)) return card.release();
  } catch (const std::exception& e) {
    message = fmt::format("cannot make the card: {}", e.what());
  }
  report(error, error_len, message);
  return nullptr;
}

void verna_card_free(verna_card* card) { delete card; }

const char* verna_option_help(const char* name) { return verna::option_help(name); }

static_assert(VERNA_MAX_FDS == verna::Runner::kMaxFds);

bool verna_card_slice(verna_card* card, uint64_t host_now, verna_sleep* sleep) {
  verna::Runner::Sleep wait;
  if (!card->runner.slice(host_now, &wait)) return false;
  std::copy(wait.fds.begin(), wait.fds.end(), sleep->fds);
  sleep->num_fds = wait.num_fds;
  sleep->timeout = wait.timeout;
  return true;
}

void verna_card_slept(verna_card* card, uint64_t duration) { card->runner.slept(duration); }

bool verna_card_asleep(const verna_card* card) { return card->runner.asleep(); }

bool verna_card_run_inline(verna_card* card, uint64_t host_now, uint32_t doorbell) {
  return card->runner.run_inline(host_now, doorbell);
}

void verna_card_wake(verna_card* card) { card->runner.wake(); }

void verna_card_set_running(verna_card* card, bool running, uint64_t host_now) {
  card->runner.set_running(running, host_now);
}

void verna_card_set_num_vfs(verna_card* card, uint16_t count, uint64_t host_now) {
  card->nic.set_num_vfs(count, card->runner.now(host_now));
  for (uint32_t fn = count + 1u; fn <= card->num_vfs; fn++)
    card->bus.clear_vectors(static_cast<uint16_t>(fn));
}

bool verna_card_vectors_pending(verna_card* card) { return card->bus.vectors_pending(); }

int verna_card_take_vector(verna_card* card, uint16_t* fn) {
  const auto vector = card->bus.take_vector();
  if (!vector) return -1;
  *fn = vector->fn;
  return vector->number;
}

bool verna_card_doorbell(verna_card* card, uint16_t fn, uint64_t offset, uint32_t value) {
  const auto uar = verna::doorbell_page(offset, fn == 0 ? card->num_uars : card->vf_uars);
  if (uar) card->nic.ring_doorbell(fn, *uar, value);
  return uar.has_value();
}

void verna_card_forget_memory(verna_card* card) { card->bus.forget(); }

uint32_t verna_card_read(verna_card* card, uint16_t fn, uint32_t offset, uint64_t host_now) {
  return card->nic.read_register(fn, offset, card->runner.now(host_now));
}

void verna_card_write(verna_card* card, uint16_t fn, uint32_t offset, uint32_t value,
                      uint64_t host_now) {
  card->nic.write_register(fn, offset, value, card->runner.now(host_now));
}

void verna_card_reset(verna_card* card, uint16_t fn, uint64_t host_now) {
  if (fn > card->num_vfs) return;
  card->nic.reset(fn, card->runner.now(host_now));
  for (uint32_t of = fn; of <= (fn == 0 ? card->num_vfs : fn); of++)
    card->bus.clear_vectors(static_cast<uint16_t>(of));
}

void verna_card_set_link(verna_card* card, bool up, bool network, uint64_t host_now) {
  if (card->host_port) card->host_port->host_set_link(up && network);
  card->nic.set_link_admin(up, card->runner.now(host_now));
}

bool verna_card_host_rx_ready(verna_card* card) {
  return card->host_port && card->host_port->host_rx_ready();
}

bool verna_card_host_rx(verna_card* card, const iovec* pieces, size_t count, size_t skip) {
  return card->host_port && card->host_port->host_rx(pieces, count, skip);
}

bool verna_card_host_rx_resumes(verna_card* card) {
  return card->host_port && card->host_port->host_rx_resumes();
}

size_t verna_card_host_tx_next(verna_card* card, const uint8_t** frame) {
  return card->host_port ? card->host_port->host_tx_next(frame) : 0;
}

void verna_card_host_tx_done(verna_card* card, bool more) {
  if (card->host_port) card->host_port->host_tx_done(more);
}

void verna_card_host_tx_resumes(verna_card* card) {
  if (card->host_port) card->host_port->host_tx_resumes();
}

bool verna_card_host_wanted(const verna_card* card) {
  return card->host_port && card->host_port->host_wanted();
}
