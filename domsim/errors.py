"""The errors of domsim: all are `ValueError`s whose text quotes the value and what is allowed."""


class DomsimError(ValueError):
    """Something given to domsim is wrong; the text says what, and what is allowed."""


class RulesError(DomsimError):
    """An unknown game, an unknown rule option, or a value out of its range."""


class RecordError(DomsimError):
    """A round record, a tile or an action that is malformed or breaks the rules."""


class AgentError(DomsimError):
    """An agent that cannot be found, read, or trusted with a decision."""


class SpecError(DomsimError):
    """A seed suite, an experiment or a tournament that cannot be run as described."""


class Unfinished(DomsimError):  # noqa: N818 - it is no fault
    """A run has stopped before its end as asked; what is finished is kept and it can be resumed."""
