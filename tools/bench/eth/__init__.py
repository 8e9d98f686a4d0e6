# SPDX-License-Identifier: GPL-2.0-or-later
"""`make bench-eth`: what each stateless offload takes off the host, for the card and its peers."""
