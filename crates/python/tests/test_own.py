"""Controllers, path schedulers and sources that are written in Python."""

import itertools

import pytest

import anabranch
from anabranch import CallbackError, Controller, PathScheduler, Scenario


class Reno(Controller):
    """Slow start, congestion avoidance, halving: as RFC 9260's, less its corners."""

    def __init__(self, path):
        super().__init__(path)
        self.pmdcs = path.pmdcs
        self.ssthresh = float("inf")

    def on_ack(self, ack):
        if ack.in_recovery or not ack.advanced:
            return
        if self.window < self.ssthresh:
            self.window += min(ack.acked, self.pmdcs)
        else:
            self.window += self.pmdcs * ack.acked / self.window

    def on_loss(self, now_s):
        self.window = self.ssthresh = max(self.window / 2, 4 * self.pmdcs)

    def on_timeout(self, now_s):
        self.ssthresh = max(self.window / 2, 4 * self.pmdcs)
        self.window = self.pmdcs


class LowestRtt(PathScheduler):
    def choose(self, demand, outlooks):
        open_paths = [outlook for outlook in outlooks if outlook.is_open]
        return min(open_paths, key=lambda outlook: outlook.srtt_s).path if open_paths else None


def goodput(results):
    return results.flows.to_polars()["goodput_bps"][0]


def test_a_controller_fills_a_link_as_ours_does(one_path):
    ours = one_path.run([1])
    own = one_path.run([1], controllers={"file": Reno})
    assert goodput(own) == pytest.approx(goodput(ours), rel=0.1)
    again = one_path.run([1], controllers={"file": Reno})
    assert own.flows.to_polars().equals(again.flows.to_polars())


def test_a_small_window_limits_the_rate(one_path):
    class Small(Controller):
        def on_ack(self, ack):
            self.window = 10_000

    # 10,000 bytes in each round trip of 20 ms and a little.
    results = one_path.run([1], controllers={"file": Small})
    assert 2e6 < goodput(results) < 4e6


def test_a_pacing_rate_is_kept(one_path):
    class Paced(Controller):
        def on_ack(self, ack):
            self.window, self.pacing_rate = 1_000_000, 3e6

    results = one_path.run([1], controllers={"file": Paced})
    assert goodput(results) == pytest.approx(2.9e6, rel=0.1)
    assert results.links.to_polars()["refused"].sum() == 0


def test_a_controller_is_told_of_everything_that_it_has_a_method_for(one_path):
    told = set()

    class Nosy(Reno):
        def on_ack(self, ack):
            told.add("on_ack")
            assert ack.now_s > 0 and ack.flight <= ack.flight_before
            assert ack.rtt_s is None or 0.02 < ack.rtt_s < 0.5
            super().on_ack(ack)

        def on_sent(self, sent):
            told.add("on_sent")
            assert sent.bytes > 0

        def on_loss(self, now_s):
            told.add("on_loss")
            super().on_loss(now_s)

        def on_chunk_lost(self, now_s, lost):
            told.add("on_chunk_lost")
            assert lost.bytes > 0

    one_path.run([1], controllers={"file": Nosy})
    assert told == {"on_ack", "on_sent", "on_loss", "on_chunk_lost"}


