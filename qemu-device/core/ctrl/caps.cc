// SPDX-License-Identifier: GPL-2.0-or-later
#include "ctrl/caps.h"

#include "eth/tx_request.h"
#include "hw/verna_regs.h"
#include "hw/verna_vport.h"
#include "queue/queue_memory.h"
#include "sched/rate_tree.h"
#include "vswitch/flow_switch.h"

namespace verna {
namespace {

constexpr uint32_t kRdmaFeatures = VERNA_RDMA_F_RC | VERNA_RDMA_F_UC | VERNA_RDMA_F_UD |
                                   VERNA_RDMA_F_ATOMIC | VERNA_RDMA_F_SEND_INV;
constexpr uint32_t kRxFeatures =
    VERNA_ETH_F_RX_CSUM | VERNA_ETH_F_RX_MERGE | VERNA_ETH_F_RX_VLAN | VERNA_ETH_F_LOOPBACK;
constexpr uint64_t kMaxMessage = uint64_t{1} << 31;
constexpr uint64_t kMaxRegion = uint64_t{1} << 46;

template <typename Block>
verna_cap_hdr header(verna_cap_type type, uint16_t version = 1) {
  static_assert(sizeof(Block) % 4 == 0);
  return {static_cast<uint16_t>(type), version, sizeof(Block), 0};
}

/// Appends a block. `last` ends the list.
template <typename Block>
void append(std::vector<uint32_t>* words, Block block, bool last) {
  const size_t at = words->size();
  const size_t end = at * 4 + sizeof block;
  block.hdr.next = last ? 0 : static_cast<uint16_t>(VERNA_CAPS_BASE + end);
  words->resize(end / 4);
  std::memcpy(words->data() + at, &block, sizeof block);
}

}  // namespace

verna_cap_dev device_caps(const DeviceLimits& limits) {
  verna_cap_dev cap{};
  cap.hdr = header<verna_cap_dev>(VERNA_CAP_DEV);
  cap.max_eqs = limits.max_eqs;
  cap.max_cqs = limits.max_cqs;
  cap.log_max_cq_entries = limits.log_max_cq_entries;
  cap.log_max_eq_entries = limits.log_max_eq_entries;
  cap.num_functions = limits.num_functions;
  cap.max_pbl_entries = limits.max_pbl_entries;
  cap.page_shifts = kPageShifts;
  return cap;
}

verna_cap_eth ethernet_caps(const EthLimits& limits) {
  verna_cap_eth cap{};
  cap.hdr = header<verna_cap_eth>(VERNA_CAP_ETH, 2);
  cap.features = VERNA_ETH_F_RSS | VERNA_ETH_F_RSS_FIELDS | VERNA_ETH_F_FLOW |
                 VERNA_ETH_F_FLOW_RANGES | VERNA_ETH_F_FLOW_TUNNEL | kTxFeatures | kRxFeatures |
                 VERNA_ETH_F_MODERATION | VERNA_ETH_F_TX_RATE;
  if (limits.owns_wire) cap.features |= VERNA_ETH_F_TX_CLASSES | VERNA_ETH_F_PAUSE;
  cap.max_txqs = limits.max_queues;
  cap.max_rxqs = limits.max_queues;
  cap.log_max_entries = limits.log_max_entries;
  cap.max_mac_filters = limits.max_mac_filters;
  cap.min_mtu = limits.min_mtu;
  cap.max_mtu = limits.max_mtu;
  cap.max_tx_frags = kMaxTxFrags;
  cap.rss_table_size = Rss::kTableSize;
  cap.max_tso_bytes = kMaxTsoBytes;
  cap.max_flow_rules = limits.max_flow_rules;
  cap.max_rss_contexts = RssContexts::kMaxContexts;
  cap.max_tx_classes = limits.owns_wire ? VERNA_MAX_TX_CLASSES : 1;
  cap.flow_age_ms = FlowAgeing::kTickMs;
  return cap;
}

verna_cap_rdma rdma_caps(const RdmaLimits& limits, const uint8_t (&mac)[6]) {
  verna_cap_rdma cap{};
  cap.hdr = header<verna_cap_rdma>(VERNA_CAP_RDMA);
  cap.features = kRdmaFeatures;
  cap.max_qps = limits.max_qps;
  cap.max_mrs = limits.max_mrs;
  cap.max_pds = limits.max_pds;
  cap.max_gids = limits.max_gids;
  cap.log_max_wqes = limits.log_max_wqes;
  cap.max_send_sge = limits.max_send_sge;
  cap.max_recv_sge = limits.max_recv_sge;
  cap.max_inline = limits.max_inline;
  cap.max_rd_atomic = limits.max_rd_atomic;
  cap.max_mtu = 4096;
  cap.max_msg = kMaxMessage;
  cap.max_mr_size = kMaxRegion;
  const uint8_t guid[8] = {
      static_cast<uint8_t>(mac[0] ^ 2), mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]};
  std::memcpy(&cap.node_guid, guid, sizeof guid);
  return cap;
}

verna_cap_vport vport_caps(uint16_t max_vfs, uint16_t max_addresses) {
  verna_cap_vport cap{};
  cap.hdr = header<verna_cap_vport>(VERNA_CAP_VPORT, 2);
  cap.fields = VERNA_VPORT_SET_ALL;
  cap.max_vfs = max_vfs;
  cap.max_addresses = max_addresses;
  cap.max_rate_nodes = RateTree::kMaxNodes;
  cap.max_rate_levels = RateTree::kMaxLevels;
  return cap;
}

verna_cap_eswitch eswitch_caps() {
  verna_cap_eswitch cap{};
  cap.hdr = header<verna_cap_eswitch>(VERNA_CAP_ESWITCH);
  cap.modes = 1u << VERNA_ESWITCH_LEGACY | 1u << VERNA_ESWITCH_SWITCHDEV;
  cap.max_rules = FlowSwitch::kMaxRules;
  cap.max_meters = FlowSwitch::kMaxMeters;
  cap.max_edits = FlowSwitch::kMaxEdits;
  cap.max_copies = FlowEdit::kMaxCopies;
  cap.max_groups = FlowSwitch::kMaxGroups;
  cap.max_tables = FlowTables::kMaxTables;
  cap.actions = FlowSwitch::kActions;
  cap.max_masks = VERNA_FLOW_MAX_MASKS;
  cap.key_flags = VERNA_FLOW_K_FRAGMENT | VERNA_FLOW_K_FIRST | VERNA_FLOW_K_VLAN |
                  VERNA_FLOW_K_VLAN2 | VERNA_FLOW_K_TUN_ID;
  cap.tunnels = 1u << VERNA_FLOW_TUN_VXLAN | 1u << VERNA_FLOW_TUN_GENEVE | 1u << VERNA_FLOW_TUN_GRE;
  cap.max_hops = FlowPipeline::kMaxChains;
  cap.age_ms = FlowAgeing::kTickMs;
  return cap;
}

std::vector<uint32_t> build_caps(const verna_cap_dev& dev, const verna_cap_eth& eth,
                                 const verna_cap_rdma& rdma, const verna_cap_vport& vport,
                                 const verna_cap_eswitch& eswitch) {
  const bool has_vfs = vport.max_vfs > 0;
  std::vector<uint32_t> words;
  append(&words, dev, false);
  append(&words, eth, false);
  append(&words, rdma, !has_vfs);
  if (!has_vfs) return words;
  append(&words, vport, false);
  append(&words, eswitch, true);
  return words;
}

}  // namespace verna
