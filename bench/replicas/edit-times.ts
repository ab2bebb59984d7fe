import { setTimeout as delay } from "node:timers/promises";
import { monotonicMs } from "../support/monotonic.js";
import { Observer } from "./observer.js";
import type { ReplicaStand } from "./replica-stand.js";

/** From just before an edit's write to its arrival, in ms. */
export interface EditTimes {
  readonly owner: number[];
  /** At the follower that had it last. */
  readonly follower: number[];
}

const warmUps = 50;

/** One subscriber at each replica sees every edit; the next is made when all have this one. */
export async function editTimes(
  stand: ReplicaStand,
  edits: number,
  nextSequence: () => number,
): Promise<EditTimes> {
  const owner = await stand.owner();
  const ofOwner = new Observer(owner.port);
  const ofFollowers = stand.replicas
    .filter((replica) => replica !== owner)
    .map(({ port }) => new Observer(port));
  const times: EditTimes = { owner: [], follower: [] };
  try {
    for (let edit = 1; edit <= warmUps + edits; edit++) {
      // As in a real cluster, edits are not synchronised with anything.
      await delay(2 + Math.random() * 8);
      const sequence = nextSequence();
      const startMs = monotonicMs();
      const [atOwnerMs, ...atFollowersMs] = await Promise.all([
        ofOwner.has(sequence),
        ...ofFollowers.map((observer) => observer.has(sequence)),
        stand.put(sequence),
      ]).then((all) => all.slice(0, -1) as number[]);
      if (edit <= warmUps) continue;
      times.owner.push((atOwnerMs ?? NaN) - startMs);
      times.follower.push(Math.max(...atFollowersMs) - startMs);
    }
  } finally {
    for (const observer of [ofOwner, ...ofFollowers]) observer.close();
  }
  return times;
}
