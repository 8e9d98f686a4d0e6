// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * verna_faults - lets the n-th allocation of an operation fail, for every n
 *
 *	verna_faults [-d DEVICE] [-i NETDEV] [-b PCI-ADDRESS] [-m MODULE-FILE]
 *		[-n POINTS] CASE...
 *
 * Each case is one operation, such as the creation of a queue pair. How many
 * points there are at which a fault can be put (allocations, copies from and to
 * user space) is counted first; then the operation runs once for each, or for
 * POINTS of them. It must return an error or succeed in spite of the fault, the
 * next one without a fault must succeed, and the kernel's log and kmemleak must
 * have nothing to say, which is for the caller to see. Prints TAP.
 *
 * Needs a kernel with CONFIG_FAULT_INJECTION, and its attributes in debugfs set so
 * that they apply (see tests/vm/test_fault_injection.py).
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <infiniband/verbs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MANY 1000000	/* more points than any operation has */
#define BUFFER (2u << 20)
#define MAX_ERRNO 256

/* What exists while an operation runs; teardown() takes NULL for what does not. */
struct state {
	const char *device;
	const char *netdev;
	const char *pci;
	const char *module;	/* its file */
	void *buf;
	int sock;
	struct ibv_device *dev;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	struct ibv_ah *ah;
	union ibv_gid gid;
	uint32_t mtu;
	uint32_t ring;
};

struct fault_case {
	const char *name;
	int (*prepare)(struct state *s);	/* without faults; 0 or an errno */
	int (*run)(struct state *s);		/* with one; 0 or an errno */
	void (*cleanup)(struct state *s);	/* whatever run() did */
	bool may_always_succeed;
};

static int fail_nth_fd;

static void arm(unsigned int nth)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", nth);

	/* To say so is an operation too, and a fault that is still armed may strike there. */
	for (int i = 0; pwrite(fail_nth_fd, text, len, 0) != len; i++) {
		if (!i)
			continue;
		perror("# fail-nth");
		exit(2);
	}
}

/* Takes the fault back; returns how far it was: 0 if it struck. */
static unsigned int disarm(void)
{
	char text[16] = "";

	bool missed = pread(fail_nth_fd, text, sizeof(text) - 1, 0) < 0;

	arm(0);
	return missed ? 1 : strtoul(text, NULL, 10);
}

/* ----------------------------------------------------------------- verbs */

static int find_device(struct state *s)
{
	struct ibv_device **list = s->dev ? NULL : ibv_get_device_list(NULL);

	/* The list is kept: a device ends with it. */
	for (int i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), s->device))
			s->dev = list[i];
	return s->dev ? 0 : ENODEV;
}

static int open_device(struct state *s)
{
	s->ctx = ibv_open_device(s->dev);
	return s->ctx ? 0 : errno;
}

static int alloc_pd(struct state *s)
{
	s->pd = ibv_alloc_pd(s->ctx);
	return s->pd ? 0 : errno;
}

static int create_cq(struct state *s)
{
	s->cq = ibv_create_cq(s->ctx, 100, NULL, s->channel, 0);
	return s->cq ? 0 : errno;
}

static int create_channel(struct state *s)
{
	s->channel = ibv_create_comp_channel(s->ctx);
	return s->channel ? 0 : errno;
}

static int create_qp_of(struct state *s, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = s->cq, .recv_cq = s->cq, .qp_type = type,
		.cap = { .max_send_wr = 64, .max_recv_wr = 64, .max_send_sge = 4,
			 .max_recv_sge = 4, .max_inline_data = 64 },
	};

	s->qp = ibv_create_qp(s->pd, &attr);
	return s->qp ? 0 : errno;
}

static int create_qp(struct state *s)
{
	return create_qp_of(s, IBV_QPT_RC);
}

static int create_ud_qp(struct state *s)
{
	return create_qp_of(s, IBV_QPT_UD);
}

