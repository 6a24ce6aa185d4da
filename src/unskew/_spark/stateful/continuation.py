"""Whether a query may go on from a commit: its own, of its types, and of the batch before."""

from __future__ import annotations

from unskew._spark.stateful.commits import Commit
from unskew._spark.stateful.config import StateSchema
from unskew.errors import StateError


def check_schema(commit: Commit, schema: StateSchema, folder: str) -> None:
    """Raise if the state is of other types than the query's."""
    for what, found, wanted in (
        ("key", commit.key, schema.key_type.json()),
        ("state", commit.state, schema.state.json()),
    ):
        if found != wanted:
            raise StateError(
                f"{folder} holds state whose {what} schema is {found}, but this "
                f"query's is {wanted}; use the old schema, or start with a new checkpoint"
            )


def check_query(commit: Commit, query: str | None, folder: str, spark_folder: str) -> None:
    """Raise if the state is another query's."""
    if commit.query != query:
        raise StateError(
            f"{folder} belongs to query {commit.query}, but this is {query or 'a new one'}: "
            f"{spark_folder} was removed or replaced; restore it, or start with a new checkpoint"
        )


def is_next(commit: Commit | None, number: int, folder: str) -> bool:
    """Whether a batch follows a commit, or is part of it; raises if batches are missing."""
    done = -1 if commit is None else commit.batch
    if number > done + 1:
        raise StateError(
            f"{folder} ends with batch {done}, but the query continues with batch "
            f"{number}; restore the missing commits, or start with a new checkpoint"
        )
    return number == done + 1
