"""What the tests of several machines share."""

from tests.features.postgres.machines import machines

__all__ = ["machines"]