static int reg_mr(struct state *s)
{
	s->mr = ibv_reg_mr(s->pd, s->buf, BUFFER, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	return s->mr ? 0 : errno;
}

static int create_ah(struct state *s)
{
	struct ibv_ah_attr attr = {
		.is_global = 1, .port_num = 1, .grh = { .dgid = s->gid, .hop_limit = 64 },
	};

	s->ah = ibv_create_ah(s->pd, &attr);
	return s->ah ? 0 : errno;
}

static int to_init(struct state *s)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	return ibv_modify_qp(s->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			     IBV_QP_ACCESS_FLAGS);
}

static int to_rtr(struct state *s)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = s->qp->qp_num,
		.max_dest_rd_atomic = 4, .min_rnr_timer = 12,
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .dgid = s->gid, .hop_limit = 64 } },
	};

	return ibv_modify_qp(s->qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			     IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			     IBV_QP_MIN_RNR_TIMER);
}

/* What each level stands on. */
static int with_context(struct state *s)
{
	int err = find_device(s);

	if (!err)
		err = open_device(s);
	return err ? err : ibv_query_gid(s->ctx, 1, 0, &s->gid) ? errno : 0;
}

static int with_pd(struct state *s)
{
	int err = with_context(s);

	return err ? err : alloc_pd(s);
}

static int with_channel(struct state *s)
{
	int err = with_context(s);

	return err ? err : create_channel(s);
}

static int with_cq(struct state *s)
{
	int err = with_pd(s);

	return err ? err : create_cq(s);
}

static int with_qp(struct state *s)
{
	int err = with_cq(s);

	return err ? err : create_qp(s);
}

static int with_init_qp(struct state *s)
{
	int err = with_qp(s);

	return err ? err : to_init(s);
}

static int with_mr(struct state *s)
{
	int err = with_pd(s);

	return err ? err : reg_mr(s);
}

/*
 * An object that could not be destroyed is still there for teardown(). If a fault
 * struck when the kernel wanted to say that it is gone, it is gone.
 */
#define DESTROY(s, member, function) ({					\
	int err_ = (s)->member ? function((s)->member) : 0;		\
	if (!err_ || err_ == ENOENT)					\
		(s)->member = NULL;					\
	err_ == ENOENT ? 0 : err_;					\
})

static int destroy_qp(struct state *s)
{
	return DESTROY(s, qp, ibv_destroy_qp);
}

static int destroy_cq(struct state *s)
{
	return DESTROY(s, cq, ibv_destroy_cq);
}

static int dereg_mr(struct state *s)
{
	return DESTROY(s, mr, ibv_dereg_mr);
}

static void teardown(struct state *s)
{
	int err = DESTROY(s, ah, ibv_destroy_ah) | DESTROY(s, qp, ibv_destroy_qp) |
		  DESTROY(s, mr, ibv_dereg_mr) | DESTROY(s, cq, ibv_destroy_cq) |
		  DESTROY(s, channel, ibv_destroy_comp_channel) |
		  DESTROY(s, pd, ibv_dealloc_pd) | DESTROY(s, ctx, ibv_close_device);

	if (err) {
		printf("Bail out! cannot tear down: %d\n", err);
		exit(1);
	}
}

/* ------------------------------------------------------------- interface */

static int interface_ioctl(struct state *s, unsigned long request, struct ifreq *ifr)
{
	snprintf(ifr->ifr_name, sizeof(ifr->ifr_name), "%s", s->netdev);
	return ioctl(s->sock, request, ifr) ? errno : 0;
}

static int set_up(struct state *s, bool up)
{
	struct ifreq ifr = { 0 };
	int err = interface_ioctl(s, SIOCGIFFLAGS, &ifr);

	if (err)
		return err;
	ifr.ifr_flags = up ? ifr.ifr_flags | IFF_UP : ifr.ifr_flags & ~IFF_UP;
	return interface_ioctl(s, SIOCSIFFLAGS, &ifr);
}

static int go_up(struct state *s)
{
	return set_up(s, true);
}

static int go_down(struct state *s)
{
	return set_up(s, false);
}

static void be_up(struct state *s)
{
	int err = go_up(s);

	if (err)
		printf("Bail out! %s does not come up: %s\n", s->netdev, strerror(err));
	if (err)
		exit(1);
}

