"""Mexican Train in 13 rounds: the rules, by the numbers of the rule page `mexican`.

Lines 0 to 9 are the seats' trains, line 10 is the public one. The doubles that show and wait for a cover stand in one
queue, `s.queue`: the first `s.waiting` are from earlier turns, oldest first, the others, up to `s.showing`, from the
turn going on. In a chain of the first lap the double showing stands there too, until the next tile covers it. After
that lap there are never both kinds: while one of earlier turns waits, a turn is its cover, which is no double (rule 7).
"""

from domsim.core import table
from domsim.core.compiled import State, Work, index, lowest, popcount, rule, same
from domsim.core.game import (
    DRAW,
    PASS,
    PLAY,
    START,
    STOP,
    Field,
    action_code,
    end_rows,
    kind_of,
    line_of,
    matched_of,
    new_of,
    record_dtype,
    set_row,
    state_dtype,
)
from domsim.core.rng import DEAL_STREAM, child, shuffle
from domsim.tiles import HIGH, LOW

SEATS = 10
#: The public train; a seat's own train is the line of its number.
PUBLIC = 10
LINES = 11
TOP = 12
TILES = 91
ROUNDS = 13
# Values of the options, in the order the options list them.
DESCENDING, ASCENDING = 0, 1
CHAIN, SINGLE = 0, 1
OLDEST, NEWEST = 0, 1
OWN_TRAIN, ANY_PLAY = 0, 1

OPTIONS = ("round_order", "first_turn", "double_order", "mark_removal", "double_blank")

STATE = state_dtype(
    "mexican",
    __file__,
    SEATS,
    TILES,
    LINES,
    [
        ("length", "i1", LINES),  # tiles on every train
        ("queue", "i1", LINES),  # trains that show a double, oldest first
        ("waiting", "i1"),  # how many of them from earlier turns
        ("showing", "i1"),  # how many in all
        ("marked", "i2"),  # seats whose trains are marked open, as bits
        ("lap_left", "i1"),  # first turns still to come; 0: the first lap is over
        ("turn_tiles", "i1"),  # laid in this turn
        ("drawn", "i1"),  # 1: this opportunity's draw is used up
        ("stock_next", "i1"),  # place in `stock` of the next tile to draw
        ("stock_left", "i1"),
    ],
    OPTIONS,
)

_VIEW: list[Field] = [
    ("seat", "i1"),
    ("seats", "i1"),
    ("ply", "i2"),
    ("round_number", "i2"),
    ("opener", "i1"),
    ("laid", "i1"),
    ("lap_over", "i1"),
    ("hand", "i2", 16),
    ("unseen", "i2", 16),
    ("end", "i1", LINES),
    ("layer", "i1", LINES),
    ("marked", "i1", SEATS),
    ("length", "i1", LINES),
    ("queue", "i1", LINES),  # -1 from `showing` on
    ("waiting", "i1"),
    ("showing", "i1"),
    ("turn_tiles", "i1"),
    ("drawn", "i1"),
    ("stock_left", "i1"),
    ("count", "i1", SEATS),
    ("shown", "i2", SEATS),
    ("score", "i4", SEATS),
]
VIEW = record_dtype("mexican_view", [*_VIEW, *((option, "i4") for option in OPTIONS)], __file__)

#: What every feature means. "Kept" is what the hand holds once the tile is laid. All but `stop` are 0 for a stop.
FEATURE_NOTES: dict[str, str] = {
    "pips": "points the tile would cost in the hand: its pips, 0 to 24; for 0-0 what `double_blank` says, 0 to 1000",
    "double": "1 for a double",
    "double_uncovered": "1 for a double of whose number no tile is kept",
    "covers": "1 when the tile covers a double that waits for it, of an earlier turn or of this one",
    "own_train": "1 on the own train",
    "public_train": "1 on the public train; 0 here and in `own_train`: on the train of another seat",
    "unmarks": "1 when the play takes the mark off the own train",
    "owner_count": "tiles in the hand of the other seat whose train it is, 1 to 91; 0 on the own and the public train",
    "owner_lacks_new": "1 when that other seat has shown that it lacks the new end; 0 on the own and the public train",
    "suit_new": "kept tiles that show the new end, 0 to 12",
    "suit_matched": "kept tiles that show the number matched, 0 to 12",
    "unseen_new": "tiles of the new end neither laid nor in the hand, 0 to 12",
    "next_lacks_new": "1 when the next seat has shown that it lacks the new end",
    "own_fits": "kept tiles that fit the own train after the play, 0 to 12",
    "own_chain": "kept tiles that make a chain on the own train after the play, as a simple search finds it, 0 to 25",
    "answers_left": "kept tiles that fit the own or the public train after the play, 0 to 24",
    "stop": "1 for a stop (first lap only)",
    "pips_in_a_rush": "the same as `pips` while another seat holds two tiles or fewer; else 0",
}
FEATURES = tuple(FEATURE_NOTES)
_OWN_CHAIN, _STOP = FEATURES.index("own_chain"), FEATURES.index("stop")


