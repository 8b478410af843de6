"""Cuban partnership dominoes: the rules, by the numbers of the rule page `cuban`."""

from domsim.core import table
from domsim.core.compiled import State, Work, index, popcount, rule, same, seldom
from domsim.core.game import (
    ALTERNATE,
    FEW,
    PARTNER,
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
from domsim.tiles import HIGH, LOW

SEATS = 4
#: the larger set's highest number
LARGEST = 9
LEFT, RIGHT = 0, 1
# Values of the options, in the order the options list them.
LEAD_TEAMS, LEAD_INDIVIDUAL = 0, 1
FREE, HIGHEST_DOUBLE = 0, 1
LOWEST_HAND, LOWEST_TEAM = 0, 1
RIVALS, ALL_OTHERS = 0, 1
# Names of a match's end.
POLLONA, TRIPOLLUA = 1, 2

OPTIONS = ("set", "target", "lead_draw", "claim_doubles", "first_tile", "block_winner", "round_points")

STATE = state_dtype(
    "cuban",
    __file__,
    SEATS,
    55,
    2,
    [
        ("passes_running", "i1"),  # passes in a row
        ("doubles_laid", "i1", SEATS),  # doubles a seat has laid, in a position made of a view
        ("entitled", "i1"),  # team that names the opener; -1: `opener_by_draw` opens
        ("opener_by_draw", "i1"),
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
    ("redeals", "i2"),
    ("passes_running", "i1"),
    ("hand", "i2", 16),
    ("unseen", "i2", 16),
    ("end", "i1", 2),
    ("layer", "i1", 2),
    ("count", "i1", SEATS),
    ("shown", "i2", SEATS),
    ("doubles_laid", "i1", SEATS),
    ("score", "i4", SEATS),
]
VIEW = record_dtype("cuban_view", [*_VIEW, *((option, "i4") for option in OPTIONS)], __file__)

#: What the features of a play tell. "New" is the number that shows at the end it is laid on, "kept" that at the other
#: end; tiles of the hand are those left in it after the play; "unseen" ones are neither laid nor in this hand; a seat
#: lacks a number that it has shown, by passing, not to hold.
FEATURE_NOTES: dict[str, str] = {
    "pips": "pips of the tile, 0-18",
    "double": "1: the tile is a double",
    "suit_new": "tiles of the hand that show the new number, 0-9",
    "suit_kept": "tiles of the hand that show the kept number, 0-9",
    "answers_left": "tiles of the hand that would fit one of the two ends, 0-18",
    "unseen_new": "unseen tiles that show the new number, 0-9",
    "unseen_kept": "unseen tiles that show the kept number, 0-9",
    "next_lacks_new": "1: the next rival lacks the new number",
    "next_lacks_kept": "1: the next rival lacks the kept number",
    "partner_lacks_new": "1: the partner lacks the new number",
    "same_ends": "1: both ends show the same number afterwards",
    "covers_own_side": "1: the own side laid the tile that is covered; 0 for an opening",
    "partner_lacks_kept": "1: the partner lacks the kept number",
    "last_lacks_new": "1: the other rival lacks the new number",
    "last_lacks_kept": "1: the other rival lacks the kept number",
    "next_must_pass": "1: the next rival lacks both numbers",
    "partner_must_pass": "1: the partner lacks both numbers",
    "last_must_pass": "1: the other rival lacks both numbers",
    "covers_partner": "1: the partner laid the tile that is covered; 0 for an opening",
    "new_is_dead": "1: no tile of the new number is unseen or left in the hand",
    "all_dead": "1: both ends are dead in that sense: the round is blocked for sure",
    "pips_in_a_rush": "pips of the tile while a rival holds two tiles or fewer, 0-18; else 0",
    "pips_in_danger": "pips of the tile while the rivals need 40 points or fewer for the match, 0-18; else 0",
    "double_late": "1: a double while some seat holds four tiles or fewer",
}
FEATURES = tuple(FEATURE_NOTES)


@rule
def top_of(s: State) -> int:
    """The set's highest number."""
    return int(s.set)


@rule
def hand_size_of(s: State) -> int:
    """Tiles dealt to a seat: 10 of 55, or 7 of 28."""
    return 10 if s.set == 9 else 7


@rule
def tiles_of(s: State) -> int:
    """Tiles in the set."""
    return 55 if s.set == 9 else 28


@rule
def draw_for_lead(s: State, draw: int) -> None:
    """Draw tiles for the lead (rule 1): seat q's is `s.stock[q]`; `draw` counts the draws from 0."""
    shuffle(s, tiles_of(s), SEATS, child(child(s.key, 0), draw))


@rule
def lead_winner(s: State) -> int:
    """The seat whose tile of a draw for the lead is the largest; -1 when the largest is drawn twice."""
    seats = 2 if s.lead_draw == LEAD_TEAMS else SEATS
    best = 0
    tied = False
    for q in range(1, seats):
        more = _weight(s.stock[q]) - _weight(s.stock[best])
        if more > 0:
            best = q
            tied = False
        elif more == 0:
            tied = True
    return -1 if tied else best


@rule
def _weight(tile: int) -> int:
    t = index(tile)
    return int(HIGH[t] + LOW[t])


@rule
def start_match(s: State) -> None:
    """Draw for the lead until somebody wins it (rule 1)."""
    draw = 0
    while True:
        draw_for_lead(s, draw)
        winner = lead_winner(s)
        if winner >= 0:
            break
        draw += 1
    s.opener_by_draw = winner
    s.entitled = -1 if s.lead_draw == LEAD_INDIVIDUAL else s.opener_by_draw


@rule
def start_round(s: State) -> None:
    """Name the opener (rule 2), deal, and deal again as long as somebody claims (rules 4, 5)."""
    table.begin_round(s, top_of(s))
    s.lead = named_opener(s)
    while True:
        deal(s)
        if claimant(s) < 0:
            break
        s.redeals += 1
    open_round(s)


@rule
def named_opener(s: State) -> int:
    """The seat that the entitled team's lower seat names: itself or its partner (rules 2, 3)."""
    if s.entitled < 0:
        return int(s.opener_by_draw)
    naming = s.naming[index(s.entitled)]
    if naming == PARTNER or (naming == ALTERNATE and s.round_number & 1 == 0):
        return int(s.entitled + 2)
    return int(s.entitled)


@rule
def deal(s: State) -> None:
    """Deal from a fresh shuffle, the `s.redeals`-th of this round."""
    shuffle(s, tiles_of(s), SEATS * hand_size_of(s), child(child(s.round_key, DEAL_STREAM), s.redeals))
    table.deal_hands(s, hand_size_of(s))


@rule
def claimant(s: State) -> int:
    """The first seat, from the opener named, that may claim a new deal (rule 4); -1: nobody."""
    if s.claim_doubles != 0:
        for i in range(SEATS):
            q = (s.lead + i) & 3
            if s.doubles[index(q)] >= s.claim_doubles:
                return int(q)
    return -1


@rule
def open_round(s: State) -> None:
    """The opener is to move: the seat named, or the holder of the highest double (rule 7)."""
    s.opener = s.lead
    if must_open_with_double(s):
        s.opener = table.holder_of_highest_double(s, top_of(s))
    s.seat = s.opener
    s.passes_running = 0
    for line in range(2):
        s.end[line] = -1
        s.layer[line] = -1
        s.layer_ply[line] = 0


@rule
def highest_double_opens(s: State) -> bool:
    """Whether the highest double opens this round, if a hand has one (rule 7)."""
    opens: bool = s.first_tile == HIGHEST_DOUBLE and s.round_number == 1
    return opens


@rule
def must_open_with_double(s: State) -> bool:
    """Whether the highest double in the hands has to open this round (rule 7)."""
    return highest_double_opens(s) and table.holder_of_highest_double(s, top_of(s)) >= 0


@rule
def legal(s: State, w: Work) -> int:
    """Rows of legal actions (rules 7, 8)."""
    if s.laid == 0:
        return _legal_openings(s, w)
    q = index(s.seat)
    left, right = index(s.end[LEFT]), index(s.end[RIGHT])
    at_left, at_right = s.hand[q, left], s.hand[q, right]
    if right == left:
        at_right = 0
    set_row(w, 0, action_code(PLAY, LEFT, left, 0), at_left)
    set_row(w, 1, action_code(PLAY, RIGHT, right, 0), at_right)
    set_row(w, 2, action_code(PASS, 0, 0, 0), at_left | at_right == 0)
    return end_rows(w, 3)


@rule
def _legal_openings(s: State, w: Work) -> int:
    """Any tile, or the highest double where it must open (rule 7): row 9 - v has the tiles whose larger half is v."""
    q = index(s.seat)
    for row in range(LARGEST + 1):
        a = index(LARGEST - row)
        set_row(w, row, action_code(PLAY, START, a, 0), s.hand[q, a] & ((2 << a) - 1))
    if must_open_with_double(s):
        _keep_highest_double(w)
    return end_rows(w, LARGEST + 1)


@seldom
def _keep_highest_double(w: Work) -> None:
    found = False
    for row in range(LARGEST + 1):
        w.bits[row] = 0 if found else w.bits[row] & 1 << LARGEST - row
        found = found or w.bits[row] != 0


@rule
def apply(s: State, action: int) -> None:
    """Lay a tile or pass; the next seat is to move."""
    q = index(s.seat)
    if kind_of(action) == PLAY:
        matched, new = matched_of(action), new_of(action)
        line = line_of(action)
        if line == START:
            s.end[LEFT] = matched
            s.end[RIGHT] = new
            s.layer[LEFT] = s.seat
            s.layer[RIGHT] = s.seat
        else:
            s.end[line] = new
            s.layer[line] = s.seat
            s.layer_ply[line] = s.ply
        table.lay(s, matched, new)
        s.passes_running = 0
        if s.count[q] == 0:
            s.over = 1
    else:
        s.lacked = 1 << s.end[LEFT] | 1 << s.end[RIGHT]
        s.shown[q] |= s.lacked
        s.passes[q] += 1
        s.passes_running += 1
        if s.passes_running == SEATS:
            s.over = 1
            s.blocked = 1
    s.seat = (s.seat + 1) & 3


@rule
def winning_team(s: State) -> int:
    """The team that won the round that is over (rules 9, 10); -1: drawn."""
    if s.blocked == 0:
        return int(s.last & 1)
    if s.block_winner == LOWEST_HAND:
        team0, team1 = min(s.pips[0], s.pips[2]), min(s.pips[1], s.pips[3])
    else:
        team0, team1 = s.pips[0] + s.pips[2], s.pips[1] + s.pips[3]
    if team0 == team1:
        return -1
    return 0 if team0 < team1 else 1


@rule
def finish_round(s: State) -> bool:
    """Score the round (rule 11) and see who is entitled next (rule 3) or has won the match (rule 12)."""
    team = winning_team(s)
    s.winner = team
    if team < 0:
        s.entitled = 1 - (s.opener & 1)
        return False
    s.entitled = team
    points = s.pips[1 - team] + s.pips[3 - team]
    if s.round_points == ALL_OTHERS:
        points += s.pips[team] + s.pips[team + 2]
    before = s.score[team]
    for q in (team, team + 2):
        s.points[q] = points
        s.score[q] += points
    if s.score[team] < s.target:
        return False
    s.won[team] = 1
    s.won[team + 2] = 1
    if s.score[1 - team] == 0:
        s.title = TRIPOLLUA if before == 0 else POLLONA
    return True


@rule
def features(s: State, action: int, w: Work, need: int) -> None:
    """The features of laying a tile, in the order of `FEATURES`."""
    a, x = matched_of(action), new_of(action)
    line = line_of(action)
    q = index(s.seat)
    kept = a if line == START else index(s.end[1 - line])
    suit_new = s.hand[q, x] & ~(1 << a)  # as `kept_of`, with less to ask
    suit_kept = table.kept_of(s, q, kept, a, x)
    n_new, n_kept = popcount(suit_new), popcount(suit_kept)
    unseen_new, unseen_kept = table.unseen_of(s, q, x), table.unseen_of(s, q, kept)
    next_lacks, partner_lacks = s.shown[index(q + 1 & 3)], s.shown[index(q + 2 & 3)]
    covers_own_side = line != START and (s.layer[line] ^ q) & 1 == 0
    w.feature[0] = a + x
    w.feature[1] = same(a, x)
    w.feature[2] = n_new
    w.feature[3] = n_kept
    w.feature[4] = n_new if x == kept else n_new + n_kept - (suit_new >> kept & 1)
    w.feature[5] = unseen_new
    w.feature[6] = unseen_kept
    w.feature[7] = next_lacks >> x & 1
    w.feature[8] = next_lacks >> kept & 1
    w.feature[9] = partner_lacks >> x & 1
    w.feature[10] = same(x, kept)
    w.feature[11] = covers_own_side
    if need >> FEW != 0:
        _further_features(s, w, a, x, kept, line)


@seldom
def _further_features(s: State, w: Work, a: int, x: int, kept: int, line: int) -> None:
    """The features behind the first few, which most agents do without."""
    q = index(s.seat)
    first, partner, last = index(q + 1 & 3), index(q + 2 & 3), index(q + 3 & 3)
    both = 1 << x | 1 << kept
    partner_lacks, last_lacks = s.shown[partner], s.shown[last]
    next_must_pass, partner_must_pass = s.shown[first] & both == both, partner_lacks & both == both
    last_must_pass = last_lacks & both == both
    covers_partner = line != START and s.layer[line] == partner
    new_is_dead = w.feature[2] + w.feature[5] == 0
    all_dead = new_is_dead and w.feature[3] + w.feature[6] == 0
    fewest_rival = min(s.count[first], s.count[last])
    rush = fewest_rival <= 2
    danger = s.target - s.score[first] <= 40
    late = min(fewest_rival, s.count[partner], s.count[q]) <= 4
    w.feature[12] = partner_lacks >> kept & 1
    w.feature[13] = last_lacks >> x & 1
    w.feature[14] = last_lacks >> kept & 1
    w.feature[15] = next_must_pass
    w.feature[16] = partner_must_pass
    w.feature[17] = last_must_pass
    w.feature[18] = covers_partner
    w.feature[19] = new_is_dead
    w.feature[20] = all_dead
    w.feature[21] = (a + x) * rush
    w.feature[22] = (a + x) * danger
    w.feature[23] = same(a, x) * late


@rule
def stage(s: State) -> int:
    """0 until a third of the hands is laid, 1, and 2 from two thirds on."""
    laid, dealt = 3 * s.laid, SEATS * hand_size_of(s)
    return int(laid >= dealt) + int(laid >= 2 * dealt)


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
    o.redeals = s.redeals
    o.passes_running = s.passes_running
    for v in range(s.unseen.size):
        o.hand[v] = s.hand[q, v]
        o.unseen[v] = s.unseen[v]
    for line in range(2):
        o.end[line] = s.end[line]
        o.layer[line] = s.layer[line]
    for r in range(SEATS):
        o.count[r] = s.count[r]
        o.shown[r] = s.shown[r]
        o.doubles_laid[r] = s.doubles[r] - table.doubles_held(s, r)
        o.score[r] = s.score[r]
    o.set = s.set
    o.target = s.target
    o.lead_draw = s.lead_draw
    o.claim_doubles = s.claim_doubles
    o.first_tile = s.first_tile
    o.block_winner = s.block_winner
    o.round_points = s.round_points


@rule
def restore(s: State, o: State) -> None:
    """The position of a view: `observe` backwards."""
    q = index(o.seat)
    s.seat = o.seat
    s.ply = o.ply
    s.round_number = o.round_number
    s.opener = o.opener
    s.laid = o.laid
    s.redeals = o.redeals
    s.passes_running = o.passes_running
    s.over = 0
    s.blocked = 0
    s.chosen = -1
    s.last = -1
    s.pips[q] = 0
    for v in range(s.unseen.size):
        s.hand[q, v] = o.hand[v]
        s.unseen[v] = o.unseen[v]
        s.pips[q] += table.pips_of_row(o.hand[v], v)
    for line in range(2):
        s.end[line] = o.end[line]
        s.layer[line] = o.layer[line]
    for r in range(SEATS):
        s.count[r] = o.count[r]
        s.shown[r] = o.shown[r]
        s.doubles_laid[r] = o.doubles_laid[r]
        s.score[r] = o.score[r]
        s.points[r] = 0
        s.won[r] = 0


@rule
def know(s: State, h: State) -> None:
    """Numbers shown not to be held; few doubles in a hand not claimed on (rule 4), no high ones by rule 7."""
    no_doubles = doubles_in_no_hand(s)
    for r in range(SEATS):
        h.lacks[r] = s.shown[r]
        h.lacks_double[r] = no_doubles
        h.double_room[r] = s.claim_doubles - 1 - s.doubles_laid[r] if s.claim_doubles != 0 else 10


@rule
def doubles_in_no_hand(s: State) -> int:
    """Doubles above the highest one that is laid or in the mover's hand, as bits, where the highest had to open (7)."""
    if not highest_double_opens(s):
        return 0
    q = index(s.seat)
    above = 0
    for v in range(top_of(s), -1, -1):
        if s.unseen[index(v)] >> v & 1 == 0 or s.hand[q, index(v)] >> v & 1 != 0:
            break
        above |= 1 << v
    return above


@rule
def worth(s: State, seat: int) -> int:
    """Points won less points lost, none beyond the target, and half a match for its end."""
    own, rival = index(seat), index(seat + 1 & 3)
    end = (s.won[own] - s.won[rival]) * s.target // 2
    return int(useful_points(s, own) - useful_points(s, rival) + end)


@rule
def useful_points(s: State, seat: int) -> int:
    """The points of the round that the team still needed."""
    return int(min(s.points[seat], s.target - (s.score[seat] - s.points[seat])))
