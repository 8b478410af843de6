"""Round records (`domino-round/1`): reading, replaying and checking them, one JSON object a line."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from domsim.errors import DomsimError, RecordError
from domsim.games import find_game
from domsim.games.base import only_fields, whole_number
from domsim.round import Round
from domsim.tiles import quoted

FORMAT = "domino-round/1"
#: deeper brackets than any record has; the parser would go down all of them
_DEEPEST = 100
#: rounds of a match the core can count
LAST_ROUND = 2**15 - 1


class Record(msgspec.Struct, forbid_unknown_fields=True):
    """One record as it stands in a file, types checked and nothing else."""

    format: str
    game: str
    rules: dict[str, Any]
    seats: int
    hands: list[list[str]]
    stock: list[str]
    opening: dict[str, Any]
    actions: list[Any]
    result: dict[str, Any] | None = None
    match: dict[str, Any] | None = None
    meta: Any = None


_DECODER = msgspec.json.Decoder(Record)


def parse_record(line: bytes | str) -> Record:
    """A record from one line of JSON.

    Raises:
        RecordError: it is no JSON, or no record; the text names the field.
    """
    data = line.encode("utf-8", "surrogatepass") if isinstance(line, str) else line
    if _depth(data) > _DEEPEST:
        raise RecordError(f"brackets nested deeper than {_DEEPEST}: no record")
    try:
        record = _DECODER.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, OverflowError) as error:
        raise RecordError(f"no record: {_shortened(str(error))}") from None
    if record.format != FORMAT:
        raise RecordError(f"format: found {quoted(record.format)}, expected {FORMAT!r}")
    return record


def _depth(data: bytes) -> int:
    """How deep brackets nest, those inside of texts counted too (a record has next to none there)."""
    deepest = depth = 0
    for byte in data.translate(None, _NOT_BRACKETS):
        depth += 1 if byte in b"[{" else -1
        deepest = max(deepest, depth)
        if deepest > _DEEPEST:
            break
    return deepest


_NOT_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")


def _shortened(text: str, limit: int = 300) -> str:
    text = repr(text)[1:-1]  # a key of the file may hold line breaks
    return text if len(text) <= limit else text[: limit - 1] + "…"


def open_round(record: Record) -> Round:
    """The round of a record before its first action.

    Raises:
        DomsimError: an unknown game or option, hands or an opening that cannot be.
    """
    game = find_game(record.game)
    game.check_seats(record.seats)
    rules = game.rules.of(record.rules)
    if len(record.hands) != record.seats:
        raise RecordError(f"hands: found {len(record.hands)}, expected {record.seats}")
    return Round.of(record.game, record.hands, record.stock, record.opening, rules=rules)


def play_actions(a_round: Round, actions: Iterable[Any]) -> list[dict[str, Any]]:
    """Carry out a record's actions; for each, whose it was and what was legal.

    Raises:
        RecordError: an action that is not legal; the text has its number.
    """
    plies = []
    for number, action in enumerate(actions, 1):
        seat, legal = a_round.to_move, a_round.legal()
        try:
            a_round.play(action)
        except RecordError as error:
            raise RecordError(f"action {number}: {error}") from None
        plies.append({"seat": seat, "legal": legal, "action": a_round.actions[-1]})
    return plies


def check_result(a_round: Round, given: Mapping[str, Any]) -> None:
    """Compare a record's result with the one its actions lead to.

    Raises:
        RecordError: they differ, or the round is not over; the text names the field.
    """
    if a_round.result is None:
        raise RecordError("result: found on a round that is not over")
    only_fields(dict(given), "result", tuple(a_round.result))
    for field, expected in a_round.result.items():
        if to_json(given[field]) != to_json(expected):  # as JSON: true is not 1, and 3.0 is not 3
            raise RecordError(f"result.{field}: found {quoted(given[field])}, expected {expected!r}")


class Replayer:
    """Replays records one after another; with `matches`, checks too that those of a match follow from each other."""

    def __init__(self, matches: bool = False) -> None:
        self.matches = matches
        self._open: MatchInProgress | None = None
        self._seen: set[str] = set()

    def replay(self, line: bytes | str) -> dict[str, Any]:
        """What `domsim replay` prints for a line, without its number; a bad line is an answer too, never an error."""
        try:
            answer = self._replay(parse_record(line))
        except DomsimError as error:
            return {"ok": False, "error": str(error)}
        return {"ok": True, **answer}

    def _replay(self, record: Record) -> dict[str, Any]:
        if self.matches and record.match is not None:
            return self._replay_in_match(record, record.match)
        self._open = None
        return _answer(open_round(record), record)

    def _replay_in_match(self, record: Record, match: dict[str, Any]) -> dict[str, Any]:
        ident = _ident(match)
        if self._open is None or self._open.ident != ident:
            self._open = None
            if ident in self._seen:
                raise RecordError(
                    f"match.id: found {_shortened(ident, 60)} again, expected its records to stand together"
                )
            self._seen.add(ident)
            self._open = MatchInProgress(ident, record)
        in_progress = self._open
        in_progress.enter(record, match)
        answer = _answer(in_progress.round, record)
        in_progress.leave(match)
        return answer


def _answer(a_round: Round, record: Record) -> dict[str, Any]:
    plies = play_actions(a_round, record.actions)
    if record.result is not None:
        check_result(a_round, record.result)
    answer: dict[str, Any] = {
        "over": a_round.over,
        "to_move": a_round.to_move,
        "plies": plies,
        "legal": a_round.legal(),
    }
    if a_round.over:
        answer["result"] = a_round.result
    return answer


def _ident(match: dict[str, Any]) -> str:
    ident = match.get("id")
    if isinstance(ident, bool) or not isinstance(ident, (str, int)):
        raise RecordError(f"match.id: found {quoted(ident)}, expected text or a number")
    return repr(ident)


class MatchInProgress:
    """One match of a file, its rounds replayed so far."""

    def __init__(self, ident: str, first: Record) -> None:
        self.ident = ident
        game = find_game(first.game)
        self.round = Round.empty(game, game.rules.of(first.rules), first.seats)
        self._rounds = 0
        self._over = False
        self._sound = True

    def enter(self, record: Record, match: dict[str, Any]) -> None:
        """Put the next round on the table.

        Raises:
            RecordError: it does not follow from those before.
        """
        game, state = self.round.game, self.round.state
        only_fields(match, "match", ("id", "round", "scores"), ("winners", *game.match_fields))
        if self._over:
            raise RecordError(
                f"match.id: found {_shortened(self.ident, 60)} again, expected no round after the end of the match"
            )
        if not self._sound:
            raise RecordError(f"match.round: found {quoted(match['round'])}, but the round before was bad or not over")
        self._sound = False
        if (
            record.game != game.name
            or record.seats != self.round.seats
            or game.rules.of(record.rules) != self.round.rules
        ):
            raise RecordError("match: found another game, rules or seats than in the round before")
        self._rounds += 1
        if whole_number(match["round"], "match.round", 1, LAST_ROUND) != self._rounds:
            raise RecordError(f"match.round: found {match['round']}, expected {self._rounds}")
        if to_json(match["scores"]) != to_json(self.round.scores):
            raise RecordError(f"match.scores: found {quoted(match['scores'])}, expected {self.round.scores}")
        state.round_number = self._rounds
        game.check_match(state, match, record.opening)
        self.round.set_up(record.hands, record.stock, record.opening)

    def leave(self, match: dict[str, Any]) -> None:
        """Take over the round's result, and check the match's end.

        Raises:
            RecordError: `winners` or `name` is not what the scores say.
        """
        self._over = self.round.match_over
        for field, expected in match_end(self.round).items():
            if self._over and field not in match:
                raise RecordError(f"match.{field}: found nothing, expected {expected!r}")
            if self._over and to_json(match[field]) != to_json(expected):
                raise RecordError(f"match.{field}: found {quoted(match[field])}, expected {expected!r}")
            if not self._over and field in match:
                raise RecordError(f"match.{field}: found {quoted(match[field])}, expected nothing before the end")
        self._sound = self.round.over


def match_end(a_round: Round) -> dict[str, Any]:
    """The fields that a record's `match` has in the round that ends the match."""
    state, game = a_round.state, a_round.game
    won = game.sides([state.won[q] for q in range(a_round.seats)])
    ended: dict[str, Any] = {"winners": [side for side, flag in enumerate(won) if flag]}
    if len(game.titles) > 1:
        ended["name"] = game.titles[state.title] or None
    return ended


def replay_lines(lines: Iterable[bytes], matches: bool = False) -> Iterator[dict[str, Any]]:
    """What `domsim replay` prints for every line of a file that is not blank."""
    replayer = Replayer(matches)
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield {"line": number, **replayer.replay(line)}


def to_json(value: Any) -> str:
    """One line of JSON."""
    return msgspec.json.encode(value).decode()