def test_a_controller_that_raises_ends_the_run_in_words(one_path):
    class Broken(Controller):
        def on_ack(self, ack):
            if ack.now_s > 0.5:
                raise ZeroDivisionError("no samples")

    with pytest.raises(CallbackError) as error:
        one_path.run([3], controllers={"file": Broken})
    text = str(error.value)
    assert "scenario: seed 3: the run was ended at 0.5" in text
    assert "flow file: " in text and "Broken.on_ack at 0.5" in text
    assert "raised ZeroDivisionError: no samples" in text
    assert isinstance(error.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize("window", [-1, 0, float("nan"), float("inf"), "wide", None, 2**41])
def test_a_window_that_makes_no_sense_is_named(one_path, window):
    class Nonsense(Controller):
        def on_ack(self, ack):
            self.window = window

    with pytest.raises(CallbackError, match=r"\.window is .* after on_ack at 0\.\d+ s: give 1 to"):
        one_path.run([1], controllers={"file": Nonsense})


def test_a_rate_that_makes_no_sense_is_named(one_path):
    class Nonsense(Controller):
        def on_ack(self, ack):
            self.pacing_rate = -3

    with pytest.raises(CallbackError, match=r"\.pacing_rate is -3 .* bits per second"):
        one_path.run([1], controllers={"file": Nonsense})


def test_what_is_no_controller_is_refused(one_path):
    with pytest.raises(TypeError, match="which cannot be called"):
        one_path.run([1], controllers={"file": 3})
    with pytest.raises(CallbackError, match="no method on_ack"):
        one_path.run([1], controllers={"file": lambda path: object()})
    with pytest.raises(CallbackError, match="raised TypeError"):
        one_path.run([1], controllers={"file": lambda: None})
    with pytest.raises(ValueError, match="there is no flow film; there is file"):
        one_path.run([1], controllers={"film": Reno})


def test_flows_of_other_kinds_take_no_controller():
    scenario = Scenario.example("dumbbell", {"duration": "1s"})
    tcp = scenario.run([1]).flows.to_polars().filter(kind="tcp")["flow"][0]
    with pytest.raises(ValueError, match="of kind tcp, which takes no congestion controller"):
        scenario.run([1], controllers={tcp: Reno})
    with pytest.raises(ValueError, match="of kind tcp, which takes no source"):
        scenario.run([1], sources={tcp: lambda seed: []})


def test_a_media_session_takes_a_controller(film):
    results = film.run([1], controllers={"film": Reno})
    assert results.flows.to_polars()["messages"][0] > 20


def test_a_scheduler_chooses_as_ours_does(two_paths):
    ours = two_paths.set({"file.path_scheduler": "lowest-rtt"}).run([1])
    own = two_paths.run([1], schedulers={"file": LowestRtt})
    assert own.flows.to_polars().equals(ours.flows.to_polars())


@pytest.mark.parametrize("answer", [99, -1, "wifi", 0.5])
def test_a_path_that_is_none_is_named(two_paths, answer):
    class Lost(PathScheduler):
        def choose(self, demand, outlooks):
            return answer

    with pytest.raises(CallbackError, match=r"Lost\.choose returned .* at 0\.\d+ s: give the path"):
        two_paths.run([1], schedulers={"file": Lost})


def test_a_scheduler_that_raises_ends_the_run_in_words(two_paths):
    with pytest.raises(CallbackError, match="raised NotImplementedError"):
        two_paths.run([1], schedulers={"file": PathScheduler})


def test_a_source_sends_what_it_likes_when_it_likes(one_path):
    def pictures(seed):
        return ((n / 25, 60_000 if n % 10 == 0 else 6_000 + seed) for n in itertools.count())

    results = one_path.run([1, 2], sources={"file": pictures})
    flows = results.flows.to_polars()
    assert flows["messages"].to_list() == [50, 50]
    assert flows["lost"].to_list() == [0, 0]
    sent = 5 * 60_000 + 45 * 6_001
    assert flows["goodput_bps"][0] == pytest.approx(sent * 8 / 2, rel=0.05)


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([(0.0, 1000), "cat.jpg"], r"message 1 is 'cat.jpg': give a pair"),
        ([(0.5, 1000), (0.1, 1000)], r"was ready at 0.5 s: give them in order"),
        ([(0.0, 3)], r"message 0 is \(0.0, 3\): give 8 to"),
        ([(float("nan"), 1000)], r"seconds from the start"),
        ([(0.0, 1e9)], r"bytes"),
        (itertools.repeat((0.0, 1000)), r"are ready at this time already: let time pass"),
    ],
)
def test_messages_that_make_no_sense_are_named(one_path, messages, words):
    with pytest.raises(CallbackError, match=words):
        one_path.run([1], sources={"file": lambda seed: messages})


def test_a_source_that_raises_ends_the_run_in_words(one_path):
    def broken(seed):
        yield 0.0, 1000
        raise OSError("the file is gone")

    with pytest.raises(CallbackError, match="message 1 raised OSError: the file is gone"):
        one_path.run([1], sources={"file": broken})
    with pytest.raises(CallbackError, match="raised TypeError: .* not iterable"):
        one_path.run([1], sources={"file": lambda seed: 3})


def test_an_exit_is_no_error_to_be_caught(one_path):
    class Leaving(Controller):
        def on_ack(self, ack):
            raise SystemExit(3)

    with pytest.raises(SystemExit):
        one_path.run([1], controllers={"file": Leaving})


def test_a_sweep_gives_the_same_for_any_number_of_processes(one_path):
    over = {"dsl.rate": ["4M", "8M"], "dsl.delay": ["10ms"]}
    two = anabranch.sweep(one_path, over, seeds=[1, 2], processes=2)
    flows = two.flows.to_polars()
    assert flows.columns[:3] == ["dsl.rate", "dsl.delay", "seed"]
    assert flows["dsl.rate"].to_list() == ["4M", "4M", "8M", "8M"]
    assert flows["goodput_bps"][3] > 1.5 * flows["goodput_bps"][0]
    one = anabranch.sweep(one_path, over, seeds=[1, 2], processes=1)
    assert one.flows.to_polars().equals(flows)


def test_a_sweep_takes_classes_of_ones_own_and_says_what_is_wrong_first(one_path):
    results = anabranch.sweep(
        one_path, {"dsl.rate": ["4M"]}, [1], processes=1, controllers={"file": Reno}
    )
    assert goodput(results) > 3e6
    with pytest.raises(anabranch.ScenarioError, match='in what is set: loss: "much"'):
        anabranch.sweep(one_path, {"dsl.loss": ["0", "much"]}, [1])
    with pytest.raises(ValueError, match="dsl.loss has no values"):
        anabranch.sweep(one_path, {"dsl.loss": []}, [1])
