"""The Gymnasium environment."""

import gymnasium.utils.env_checker
import numpy as np
import pytest

from anabranch.gym import CongestionEnv


def episode(env, seed, actions):
    observations = [env.reset(seed=seed)[0]]
    rewards = []
    for action in actions:
        observation, reward, terminated, _, info = env.step(np.array([action]))
        observations.append(observation)
        rewards.append(reward)
        if terminated:
            return observations, rewards, info
    return observations, rewards, None


@pytest.mark.filterwarnings("ignore:.*observation space maximum value is infinity")
def test_gymnasium_finds_no_fault(one_path):
    gymnasium.utils.env_checker.check_env(
        CongestionEnv(one_path, "file", interval_s=0.1), skip_render_check=True
    )


def test_an_episode_is_a_run_and_a_seed_repeats_it(one_path):
    env = CongestionEnv(one_path, "file", interval_s=0.1)
    actions = [0.5] * 5 + [0.0] * 1000
    first = episode(env, 1, actions)
    again = episode(env, 1, actions)
    assert np.array_equal(np.stack(first[0]), np.stack(again[0])) and first[1] == again[1]
    assert first[2]["results"].seeds == [1]
    # Twenty steps of 2 s, and ten of the second that 1 MB in the send buffer takes to drain.
    assert 20 <= len(first[1]) <= 32
    with pytest.raises(RuntimeError, match=r"call reset\(\)"):
        env.step(np.array([0.0]))


def test_a_larger_window_carries_more(one_path):
    env = CongestionEnv(one_path, "file", interval_s=0.1)
    wide, narrow = (episode(env, 1, [action] * 6)[0][-1] for action in (0.5, -0.5))
    assert wide[0] > 2 * narrow[0]
    env.close()


def test_a_run_under_way_can_be_left(one_path):
    env = CongestionEnv(one_path, "file")
    env.reset(seed=1)
    thread = env._episode.thread
    env.close()
    assert not thread.is_alive()


def test_what_is_wrong_is_said(one_path):
    with pytest.raises(ValueError, match="there is no flow film"):
        CongestionEnv(one_path, "film").reset(seed=1)
    with pytest.raises(ValueError, match="give seconds above 0"):
        CongestionEnv(one_path, "file", interval_s=0)
    env = CongestionEnv(one_path, "file")
    env.reset(seed=1)
    with pytest.raises(ValueError, match="no number"):
        env.step(np.array([np.nan]))
    env.close()
