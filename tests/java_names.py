"""Names of Java classes and methods, asked of the JVM once.

py4j asks it at each use. A search through all jars of Spark takes 5 % of the CPU of the tests.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import Any

from py4j.java_gateway import JavaClass, JavaMember, JavaPackage, JVMView

Find = Callable[[Any, str], object]


def remember_java_names() -> None:
    """From now on, in this process."""
    for kind in (JVMView, JavaPackage):
        kind.__getattr__ = cache(kind.__getattr__)
    JavaClass.__getattr__ = _remembering_methods(JavaClass.__getattr__)


def _remembering_methods(find: Find) -> Find:
    """Not fields, whose values may change."""
    methods: dict[tuple[JavaClass, str], JavaMember] = {}

    @wraps(find)
    def found(of: JavaClass, name: str) -> object:
        if (of, name) in methods:
            return methods[of, name]
        member = find(of, name)
        if isinstance(member, JavaMember):
            methods[of, name] = member
        return member

    return found
