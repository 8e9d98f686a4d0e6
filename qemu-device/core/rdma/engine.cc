// SPDX-License-Identifier: GPL-2.0-or-later
#include "rdma/engine_impl.h"

namespace verna {

RdmaEngine::Impl::Impl(const RdmaEnvironment& environment, const RdmaLimits& limits)
    : services(environment, limits),
      pdns(environment.rng, 24, 1),
      qpns(environment.rng, 24, kGsiQpn + 1) {}

Qp* RdmaEngine::Impl::find_qp(uint32_t qpn) {
  if (last_qp && last_qp->context().qpn == qpn) return last_qp;
  const auto it = qps.find(qpn);
  if (it == qps.end()) return nullptr;
  last_qp = it->second.get();
  return last_qp;
}

ProtectionDomain* RdmaEngine::Impl::find_pd(uint32_t pdn) {
  const auto it = pds.find(pdn);
  return it == pds.end() ? nullptr : it->second.get();
}

void RdmaEngine::Impl::destroy_qp(uint32_t qpn) {
  const auto it = qps.find(qpn);
  QpContext& ctx = it->second->context();
  ctx.pd->users--;
  ctx.send_cq->users--;
  ctx.recv_cq->users--;
  last_qp = nullptr;
  qps.erase(it);
  if (qpn != kGsiQpn) qpns.release(qpn);
}

void RdmaEngine::Impl::receive(const PacketView& view, Nanos now) {
  services.count(VERNA_RDMA_rx_packets);
  services.count(VERNA_RDMA_rx_bytes, view.len);
  RocePacket packet;
  switch (parse_roce(view, &packet)) {
    case ParseResult::kMalformed:
      return services.drop(VERNA_RDMA_rx_drop_malformed, view.len);
    case ParseResult::kBadOpcode:
      return services.drop(VERNA_RDMA_rx_drop_opcode, view.len);
    case ParseResult::kBadVersion:
      return services.drop(VERNA_RDMA_rx_drop_version, view.len);
    case ParseResult::kOk:
      break;
  }
  Qp* qp = find_qp(packet.dest_qpn);
  if (!qp) return services.drop(VERNA_RDMA_rx_drop_no_qp, view.len);
  qp->receive(packet, now);
}

void RdmaEngine::Impl::reset() {
  while (!qps.empty()) destroy_qp(qps.begin()->first);
  services.memory.clear();
  for (const auto& [pdn, pd] : pds) pdns.release(pdn);
  pds.clear();
  services.gids.clear();
}

RdmaEngine::RdmaEngine(const RdmaEnvironment& environment, const RdmaLimits& limits)
    : impl_(std::make_unique<Impl>(environment, limits)) {}

RdmaEngine::~RdmaEngine() { impl_->reset(); }

CommandResult RdmaEngine::execute(const CommandBytes& command, Nanos now) {
  return impl_->execute(command, now);
}

bool RdmaEngine::claims(const PacketView& packet) const {
  return impl_->services.gids.claims(packet);
}

void RdmaEngine::receive(const PacketView& packet, Nanos now) { impl_->receive(packet, now); }

bool RdmaEngine::doorbell(verna_db_type type, uint32_t qpn, uint32_t uar, Nanos now) {
  if (type != VERNA_DB_QP_SQ && type != VERNA_DB_QP_RQ) return false;
  Qp* qp = impl_->find_qp(qpn);
  if (!qp || qp->context().uar != uar) return false;
  qp->ring(now);
  return true;
}

void RdmaEngine::poll_all(Nanos now) {
  for (const auto& [qpn, qp] : impl_->qps) qp->ring(now);
}

void RdmaEngine::reset() { impl_->reset(); }

void RdmaEngine::connect(Mac& wire) {
  impl_->services.env.wire = &wire;
  impl_->services.gids.invalidate_paths();
}

void RdmaEngine::set_mtu(uint32_t mtu) { impl_->services.mtu = mtu; }

}  // namespace verna
