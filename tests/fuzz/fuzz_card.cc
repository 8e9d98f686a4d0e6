// SPDX-License-Identifier: GPL-2.0-or-later
#include "fuzz/fuzz_card.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "support/fail.h"

namespace verna::fuzz {

NicConfig small_config(uint16_t num_vfs) {
  NicConfig config;
  config.num_vfs = num_vfs;
  config.vf_queue_pairs = 4;
  config.vf_uars = 16;
  config.vf_vectors = 8;
  config.vf_max_qps = 64;
  config.max_queue_pairs = 4;
  config.max_cqs = 64;
  config.max_eqs = 4;
  config.num_uars = 16;
  config.num_vectors = 8;
  config.max_pbl_entries = 4096;
  config.rdma.max_qps = 64;
  config.rdma.max_mrs = 64;
  config.rdma.max_pds = 16;
  config.rdma.max_gids = 8;
  config.rdma.send_window = 64;
  return config;
}

Rig::Rig(uint16_t num_vfs) : RdmaRig(small_config(num_vfs)) {
  test::Connection how;
  how.path_mtu = 256;
  how.timeout = 6;
  how.retry_cnt = 2;
  rc = make_qp(VERNA_QP_RC, how);
  ud = make_qp(VERNA_QP_UD);
  mr = make_mr(8192);
  for (int i = 0; i < 8; i++) {
    card.driver.post_recv(rc, {mr->sge(0, 1024)});
    card.driver.post_recv(ud, {mr->sge(1024, 1024)});
  }
  eth_cq = card.driver.create_cq(6);
  txq = card.driver.create_txq(0, eth_cq, 4);
  rxq = card.driver.create_rxq(0, eth_cq, 4);
  for (int i = 0; i < 16; i++) {
    buffers.push_back(card.bus.alloc(512));
    if (i < 8) card.driver.post_rx(rxq, buffers.back(), 512);
  }
  card.driver.publish(&rxq->wq);
}

void Rig::repost() {
  verna_cqe cqe;
  while (card.driver.poll(eth_cq, &cqe)) {
    if (cqe.opcode != VERNA_CQE_ETH_RX) continue;
    for (uint32_t i = 0; i < cqe.num_bufs; i++)
      card.driver.post_rx(rxq, buffers[rxq->wq.prod % buffers.size()], 512);
  }
  card.driver.publish(&rxq->wq);
}

void Rig::end_merging() {
  card.driver.execute(VERNA_CMD_SET_ETH_FEATURES, verna_cmd_eth_features{});
}

void check(Rig& rig) {
  const std::string why = rig.card.check_conservation();
  if (!why.empty()) test::fail("counters do not add up: " + why);
  for (const test::TestVf& vf : rig.card.vfs) {
    const std::string why_vf = vf.check_conservation();
    if (!why_vf.empty()) test::fail("counters of a VF do not add up: " + why_vf);
  }
}

void change_what_was_read(test::FakeHostBus& bus, uint8_t flip, uint64_t first, uint64_t last) {
  bus.set_read_hook([&bus, flip, first, last](const test::FakeHostBus::Access& a) {
    if (flip < 128 || a.addr < first || a.addr >= last || a.len == 0) return;
    *bus.ptr(a.addr + flip % a.len) ^= flip;
  });
}

void plant_seeds(int argc, char** argv, const std::vector<Bytes>& seeds) {
  namespace fs = std::filesystem;
  for (int i = 1; i < argc; i++) {
    if (argv[i][0] == '-' || !fs::is_directory(argv[i])) continue;
    if (!fs::is_empty(argv[i])) return;
    for (size_t n = 0; n < seeds.size(); n++) {
      std::ofstream file(fs::path(argv[i]) / ("seed-" + std::to_string(n)), std::ios::binary);
      file.write(reinterpret_cast<const char*>(seeds[n].data()),
                 static_cast<std::streamsize>(seeds[n].size()));
    }
    return;
  }
}

}  // namespace verna::fuzz
