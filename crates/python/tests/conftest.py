"""Scenarios that several tests run."""

import pytest

import anabranch

ONE_PATH = """
duration = "2s"

[[links]]
name = "dsl"
rate = "8M"
delay = "10ms"
queue = "50ms"

[[flows]]
name = "file"
kind = "sctp"
send_buffer = "1M"
receive_buffer = "1M"
"""

FILM = """
duration = "2s"

[[links]]
name = "wifi"
rate = "10M"
delay = "10ms"
loss = "1%"

[[flows]]
name = "film"
kind = "media"
rate = "2M"
"""


@pytest.fixture
def one_path() -> anabranch.Scenario:
    """A bulk transfer over SCTP and one link."""
    return anabranch.Scenario.parse(ONE_PATH)


@pytest.fixture
def film() -> anabranch.Scenario:
    """A media session over a link that loses packets."""
    return anabranch.Scenario.parse(FILM)


@pytest.fixture
def two_paths() -> anabranch.Scenario:
    """An association over two paths at once."""
    return anabranch.Scenario.example("two-paths", {"duration": "1s"})
