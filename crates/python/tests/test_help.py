"""What ``help()`` and notebooks show: the docstrings that there are at run time."""

import ast
import importlib
import inspect
import operator
import pathlib
import pkgutil

import anabranch
from anabranch import _native

MODULES = ["anabranch"] + [
    f"anabranch.{module.name}" for module in pkgutil.iter_modules(anabranch.__path__)
]


def documentable(part):
    """Whether it is a class, a function, a method or a property: others have no docstring."""
    return inspect.isclass(part) or inspect.isroutine(part) or inspect.isdatadescriptor(part)


def public():
    """All public names of the package and what they stand for, those of classes included."""
    for name in MODULES:
        module = importlib.import_module(name)
        yield name, module
        for exported in module.__all__:
            part = getattr(module, exported)
            if not documentable(part):
                continue
            yield f"{name}.{exported}", part
            for own, member in vars(part).items() if inspect.isclass(part) else ():
                if not own.startswith("_") and documentable(member):
                    yield f"{name}.{exported}.{own}", member


def told(nodes, before=""):
    """The public names of a stub's classes and functions, with their docstrings."""
    for node in nodes:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not node.name.startswith("_"):
            yield before + node.name, ast.get_docstring(node)
            if isinstance(node, ast.ClassDef):
                yield from told(node.body, f"{node.name}.")


def test_every_public_name_has_a_docstring():
    names = dict(public())
    assert {"anabranch.Ack.rtt_s", "anabranch.Scenario.load", "anabranch.sweep"} <= set(names)
    assert [name for name, part in names.items() if not part.__doc__] == []


def test_docstrings_are_those_of_the_stub():
    """Editors show the stub's and ``help()`` the module's: a text is changed in both."""
    stub = pathlib.Path(anabranch.__file__).with_name("_native.pyi").read_text()
    tree = ast.parse(stub)
    assert _native.__doc__ == ast.get_docstring(tree)
    stubs = dict(told(tree.body))
    assert {name: operator.attrgetter(name)(_native).__doc__ for name in stubs} == stubs
