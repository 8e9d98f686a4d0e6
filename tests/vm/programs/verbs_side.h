/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One of the two sides of a verbs test.
 *
 * Both sides run the same list of cases in step; role 0 asks, role 1 answers.
 * They meet by exchanging messages over a socket, which is a TCP connection
 * between two hosts or a socket pair between two threads. After a failed check a
 * side goes on, with short time limits, so that the two stay in step.
 */
#ifndef VERBS_SIDE_H
#define VERBS_SIDE_H

#include <errno.h>
#include <infiniband/verbs.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define GUARD_BYTE 0xa5
#define GUARD_LEN 64
#define GRH_LEN 40
#define MAX_NOTES 12

struct options {
	const char *device;
	const char *server;
	const char *only;	/* run cases with this in their name */
	int gid;		/* -1: the first RoCE v2 entry with an IPv4 address */
	int port;
	bool loopback;
	bool quick;
	uint64_t seed;
	uint64_t big;		/* bytes of the one large case, 0: none */
};

struct side {
	const struct options *opt;
	int role;
	int fd;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_device_attr dev;
	struct ibv_port_attr port;
	union ibv_gid gid;
	int gid_index;
	uint32_t mtu;		/* path MTU of both, bytes */
	uint64_t serial;	/* makes the patterns of a case its own */
	bool failed;		/* the current case */
	int notes;
	unsigned int cases;
	unsigned int failures;
	unsigned int skipped;
};

static inline void note(struct side *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

static inline void note(struct side *s, const char *format, ...)
{
	va_list args;

	if (s->notes++ >= MAX_NOTES)
		return;
	flockfile(stdout);
	printf("# role %d: ", s->role);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
	funlockfile(stdout);
}

#define CHECK(s, cond, format, ...) do { \
	if (!(cond)) { \
		(s)->failed = true; \
		note((s), "%s:%d: %s: " format, __FILE_NAME__, __LINE__, #cond, ##__VA_ARGS__); \
	} \
} while (0)

/* What no case can go on without. */
#define MUST(cond, what) do { \
	if (!(cond)) { \
		printf("Bail out! %s: %s\n", (what), strerror(errno)); \
		fflush(stdout); \
		_exit(2); \
	} \
} while (0)

static inline uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ull + t.tv_nsec / 1000000;
}

static inline uint64_t patience(const struct side *s)
{
	return s->failed ? 1000 : 30000;
}

/* ------------------------------------------------------------ the socket */

static inline void exchange(struct side *s, const void *mine, void *theirs, size_t len)
{
	size_t done;
	ssize_t n;

	for (done = 0; done < len; done += n) {
		n = write(s->fd, (const char *)mine + done, len - done);
		MUST(n > 0, "the other side is gone (write)");
	}
	for (done = 0; done < len; done += n) {
		n = read(s->fd, (char *)theirs + done, len - done);
		MUST(n > 0, "the other side is gone (read)");
	}
}

static inline void meet(struct side *s)
{
	uint8_t mine = 1, theirs;

	exchange(s, &mine, &theirs, 1);
}

/* ------------------------------------------------------------ the report */

/* Both sides have the same options, so they skip the same cases. */
static inline bool begin(struct side *s, const char *name)
{
	if (s->opt->only && !strstr(name, s->opt->only)) {
		s->skipped++;
		return false;
	}
	s->failed = false;
	s->notes = 0;
	s->serial++;
	return true;
}

/* The verdict of both sides; in one process only the asking one prints. */
static inline void end(struct side *s, const char *name)
{
	uint8_t mine = s->failed, theirs;

	exchange(s, &mine, &theirs, 1);
	s->cases++;
	if (mine || theirs)
		s->failures++;
	if (s->role && s->opt->loopback)
		return;
	printf("%s %u - %s\n", mine || theirs ? "not ok" : "ok", s->cases, name);
	fflush(stdout);
}

/* ---------------------------------------------------------- the contents */

static inline uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

/* Bytes [from, from + len) of the stream that belongs to @key. */
static inline void pattern_fill(uint8_t *buf, uint64_t from, size_t len, uint64_t key)
{
	uint64_t word;
	size_t skip, n;

	while (len) {
		word = mix(key + from / 8);
		skip = from % 8;
		n = 8 - skip < len ? 8 - skip : len;
		memcpy(buf, (uint8_t *)&word + skip, n);
		buf += n;
		from += n;
		len -= n;
	}
}

