// SPDX-License-Identifier: GPL-2.0-or-later
// Commands about what all functions of a card share.
#pragma once

#include "ctrl/command.h"
#include "eth/eth_engine.h"
#include "mac/pause.h"

namespace verna {

/// SET_PAUSE and SET_TX_CLASSES.
class CardCommands {
 public:
  /// PAUSE is sent for want of receive buffers of `eth`.
  CardCommands(Scheduler& scheduler, PauseReceiver& pause_receiver, PauseSender& pause_sender,
               EthEngine& eth)
      : scheduler_(scheduler),
        pause_receiver_(pause_receiver),
        pause_sender_(pause_sender),
        eth_(eth) {}

  static bool knows(uint16_t opcode) {
    return opcode == VERNA_CMD_SET_PAUSE || opcode == VERNA_CMD_SET_TX_CLASSES;
  }
  /// Executes a command that it knows. The header was checked.
  CommandResult execute(const CommandBytes& command);

 private:
  CommandResult set_pause(const verna_cmd_set_pause& cmd);
  CommandResult set_tx_classes(const verna_cmd_set_tx_classes& cmd);

  Scheduler& scheduler_;
  PauseReceiver& pause_receiver_;
  PauseSender& pause_sender_;
  EthEngine& eth_;
};

}  // namespace verna
