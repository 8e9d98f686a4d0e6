// SPDX-License-Identifier: GPL-2.0-or-later
#include "ctrl/card_commands.h"

namespace verna {

CommandResult CardCommands::execute(const CommandBytes& command) {
  if (command.as<verna_cmd_hdr>().opcode == VERNA_CMD_SET_PAUSE)
    return set_pause(command.as<verna_cmd_set_pause>());
  return set_tx_classes(command.as<verna_cmd_set_tx_classes>());
}

CommandResult CardCommands::set_pause(const verna_cmd_set_pause& cmd) {
  if (cmd.rx > 1) return VERNA_BAD_FIELD(verna_cmd_set_pause, rx);
  if (cmd.tx > 1) return VERNA_BAD_FIELD(verna_cmd_set_pause, tx);
  if (!all_zero(cmd.reserved)) return VERNA_BAD_FIELD(verna_cmd_set_pause, reserved);
  pause_receiver_.enable(cmd.rx);
  pause_sender_.enable(cmd.tx);
  eth_.watch_buffers(cmd.tx);
  return CommandResult::ok();
}

CommandResult CardCommands::set_tx_classes(const verna_cmd_set_tx_classes& cmd) {
  if (cmd.rdma_class >= VERNA_MAX_TX_CLASSES)
    return VERNA_BAD_FIELD(verna_cmd_set_tx_classes, rdma_class);
  if (!all_zero(cmd.reserved)) return VERNA_BAD_FIELD(verna_cmd_set_tx_classes, reserved);
  TxClassSetup setup;
  for (size_t i = 0; i < VERNA_MAX_TX_CLASSES; i++) {
    if (cmd.weight[i] > kMaxTxWeight) return VERNA_BAD_FIELD(verna_cmd_set_tx_classes, weight);
    setup.max_kbps[i] = cmd.max_kbps[i];
    setup.weight[i] = cmd.weight[i];
  }
  scheduler_.configure_classes(setup, cmd.rdma_class);
  return CommandResult::ok();
}

}  // namespace verna
