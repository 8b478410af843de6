// An agent exported with `domsim export`, played without domsim: scores and choices made again, in JavaScript.
//
// `node score.mjs careful.json` checks every golden decision of the file, and exits with 1 when one comes out otherwise.
// For `cuban` the position is built from the record, and the first features are worked out from it too.

import { readFileSync } from "node:fs";

// --- any game: the score of an action from its features --------------------------------------------------------------

/** A whole number: fixed-point weights times features. */
export function score(weights, names, features) {
  return names.reduce((sum, name, place) => sum + (weights[name] ?? 0) * features[place], 0);
}

/** All actions with the highest score. */
export function best(scores) {
  const highest = Math.max(...scores.values());
  return [...scores.keys()].filter((action) => scores.get(action) === highest);
}

// --- cuban: a position from a record, and the features of a play -----------------------------------------------------

const halves = (tile) => tile.split("-").map(Number);
const otherHalf = ([high, low], number) => (high === number ? low : high);

/** The table after the record's actions: hands, ends, who laid them, what everybody has shown to lack. */
export function replay(record) {
  const table = {
    seat: record.opening.opener,
    hands: record.hands.map((hand) => new Set(hand)),
    unseen: new Set(),
    ends: null,
    layers: null,
    shown: [0, 1, 2, 3].map(() => new Set()),
  };
  for (let high = 0; high < 10; high++) {
    for (let low = 0; low <= high; low++) table.unseen.add(`${high}-${low}`);
  }
  for (const action of record.actions) take(table, action);
  return table;
}

/** Carry out one action. */
function take(table, action) {
  const seat = table.seat;
  table.seat = (seat + 1) % 4;
  if (action === "pass") {
    table.ends.forEach((end) => table.shown[seat].add(end));
    return;
  }
  const [tile, line] = action.split(">");
  table.hands[seat].delete(tile);
  table.unseen.delete(tile);
  if (line === "start") {
    table.ends = halves(tile);
    table.layers = [seat, seat];
  } else {
    const end = "LR".indexOf(line);
    table.ends[end] = otherHalf(halves(tile), table.ends[end]);
    table.layers[end] = seat;
  }
}

/** The first twelve features of a play, by name. */
export function features(table, action) {
  const seat = table.seat;
  const [tile, line] = action.split(">");
  const end = "LR".indexOf(line);
  const starts = line === "start";
  const newEnd = starts ? halves(tile)[1] : otherHalf(halves(tile), table.ends[end]);
  const kept = starts ? halves(tile)[0] : table.ends[1 - end];
  const hand = [...table.hands[seat]].filter((one) => one !== tile).map(halves);
  const unseen = [...table.unseen].filter((one) => !table.hands[seat].has(one)).map(halves);
  const count = (tiles, ...numbers) => tiles.filter((one) => numbers.some((number) => one.includes(number))).length;
  const nextShown = table.shown[(seat + 1) % 4];
  const partnerShown = table.shown[(seat + 2) % 4];
  const [high, low] = halves(tile);
  return {
    pips: high + low,
    double: Number(high === low),
    suit_new: count(hand, newEnd),
    suit_kept: count(hand, kept),
    answers_left: count(hand, newEnd, kept),
    unseen_new: count(unseen, newEnd),
    unseen_kept: count(unseen, kept),
    next_lacks_new: Number(nextShown.has(newEnd)),
    next_lacks_kept: Number(nextShown.has(kept)),
    partner_lacks_new: Number(partnerShown.has(newEnd)),
    same_ends: Number(newEnd === kept),
    covers_own_side: Number(!starts && table.layers[end] % 2 === seat % 2),
  };
}

/** Until a third of the hands is laid, until two thirds, and from there on. */
function stage(table) {
  const laid = 55 - table.unseen.size;
  return ["early", "middle", "late"][Number(3 * laid >= 40) + Number(3 * laid >= 80)];
}

// --- the check -------------------------------------------------------------------------------------------------------

/** What comes out otherwise than the golden decision says, as text; nothing when all agrees. */
function check(agent, decision) {
  const names = agent.features.map((feature) => feature.name);
  const weights = agent.fixed[decision.stage];
  const scores = new Map(decision.legal.map((one) => [one.action, score(weights, names, one.features)]));
  const problems = decision.legal
    .filter((one) => scores.get(one.action) !== one.score)
    .map((one) => `score of ${one.action}`);
  if (best(scores).join() !== decision.ties.join() || !decision.ties.includes(decision.choice)) {
    problems.push(`choice ${best(scores)}`);
  }
  if (agent.game === "cuban") problems.push(...checkFeatures(names, decision));
  return problems;
}

function checkFeatures(names, decision) {
  const table = replay(decision.record);
  const problems = [];
  if (table.seat !== decision.seat || stage(table) !== decision.stage) problems.push("seat or stage");
  for (const one of decision.legal) {
    for (const [name, value] of Object.entries(features(table, one.action))) {
      if (value !== one.features[names.indexOf(name)]) problems.push(`${name} of ${one.action}`);
    }
  }
  return problems;
}

const agent = JSON.parse(readFileSync(process.argv[2], "utf8"));
let wrong = 0;
agent.decisions.forEach((decision, place) => {
  const problems = check(agent, decision);
  wrong += problems.length > 0;
  if (problems.length) console.log(`decision ${place + 1}: ${problems.join(", ")}`);
});
console.log(`${agent.decisions.length} decisions of ${agent.game}, ${wrong} differ`);
process.exitCode = wrong ? 1 : 0;
