// SPDX-License-Identifier: GPL-2.0-or-later
// How the transmit scheduler serves TX queues and traffic classes.
#include <algorithm>

#include "eth/eth_engine.h"

namespace verna {
namespace {

constexpr uint16_t kMaxWeight = 1024;

template <typename T, size_t N>
bool all_zero(const T (&values)[N]) {
  return std::all_of(std::begin(values), std::end(values), [](T v) { return v == 0; });
}

}  // namespace

CommandResult EthEngine::modify_txq(const CommandBytes& command) {
  const auto cmd = command.as<verna_cmd_modify_txq>();
  if (!txq(cmd.id)) return CommandResult::fail(VERNA_CMD_NOT_FOUND);
  if (cmd.weight == 0 || cmd.weight > kMaxWeight)
    return VERNA_BAD_FIELD(verna_cmd_modify_txq, weight);
  if (cmd.tclass >= VERNA_MAX_TX_CLASSES) return VERNA_BAD_FIELD(verna_cmd_modify_txq, tclass);
  if (!all_zero(cmd.reserved)) return VERNA_BAD_FIELD(verna_cmd_modify_txq, reserved);
  env_.scheduler.configure(txqs_[cmd.id].get(),
                           {cmd.tclass, cmd.weight, cmd.rate_kbps, cmd.burst_bytes});
  txqs_[cmd.id]->set_pace(cmd.pace_kbps, env_.scheduler.now());
  return CommandResult::ok();
}

CommandResult EthEngine::set_tx_classes(const CommandBytes& command) {
  const auto cmd = command.as<verna_cmd_set_tx_classes>();
  if (cmd.rdma_class >= VERNA_MAX_TX_CLASSES)
    return VERNA_BAD_FIELD(verna_cmd_set_tx_classes, rdma_class);
  if (!all_zero(cmd.reserved)) return VERNA_BAD_FIELD(verna_cmd_set_tx_classes, reserved);
  TxClassSetup setup;
  for (size_t i = 0; i < VERNA_MAX_TX_CLASSES; i++) {
    if (cmd.weight[i] > kMaxWeight) return VERNA_BAD_FIELD(verna_cmd_set_tx_classes, weight);
    setup.max_kbps[i] = cmd.max_kbps[i];
    setup.weight[i] = cmd.weight[i];
  }
  env_.scheduler.configure_classes(setup, cmd.rdma_class);
  return CommandResult::ok();
}

}  // namespace verna