@rule
def start_pip(s: State) -> int:
    """The number of the round's starting double."""
    return int(s.round_number - 1 if s.round_order == ASCENDING else ROUNDS - s.round_number)


@rule
def hand_size_of(s: State) -> int:
    """Tiles dealt to a seat."""
    if s.seats <= 4:
        return 15
    if s.seats <= 6:
        return 12
    return 10 if s.seats <= 8 else 8


@rule
def start_match(s: State) -> None:
    """Nothing comes before the first deal."""


@rule
def start_round(s: State) -> None:
    """Deal and look for the starting double."""
    table.begin_round(s, TOP)
    deal(s)
    open_round(s)


@rule
def deal(s: State) -> None:
    """Deal from a fresh shuffle of the whole set; the stock is what follows the hands."""
    shuffle(s, TILES, TILES, child(child(s.round_key, DEAL_STREAM), 0))
    table.deal_hands(s, hand_size_of(s))
    s.stock_next = s.seats * hand_size_of(s)
    s.stock_left = TILES - s.stock_next


@rule
def open_round(s: State) -> None:
    """Draw lots for the starting double (rule 1); its holder is to move (rule 2).

    Wants hands, `stock`, `stock_next`, `stock_left` and `round_number`; the starting double is in a hand or the stock.
    """
    s.lead = (s.round_number - 1) % s.seats
    s.opener = holder_of_start(s)
    while s.opener < 0 and s.stock_left > 0:
        draw_lot(s)
        s.opener = holder_of_start(s)
    s.seat = s.opener
    table.count_held(s, TOP)
    pip = start_pip(s)
    for line in range(LINES):
        s.end[line] = pip
        s.layer[line] = -1
        s.layer_ply[line] = 0
        s.length[line] = 0
    s.waiting = 0
    s.showing = 0
    s.marked = 0
    s.lap_left = s.seats
    s.turn_tiles = 0
    s.drawn = 0


@rule
def holder_of_start(s: State) -> int:
    """The seat with the starting double; -1 when no hand has it."""
    pip = index(start_pip(s))
    for q in range(s.seats):
        if s.hand[index(q), pip] >> pip & 1 != 0:
            return q
    return -1


@rule
def draw_lot(s: State) -> None:
    """One tile for every seat, from seat `s.lead` on, as far as the stock goes (rule 1)."""
    q = s.lead
    for _ in range(min(s.seats, s.stock_left)):
        take_from_stock(s, q)
        q = table.next_seat(s, q)


@rule
def take_from_stock(s: State, seat: int) -> int:
    """Move the next tile of the stock to a hand."""
    tile = s.stock[index(s.stock_next)]
    table.hold(s, seat, tile)
    s.stock_next += 1
    s.stock_left -= 1
    return int(tile)


@rule
def binding_line(s: State) -> int:
    """The train whose double of an earlier turn must be covered next (rule 7)."""
    return index(s.queue[0] if s.double_order == OLDEST else s.queue[index(s.waiting - 1)])


@rule
def open_lines(s: State) -> int:
    """The trains the seat to move may lay on, as bits (rules 3, 6, 7, 9)."""
    if s.lap_left != 0:
        return int(1 << s.seat)
    if s.waiting != 0:
        return int(1 << binding_line(s))
    return int(s.marked | 1 << s.seat | 1 << PUBLIC)


