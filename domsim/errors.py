"""The errors of domsim: all are `ValueError`s whose text quotes the value and what is allowed."""

from typing import Any


class DomsimError(ValueError):
    """Something given to domsim is wrong; the text says what, and what is allowed."""


class RulesError(DomsimError):
    """An unknown game, an unknown rule option, or a value out of its range."""


class RecordError(DomsimError):
    """A round record, a tile or an action that is malformed or breaks the rules."""


class AgentError(DomsimError):
    """An agent that cannot be found, read, or trusted with a decision."""


class OtherGameError(AgentError):
    """An agent that does not play this game."""


class AgentFailedError(AgentError):
    """An agent that failed at a decision: what it did, where in its file, and which decision it was.

    Whoever knows more of the decision adds it with `at`. The fields are the `args`, so that it survives pickling.
    """

    def __init__(
        self,
        agent: str,
        file: str,
        line: int | None,
        problem: str,
        decision: int | None = None,
        facts: dict[str, Any] | None = None,
    ) -> None:
        """Keep the fields.

        Args:
            agent: the text that names it.
            line: of its file; None when it is not known.
            decision: the place of the decision among those it was asked, where it is known.
            facts: of the decision: those of `FACTS` that are known, and `command`, which plays it again.
        """
        super().__init__(agent, file, line, problem, decision, facts or {})
        self.agent, self.file, self.line, self.problem, self.decision = agent, file, line, problem, decision
        self.facts = dict(facts or {})

    FACTS = ("game", "suite", "seed", "deal", "match", "seating", "round", "ply", "seat", "note")

    def at(self, **facts: Any) -> "AgentFailedError":
        """The same error with more facts of the decision; None takes one away."""
        known = {name: value for name, value in (self.facts | facts).items() if value is not None}
        return AgentFailedError(self.agent, self.file, self.line, self.problem, self.decision, known)

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}, line {self.line}"
        text = f"agent {self.agent}: {place}: {self.problem}"
        known = [f"{name} {self.facts[name]}" for name in self.FACTS if name in self.facts]
        if known:
            text += f"\n  at {', '.join(known)}"
        if "command" in self.facts:
            text += f"\n  again: {self.facts['command']}"
        return text


class SpecError(DomsimError):
    """A seed suite, an experiment or a tournament that cannot be run as described."""


class Unfinished(DomsimError):  # noqa: N818 - it is no fault
    """A run has stopped before its end as asked; what is finished is kept and it can be resumed."""
