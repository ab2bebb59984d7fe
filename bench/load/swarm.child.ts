import { serveCalls } from "../support/child-protocol.js";
import { Swarm, type Arrival, type Connected, type SwarmOptions } from "./swarm.js";

/** The load client's process: one swarm; the case announces each broadcast. */

let swarm: Swarm | undefined;
let arrival: Promise<Arrival> | undefined;

const handlers = {
  connect: (options: SwarmOptions): Promise<Connected> => {
    swarm = new Swarm(options, fail);
    return swarm.connect();
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
