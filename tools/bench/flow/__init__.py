# SPDX-License-Identifier: GPL-2.0-or-later
"""Forwarding by rules: in software and in the card."""
