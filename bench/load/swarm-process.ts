import { readSequence, sequenceHeadBytes } from "../fixtures/sequenced-document.js";
import { serveCalls } from "../support/child-protocol.js";
import { monotonicMs } from "../support/monotonic.js";
import { Swarm, type Arrival, type SwarmOptions } from "./swarm.js";

/** The load client's process: one swarm, told by the case when to expect what. */

let swarm: Swarm | undefined;
let arrival: Promise<Arrival> | undefined;

const handlers = {
  /** Returns how long it took until every subscriber had its first payload. */
  connect: async (
    options: Omit<SwarmOptions, "readSequence" | "headBytes">,
  ): Promise<{ elapsedMs: number }> => {
    const startedMs = monotonicMs();
    swarm = new Swarm({ ...options, readSequence, headBytes: sequenceHeadBytes }, fail);
    await swarm.connect();
    return { elapsedMs: monotonicMs() - startedMs };
  },
  expect: ({ sequence }: { sequence: number }): void => {
    arrival = swarm?.expect(sequence);
  },
  arrival: (): Promise<Arrival> => {
    if (arrival === undefined) throw new Error("nothing is expected");
    return arrival;
  },
};

const fail = serveCalls(handlers);

export type SwarmHandlers = typeof handlers;
