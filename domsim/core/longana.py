"""Longana, Cuban personal branches: the rules, by the numbers of the rule page `longana`."""

from domsim.core import table
from domsim.core.compiled import State, Work, index, popcount, rule, same
from domsim.core.game import (
    PASS,
    PLAY,
    START,
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

SEATS = 4
#: The set's highest number, and its tiles.
TOP, TILES = 9, 55
#: All numbers, as bits.
EVERY = (2 << TOP) - 1
#: The end of a branch that does not exist: before the opening, or of a seat nobody has. No tile shows it.
NOWHERE = 15
# Values of the options, in the order the options list them.
CURRENT, FIRST, FREE = 0, 1, 2  # open_order "current", "first", "none"
ALL_HANDS, RIVALS, DIFFERENCE, NOBODY = 0, 1, 2, 3  # block_scoring "all", "rivals", "difference", "none"

OPTIONS = ("hand_size", "target", "open_order", "block_scoring")

STATE = state_dtype(
    "longana",
    __file__,
    SEATS,
    TILES,
    SEATS,
    [
        ("at", "i1", 16),  # branches whose end shows a number, as bits
        ("open", "i1"),  # open branches, as bits
        ("placed", "i1"),  # branches that have a place in the order of opening, as bits
        ("before", "i1", SEATS),  # branches placed before a branch, as bits; those no longer `placed` do not count
        ("started", "i1", SEATS),  # tiles on a seat's branch
        ("no_double", "i2", SEATS),  # doubles a seat has shown not to hold, as bits
        ("next_lead", "i1"),  # seat from which the next round searches its opener
    ],
    OPTIONS,
)

_VIEW: list[Field] = [
    ("seat", "i1"),
    ("seats", "i1"),
    ("ply", "i2"),
    ("round_number", "i2"),
    ("lead", "i1"),
    ("opener", "i1"),
    ("laid", "i1"),
    ("redeals", "i2"),
    ("hand", "i2", 16),
    ("unseen", "i2", 16),
    ("end", "i1", SEATS),  # NOWHERE before the opening, and of a seat nobody has
    ("open", "i1", SEATS),  # 1: open
    ("place", "i1", SEATS),  # in the order of opening (rule 8), from 1; 0: none
    ("started", "i1", SEATS),
    ("count", "i1", SEATS),
    ("shown", "i2", SEATS),
    ("no_double", "i2", SEATS),
    ("score", "i4", SEATS),
]
VIEW = record_dtype("longana_view", [*_VIEW, *((option, "i4") for option in OPTIONS)], __file__)

#: What the features of a play tell. "New" is the number that the play leaves at the end it is laid on (an opening: the
#: double's); "kept" are the tiles left in the hand after it; "unseen" those neither laid nor in this hand. The owner is
#: the seat of the branch. What is the same for all plays of a decision is not here: it could not change a choice.
FEATURE_NOTES: dict[str, str] = {
    "pips": "pips of the tile, 0-18",
    "double": "1: the tile is a double",
    "suit_new": "tiles kept that show the new number, 0-9",
    "answers_left": "tiles kept that could be laid if the turn came back at once, 0-26",
    "no_answer": "1: `answers_left` is 0, so that a pass would come",
    "unseen_new": "unseen tiles that show the new number, 0-9",
    "next_lacks_new": "1: the next seat has shown to hold no tile of the new number",
    "others_lack_new": "other seats that have shown to hold no tile of the new number, 0-3",
    "own_branch": "1: laid on the own branch; 0 elsewhere and for an opening",
    "other_open": "1: laid on another seat's open branch; 0 elsewhere and for an opening",
    "closed_double": "1: a double laid on another seat's closed branch; 0 elsewhere and for an opening",
    "keeps_own_end": "tiles kept that show the end of the own branch, 0-10",
    "own_end_alive": "unseen tiles that show the end of the own branch, 0-9",
    "spends_own": "1: laid elsewhere, though it fits the own branch; 0 on it and for an opening",
    "owner_lacks_new": "1: the owner has shown to lack the new number; 0 on the own branch and for an opening",
    "frees_owner": "1: the owner has shown to lack the number covered, but not the new one; 0 as before",
    "owner_tiles": "tiles in the owner's hand, 1-27; 0 on the own branch and for an opening",
    "same_ends": "other branches that show the new number, 0-3; 0 for an opening",
    "pips_in_a_rush": "pips of the tile while another seat holds two tiles or fewer, 0-18; else 0",
    "double_late": "1: a double while another seat holds three tiles or fewer",
}
FEATURES = tuple(FEATURE_NOTES)


@rule
def start_match(s: State) -> None:
    """Nothing is drawn for; the first search for an opener does not matter (rule 1)."""
    s.next_lead = 0


@rule
def start_round(s: State) -> None:
    """Deal, and deal again as long as nobody holds a double (rule 4)."""
    table.begin_round(s, TOP)
    s.lead = s.next_lead
    while True:
        deal(s)
        if first_with_double(s, s.lead) >= 0:
            break
        s.redeals += 1
    open_round(s)


@rule
def deal(s: State) -> None:
    """Deal from a fresh shuffle, the `s.redeals`-th of this round."""
    shuffle(s, TILES, s.seats * s.hand_size, child(child(s.round_key, DEAL_STREAM), s.redeals))
    table.deal_hands(s, s.hand_size)


@rule
def first_with_double(s: State, start: int) -> int:
    """The first seat, in playing order from `start`, that holds a double (rule 2); -1: nobody."""
    q = start
    for _ in range(s.seats):
        if s.doubles[index(q)] > 0:
            return int(q)
        q = table.next_seat(s, q)
    return -1


@rule
def open_round(s: State) -> None:
    """The opener is to move (rules 1, 2; -1 where nobody holds a double); no branch has an end yet (rule 5)."""
    for v in range(s.at.size):
        s.at[v] = 0
    for r in range(SEATS):
        s.end[r] = NOWHERE
        s.before[r] = 0
        s.started[r] = 0
        s.no_double[r] = 0
    s.open = 0
    s.placed = 0
    table.count_held(s, TOP)
    if s.round_number == 1:
        s.lead = table.holder_of_highest_double(s, TOP)
    s.opener = first_with_double(s, s.lead)
    s.seat = s.opener
    _show_search(s)


@rule
def _show_search(s: State) -> None:
    """What the search shows: no double above the opening one, or none in the hands asked before (rules 1, 2)."""
    if s.round_number == 1:
        above = EVERY & ~((1 << highest_double(s, s.opener) + 1) - 1)
        for r in range(s.seats):
            s.no_double[index(r)] = above
    else:
        q = s.lead
        for _ in range(s.seats):
            if q == s.opener:
                break
            s.no_double[index(q)] = EVERY
            q = table.next_seat(s, q)


@rule
def highest_double(s: State, seat: int) -> int:
    """The number of the highest double in a hand; -1: none."""
    q = index(seat)
    for v in range(TOP, -1, -1):
        if s.hand[q, index(v)] >> v & 1 != 0:
            return v
    return -1


@rule
def legal(s: State, w: Work) -> int:
    """Rows of legal actions: row b is branch b's; where no tile fits any, the first row is the pass (rule 7)."""
    if s.laid == 0:
        return _legal_openings(s, w)
    playable = 0
    for b in range(SEATS):
        bits = may_lay(s, b)
        set_row(w, b, action_code(PLAY, b, index(s.end[b]), 0), bits)
        playable |= bits
    if playable == 0:
        set_row(w, 0, action_code(PASS, 0, 0, 0), 1)
    return SEATS


@rule
def may_lay(s: State, b: int) -> int:
    """The tiles that the seat to move may lay on a branch, as bits of its end's row (rule 6)."""
    q, end = index(s.seat), index(s.end[b])
    tiles = s.hand[q, end]
    if b == q:
        return int(tiles)
    if s.open >> b & 1 == 0:
        return int(tiles & 1 << end)
    return 0 if is_bound(s, b) else int(tiles)


@rule
def is_bound(s: State, b: int) -> bool:
    """Whether another seat's open branch is barred by one with the same end that was opened before it (rule 8)."""
    q, end = index(s.seat), index(s.end[b])
    bars: bool = s.before[b] & s.open & s.at[end] & ~(1 << q) != 0
    return bars and s.open_order != FREE


@rule
def _legal_openings(s: State, w: Work) -> int:
    """The opener's doubles, in a match's first round only its highest (rules 1, 2): row 9 - v is double v-v's."""
    q = index(s.seat)
    wanted = EVERY
    for row in range(TOP + 1):
        a = index(TOP - row)
        bits = s.hand[q, a] & wanted & 1 << a
        set_row(w, row, action_code(PLAY, START, a, 0), bits)
        if bits != 0 and s.round_number == 1:
            wanted = 0
    return end_rows(w, TOP + 1)


@rule
def apply(s: State, action: int) -> None:
    """Lay a tile or pass; the next seat is to move."""
    if kind_of(action) == PLAY:
        lay(s, line_of(action), matched_of(action), new_of(action))
    else:
        pass_turn(s)
    s.seat = table.next_seat(s, s.seat)


@rule
def lay(s: State, line: int, matched: int, new: int) -> None:
    """Lay a tile: it closes the seat's own branch, wherever it lies (rule 7)."""
    q = index(s.seat)
    if line == START:
        begin_branches(s, new)
    else:
        s.at[matched] &= ~(1 << line)
        s.at[new] |= 1 << line
        s.end[line] = new
        s.layer[line] = s.seat
        s.layer_ply[line] = s.ply
        s.started[line] += 1
        s.open &= ~(1 << q)
        if s.open_order != FIRST:
            s.placed &= ~(1 << q)
    table.lay(s, matched, new)
    s.held[matched] -= 1
    s.held[new] -= 1 - same(matched, new)
    if s.count[q] == 0:
        s.over = 1
    elif is_blocked(s):
        s.over = 1
        s.blocked = 1


@rule
def begin_branches(s: State, number: int) -> None:
    """The opening double is the end of all branches (rule 5)."""
    for r in range(SEATS):
        s.end[r] = number if r < s.seats else NOWHERE
        s.layer[r] = s.seat
        s.layer_ply[r] = s.ply
    s.at[number] = (1 << s.seats) - 1


@rule
def is_blocked(s: State) -> bool:
    """Whether no tile in any hand shows the end of any branch (rule 11). A pass changes neither."""
    tiles = 0
    for b in range(SEATS):
        tiles |= s.held[index(s.end[b])]
    return tiles == 0


@rule
def pass_turn(s: State) -> None:
    """Pass: it shows what the seat lacks and opens its branch, in the last place unless it has one (rules 7, 8).

    A branch that is bound shows nothing of its own: its end is that of the one that binds it.
    """
    q = index(s.seat)
    s.open |= 1 << q
    numbers = 0
    doubles = 0
    for b in range(SEATS):
        number = 1 << s.end[b]
        numbers |= number & -(s.open >> b & 1)
        doubles |= number
    s.lacked = numbers
    s.shown[q] |= numbers
    s.no_double[q] |= doubles & EVERY
    if s.placed >> q & 1 == 0:
        for r in range(SEATS):
            s.before[r] &= ~(1 << q)
        s.before[q] = s.placed
        s.placed |= 1 << q
    s.passes[q] += 1


@rule
def winner_of(s: State) -> int:
    """The seat that emptied its hand or won the block; -1: nobody (rules 10, 12)."""
    if s.blocked == 0:
        return int(s.last)
    if s.block_scoring == NOBODY:
        return -1
    return table.lowest_hand(s)


@rule
def points_of(s: State, winner: int) -> int:
    """What the winner of the round scores (rules 10, 12)."""
    own = s.pips[index(winner)]
    points = 0
    for r in range(s.seats):
        points += s.pips[index(r)]
    if s.blocked == 0 or s.block_scoring == ALL_HANDS:
        return int(points)
    if s.block_scoring == RIVALS:
        return int(points - own)
    return int(points - s.seats * own)


@rule
def finish_round(s: State) -> bool:
    """Score the round and see where the next search starts (rules 2, 3) or who has won the match (rule 13)."""
    winner = winner_of(s)
    s.winner = winner
    if winner < 0:
        s.next_lead = table.next_seat(s, s.opener)
        return False
    s.next_lead = winner
    q = index(winner)
    s.points[q] = points_of(s, winner)
    s.score[q] += s.points[q]
    if s.score[q] < s.target:
        return False
    s.won[q] = 1
    return True


@rule
def features(s: State, action: int, w: Work, need: int) -> None:
    """The features of laying a tile, in the order of `FEATURES`; an opening makes the own end, but is on no branch."""
    a, x = matched_of(action), new_of(action)
    line = line_of(action)
    q = index(s.seat)
    owner = q if line == START else line
    elsewhere = 1 - same(owner, q)
    other_open = elsewhere & s.open >> owner
    end = index(s.end[q])
    own_end = x if owner == q else end
    fits_own = same(a, own_end) | same(x, own_end)
    answers = answers_left(s, owner, x)
    next_shown, owner_shown = s.shown[index(table.next_seat(s, s.seat))], s.shown[owner]
    lacking = 0
    for r in range(SEATS):  # the seat itself holds a tile of the new number, the one it lays
        lacking += s.shown[r] >> x & 1
    w.feature[0] = a + x
    w.feature[1] = same(a, x)
    w.feature[2] = popcount(s.hand[q, x]) - 1
    w.feature[3] = answers
    w.feature[4] = answers == 0
    w.feature[5] = table.unseen_of(s, q, x)
    w.feature[6] = next_shown >> x & 1
    w.feature[7] = lacking
    w.feature[8] = same(line, q)
    w.feature[9] = other_open
    w.feature[10] = elsewhere - other_open
    w.feature[11] = popcount(s.hand[q, own_end]) - fits_own
    w.feature[12] = table.unseen_of(s, q, own_end)
    w.feature[13] = elsewhere & fits_own
    w.feature[14] = elsewhere & owner_shown >> x
    w.feature[15] = elsewhere & owner_shown >> a & ~(owner_shown >> x)
    w.feature[16] = elsewhere * s.count[owner]
    w.feature[17] = popcount(s.at[x] & ~(1 << owner))
    fewest = fewest_tiles(s)
    w.feature[18] = (a + x) * (fewest <= 2)
    w.feature[19] = same(a, x) * (fewest <= 3)


@rule
def fewest_tiles(s: State) -> int:
    """Tiles in the smallest hand of another seat."""
    fewest = TILES
    for r in range(s.seats):
        if r != s.seat:
            fewest = min(fewest, s.count[index(r)])
    return fewest


@rule
def answers_left(s: State, owner: int, new: int) -> int:
    """Tiles that the seat could lay if its turn came back at once, after a play on the owner's branch.

    Counted with the tile just laid, which would fit where it lies, less one. Rule 8 bars branches, but never a tile.
    """
    q = index(s.seat)
    free = s.open | 1 << q
    numbers = 0  # of the branches that take any tile
    doubles = 0
    tiles = -1
    for b in range(SEATS):
        end = new if b == owner else index(s.end[b])
        row = s.hand[q, end]
        any_tile = -(free >> b & 1)
        fresh = -(1 - (numbers >> end & 1))
        tiles += popcount(row & any_tile & fresh & ~numbers)
        doubles |= row & 1 << end
        numbers |= any_tile & 1 << end
    return int(tiles + popcount(doubles & ~numbers))


@rule
def stage(s: State) -> int:
    """0 until a third of the tiles dealt is laid, 1, and 2 from two thirds on."""
    laid, dealt = 3 * s.laid, s.seats * s.hand_size
    return int(laid >= dealt) + int(laid >= 2 * dealt)


@rule
def observe(s: State, o: State) -> None:
    """What the seat to move may see: its hand, the table, and what everybody has shown."""
    q = index(s.seat)
    o.seat = s.seat
    o.seats = s.seats
    o.ply = s.ply
    o.round_number = s.round_number
    o.lead = s.lead
    o.opener = s.opener
    o.laid = s.laid
    o.redeals = s.redeals
    for v in range(TOP + 1):
        o.hand[v] = s.hand[q, index(v)]
        o.unseen[v] = s.unseen[index(v)]
    for r in range(SEATS):
        o.end[r] = s.end[r]
        o.open[r] = s.open >> r & 1
        o.place[r] = (1 + popcount(s.before[r] & s.placed)) * (s.placed >> r & 1)
        o.started[r] = s.started[r]
        o.count[r] = s.count[r]
        o.shown[r] = s.shown[r]
        o.no_double[r] = s.no_double[r]
        o.score[r] = s.score[r]
    o.hand_size = s.hand_size
    o.target = s.target
    o.open_order = s.open_order
    o.block_scoring = s.block_scoring


@rule
def restore(s: State, o: State) -> None:
    """The position of a view: `observe` backwards."""
    q = index(o.seat)
    s.seat = o.seat
    s.ply = o.ply
    s.round_number = o.round_number
    s.lead = o.lead
    s.opener = o.opener
    s.laid = o.laid
    s.redeals = o.redeals
    s.over = 0
    s.blocked = 0
    s.chosen = -1
    s.last = -1
    s.pips[q] = 0
    for v in range(s.unseen.size):
        s.hand[q, v] = o.hand[v]
        s.unseen[v] = o.unseen[v]
        s.at[v] = 0
        s.pips[q] += table.pips_of_row(o.hand[v], v)
    s.open = 0
    s.placed = 0
    for r in range(SEATS):
        s.end[r] = o.end[r]
        s.at[index(o.end[r])] |= 1 << r
        s.open |= o.open[r] << r
        s.placed |= (o.place[r] != 0) << r
        s.started[r] = o.started[r]
        s.count[r] = o.count[r]
        s.shown[r] = o.shown[r]
        s.no_double[r] = o.no_double[r]
        s.score[r] = o.score[r]
        s.points[r] = 0
        s.won[r] = 0
        s.before[r] = 0
        for b in range(SEATS):
            s.before[r] |= (o.place[b] != 0 and o.place[b] < o.place[r]) << b


@rule
def know(s: State, h: State) -> None:
    """Numbers and doubles shown not to be held."""
    for i in range(s.seats):
        r = index(i)
        h.lacks[r] = s.shown[r]
        h.lacks_double[r] = s.no_double[r]
        h.double_room[r] = TOP + 1


@rule
def worth(s: State, seat: int) -> int:
    """Points won less points others won, none beyond the target, and half a match for its end."""
    value = 0
    for i in range(s.seats):
        r = index(i)
        points = min(s.points[r], s.target - (s.score[r] - s.points[r])) + s.won[r] * s.target // 2
        value += points if i == seat else -points
    return int(value)
