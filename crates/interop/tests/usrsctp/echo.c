/* usrsctp as a peer, over UDP encapsulation on 127.0.0.1: sends every message back as it came.
 *
 *   echo call|listen OWN_UDP_PORT PEER_UDP_PORT data|i-data
 *
 * SCTP's ports are 5001 here and 5000 there. A message with PPID 1 has it shut down, one with
 * PPID 2 has it abort. Says "ready", then how the association ended.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <usrsctp.h>

#define OWN_PORT 5001
#define PEER_PORT 5000
#define SHUT_DOWN 1
#define ABORT 2
#define BUFFER (4 << 20)
/* Not in the public header, of the value that FreeBSD's has. */
#define INTERLEAVING_SUPPORTED 0x00001206

static void say(const char *words) {
  puts(words);
  fflush(stdout);
}

static void must(int result, const char *what) {
  if (result < 0) {
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(1);
  }
}

static void set(struct socket *s, int level, int name, const void *value, size_t len) {
  char what[32];
  snprintf(what, sizeof what, "option 0x%x", name);
  must(usrsctp_setsockopt(s, level, name, value, (socklen_t)len), what);
}

static struct sockaddr_in address(int port) {
  struct sockaddr_in address;
  memset(&address, 0, sizeof address);
  address.sin_family = AF_INET;
  address.sin_port = htons((uint16_t)port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

static struct socket *open_socket(int peer_udp_port, int interleave) {
  struct socket *s = usrsctp_socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP, NULL, NULL, 0, NULL);
  must(s == NULL ? -1 : 0, "socket");
  const int on = 1, full = 2, buffer = BUFFER;
  set(s, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
  set(s, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
  set(s, IPPROTO_SCTP, SCTP_RECVRCVINFO, &on, sizeof on);
  set(s, IPPROTO_SCTP, SCTP_NODELAY, &on, sizeof on);
  struct sctp_initmsg streams = {.sinit_num_ostreams = 16, .sinit_max_instreams = 16};
  set(s, IPPROTO_SCTP, SCTP_INITMSG, &streams, sizeof streams);
  /* Short, so that tests with losses take a second. */
  struct sctp_rtoinfo rto = {.srto_initial = 200, .srto_min = 50, .srto_max = 1000};
  set(s, IPPROTO_SCTP, SCTP_RTOINFO, &rto, sizeof rto);
  struct sctp_udpencaps encapsulation;
  memset(&encapsulation, 0, sizeof encapsulation);
  encapsulation.sue_address.ss_family = AF_INET;
  encapsulation.sue_port = htons((uint16_t)peer_udp_port);
  set(s, IPPROTO_SCTP, SCTP_REMOTE_UDP_ENCAPS_PORT, &encapsulation, sizeof encapsulation);
  if (interleave) {
    struct sctp_assoc_value supported = {.assoc_id = SCTP_FUTURE_ASSOC, .assoc_value = 1};
    set(s, IPPROTO_SCTP, SCTP_FRAGMENT_INTERLEAVE, &full, sizeof full);
    set(s, IPPROTO_SCTP, INTERLEAVING_SUPPORTED, &supported, sizeof supported);
  }
  struct sockaddr_in own = address(OWN_PORT);
  must(usrsctp_bind(s, (struct sockaddr *)&own, sizeof own), "bind");
  return s;
}

static struct socket *meet(struct socket *s, int calls) {
  struct sockaddr_in peer = address(PEER_PORT);
  if (calls) {
    say("ready");
    must(usrsctp_connect(s, (struct sockaddr *)&peer, sizeof peer), "connect");
    return s;
  }
  must(usrsctp_listen(s, 1), "listen");
  say("ready");
  struct socket *accepted = usrsctp_accept(s, NULL, NULL);
  must(accepted == NULL ? -1 : 0, "accept");
  return accepted;
}

/* Parts of messages of several streams, ordered or not, may come in turns. */
struct partial {
  char *bytes;
  size_t len;
};

static struct partial partials[16][2];

static void echo(struct socket *s, const struct sctp_rcvinfo *info, struct partial *whole) {
  struct sctp_sndinfo back;
  memset(&back, 0, sizeof back);
  back.snd_sid = info->rcv_sid;
  back.snd_ppid = info->rcv_ppid;
  back.snd_flags = info->rcv_flags & SCTP_UNORDERED;
  must((int)usrsctp_sendv(s, whole->bytes, whole->len, NULL, 0, &back, sizeof back,
                          SCTP_SENDV_SNDINFO, 0),
       "send");
  whole->len = 0;
}

int main(int argc, char **argv) {
  if (argc != 5) return 2;
  const int own_udp_port = atoi(argv[2]), peer_udp_port = atoi(argv[3]);
  usrsctp_init((uint16_t)own_udp_port, NULL, NULL);
  struct socket *s = open_socket(peer_udp_port, strcmp(argv[4], "i-data") == 0);
  s = meet(s, strcmp(argv[1], "call") == 0);
  static char buffer[BUFFER];
  for (;;) {
    struct sctp_rcvinfo info;
    socklen_t from_len = 0, info_len = sizeof info;
    unsigned int info_type = 0;
    int flags = 0;
    ssize_t len = usrsctp_recvv(s, buffer, sizeof buffer, NULL, &from_len, &info, &info_len,
                                &info_type, &flags);
    if (len < 0) {
      say(errno == ECONNRESET ? "aborted" : strerror(errno));
      return 0;
    }
    if (len == 0) {
      say("shut down");
      return 0;
    }
    struct partial *part = &partials[info.rcv_sid & 15][(info.rcv_flags & SCTP_UNORDERED) != 0];
    if (part->bytes == NULL) part->bytes = malloc(BUFFER);
    if (part->len + (size_t)len > BUFFER) return 1;
    memcpy(part->bytes + part->len, buffer, (size_t)len);
    part->len += (size_t)len;
    if (!(flags & MSG_EOR)) continue;
    switch (ntohl(info.rcv_ppid)) {
    case SHUT_DOWN:
      must(usrsctp_shutdown(s, SHUT_WR), "shutdown");
      break;
    case ABORT: {
      struct linger at_once = {.l_onoff = 1, .l_linger = 0};
      set(s, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
      usrsctp_close(s);
      sleep(1);
      say("aborts");
      return 0;
    }
    default:
      echo(s, &info, part);
    }
  }
}
