"""Rule options: one frozen type a game, every value checked, every error naming the option and what is allowed."""

import difflib
from collections.abc import Mapping
from typing import Any, Self, get_args, get_type_hints

import msgspec

from domsim.errors import RulesError
from domsim.tiles import quoted


class Option(msgspec.Struct, frozen=True):
    """One rule option: its default, what it may be, and what it means."""

    name: str
    default: int | str
    note: str
    values: tuple[int | str, ...] = ()
    lowest: int = 0
    highest: int = 0

    @property
    def allowed(self) -> str:
        """What the option may be, as text."""
        if self.values:
            return ", ".join(str(value) for value in self.values)
        return f"{self.lowest} to {self.highest}"

    def check(self, value: object) -> int | str:
        """The value, when it is one of those allowed.

        Raises:
            RulesError: it is not; a bool or a float is never a whole number here.
        """
        if isinstance(value, (int, str)) and not isinstance(value, bool):
            if self.values and value in self.values:
                return value
            if not self.values and isinstance(value, int) and self.lowest <= value <= self.highest:
                return value
        raise RulesError(f"rule option {self.name}: {quoted(value)} is not allowed; allowed: {self.allowed}")

    def code(self, value: int | str) -> int:
        """The value as the core knows it: a number as it is, a word as its place among the values."""
        return value if isinstance(value, int) else self.values.index(value)

    def parse(self, text: str) -> int | str:
        """The value written as text, on a command line for instance."""
        try:
            number = int(text)
        except ValueError:
            return self.check(text)
        return self.check(number)


class Rules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rule options of one game; a field for each."""

    def __post_init__(self) -> None:
        """Check every value.

        Raises:
            RulesError: a value, or a combination of values, that is not allowed.
        """
        for option in self.options():
            option.check(getattr(self, option.name))
        self.check_together()

    def check_together(self) -> None:
        """Check what depends on more than one option."""

    def check_seats(self, seats: int) -> None:
        """Check what depends on the number of seats."""

    @classmethod
    def options(cls) -> tuple[Option, ...]:
        """All options of the game, in the order of its rule page."""
        hints = get_type_hints(cls, include_extras=True)
        return tuple(_option(field, hints[field.name]) for field in msgspec.structs.fields(cls))

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Rules with these options, the others at their defaults.

        Raises:
            RulesError: an unknown option, or a value that is not allowed.
        """
        known = [option.name for option in cls.options()]
        for name in values:
            if name not in known:
                raise RulesError(f"unknown rule option {quoted(name)}{nearest(name, known)}; known: {', '.join(known)}")
        return cls(**values)

    def changed(self) -> dict[str, int | str]:
        """The options that differ from their defaults."""
        return {o.name: getattr(self, o.name) for o in self.options() if getattr(self, o.name) != o.default}

    def codes(self) -> dict[str, int]:
        """All options as the core knows them."""
        return {option.name: option.code(getattr(self, option.name)) for option in self.options()}


def _option(field: Any, hint: Any) -> Option:
    kind, meta = get_args(hint)
    if kind is int:
        return Option(field.name, field.default, meta.description, lowest=meta.ge, highest=meta.le)
    return Option(field.name, field.default, meta.description, values=get_args(kind))


def nearest(name: object, known: list[str]) -> str:
    """`; did you mean 'x'?` when something known looks like the name, else nothing."""
    close = difflib.get_close_matches(str(name), known, 1)
    return f"; did you mean {close[0]!r}?" if close else ""


def find_rules(game: str, /, **options: int | str) -> Rules:
    """The rules of a game with these options: `find_rules("cuban", target=300)`.

    Raises:
        RulesError: an unknown game or option, or a value that is not allowed.
    """
    from domsim.games import find_game

    return find_game(game).rules.of(options)


def parse_options(rules: type[Rules], texts: list[str]) -> dict[str, int | str]:
    """Options written `name=value`, as on a command line.

    Raises:
        RulesError: a text without `=`, an unknown option, a value that is not allowed.
    """
    known = {option.name: option for option in rules.options()}
    values: dict[str, int | str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise RulesError(f"{quoted(text)} is no rule option; write name=value")
        if name not in known:
            raise RulesError(f"unknown rule option {name!r}{nearest(name, list(known))}; known: {', '.join(known)}")
        values[name] = known[name].parse(value)
    return values
