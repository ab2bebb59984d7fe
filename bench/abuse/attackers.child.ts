import type { Socket } from "node:net";
import { setPriority } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { serveCalls } from "../support/child-protocol.js";
import { attacks, type AttackName, type AttackTarget } from "./attacks.js";

/** The attackers' process: each attacker does one thing on one connection after another, until the process is killed. */

export interface Attacker {
  readonly attack: AttackName;
  readonly localAddress: string;
}

export interface AttackCount {
  connections: number;
  sentBytes: number;
}

const reconnectMs = 50;
const niceness = 10;
const counts: Partial<Record<AttackName, AttackCount>> = {};
const open = new Map<Socket, AttackCount>();

async function attackForEver(target: AttackTarget, { attack, localAddress }: Attacker): Promise<never> {
  const count = (counts[attack] ??= { connections: 0, sentBytes: 0 });
  const onSocket = (socket: Socket): void => {
    open.set(socket, count);
    socket.once("close", () => {
      open.delete(socket);
      count.sentBytes += socket.bytesWritten;
    });
  };
  for (;;) {
    count.connections++;
    try {
      await attacks[attack]({ target, localAddress, onSocket });
    } catch {
      // It was refused or dropped, as it should be.
    }
    await delay(reconnectMs);
  }
}

const handlers = {
  start: ({ target, attackers }: { target: AttackTarget; attackers: readonly Attacker[] }): void => {
    for (const attacker of attackers) void attackForEver(target, attacker);
  },
  /** What was done so far. The attack ends with this process. */
  counts: (): Partial<Record<AttackName, AttackCount>> => {
    for (const [socket, count] of open) count.sentBytes += socket.bytesWritten;
    open.clear();
    return counts;
  },
};

// The subscribers and the API server are on the same core; real attackers would be on another machine.
setPriority(niceness);
serveCalls(handlers);

export type AttackersHandlers = typeof handlers;
