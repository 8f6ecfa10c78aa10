"""Congestion control as a Gymnasium environment: ``pip install anabranch[gym]``.

    from anabranch.gym import CongestionEnv

    env = CongestionEnv(anabranch.Scenario.example("dumbbell"), "ours", interval_s=0.05)
    observation, info = env.reset(seed=1)
    observation, reward, terminated, truncated, info = env.step(np.array([0.1]))

A run goes on in a thread of its own, between two steps not at all.
"""

from __future__ import annotations

import math
import queue
import threading
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

from anabranch._native import Ack, FreshPath, Results, Scenario
from anabranch.own import Controller

__all__ = ["CongestionEnv", "Interval", "power"]

WINDOW_MAX = 2**30


class Interval:
    """What was seen of a path since the last step."""

    def __init__(self, began_s: float) -> None:
        self.began_s = began_s
        self.ended_s = began_s
        self.acked = 0
        """Bytes acknowledged."""
        self.losses = 0
        """Episodes of loss, and timeouts."""
        self.rtts_s: list[float] = []
        """Samples of the round-trip time in seconds."""

    @property
    def rate_bps(self) -> float:
        """Bits acknowledged per second."""
        return self.acked * 8 / max(self.ended_s - self.began_s, 1e-6)

    @property
    def rtt_s(self) -> float:
        """The mean round-trip time in seconds; 0 without a sample."""
        return sum(self.rtts_s) / len(self.rtts_s) if self.rtts_s else 0.0


def power(interval: Interval, rtt_min_s: float) -> float:
    """Mbit/s, less by as much as the round trip exceeds the shortest, less 1 for each loss."""
    if not interval.rtts_s:
        return -float(interval.losses)
    return interval.rate_bps / 1e6 * rtt_min_s / interval.rtt_s - interval.losses


class CongestionEnv(gymnasium.Env):
    """One flow's first path, whose window the actions change; an episode is a run.

    The action is one number from -1 to 1: the window grows or shrinks by the factor ``2**action``.
    The observation is six numbers: Mbit/s acknowledged, the mean round-trip time and the shortest
    so far in milliseconds, losses, packets of the window, and packets in flight. A step ends with
    the first acknowledgement, loss or timeout after ``interval_s`` seconds of the simulation.
    ``info`` has ``now_s``; with the last observation, ``terminated``, also ``results``.
    """

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(
        self,
        scenario: Scenario,
        flow: str,
        *,
        interval_s: float = 0.05,
        reward: Callable[[Interval, float], float] = power,
    ) -> None:
        if not (math.isfinite(interval_s) and interval_s > 0):
            raise ValueError(f"interval_s is {interval_s}: give seconds above 0")
        self.observation_space = gymnasium.spaces.Box(0.0, np.inf, (6,), np.float32)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
        self._scenario = scenario
        self._flow = flow
        self._interval_s = interval_s
        self._reward = reward
        self._episode: _Episode | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begins a run with this seed, or with one that is drawn."""
        super().reset(seed=seed)
        self.close()
        if seed is None:
            seed = int(self.np_random.integers(2**31))
        self._episode = _Episode(self._scenario, self._flow, self._interval_s, seed)
        observation, _, _, _, info = self._after_step()
        return observation, info

    def step(
        self, action: np.ndarray
    ) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Changes the window, and goes on for an interval."""
        if self._episode is None or self._episode.is_over:
            raise RuntimeError("there is no run: call reset()")
        change = float(np.clip(np.asarray(action, dtype=float).reshape(-1)[0], -1.0, 1.0))
        if math.isnan(change):
            raise ValueError("the action is no number: give one from -1 to 1")
        self._episode.answers.put(change)
        return self._after_step()

    def close(self) -> None:
        """Ends the run that is under way."""
        if self._episode is not None:
            self._episode.close()
            self._episode = None

    def _after_step(self) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        episode = self._episode
        assert episode is not None
        told = episode.asked.get()
        if isinstance(told, BaseException):
            self._episode = None
            raise told
        if isinstance(told, Results):
            episode.is_over = True
            interval = episode.last
            info: dict[str, Any] = {"now_s": self._scenario.duration_s, "results": told}
        else:
            interval = episode.last = told
            info = {"now_s": told.ended_s}
        rtt_min_s = episode.rtt_min_s if math.isfinite(episode.rtt_min_s) else 0.0
        observation = np.array(
            [
                interval.rate_bps / 1e6,
                interval.rtt_s * 1e3,
                rtt_min_s * 1e3,
                interval.losses,
                episode.window / episode.pmdcs,
                episode.flight / episode.pmdcs,
            ],
            dtype=np.float32,
        )
        reward = 0.0 if episode.is_over else self._reward(interval, rtt_min_s)
        return observation, reward, episode.is_over, False, info


