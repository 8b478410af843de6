"""An agent exported with `domsim export`, played without domsim: scores and choices made again, in plain Python.

`python score.py careful.json` checks every golden decision of the file, and exits with 1 when one comes out otherwise.
For `cuban` the position is built from the record, and the first features are worked out from it too.
"""

import json
import sys


def score(weights, names, features):
    """A whole number: fixed-point weights times features."""
    return sum(weights.get(name, 0) * value for name, value in zip(names, features, strict=True))


def best(scores):
    """All actions with the highest score."""
    highest = max(scores.values())
    return [action for action, value in scores.items() if value == highest]


# --- cuban: a position from a record, and the features of a play -----------------------------------------------------


def halves(tile):
    high, low = tile.split("-")
    return int(high), int(low)


def replay(record):
    """The table after the record's actions: hands, ends, who laid them, what everybody has shown to lack."""
    table = {
        "seat": record["opening"]["opener"],
        "hands": [{halves(tile) for tile in hand} for hand in record["hands"]],
        "unseen": {(high, low) for high in range(10) for low in range(high + 1)},
        "ends": None,
        "layers": None,
        "shown": [set() for _ in range(4)],
    }
    for action in record["actions"]:
        take(table, action)
    return table


def take(table, action):
    """Carry out one action."""
    seat = table["seat"]
    table["seat"] = (seat + 1) % 4
    if action == "pass":
        table["shown"][seat] |= set(table["ends"])
        return
    text, line = action.split(">")
    tile = halves(text)
    table["hands"][seat].discard(tile)
    table["unseen"].discard(tile)
    if line == "start":
        table["ends"], table["layers"] = list(tile), [seat, seat]
    else:
        end = "LR".index(line)
        table["ends"][end] = other_half(tile, table["ends"][end])
        table["layers"][end] = seat


def other_half(tile, number):
    return tile[1] if tile[0] == number else tile[0]


def features(table, action):
    """The first twelve features of a play, by name."""
    seat = table["seat"]
    text, line = action.split(">")
    tile = halves(text)
    if line == "start":
        kept, new = tile
        layer = None
    else:
        end = "LR".index(line)
        new, kept = other_half(tile, table["ends"][end]), table["ends"][1 - end]
        layer = table["layers"][end]
    hand = table["hands"][seat] - {tile}
    unseen = table["unseen"] - table["hands"][seat]
    next_shown, partner_shown = table["shown"][(seat + 1) % 4], table["shown"][(seat + 2) % 4]
    return {
        "pips": sum(tile),
        "double": int(tile[0] == tile[1]),
        "suit_new": sum(new in one for one in hand),
        "suit_kept": sum(kept in one for one in hand),
        "answers_left": sum(new in one or kept in one for one in hand),
        "unseen_new": sum(new in one for one in unseen),
        "unseen_kept": sum(kept in one for one in unseen),
        "next_lacks_new": int(new in next_shown),
        "next_lacks_kept": int(kept in next_shown),
        "partner_lacks_new": int(new in partner_shown),
        "same_ends": int(new == kept),
        "covers_own_side": int(layer is not None and layer % 2 == seat % 2),
    }


def stage(table):
    """Until a third of the hands is laid, until two thirds, and from there on."""
    laid = 55 - len(table["unseen"])
    return ("early", "middle", "late")[(3 * laid >= 40) + (3 * laid >= 80)]


# --- the check -------------------------------------------------------------------------------------------------------


def check(agent, decision):
    """What comes out otherwise than the golden decision says, as text; nothing when all agrees."""
    names = [feature["name"] for feature in agent["features"]]
    weights = agent["fixed"][decision["stage"]]
    scores = {one["action"]: score(weights, names, one["features"]) for one in decision["legal"]}
    problems = [f"score of {one['action']}" for one in decision["legal"] if scores[one["action"]] != one["score"]]
    if best(scores) != decision["ties"] or decision["choice"] not in decision["ties"]:
        problems.append(f"choice {best(scores)}")
    if agent["game"] == "cuban":
        table = replay(decision["record"])
        if table["seat"] != decision["seat"] or stage(table) != decision["stage"]:
            problems.append("seat or stage")
        for one in decision["legal"]:
            told = dict(zip(names, one["features"], strict=True))
            own = features(table, one["action"])
            problems += [f"{name} of {one['action']}" for name in own if own[name] != told[name]]
    return problems


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        agent = json.load(file)
    wrong = 0
    for number, decision in enumerate(agent["decisions"], 1):
        problems = check(agent, decision)
        wrong += bool(problems)
        if problems:
            print(f"decision {number}: {', '.join(problems)}")
    print(f"{len(agent['decisions'])} decisions of {agent['game']}, {wrong} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
