// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * XDP programs of the guest tests, each for packets of one buffer (xdp_NAME) and of
 * several (xdp_NAME_frags). They touch frames of type 0x88b5 (for experiments) alone; all
 * others pass. What they need is told by the map `setup`: [0] interface to redirect to,
 * [1] bytes to grow by at the head or tail, or to shrink by if negative. The map `seen` has
 * in [0] the number of these frames and in [1] the length of the last one with a new tail.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>

#define SEC(name) __attribute__((section(name), used))
#define TYPE __builtin_bswap16(0x88b5)

static long (*redirect)(__u32 ifindex, __u64 flags) = (void *)BPF_FUNC_redirect;
static long (*adjust_head)(struct xdp_md *ctx, int delta) = (void *)BPF_FUNC_xdp_adjust_head;
static long (*adjust_tail)(struct xdp_md *ctx, int delta) = (void *)BPF_FUNC_xdp_adjust_tail;
static long (*adjust_meta)(struct xdp_md *ctx, int delta) = (void *)BPF_FUNC_xdp_adjust_meta;
static __u64 (*buff_len)(struct xdp_md *ctx) = (void *)BPF_FUNC_xdp_get_buff_len;
static long (*load_bytes)(struct xdp_md *ctx, __u32 at, void *to, __u32 len) =
	(void *)BPF_FUNC_xdp_load_bytes;
static long (*store_bytes)(struct xdp_md *ctx, __u32 at, void *from, __u32 len) =
	(void *)BPF_FUNC_xdp_store_bytes;
static void *(*lookup)(void *map, const void *key) = (void *)BPF_FUNC_map_lookup_elem;

struct array {
	int (*type)[BPF_MAP_TYPE_ARRAY];
	int (*max_entries)[4];
	__u32 *key;
	__u64 *value;
};

struct array setup SEC(".maps");
struct array seen SEC(".maps");

static __u64 get(void *map, __u32 index)
{
	__u64 *value = lookup(map, &index);

	return value ? *value : 0;
}

static void put(void *map, __u32 index, __u64 what)
{
	__u64 *value = lookup(map, &index);

	if (value)
		*value = what;
}

static void count(void)
{
	__u32 index = 0;
	__u64 *value = lookup(&seen, &index);

	if (value)
		__sync_fetch_and_add(value, 1);
}

static int is_ours(struct xdp_md *ctx)
{
	struct ethhdr *eth = (void *)(long)ctx->data;

	if ((void *)(eth + 1) > (void *)(long)ctx->data_end || eth->h_proto != TYPE)
		return 0;
	count();
	return 1;
}

static int turn_round(struct xdp_md *ctx)
{
	struct ethhdr *eth = (void *)(long)ctx->data;
	__u8 mac[ETH_ALEN];

	if ((void *)(eth + 1) > (void *)(long)ctx->data_end)
		return XDP_ABORTED;
	__builtin_memcpy(mac, eth->h_dest, ETH_ALEN);
	__builtin_memcpy(eth->h_dest, eth->h_source, ETH_ALEN);
	__builtin_memcpy(eth->h_source, mac, ETH_ALEN);
	return XDP_TX;
}

static inline __attribute__((always_inline)) int do_drop(struct xdp_md *ctx)
{
	return XDP_DROP;
}

static inline __attribute__((always_inline)) int do_abort(struct xdp_md *ctx)
{
	return XDP_ABORTED;
}

static inline __attribute__((always_inline)) int do_nonsense(struct xdp_md *ctx)
{
	return 77;
}

static inline __attribute__((always_inline)) int do_pass(struct xdp_md *ctx)
{
	return XDP_PASS;
}

static inline __attribute__((always_inline)) int do_tx(struct xdp_md *ctx)
{
	return turn_round(ctx);
}

static inline __attribute__((always_inline)) int do_redirect(struct xdp_md *ctx)
{
	return redirect(get(&setup, 0), 0);
}

/* The header goes to the new beginning; what is between it and the rest may be anything. */
static inline __attribute__((always_inline)) int do_head(struct xdp_md *ctx)
{
	int delta = (int)get(&setup, 1);
	__u8 header[ETH_HLEN];

	if (load_bytes(ctx, 0, header, sizeof(header)) || adjust_head(ctx, -delta) ||
	    store_bytes(ctx, 0, header, sizeof(header)))
		return XDP_ABORTED;
	return turn_round(ctx);
}

static inline __attribute__((always_inline)) int do_tail(struct xdp_md *ctx)
{
	if (adjust_tail(ctx, (int)get(&setup, 1)))
		return XDP_ABORTED;
	put(&seen, 1, buff_len(ctx));
	return turn_round(ctx);
}

/* Metadata that nobody reads must not be in the way. */
static inline __attribute__((always_inline)) int do_meta(struct xdp_md *ctx)
{
	__u32 *meta;

	if (adjust_meta(ctx, -(int)sizeof(*meta)))
		return XDP_ABORTED;
	meta = (void *)(long)ctx->data_meta;
	if ((void *)(meta + 1) > (void *)(long)ctx->data)
		return XDP_ABORTED;
	*meta = 0x600d;
	return XDP_PASS;
}

#define PROGRAM(name) \
	SEC("xdp") int xdp_##name(struct xdp_md *ctx) \
	{ \
		return is_ours(ctx) ? do_##name(ctx) : XDP_PASS; \
	} \
	SEC("xdp.frags") int xdp_##name##_frags(struct xdp_md *ctx) \
	{ \
		return is_ours(ctx) ? do_##name(ctx) : XDP_PASS; \
	}

PROGRAM(pass)
PROGRAM(drop)
PROGRAM(abort)
PROGRAM(nonsense)
PROGRAM(tx)
PROGRAM(redirect)
PROGRAM(head)
PROGRAM(tail)
PROGRAM(meta)

char _license[] SEC("license") = "GPL";
