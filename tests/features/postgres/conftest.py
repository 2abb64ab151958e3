"""What the tests of several machines share."""

from tests.features.postgres.machines import apart, machines

__all__ = ["apart", "machines"]
