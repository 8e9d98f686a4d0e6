// SPDX-License-Identifier: GPL-2.0-or-later
// How the transmit scheduler serves TX queues.
#include "eth/eth_engine.h"

namespace verna {

CommandResult EthEngine::modify_txq(const CommandBytes& command) {
  const auto cmd = command.as<verna_cmd_modify_txq>();
  if (!txq(cmd.id)) return CommandResult::fail(VERNA_CMD_NOT_FOUND);
  if (cmd.weight == 0 || cmd.weight > (limits_.owns_wire ? kMaxTxWeight : 1))
    return VERNA_BAD_FIELD(verna_cmd_modify_txq, weight);
  if (cmd.tclass >= (limits_.owns_wire ? VERNA_MAX_TX_CLASSES : 1))
    return VERNA_BAD_FIELD(verna_cmd_modify_txq, tclass);
  if (!all_zero(cmd.reserved)) return VERNA_BAD_FIELD(verna_cmd_modify_txq, reserved);
  env_.scheduler.configure(txqs_[cmd.id].get(),
                           {cmd.tclass, cmd.weight, cmd.rate_kbps, cmd.burst_bytes});
  txqs_[cmd.id]->set_pace(cmd.pace_kbps, env_.scheduler.now());
  return CommandResult::ok();
}

}  // namespace verna
