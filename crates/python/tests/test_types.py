"""Types: what type checkers and editors are told."""

import os
import pathlib
import subprocess
import sys

EXAMPLES = pathlib.Path(__file__).parent.parent / "examples"


def check(*arguments, cwd):
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=cwd,
        env=os.environ | {"MYPYPATH": str(EXAMPLES)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_package_and_examples_fit_the_types(tmp_path):
    examples = [f"--module={path.stem}" for path in sorted(EXAMPLES.glob("*.py"))]
    check("mypy", "--strict", "--package=anabranch", *examples, cwd=tmp_path)


def test_the_stub_is_what_the_module_has(tmp_path):
    # What it imports takes long to read, and is not what is compared.
    config = tmp_path / "mypy.ini"
    config.write_text("[mypy]\nfollow_imports = skip\n")
    check("mypy.stubtest", f"--mypy-config-file={config}", "anabranch._native", cwd=tmp_path)