class _Closed(Exception):
    """The environment is closed while a run is under way."""


class _Episode:
    """A run in a thread, which asks for an action and waits for it."""

    def __init__(self, scenario: Scenario, flow: str, interval_s: float, seed: int) -> None:
        self.asked: queue.Queue[Interval | Results | BaseException] = queue.Queue()
        self.answers: queue.Queue[float | None] = queue.Queue()
        self.interval_s = interval_s
        self.is_over = False
        self.is_closed = False
        self.rtt_min_s = math.inf
        self.pmdcs = 1
        self.window = 0.0
        self.flight = 0
        self.last = Interval(0.0)
        self.has_path = False
        self.thread = threading.Thread(
            target=self._run, args=(scenario, flow, seed), name="anabranch episode", daemon=True
        )
        self.thread.start()

    def close(self) -> None:
        self.is_closed = True
        self.answers.put(None)
        self.thread.join()

    def _run(self, scenario: Scenario, flow: str, seed: int) -> None:
        try:
            self.asked.put(scenario.run([seed], controllers={flow: self._controller}))
        except BaseException as error:  # The thread that waits raises it.
            self.asked.put(error)

    def _controller(self, path: FreshPath) -> Controller:
        if self.has_path:
            return _Beside(path)
        self.has_path = True
        return _Asking(self, path)


class _Asking(Controller):
    """Asks the environment for each change."""

    def __init__(self, episode: _Episode, path: FreshPath) -> None:
        super().__init__(path)
        self.episode = episode
        self.interval: Interval | None = None
        episode.pmdcs = path.pmdcs
        episode.window = self.window

    def on_ack(self, ack: Ack) -> None:
        interval = self._now(ack.now_s)
        interval.acked += ack.acked
        self.episode.flight = ack.flight
        if ack.rtt_s is not None:
            interval.rtts_s.append(ack.rtt_s)
            self.episode.rtt_min_s = min(self.episode.rtt_min_s, ack.rtt_s)
        self._ask_in_time(interval)

    def on_loss(self, now_s: float) -> None:
        interval = self._now(now_s)
        interval.losses += 1
        self._ask_in_time(interval)

    def on_timeout(self, now_s: float) -> None:
        self.on_loss(now_s)

    def _now(self, now_s: float) -> Interval:
        if self.interval is None:
            self.interval = Interval(now_s)
        self.interval.ended_s = now_s
        return self.interval

    def _ask_in_time(self, interval: Interval) -> None:
        if interval.ended_s - interval.began_s < self.episode.interval_s:
            return
        self.episode.asked.put(interval)
        answer = self.episode.answers.get()
        if answer is None:
            raise _Closed
        window = self.window * 2.0**answer
        self.window = min(max(window, 2 * self.episode.pmdcs), WINDOW_MAX)
        self.episode.window = self.window
        self.interval = Interval(interval.ended_s)


class _Beside(Controller):
    """Keeps the other paths of the flow at the window that they begin with."""

    def on_ack(self, ack: Ack) -> None:
        pass