@rule
def legal(s: State, w: Work) -> int:
    """Rows of legal actions, one for every train open to the seat; the last one is what is left without a play."""
    q = index(s.seat)
    if s.laid == 0:
        pip = index(start_pip(s))
        set_row(w, 0, action_code(PLAY, START, pip, 0), 1 << pip)
        return end_rows(w, 1)
    lines = open_lines(s)
    rows = 0
    fits = 0
    while lines != 0:
        line = lowest(lines)
        lines &= lines - 1
        end = index(s.end[index(line)])
        set_row(w, rows, action_code(PLAY, line, end, 0), s.hand[q, end])
        fits |= s.hand[q, end]
        rows += 1
    if s.turn_tiles != 0 and s.lap_left != 0:
        set_row(w, rows, action_code(STOP, 0, 0, 0), 1)
    else:
        may_draw = s.lap_left == 0 and s.drawn == 0 and s.stock_left != 0
        set_row(w, rows, action_code(DRAW if may_draw else PASS, 0, 0, 0), fits == 0)
    return end_rows(w, rows + 1)


@rule
def apply(s: State, action: int) -> None:
    """Lay a tile, draw, pass or stop."""
    kind = kind_of(action)
    if kind == PLAY:
        _play(s, action)
    elif kind == DRAW:
        _draw(s)
    else:
        if kind == PASS:
            _pass(s)
        _end_turn(s)


@rule
def _play(s: State, action: int) -> None:
    matched, new = matched_of(action), new_of(action)
    line = line_of(action)
    double = same(matched, new)
    table.lay(s, matched, new)
    s.held[matched] -= 1
    s.held[new] -= 1 - double
    if line == START:  # no turn: the holder goes on (rule 2)
        _begin_trains(s)
    else:
        _extend(s, line, new, double)
        _after_play(s, double)


@rule
def _begin_trains(s: State) -> None:
    """The starting double is the end of all trains (rule 2)."""
    for line in range(LINES):
        s.layer[line] = s.seat
        s.layer_ply[line] = s.ply


@rule
def _extend(s: State, line: int, new: int, double: int) -> None:
    """The train's new end, the mark (rule 11), the doubles that show; a new opportunity to draw (rule 9)."""
    q = index(s.seat)
    s.end[line] = new
    s.layer[line] = q
    s.layer_ply[line] = s.ply
    s.length[line] += 1
    s.turn_tiles += 1
    s.drawn = 0
    if line == q or s.mark_removal == ANY_PLAY:
        s.marked &= ~(1 << q)
    if s.showing != 0:
        _cover(s, line)
    if double != 0:
        s.queue[index(s.showing)] = line
        s.showing += 1


@rule
def _after_play(s: State, double: int) -> None:
    """Whether the turn goes on (rules 3, 5, 9), and whether the round ends (rule 12)."""
    left = s.count[index(s.seat)]
    if s.lap_left != 0:
        if left == 0 or s.first_turn == SINGLE:
            _end_turn(s)
    elif left == 0:
        s.over = 1
    elif double == 0:
        _end_turn(s)


@rule
def _cover(s: State, line: int) -> None:
    """Take a train out of the queue, if it is there."""
    left = 0
    for i in range(s.showing):
        other = s.queue[index(i)]
        if other != line:
            s.queue[index(left)] = other
            left += 1
    s.showing = left
    s.waiting = min(s.waiting, left)


@rule
def ends_of(s: State, lines: int) -> int:
    """The numbers at the ends of some trains, as bits."""
    numbers = 0
    while lines != 0:
        numbers |= 1 << s.end[index(lowest(lines))]
        lines &= lines - 1
    return numbers


@rule
def _draw(s: State) -> None:
    """Draw a tile (rule 8).

    Who has to draw shows to hold none of the numbers at the ends of all trains open to it: they join `s.shown`. If the
    tile drawn is laid, the hand is what it was before, and all that was shown stays true.
    """
    q = index(s.seat)
    s.shown[q] |= ends_of(s, open_lines(s))
    s.draws[q] += 1
    tile = index(take_from_stock(s, q))
    s.held[index(HIGH[tile])] += 1
    s.held[index(LOW[tile])] += HIGH[tile] != LOW[tile]
    s.drawn = 1


@rule
def _pass(s: State) -> None:
    """Pass and mark the own train (rules 3, 8, 9).

    The numbers that would have fitted join `s.shown`. After a draw an unknown tile stays in the hand, and of that only
    these numbers are known: what the seat had shown before is dropped.
    """
    q = index(s.seat)
    numbers = ends_of(s, open_lines(s))
    s.shown[q] = numbers if s.drawn != 0 else s.shown[q] | numbers
    s.lacked = numbers
    s.passes[q] += 1
    s.marked |= 1 << q


