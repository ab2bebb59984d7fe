import type { Connected, SwarmOptions } from "../load/swarm.js";
import type { SwarmHandlers } from "../load/swarm.child.js";
import { benchTopic, contenders, type Contender } from "../servers/contender.js";
import { bundle } from "../support/bundle.js";
import { ChildProcess } from "../support/child-process.js";
import { processMemory, type CorePlan } from "../support/processor.js";
import { entries, type Entry, type EntryName } from "./entry.js";

/** A server process and the process of its subscribers. */
export interface Pair {
  readonly key: EntryName;
  readonly entry: Entry;
  readonly server: Contender;
  /** RSS of the server before the first connection. */
  readonly startMb: number;
  readonly swarm: ChildProcess<SwarmHandlers>;
}

const connectTimeoutMs = 120_000;

export async function startPair(key: EntryName, cores: CorePlan): Promise<Pair> {
  const entry: Entry = entries[key];
  const script = await bundle("load/swarm.child.ts", "proxy");
  const server = await contenders[entry.server](cores.measured);
  const startMb = processMemory(server.pid).rssMb;
  const swarm = new ChildProcess<SwarmHandlers>({
    name: `subscribers of ${entry.name}`,
    script,
    core: cores.load,
  });
  return { key, entry, server, startMb, swarm };
}

export function connectSwarm(
  { entry, server, swarm }: Pair,
  counts: Pick<SwarmOptions, "connections" | "streams" | "maxOpening">,
): Promise<Connected> {
  const { protocol, windowBytes, usesTls = false, resumesTls = false } = entry;
  const { clientCertificate } = server;
  const options = {
    ...counts,
    host: "127.0.0.1",
    port: server.port,
    protocol,
    usesTls,
    resumesTls,
    ...(clientCertificate === undefined ? {} : { clientCertificate }),
    topic: benchTopic,
    ...(windowBytes === undefined ? {} : { windowBytes }),
  };
  return swarm.call("connect", options, connectTimeoutMs);
}

export async function stopPair({ server, swarm }: Pair): Promise<void> {
  await Promise.all([swarm.stop(), server.stop()]);
}
