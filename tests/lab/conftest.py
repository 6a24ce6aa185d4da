"""Jobs of Spark are interpreted here too."""

from tests.spark.conftest import _interpreted  # noqa: F401