/* A change each time, so that it is never nothing to do. */
static int set_mtu(struct state *s)
{
	struct ifreq ifr = { .ifr_mtu = s->mtu = s->mtu == 9000 ? 1500 : 9000 };

	return interface_ioctl(s, SIOCSIFMTU, &ifr);
}

static int set_rings(struct state *s)
{
	struct ethtool_ringparam ring = { .cmd = ETHTOOL_GRINGPARAM };
	struct ifreq ifr = { .ifr_data = (void *)&ring };
	int err = interface_ioctl(s, SIOCETHTOOL, &ifr);

	if (err)
		return err;
	ring.cmd = ETHTOOL_SRINGPARAM;
	ring.rx_pending = ring.tx_pending = s->ring = s->ring == 256 ? 512 : 256;
	return interface_ioctl(s, SIOCETHTOOL, &ifr);
}

/* ---------------------------------------------------------------- driver */

/* Writes a device's name into a file of its driver; 0 or an errno. */
static int write_name(const char *file, const char *name)
{
	int fd = open(file, O_WRONLY);
	int err = fd < 0 || write(fd, name, strlen(name)) < 0 ? errno : 0;

	if (fd >= 0)
		close(fd);
	return err;
}

#define PCI_DRIVER "/sys/bus/pci/drivers/verna/"

static bool bound(struct state *s)
{
	char path[128];

	snprintf(path, sizeof(path), PCI_DRIVER "%s", s->pci);
	return !access(path, F_OK);
}

static int unbind_card(struct state *s)
{
	return bound(s) ? write_name(PCI_DRIVER "unbind", s->pci) : 0;
}

static int bind_card(struct state *s)
{
	return write_name(PCI_DRIVER "bind", s->pci);
}

static void be_bound(struct state *s)
{
	int err = bound(s) ? 0 : bind_card(s);

	if (err)
		printf("Bail out! %s cannot be bound again: %s\n", s->pci, strerror(err));
	if (err)
		exit(1);
}

static int load(struct state *s)
{
	int fd = open(s->module, O_RDONLY);
	int err = fd < 0 || syscall(SYS_finit_module, fd, "", 0) ? errno : 0;

	if (fd >= 0)
		close(fd);
	return err;
}

/* Somebody may still be looking at what it made. */
static int unload(struct state *s)
{
	const char *base = strrchr(s->module, '/');
	char name[64];

	snprintf(name, sizeof(name), "%s", base ? base + 1 : s->module);
	name[strcspn(name, ".")] = 0;
	for (int i = 0; i < 100; i++) {
		if (!syscall(SYS_delete_module, name, O_NONBLOCK) || errno == ENOENT)
			return 0;
		usleep(50000);
	}
	return errno;
}

static void be_unloaded(struct state *s)
{
	int err = unload(s);

	if (err)
		printf("Bail out! %s cannot be unloaded: %s\n", s->module, strerror(err));
	if (err)
		exit(1);
}

/* ----------------------------------------------------------------- cases */

static const struct fault_case cases[] = {
	{ "open", find_device, open_device, teardown, false },
	{ "alloc_pd", with_context, alloc_pd, teardown, false },
	{ "create_channel", with_context, create_channel, teardown, false },
	{ "create_cq", with_pd, create_cq, teardown, false },
	{ "create_cq_with_channel", with_channel, create_cq, teardown, false },
	{ "create_rc_qp", with_cq, create_qp, teardown, false },
	{ "create_ud_qp", with_cq, create_ud_qp, teardown, false },
	{ "modify_init", with_qp, to_init, teardown, false },
	{ "modify_rtr", with_init_qp, to_rtr, teardown, false },
	{ "reg_mr", with_pd, reg_mr, teardown, false },
	{ "create_ah", with_pd, create_ah, teardown, false },
	{ "destroy_qp", with_init_qp, destroy_qp, teardown, true },
	{ "destroy_cq", with_cq, destroy_cq, teardown, true },
	{ "dereg_mr", with_mr, dereg_mr, teardown, true },
	{ "interface_up", go_down, go_up, be_up, false },
	{ "set_mtu", go_up, set_mtu, be_up, true },
	{ "set_rings", go_up, set_rings, be_up, false },
	{ "load", unload, load, be_unloaded, false },
	{ "bind", unbind_card, bind_card, be_bound, false },
};

