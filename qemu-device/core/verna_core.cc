// SPDX-License-Identifier: GPL-2.0-or-later
// The C interface: adapts a host's callbacks and owns a card with its port.
#include "verna_core.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <memory>
#include <random>

#include "ctrl/control_server.h"
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
  if (std::any_of(c.mac, c.mac + 6, [](uint8_t b) { return b != 0; }))
    std::copy(c.mac, c.mac + 6, config.mac);
  if (c.num_vectors) config.num_vectors = c.num_vectors;
  if (c.num_uars) config.num_uars = c.num_uars;
  if (c.link_speed_mbps) config.link_speed_mbps = c.link_speed_mbps;
  if (c.max_pbl_entries) config.max_pbl_entries = c.max_pbl_entries;
  if (c.max_qps) config.rdma.max_qps = c.max_qps;
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
      : bus(ops, opaque),
        host_port(config.link ? nullptr : std::make_unique<verna::HostQueuePort>()),
        link_port(config.link
                      ? std::make_unique<verna::ShmLinkPort>(config.link, config.link_ring_kib)
                      : nullptr),
        nic(make_config(config), bus, port(), make_rng(config.seed)),
        runner(nic, {config.poll_us * verna::Nanos{1000}, config.inline_kib << 10}) {}

  verna::Port& port() {
    if (link_port) return *link_port;
    return *host_port;
  }

  verna::MappedBus bus;
  std::unique_ptr<verna::HostQueuePort> host_port;
  std::unique_ptr<verna::ShmLinkPort> link_port;
  verna::Nic nic;
  verna::Runner runner;
};

namespace {

/// Throws only what constructors throw for want of memory or descriptors.
std::unique_ptr<verna_card> make_card(const verna_card_config& config, const verna_host_ops& ops,
                                      void* opaque, std::string* error) {
  if (config.link) *error = verna::ShmLinkPort::check(config.link, config.link_ring_kib);
  if (!error->empty()) return nullptr;
  auto card = std::make_unique<verna_card>(config, ops, opaque);
  *error = card->nic.start();
  return error->empty() ? std::move(card) : nullptr;
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

static_assert(VERNA_MAX_FDS == verna::Runner::kMaxFds);

bool verna_card_slice(verna_card* card, uint64_t now, uint64_t host_now, verna_sleep* sleep) {
  verna::Runner::Sleep wait;
  if (!card->runner.slice(now, host_now, &wait)) return false;
  std::copy(wait.fds.begin(), wait.fds.end(), sleep->fds);
  sleep->num_fds = wait.num_fds;
  sleep->deadline = wait.deadline;
  return true;
}

void verna_card_slept(verna_card* card, uint64_t duration) { card->runner.slept(duration); }

bool verna_card_asleep(const verna_card* card) { return card->runner.asleep(); }

bool verna_card_run_inline(verna_card* card, uint64_t now) { return card->runner.run_inline(now); }

void verna_card_wake(verna_card* card) { card->runner.wake(); }

void verna_card_doorbell(verna_card* card, uint32_t uar, uint32_t value) {
  card->nic.ring_doorbell(uar, value);
}

void verna_card_forget_memory(verna_card* card) { card->bus.forget(); }

uint32_t verna_card_read(verna_card* card, uint32_t offset, uint64_t now) {
  return card->nic.read_register(offset, now);
}

void verna_card_write(verna_card* card, uint32_t offset, uint32_t value, uint64_t now) {
  card->nic.write_register(offset, value, now);
}

void verna_card_reset(verna_card* card, uint64_t now) { card->nic.reset(now); }

void verna_card_set_link(verna_card* card, bool up, uint64_t now) {
  card->nic.set_link_admin(up, now);
}

bool verna_card_host_rx(verna_card* card, const uint8_t* frame, size_t len) {
  return card->host_port && card->host_port->host_rx(frame, len);
}

bool verna_card_host_rx_room(verna_card* card) {
  return card->host_port && card->host_port->host_rx_room();
}

size_t verna_card_host_tx_peek(verna_card* card, const uint8_t** frame) {
  return card->host_port ? card->host_port->host_tx_peek(frame) : 0;
}

void verna_card_host_tx_pop(verna_card* card) {
  if (card->host_port) card->host_port->host_tx_pop();
}

bool verna_card_host_tx_pending(const verna_card* card) {
  return card->host_port && card->host_port->host_tx_pending();
}

void verna_card_host_set_link(verna_card* card, bool up) {
  if (card->host_port) card->host_port->host_set_link(up);
}

char* verna_card_control(verna_card* card, const char* request, uint64_t now) {
  try {
    return ::strdup(card->nic.control(request, now).c_str());
  } catch (const std::exception&) {
    return nullptr;
  }
}

struct verna_ctl {
  std::unique_ptr<verna::ControlServer> server;
};

verna_ctl* verna_ctl_new(const char* path, char* error, size_t error_len) {
  std::string message;
  try {
    auto server = verna::ControlServer::listen(path, &message);
    if (server) return new verna_ctl{std::move(server)};
  } catch (const std::exception& e) {
    message = fmt::format("control socket: {}", e.what());
  }
  report(error, error_len, message);
  return nullptr;
}

int verna_ctl_fd(const verna_ctl* ctl) { return ctl->server->fd(); }

void verna_ctl_serve(verna_ctl* ctl, verna_card* card, uint64_t now) {
  try {
    ctl->server->serve(
        [card, now](const std::string& request) { return card->nic.control(request, now); });
  } catch (const std::exception&) {
    // For want of memory: the client gets no answer, the card goes on.
  }
}

void verna_ctl_free(verna_ctl* ctl) { delete ctl; }