@rule
def _end_turn(s: State) -> None:
    """The doubles of the turn wait from now on (rules 4, 10); the next seat is to move, if the round goes on."""
    s.waiting = s.showing
    s.turn_tiles = 0
    s.drawn = 0
    if s.lap_left != 0:
        s.lap_left -= 1
        if s.lap_left == 0 and smallest_hand(s) == 0:  # rule 5
            s.over = 1
    if s.stock_left == 0 and s.lap_left == 0 and s.over == 0 and nothing_fits(s):
        s.over = 1
        s.blocked = 1
    s.seat = table.next_seat(s, s.seat)


@rule
def nothing_fits(s: State) -> bool:
    """Whether no tile in any hand shows the end that binds, or with nothing waiting any end (rule 13)."""
    if s.waiting != 0:
        return bool(s.held[index(s.end[binding_line(s)])] == 0)
    for line in range(s.seats):
        if s.held[index(s.end[index(line)])] != 0:
            return False
    return bool(s.held[index(s.end[PUBLIC])] == 0)


@rule
def smallest_hand(s: State) -> int:
    """Tiles in the smallest hand."""
    smallest = TILES
    for q in range(s.seats):
        smallest = min(smallest, s.count[index(q)])
    return smallest


@rule
def finish_round(s: State) -> bool:
    """Add the penalties (rule 14); the match is over after the last round, won by all with the lowest score."""
    for i in range(s.seats):
        q = index(i)
        s.points[q] = s.pips[q] + (s.hand[q, 0] & 1) * s.double_blank
        s.score[q] += s.points[q]
    if s.round_number < ROUNDS:
        return False
    lowest_score = s.score[0]
    for i in range(1, s.seats):
        lowest_score = min(lowest_score, s.score[index(i)])
    for i in range(s.seats):
        s.won[index(i)] = s.score[index(i)] == lowest_score
    return True


@rule
def features(s: State, action: int, w: Work, need: int) -> None:
    """The features of an action, in the order of `FEATURES`."""
    kind = kind_of(action)
    if kind != PLAY:
        for f in range(w.feature.size):
            w.feature[f] = 0
        w.feature[_STOP] = kind == STOP
        return
    a, x = matched_of(action), new_of(action)
    line = line_of(action)
    q = index(s.seat)
    double, own, public = same(a, x), same(line, q), same(line, PUBLIC)
    n_new, n_matched = popcount(table.kept_of(s, q, x, a, x)), popcount(table.kept_of(s, q, a, a, x))
    own_end = x if own != 0 else index(s.end[q])
    public_end = x if public != 0 else index(s.end[PUBLIC])
    own_fits = table.kept_of(s, q, own_end, a, x)
    n_own, n_public = popcount(own_fits), popcount(table.kept_of(s, q, public_end, a, x))
    covers = shows_double(s, line)
    owner_count = 0
    owner_lacks = 0
    if line < SEATS and own == 0:
        owner_count = s.count[line]
        owner_lacks = s.shown[line] >> x & 1
    next_lacks = s.shown[index(table.next_seat(s, q))] >> x & 1
    unmarks = s.marked >> q & (own | s.mark_removal)
    unseen_new = table.unseen_of(s, q, x)
    own_chain = chain_from(s, q, own_end, a, x) if need >> _OWN_CHAIN & 1 != 0 else 0
    w.feature[0] = s.double_blank if a + x == 0 else a + x
    w.feature[1] = double
    w.feature[2] = double & (n_new == 0)
    w.feature[3] = covers
    w.feature[4] = own
    w.feature[5] = public
    w.feature[6] = unmarks
    w.feature[7] = owner_count
    w.feature[8] = owner_lacks
    w.feature[9] = n_new
    w.feature[10] = n_matched
    w.feature[11] = unseen_new
    w.feature[12] = next_lacks
    w.feature[13] = n_own
    w.feature[14] = own_chain
    w.feature[15] = n_own if own_end == public_end else n_own + n_public - (own_fits >> public_end & 1)
    w.feature[16] = 0
    w.feature[17] = w.feature[0] * (fewest_tiles(s) <= 2)


@rule
def fewest_tiles(s: State) -> int:
    """Tiles in the smallest hand of another seat."""
    fewest = TILES
    for r in range(s.seats):
        if r != s.seat:
            fewest = min(fewest, s.count[index(r)])
    return fewest


