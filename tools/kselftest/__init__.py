# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the kernel's own driver tests on the card and compares each with what is expected of it.

`ktap` reads what tests print, `expected` the lists in tests/kselftest, `suite` says which tests
there are and how each wants to be called, `lane` boots the guest they run in, `run` is the program.
"""
