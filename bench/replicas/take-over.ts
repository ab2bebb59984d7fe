import { setTimeout as delay } from "node:timers/promises";
import { monotonicMs } from "../support/monotonic.js";
import { Observer } from "./observer.js";
import type { ReplicaStand } from "./replica-stand.js";

/** How an owner goes away: killed, or as a rolling update stops it. */
export type Departure = "SIGKILL" | "SIGTERM";

const editEveryMs = 50;
const settleMs = 3_000;

/**
 * The owner goes away while edits flow, and another replica takes its place afterwards.
 *
 * @returns how long the followers' subscribers waited at most for an edit of that time, in ms
 */
export async function takeOver(
  stand: ReplicaStand,
  departure: Departure,
  nextSequence: () => number,
): Promise<number> {
  const owner = await stand.owner();
  const observers = stand.replicas
    .filter((replica) => replica !== owner)
    .map(({ port }) => new Observer(port));
  const waits: Promise<number>[] = [];
  const edit = async (): Promise<void> => {
    const sequence = nextSequence();
    await stand.put(sequence);
    const writtenMs = monotonicMs();
    for (const observer of observers)
      waits.push(observer.has(sequence).then((atMs) => Math.max(0, atMs - writtenMs)));
    await delay(editEveryMs);
  };
  try {
    for (let index = 0; index < 10; index++) await edit();
    await Promise.all(waits.splice(0));
    let isGone = false;
    const leaving = stand.remove(owner, departure).then(async () => {
      await stand.owner();
      isGone = true;
    });
    // eslint-disable-next-line @typescript-eslint/no-unnecessary-condition -- it changes while edits are made
    while (!isGone) await edit();
    await leaving;
    const longest = Math.max(...(await Promise.all(waits)));
    await stand.startReplicas(1);
    // Until the new replica follows the others.
    await delay(settleMs);
    return longest;
  } finally {
    for (const observer of observers) observer.close();
  }
}
