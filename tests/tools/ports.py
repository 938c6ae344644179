"""Ports on 127.0.0.1 for servers that the tests start."""
import random
import socket

_taken = []  # sockets whose names tell other test programs which ports are taken


def _first_of_clients():
    """The first port that the kernel gives to clients. Below it, no connection of another test can take a port that is free now."""
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as file:
        return int(file.read().split()[0])


def _named(port):
    """Returns a socket whose name marks the port as taken. Fails if the port is in use, or if a test program has marked it."""
    mark = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        mark.bind(f"\0aitherion-test-port-{port}")
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        mark.close()
        raise
    return mark


def take(count):
    """Returns the first of so many ports, one after another, that no other test program gets as long as this one runs."""
    end = _first_of_clients()
    for _ in range(1000):
        first, marks = random.randrange(10000, end - count), []
        try:
            for port in range(first, first + count):
                marks.append(_named(port))
        except OSError:
            for mark in marks:
                mark.close()
        else:
            _taken.extend(marks)
            return first
    raise AssertionError(f"no {count} ports in a row are free between 10000 and {end}")
