"""What a path that loses packets costs: the first plot of the README."""

import anabranch
import matplotlib.pyplot as plt
import polars as pl


def main() -> None:
    scenario = anabranch.Scenario.example("two-paths", {"duration": "2s"})
    runs = [
        scenario.set({"mobile.loss": loss}).run(seeds=range(3), labels={"loss": loss})
        for loss in ("0%", "0.1%", "1%")
    ]
    flows = anabranch.Results.join(runs).flows.to_polars()
    means = flows.group_by("loss", maintain_order=True).agg(pl.col("goodput_bps").mean() / 1e6)
    plt.bar(means["loss"].cast(pl.String), means["goodput_bps"])
    plt.xlabel("loss on the mobile path")
    plt.ylabel("goodput in Mbit/s")
    plt.savefig("first.svg")


if __name__ == "__main__":
    main()
