"""A sweep on a Ray cluster: run it where ``ray.init`` finds one, or on this machine alone."""

import anabranch
import anabranch.ray


def main() -> None:
    scenario = anabranch.Scenario.example("two-paths", {"duration": "5s"})
    over = {"mobile.loss": ["0%", "0.1%", "1%"], "mobile.delay": ["20ms", "100ms"]}
    results = anabranch.ray.sweep(scenario, over, seeds=range(10))
    print(results)


if __name__ == "__main__":
    main()