/* Return: where it first differs, or -1. */
static inline int64_t pattern_differs(const uint8_t *buf, uint64_t from, size_t len, uint64_t key)
{
	uint8_t expected[4096];
	size_t done, n, i;

	for (done = 0; done < len; done += n) {
		n = len - done < sizeof(expected) ? len - done : sizeof(expected);
		pattern_fill(expected, from + done, n, key);
		if (!memcmp(buf + done, expected, n))
			continue;
		for (i = 0; buf[done + i] == expected[i]; i++)
			;
		return done + i;
	}
	return -1;
}

static inline bool all_bytes(const uint8_t *buf, size_t len, uint8_t byte)
{
	size_t i;

	for (i = 0; i < len && buf[i] == byte; i++)
		;
	return i == len;
}

static inline bool all_guard(const uint8_t *buf, size_t len)
{
	return all_bytes(buf, len, GUARD_BYTE);
}

/* ------------------------------------------------------------ the device */

static inline bool gid_is_ipv4(const union ibv_gid *gid)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid->raw, mapped, sizeof(mapped));
}

static inline int find_gid(struct ibv_context *ctx)
{
	struct ibv_gid_entry entry;
	int i;

	for (i = 0; i < 256; i++) {
		if (ibv_query_gid_ex(ctx, 1, i, &entry, 0))
			continue;
		if (entry.gid_type == IBV_GID_TYPE_ROCE_V2 && gid_is_ipv4(&entry.gid))
			return i;
	}
	return -1;
}

static inline struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;
	int i;

	for (i = 0; list && list[i] && !ctx; i++)
		if (!name || !strcmp(ibv_get_device_name(list[i]), name))
			ctx = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	return ctx;
}

/* The socket is connected already. */
static inline void side_open(struct side *s)
{
	uint32_t theirs;

	s->ctx = open_device(s->opt->device);
	MUST(s->ctx, "cannot open the device");
	s->gid_index = s->opt->gid >= 0 ? s->opt->gid : find_gid(s->ctx);
	MUST(s->gid_index >= 0, "no RoCE v2 address");
	MUST(!ibv_query_gid(s->ctx, 1, s->gid_index, &s->gid), "cannot read the GID");
	MUST(!ibv_query_device(s->ctx, &s->dev), "cannot query the device");
	MUST(!ibv_query_port(s->ctx, 1, &s->port), "cannot query the port");
	s->pd = ibv_alloc_pd(s->ctx);
	MUST(s->pd, "cannot allocate a protection domain");
	s->mtu = 128u << s->port.active_mtu;
	exchange(s, &s->mtu, &theirs, sizeof(theirs));
	if (theirs < s->mtu)
		s->mtu = theirs;
}

static inline void side_close(struct side *s)
{
	MUST(!ibv_dealloc_pd(s->pd), "something still uses the protection domain");
	MUST(!ibv_close_device(s->ctx), "cannot close the device");
}

/* ---------------------------------------------------------------- memory */

#define ALL_RIGHTS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
		    IBV_ACCESS_REMOTE_ATOMIC)

/* struct target - memory as the other side may name it */
struct target {
	uint64_t addr;
	uint64_t len;
	uint32_t rkey;
	uint32_t unused;
};

struct region {
	uint8_t *buf;
	size_t len;
	struct ibv_mr *mr;
	struct target remote;
};

static inline void region_open(struct side *s, struct region *r, size_t len)
{
	struct target mine;

	r->len = len;
	r->buf = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(r->buf != MAP_FAILED, "out of memory");
	r->mr = ibv_reg_mr(s->pd, r->buf, len, ALL_RIGHTS);
	MUST(r->mr, "cannot register memory");
	mine = (struct target) { (uintptr_t)r->buf, len, r->mr->rkey, 0 };
	exchange(s, &mine, &r->remote, sizeof(mine));
}

static inline void region_close(struct side *s, struct region *r)
{
	meet(s);
	MUST(!ibv_dereg_mr(r->mr), "cannot deregister memory");
	munmap(r->buf, r->len);
}

#endif /* VERBS_SIDE_H */
