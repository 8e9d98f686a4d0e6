// SPDX-License-Identifier: GPL-2.0-or-later
#include "function_config.h"

#include <fmt/format.h>

#include <algorithm>

namespace verna {
namespace {

FunctionConfig pf_config(const NicConfig& config) {
  FunctionConfig function;
  function.device.num_functions = static_cast<uint16_t>(1 + config.num_vfs);
  function.device.num_vectors = config.num_vectors;
  function.device.num_uars = config.num_uars;
  function.device.max_cqs = config.max_cqs;
  function.device.max_eqs = config.max_eqs;
  function.device.max_pbl_entries =
      static_cast<uint32_t>(std::min<uint64_t>(config.max_pbl_entries, ~uint32_t{0}));
  function.eth.max_queues = config.max_queue_pairs;
  function.rdma = config.rdma;
  function.rdma.num_uars = config.num_uars;
  function.max_vfs = config.num_vfs;
  return function;
}

/// What a VF may have at most; all of them together must not be too much for the card.
FunctionConfig vf_config(const NicConfig& config) {
  FunctionConfig function = pf_config(config);
  DeviceLimits& device = function.device;
  device.num_functions = 1;
  device.num_vectors = config.vf_vectors;
  device.num_uars = config.vf_uars;
  device.max_cqs = std::min(device.max_cqs, 4096u);
  device.max_eqs = std::min(device.max_eqs, 64u);
  device.max_pbl_entries = std::min(device.max_pbl_entries, 1u << 20);
  EthLimits& eth = function.eth;
  eth.max_queues = config.vf_queue_pairs;
  eth.max_mac_filters = Bridge::kMaxAddresses;
  eth.max_flow_rules = 4096;
  eth.max_held_cells = 1024;
  eth.owns_wire = false;
  RdmaLimits& rdma = function.rdma;
  rdma.num_uars = config.vf_uars;
  rdma.max_qps = std::min(rdma.max_qps, config.vf_max_qps);
  rdma.max_mrs = std::min(rdma.max_mrs, 8192u);
  rdma.max_pds = std::min(rdma.max_pds, 1024u);
  function.max_vfs = 0;
  return function;
}

}  // namespace

Bridge::Mac default_mac(const NicConfig& config, FunctionId fn) {
  Bridge::Mac mac;
  std::copy(std::begin(config.mac), std::end(config.mac), mac.begin());
  if (fn != 0) mac[0] |= 2;  // locally administered
  mac[1] = static_cast<uint8_t>(mac[1] ^ fn);
  return mac;
}

FunctionConfig function_config(const NicConfig& config, FunctionId fn) {
  FunctionConfig function = fn == 0 ? pf_config(config) : vf_config(config);
  function.id = fn;
  const Bridge::Mac mac = default_mac(config, fn);
  std::copy(mac.begin(), mac.end(), function.port.mac);
  function.port.speed_mbps = config.link_speed_mbps;
  return function;
}

std::string check_config(const NicConfig& config) {
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
        range("max_qps", config.rdma.max_qps, 2, 1u << 20),
        range("num_vfs", config.num_vfs, 0, NicConfig::kMaxVfs),
        range("vf_vectors", config.vf_vectors, 1, 2048), range("vf_uars", config.vf_uars, 1, 65535),
        range("vf_queue_pairs", config.vf_queue_pairs, 1, 1024),
        range("vf_max_qps", config.vf_max_qps, 2, 1u << 20)})
    if (!error.empty()) return error;
  const uint8_t* mac = config.mac;
  if ((mac[0] & 1) || all_zero(config.mac))
    return fmt::format(
        "mac is {:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}, must be a unicast address", mac[0],
        mac[1], mac[2], mac[3], mac[4], mac[5]);
  return {};
}

}  // namespace verna