@rule
def shows_double(s: State, line: int) -> int:
    """1 for a train with a double that waits for a cover, else 0."""
    shows = 0
    for i in range(s.showing):
        shows |= same(line, s.queue[index(i)])
    return shows


@rule
def chain_from(s: State, seat: int, number: int, a: int, b: int) -> int:
    """Tiles of a chain from a number on, of those kept once tile `a-b` is laid; doubles go in where they fit.

    A simple search: always on to the smallest number not met before, so that a longer chain may exist.
    """
    met = 1 << number
    row = table.kept_of(s, seat, number, a, b)
    tiles = row >> number & 1
    ahead = row & ~met
    while ahead != 0:
        number = index(lowest(ahead))
        met |= 1 << number
        row = table.kept_of(s, seat, number, a, b)
        tiles += 1 + (row >> number & 1)
        ahead = row & ~met
    return tiles


@rule
def stage(s: State) -> int:
    """0 in the first lap, 2 once a hand is down to a third of the tiles dealt, 1 in between."""
    if s.lap_left != 0:
        return 0
    return 2 if 3 * smallest_hand(s) <= hand_size_of(s) else 1


@rule
def observe(s: State, o: State) -> None:
    """What the seat to move may see: its hand, the table, and what everybody has shown."""
    q = index(s.seat)
    o.seat = s.seat
    o.seats = s.seats
    o.ply = s.ply
    o.round_number = s.round_number
    o.opener = s.opener
    o.laid = s.laid
    o.lap_over = s.lap_left == 0
    for v in range(16):
        o.hand[v] = s.hand[q, index(v)]
        o.unseen[v] = s.unseen[index(v)]
    for i in range(LINES):
        o.end[i] = s.end[i]
        o.layer[i] = s.layer[i]
        o.length[i] = s.length[i]
        o.queue[i] = s.queue[i] if i < s.showing else -1
    o.waiting = s.waiting
    o.showing = s.showing
    o.turn_tiles = s.turn_tiles
    o.drawn = s.drawn
    o.stock_left = s.stock_left
    for r in range(SEATS):
        o.marked[r] = s.marked >> r & 1
        o.count[r] = s.count[r]
        o.shown[r] = s.shown[r]
        o.score[r] = s.score[r]
    o.round_order = s.round_order
    o.first_turn = s.first_turn
    o.double_order = s.double_order
    o.mark_removal = s.mark_removal
    o.double_blank = s.double_blank


@rule
def restore(s: State, o: State) -> None:
    """The position of a view: `observe` backwards."""
    q = index(o.seat)
    s.seat = o.seat
    s.ply = o.ply
    s.round_number = o.round_number
    s.opener = o.opener
    s.laid = o.laid
    s.lap_left = 0 if o.lap_over != 0 else o.seats - (o.seat - o.opener + o.seats) % o.seats
    s.over = 0
    s.blocked = 0
    s.chosen = -1
    s.last = -1
    s.pips[q] = 0
    for v in range(s.unseen.size):
        s.hand[q, v] = o.hand[v]
        s.unseen[v] = o.unseen[v]
        s.pips[q] += table.pips_of_row(o.hand[v], v)
    for i in range(LINES):
        s.end[i] = o.end[i]
        s.layer[i] = o.layer[i]
        s.length[i] = o.length[i]
        s.queue[i] = o.queue[i]
    s.waiting = o.waiting
    s.showing = o.showing
    s.turn_tiles = o.turn_tiles
    s.drawn = o.drawn
    s.stock_next = 0
    s.stock_left = o.stock_left
    s.marked = 0
    for r in range(SEATS):
        s.marked |= o.marked[r] << r
        s.count[r] = o.count[r]
        s.shown[r] = o.shown[r]
        s.score[r] = o.score[r]
        s.points[r] = 0
        s.won[r] = 0


@rule
def know(s: State, h: State) -> None:
    """Numbers shown not to be held."""
    for i in range(s.seats):
        r = index(i)
        h.lacks[r] = s.shown[r]
        h.lacks_double[r] = 0
        h.double_room[r] = TILES


@rule
def worth(s: State, seat: int) -> int:
    """The mean penalty of the others less the own one, in hundredths, and 30 points for winning the match."""
    total = 0
    for i in range(s.seats):
        total += s.points[index(i)]
    own = index(seat)
    others = s.seats - 1
    return int(100 * (total - s.points[own]) // others - 100 * s.points[own] + 3000 * s.won[own])
