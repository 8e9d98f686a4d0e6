# SPDX-License-Identifier: GPL-2.0-or-later
"""The main job of `make run`: perftest and friends between two guests, and a report of it."""
