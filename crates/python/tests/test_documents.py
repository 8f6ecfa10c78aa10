"""The README, the first plot and the notebooks."""

import pathlib
import subprocess
import sys

import nbclient
import nbformat
import pytest

HERE = pathlib.Path(__file__).parent.parent
NOTEBOOKS = sorted((HERE / "notebooks").glob("*.ipynb"))


def test_the_first_plot_is_the_readmes_and_is_drawn(tmp_path):
    example = HERE / "examples" / "first_plot.py"
    body = example.read_text().split("def main() -> None:\n")[1].split("\n\n\nif __name__")[0]
    for line in body.splitlines():
        assert line.strip() in (HERE / "README.md").read_text()
    subprocess.run([sys.executable, str(example)], cwd=tmp_path, check=True)
    assert (tmp_path / "first.svg").read_text().count("<path") > 10


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in cells)
    client = nbclient.NotebookClient(
        notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    figures = [out for cell in cells for out in cell.outputs if "image/png" in out.get("data", {})]
    assert figures, "it draws nothing"


def test_there_are_four_notebooks():
    assert len(NOTEBOOKS) == 4
