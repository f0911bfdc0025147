"""The user agents that recognition is held to: those of the benchmarks."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[4]))  # bench is no part of the installed package

from bench.user_agents import Agent, agents


@pytest.fixture(scope="session")
def mix() -> list[Agent]:
    return agents()
