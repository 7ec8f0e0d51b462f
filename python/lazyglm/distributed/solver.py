"""The solvers of a cluster, and what differs between them besides their steps."""

from __future__ import annotations

from enum import Enum


class Solver(str, Enum):
    """A solver by its name. A run may change its solver."""

    ROUNDS = "rounds"
    OWLQN = "owlqn"
    NEWTON = "newton"

    @property
    def may_be_asked(self) -> bool:
        """Whether users may ask for it: Newton's steps are only for the end of a run."""
        return self is not Solver.NEWTON

    @property
    def gains_over(self) -> int:
        """The number of rounds whose gains are compared with those of as many rounds before."""
        return {Solver.ROUNDS: 2, Solver.OWLQN: 5, Solver.NEWTON: 1}[self]

    @property
    def gains_vanish(self) -> bool:
        """Whether gains shrink faster than any factor near the optimum."""
        return self is Solver.NEWTON

    def __str__(self) -> str:
        return str(self.value)


#: The names of the solvers that users may ask for.
SOLVERS = tuple(solver.value for solver in Solver if solver.may_be_asked)
