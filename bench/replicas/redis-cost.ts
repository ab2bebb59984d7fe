import { once } from "node:events";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import type { ReplicaStand } from "./replica-stand.js";

/** What one edit costs Redis, beyond what replicas ask of it in the same time without edits. */
export interface RedisCost {
  /** As replicas sent them: what a script does inside Redis is one command. */
  readonly commands: number;
  readonly inBytes: number;
  readonly outBytes: number;
  /** Without edits, each second. */
  readonly idleCommands: number;
  readonly idleInBytes: number;
}

const distanceMs = 250;

/** @param edit makes an edit and resolves when all have it. */
export async function redisCost(
  stand: ReplicaStand,
  edits: number,
  edit: () => Promise<unknown>,
): Promise<RedisCost> {
  const durationMs = edits * distanceMs;
  const rest = (): Promise<void> => delay(durationMs);
  const flow = async (): Promise<void> => {
    const until = performance.now() + durationMs;
    for (let left = edits; left > 0; left--) {
      await edit();
      await delay(Math.max(0, until - performance.now()) / left);
    }
  };
  const idle = await bytesDuring(stand, rest);
  const busy = await bytesDuring(stand, flow);
  // In a time of its own, because Redis sends each command to those who watch it.
  const idleCommands = await commandsDuring(stand, rest);
  const commands = await commandsDuring(stand, flow);
  return {
    commands: (commands - idleCommands) / edits,
    inBytes: (busy.in - idle.in) / edits,
    outBytes: (busy.out - idle.out) / edits,
    idleCommands: (idleCommands * 1000) / durationMs,
    idleInBytes: (idle.in * 1000) / durationMs,
  };
}

async function bytesDuring(
  stand: ReplicaStand,
  work: () => Promise<void>,
): Promise<{ in: number; out: number }> {
  const before = await networkBytes(stand);
  await work();
  const after = await networkBytes(stand);
  return { in: after.in - before.in, out: after.out - before.out };
}

async function networkBytes({ redis }: ReplicaStand): Promise<{ in: number; out: number }> {
  const stats = String(await redis.command("INFO", "stats"));
  const value = (name: string): number =>
    Number(new RegExp(`^${name}:(\\d+)`, "m").exec(stats)?.[1] ?? Number.NaN);
  return { in: value("total_net_input_bytes"), out: value("total_net_output_bytes") };
}

async function commandsDuring({ redis }: ReplicaStand, work: () => Promise<void>): Promise<number> {
  const socket = connect(redis.port, "127.0.0.1");
  let commands = 0;
  // A script's own commands come from "lua" in place of an address.
  createInterface(socket).on("line", (line) => {
    if (line.startsWith("+") && line.includes('] "') && !line.includes(" lua] ")) commands++;
  });
  try {
    socket.write("MONITOR\r\n");
    await once(socket, "data");
    await work();
    return commands;
  } finally {
    socket.destroy();
  }
}
