// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * verna_verbs_test - data integrity, exactly-once completion and every refusal
 *
 *	verna_verbs_test [options]		the side that answers; waits for the other
 *	verna_verbs_test [options] ADDRESS	the side that asks
 *	verna_verbs_test [options] --loopback	both, in one process
 *
 * Prints TAP. Exit code 0: every case passed on both sides; 1: one failed;
 * 2: the test could not go on. It uses nothing but libibverbs, so it runs on any
 * RoCE device.
 */
#include <arpa/inet.h>
#include <getopt.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>

#include "verbs_bad.h"
#include "verbs_modes.h"

static const char usage[] =
	"usage: verna_verbs_test [-d DEVICE] [-g GID_INDEX] [-p PORT] [-s SEED] [-k NAME]\n"
	"                        [--big BYTES] [--quick] [--loopback | SERVER]\n"
	"  -k NAME     only cases with NAME in their name, on both sides\n"
	"  --big BYTES one message of so many bytes (1073741824: 1 GiB), on both sides\n"
	"  --quick     fewer cases, on both sides\n";

static bool parse(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{ "loopback", no_argument, NULL, 'l' },
		{ "quick", no_argument, NULL, 'q' },
		{ "big", required_argument, NULL, 'b' },
		{},
	};
	int c;

	*o = (struct options) { .gid = -1, .port = 18515, .seed = 1 };
	while ((c = getopt_long(argc, argv, "d:g:p:s:k:", longs, NULL)) != -1) {
		if (c == 'd')
			o->device = optarg;
		else if (c == 'g')
			o->gid = atoi(optarg);
		else if (c == 'p')
			o->port = atoi(optarg);
		else if (c == 's')
			o->seed = strtoull(optarg, NULL, 0);
		else if (c == 'k')
			o->only = optarg;
		else if (c == 'l')
			o->loopback = true;
		else if (c == 'q')
			o->quick = true;
		else if (c == 'b')
			o->big = strtoull(optarg, NULL, 0);
		else
			return false;
	}
	if (optind < argc)
		o->server = argv[optind++];
	return optind == argc && !(o->loopback && o->server) && o->big < 1ull << 31;
}

static int listen_once(int port)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	int listener = socket(AF_INET6, SOCK_STREAM, 0);
	int one = 1, off = 0;
	int fd;

	MUST(listener >= 0, "socket");
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	setsockopt(listener, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	MUST(!bind(listener, (struct sockaddr *)&any, sizeof(any)), "bind");
	MUST(!listen(listener, 1), "listen");
	fd = accept(listener, NULL, NULL);
	MUST(fd >= 0, "accept");
	close(listener);
	return fd;
}

static int connect_to(const char *server, int port)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *list;
	uint64_t limit = now_ms() + 10000;
	char service[16];
	int fd;

	snprintf(service, sizeof(service), "%d", port);
	MUST(!getaddrinfo(server, service, &hints, &list), "unknown address");
	for (;;) {
		fd = socket(list->ai_family, SOCK_STREAM, 0);
		MUST(fd >= 0, "socket");
		if (!connect(fd, list->ai_addr, list->ai_addrlen))
			break;
		MUST(now_ms() < limit, "cannot connect");
		close(fd);
		usleep(100000);
	}
	freeaddrinfo(list);
	return fd;
}

/* Small messages in both directions; a side that waits does not wait for ever. */
static void tune(int fd)
{
	struct timeval limit = { .tv_sec = 120 };
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
}

static void *run_side(void *arg)
{
	struct side *s = arg;

	tune(s->fd);
	side_open(s);
	data_cases(s);
	bad_input_cases(s);
	mode_cases(s);
	side_close(s);
	close(s->fd);
	return NULL;
}

static void run_both(const struct options *o, struct side *s)
{
	struct side other = { .opt = o, .role = 1 };
	pthread_t thread;
	int fd[2];

	MUST(!socketpair(AF_UNIX, SOCK_STREAM, 0, fd), "socketpair");
	s->fd = fd[0];
	other.fd = fd[1];
	MUST(!pthread_create(&thread, NULL, run_side, &other), "cannot create a thread");
	run_side(s);
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	struct options o;
	struct side s = { .opt = &o };

	if (!parse(argc, argv, &o)) {
		fputs(usage, stderr);
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	if (o.loopback) {
		run_both(&o, &s);
	} else {
		s.role = !o.server;
		s.fd = o.server ? connect_to(o.server, o.port) : listen_once(o.port);
		run_side(&s);
	}
	printf("1..%u\n", s.cases);
	printf("# %u failed, seed %llu\n", s.failures, (unsigned long long)o.seed);
	return s.failures ? 1 : 0;
}
