// SPDX-License-Identifier: GPL-2.0-or-later
// The inside of RdmaEngine: tables of objects and the commands that change them.
#pragma once

#include <memory>
#include <unordered_map>

#include "rdma/qp.h"

namespace verna {

struct RdmaEngine::Impl {
  Impl(const RdmaEnvironment& environment, const RdmaLimits& limits);

  RdmaServices services;
  std::unordered_map<uint32_t, std::unique_ptr<ProtectionDomain>> pds;
  std::unordered_map<uint32_t, std::unique_ptr<Qp>> qps;
  RandomIds pdns;
  RandomIds qpns;
  Qp* last_qp = nullptr;  // of the last lookup

  Qp* find_qp(uint32_t qpn);
  ProtectionDomain* find_pd(uint32_t pdn);
  void destroy_qp(uint32_t qpn);
  void receive(const PacketView& view, Nanos now);
  void reset();

  // cmd_rdma.cc
  CommandResult execute(const CommandBytes& command, Nanos now);
  CommandResult create_pd();
  CommandResult destroy_pd(const verna_cmd_object& command);
  CommandResult create_mr(const verna_cmd_create_mr& command);
  CommandResult destroy_mr(const verna_cmd_object& command);
  CommandResult set_gid(const verna_cmd_set_gid& command);

  // cmd_qp.cc
  CommandResult create_qp(const verna_cmd_create_qp& command);
  CommandResult modify_qp(const verna_cmd_modify_qp& command, Nanos now);
  CommandResult query_qp(const verna_cmd_query& command);
  CommandResult destroy_qp_command(const verna_cmd_object& command);
};

inline constexpr uint32_t kGsiQpn = 1;

/// Status for a page list that could not be loaded; `mem_offset` is the field's place in the
/// command.
CommandResult pbl_failure(PblStatus status, uint32_t mem_offset);

}  // namespace verna
