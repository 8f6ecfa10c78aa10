"""Times transfers of 10 MB over the TCP of the kernel that it runs on, and prints a row for each.

Client, router and server are network namespaces. The router's queue and rate stand in the direction
of the data, losses too; all delay is on the way back. Nothing is segmented or joined by
interfaces, so that the link carries packets of 1,500 bytes at most.
"""

import socket
import subprocess
import sys
import time

BYTES = 10_000_000
RATE = "50mbit"
QUEUE_PACKETS = 200
# Round trip in ms, loss in percent, and how many at once: those that are slow cost the processor
# little.
CELLS = [
    (20, "0", 2), (20, "0.1", 4), (20, "1", 16),
    (100, "0", 2), (100, "0.1", 8), (100, "1", 16),
]  # fmt: skip
CONTROLLERS = ["reno", "cubic"]
PORT = 5001


def run(*words):
    subprocess.run(words, check=True)


def inside(space, *words):
    return ["ip", "netns", "exec", space, *words]


def set_sysctl(space, name, value):
    run(*inside(space, "sh", "-c", f"echo {value} > /proc/sys/net/{name}"))


def make_network(number):
    """Three hosts in a row; returns the names of client and server."""
    client, router, server = (f"{name}{number}" for name in ("client", "router", "server"))
    for space in (client, router, server):
        run("ip", "netns", "add", space)
        run(*inside(space, "ip", "link", "set", "lo", "up"))
        # What one transfer found out is not for the next one.
        set_sysctl(space, "ipv4/tcp_no_metrics_save", 1)
    ends = (("left", client, "10.0.1.2", "10.0.1.1"), ("right", server, "10.0.2.2", "10.0.2.1"))
    for way, host, address, gateway in ends:
        run("ip", "link", "add", way, "netns", router, "type", "veth", "peer", "eth", "netns", host)
        for space, name, own in ((host, "eth", address), (router, way, gateway)):
            run(*inside(space, "ip", "address", "add", f"{own}/24", "dev", name))
            offloads = ["tso", "off", "gso", "off", "gro", "off", "tx", "off"]
            run(*inside(space, "ethtool", "-K", name, *offloads))
            run(*inside(space, "ip", "link", "set", name, "up"))
        run(*inside(host, "ip", "route", "add", "default", "via", gateway))
    set_sysctl(router, "ipv4/ip_forward", 1)
    return client, router, server


def set_links(router, rtt_ms, loss):
    netem = ["tc", "qdisc", "replace", "dev"]
    forward = ["right", "root", "netem", "rate", RATE, "limit", str(QUEUE_PACKETS)]
    if loss != "0":
        forward += ["loss", f"{loss}%"]
    run(*inside(router, *netem, *forward))
    back = ["left", "root", "netem", "delay", f"{rtt_ms}ms", "limit", "100000"]
    run(*inside(router, *netem, *back))


def transfer(network, controller):
    """Both ends as processes; the one that sends prints the seconds."""
    client, _, server = network
    receiver = subprocess.Popen(
        inside(server, sys.executable, __file__, "receive"), stdout=subprocess.PIPE
    )
    receiver.stdout.readline()
    sender = inside(client, sys.executable, __file__, "send", controller)
    return receiver, subprocess.Popen(sender, stdout=subprocess.PIPE)


def receive():
    listener = socket.create_server(("10.0.2.2", PORT))
    print("listening", flush=True)
    connection, _ = listener.accept()
    while connection.recv(1 << 16):
        pass
    connection.sendall(b"!")
    connection.close()


def send(controller):
    """From the call until the other end says that all is there."""
    connection = socket.socket()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, controller.encode())
    begin = time.monotonic()
    connection.connect(("10.0.2.2", PORT))
    connection.sendall(bytes(BYTES))
    connection.shutdown(socket.SHUT_WR)
    connection.recv(1)
    print(time.monotonic() - begin, flush=True)


def measure(runs):
    print("row: controller,rtt_ms,loss_percent,seconds", flush=True)
    networks = [make_network(number) for number in range(max(cell[2] for cell in CELLS))]
    for rtt_ms, loss, at_once in CELLS:
        for controller in CONTROLLERS:
            left = runs
            while left > 0:
                used = networks[: min(at_once, left)]
                for _, router, _ in used:
                    set_links(router, rtt_ms, loss)
                for receiver, sender in [transfer(network, controller) for network in used]:
                    seconds = float(sender.communicate()[0])
                    receiver.wait()
                    print(f"row: {controller},{rtt_ms},{loss},{seconds:.3f}", flush=True)
                left -= len(used)
    print("row: end", flush=True)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["receive"]:
            receive()
        case ["send", controller]:
            send(controller)
        case [runs]:
            measure(int(runs))
