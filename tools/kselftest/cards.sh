#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# In the guest: names the cards, and puts them where a test wants them.
#
# cards.sh name      eth0, eth1 ... in the order of the slots; eth0 and eth1 are linked, and so on
# cards.sh PLACE     pair:     all beside each other, down and without addresses
#                    idle:     the same, with the far end in a namespace
#                    up:       the same, both up, no addresses, an MTU that gro.sh's segments fit
#                    endpoint: eth0 here and eth1 there up, with addresses, and they answer
#                    merge:    the same, and frames wait long for others to be merged with
#                    warm:     as endpoint, and each queue had an interrupt
#                    switch:   the VFs of the only card as hosts h1, h2 ..., beside them swp1,
#                              swp2 ..., their representors; nobody else's rules are in the card
# cards.sh rebind    unbinds and binds the driver: whatever was changed is gone
set -u
: "${LOCAL_V4:=}" "${LOCAL_V6:=}" "${REMOTE_V4:=}" "${REMOTE_V6:=}" "${LOCAL_PREFIX_V6:=}"
remote=ns-remote
spare=ns-spare # what is not eth0 or eth1, away from tests that try every interface they find
driver=/sys/bus/pci/drivers/verna

cards() {
	find "$driver" -maxdepth 1 -name '0000:*' -printf '%f\n' | sort
}

name() {
	local card n=0 path
	for card in $(cards); do
		for path in "$driver/$card"/net/*; do
			ip link set dev "${path##*/}" down
			ip link set dev "${path##*/}" name "card$n"
		done
		n=$((n + 1))
	done
	ln -sf msend /usr/local/bin/mreceive
	ip netns add $remote 2>/dev/null
	ip netns add $spare 2>/dev/null
	ip -netns $remote link set lo up
	while [ $n -gt 0 ]; do
		n=$((n - 1))
		ip link set dev card$n name eth$n
	done
}

# A card that changes its namespace comes down and loses its addresses.
home() {
	local n
	for ((n = 0; n < $(cards | wc -l); n++)); do
		ip -netns $remote link set dev eth$n netns 1 2>/dev/null
		ip -netns $spare link set dev eth$n netns 1 2>/dev/null
		ethtool -C eth$n rx-usecs 0
		ip link set dev eth$n down mtu 1500
		ip addr flush dev eth$n
	done
}

away() {
	local n
	ip link set dev eth1 netns $remote
	for ((n = 2; n < $(cards | wc -l); n++)); do
		ip link set dev eth$n netns $spare
	done
}

up() {
	ip link set dev eth0 mtu 4096 up
	ip -netns $remote link set dev eth1 mtu 4096 up
	for _ in $(seq 50); do
		[ "$(cat /sys/class/net/eth0/carrier)" = 1 ] && return
		sleep 0.2
	done
	echo "no carrier" >&2
	return 1
}

endpoint() {
	ip link set dev eth0 up
	ip addr add "$LOCAL_V4/24" dev eth0
	ip addr add "$LOCAL_V6/64" dev eth0 nodad
	ip -netns $remote link set dev eth1 up
	ip -netns $remote addr add "$REMOTE_V4/24" dev eth1
	ip -netns $remote addr add "$REMOTE_V6/64" dev eth1 nodad
	ip -netns $remote -6 route add "$LOCAL_PREFIX_V6" via "$LOCAL_V6"
	for _ in $(seq 50); do
		ping -q -c1 -W1 "$REMOTE_V4" && ping -q -c1 -W1 "$REMOTE_V6" && return
		sleep 0.2
	done >/dev/null
	echo "the two ends do not reach each other" >&2
	return 1
}

warm() {
	ip netns exec $remote mausezahn eth1 -q -A "$REMOTE_V4" -B "$LOCAL_V4" \
		-b "$(cat /sys/class/net/eth0/address)" -t udp "sp=1-400,dp=9" >/dev/null
}

rebind() {
	local card found
	found=$(cards)
	ip netns del $remote
	ip netns del $spare
	sleep 1
	for card in $found; do echo "$card" >"$driver/unbind"; done
	for card in $found; do echo "$card" >"$driver/bind"; done
	udevadm settle
	name
}

switch() {
	local card n path pf
	local mode="devlink dev eswitch set pci/"
	card=$(cards | head -n 1) # the PF; then its VFs
	$mode"$card" mode legacy && echo 0 >"/sys/bus/pci/devices/$card/sriov_numvfs" &&
		cat "/sys/bus/pci/devices/$card/sriov_totalvfs" \
			>"/sys/bus/pci/devices/$card/sriov_numvfs" &&
		$mode"$card" mode switchdev || return
	udevadm settle
	for path in "/sys/bus/pci/devices/$card"/net/*; do
		ip link set dev "${path##*/}" up
		n=$(cat "$path/phys_port_name")
		case $n in
		p0) pf=${path##*/} ;;
		pf0vf*) rename "${path##*/}" "swp$((${n#pf0vf} + 1))" ;;
		esac
	done
	for path in "/sys/bus/pci/devices/$card"/virtfn*; do
		n=${path##*virtfn}
		path=$(echo "$path"/net/*)
		rename "${path##*/}" "h$((n + 1))"
		# There is nobody on the wire; scripts send from any address.
		ip link set dev "$pf" vf "$n" state enable
		ip link set dev "$pf" vf "$n" spoofchk off
	done
	# Copies of frames that are for others arrive here.
	ip link set dev "$pf" vf 2 trust on && ip link set dev h3 promisc on
}

rename() {
	ip link set dev "$1" down && ip link set dev "$1" name "$2" &&
		ethtool -K "$2" hw-tc-offload on
}

case $1 in
name | rebind | switch) "$1" ;;
pair) home ;;
idle) home && away ;;
up) home && away && up ;;
endpoint) home && away && endpoint ;;
merge) home && away && endpoint && ethtool -C eth0 rx-usecs 10000 ;;
warm) home && away && endpoint && warm ;;
*) exit 2 ;;
esac