#define NUM_CASES (sizeof(cases) / sizeof(cases[0]))

/* One run, with a fault at a point (0: none). Returns what the operation did. */
static int run_once(const struct fault_case *c, struct state *s, unsigned int nth,
		    unsigned int *left)
{
	int err = c->prepare(s);

	if (err) {
		printf("Bail out! %s: what it stands on fails: %s\n", c->name, strerror(err));
		exit(1);
	}
	if (nth)
		arm(nth);
	err = c->run(s);
	if (nth)
		*left = disarm();
	c->cleanup(s);
	return err;
}

static void print_errors(const unsigned int *errors)
{
	for (int i = 0; i < MAX_ERRNO; i++)
		if (errors[i])
			printf("# %u times %s\n", errors[i], strerror(i));
}

/* Returns whether the case is good. */
static bool run_case(const struct fault_case *c, struct state *s, unsigned int points)
{
	unsigned int errors[MAX_ERRNO] = { 0 };
	unsigned int left = 0, total, struck = 0, failed = 0, step, tried = 0;
	int err = run_once(c, s, 0, NULL);

	/* The first one found what later ones find in caches. */
	if (!err)
		err = run_once(c, s, MANY, &left);
	if (err) {
		printf("# %s fails without a fault: %s\n", c->name, strerror(err));
		return false;
	}
	total = MANY - left;
	/* Half of them at the start, where no two are alike, the rest spread over the others. */
	step = total > points ? 2 * total / points : 1;
	for (unsigned int nth = 1; nth <= total; nth += nth < points / 2 ? 1 : step) {
		err = run_once(c, s, nth, &left);
		tried++;
		struck += !left;
		failed += !left && err;
		errors[err > 0 && err < MAX_ERRNO ? err : MAX_ERRNO - 1] += err != 0;
	}
	printf("# %s: %u of %u points, %u struck, %u failed, the rest did without\n", c->name, tried,
	       total, struck, failed);
	print_errors(errors);
	err = run_once(c, s, 0, NULL);
	if (err)
		printf("# %s fails afterwards: %s\n", c->name, strerror(err));
	return !err && struck && (failed || c->may_always_succeed);
}

static bool wanted(const char *name, char **names, int count)
{
	for (int i = 0; i < count; i++)
		if (!strcmp(name, names[i]))
			return true;
	return !count;
}

int main(int argc, char **argv)
{
	struct state s = { .mtu = 1500 };
	unsigned int points = MANY, number = 0;
	bool good = true;
	int option;

	while ((option = getopt(argc, argv, "d:i:b:m:n:")) != -1) {
		switch (option) {
		case 'd': s.device = optarg; break;
		case 'i': s.netdev = optarg; break;
		case 'b': s.pci = optarg; break;
		case 'm': s.module = optarg; break;
		case 'n': points = strtoul(optarg, NULL, 10); break;
		default: return 2;
		}
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	fail_nth_fd = open("/proc/thread-self/fail-nth", O_RDWR);
	s.sock = socket(AF_INET, SOCK_DGRAM, 0);
	s.buf = mmap(NULL, BUFFER, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE,
		     -1, 0);
	if (fail_nth_fd < 0 || s.sock < 0 || s.buf == MAP_FAILED || !points) {
		perror("# fail-nth, socket or memory");
		return 2;
	}
	for (size_t i = 0; i < NUM_CASES; i++) {
		if (!wanted(cases[i].name, argv + optind, argc - optind))
			continue;
		bool ok = run_case(&cases[i], &s, points);

		printf("%sok %u %s\n", ok ? "" : "not ", ++number, cases[i].name);
		good &= ok;
	}
	printf("1..%u\n", number);
	return good && number ? 0 : 1;
}
