/**
 * Measures three levels of proxies on one machine, and prints what it saw: `node --conditions=@bunting/source --import=tsx bench/tiers.ts [SUBSCRIBERS]`
 * after `npm run build`. docs/scale.md has the figures of one run. All subscribers are in this process, so that their part is in the times.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { startProxyOn, type ProxyProcess } from "@bunting/test/support/proxy-process.js";
import { readMetric } from "@bunting/test/support/read-metric.js";
import { firstSequence, sequencedDocument } from "./fixtures/sequenced-document.js";
import { Swarm, type Arrival } from "./load/swarm.js";
import { monotonicMs } from "./support/monotonic.js";
import { processMemory } from "./support/processor.js";
import { watchedFile } from "./support/start-proxy.js";
import { median } from "./support/statistics.js";

const subscribers = Number(process.argv[2] ?? 10_000);
const rounds = 15;
const documentBytes = 10_000;
const folder = mkdtempSync(path.join(tmpdir(), "bunting-tiers-"));
const write = watchedFile(folder);
const proxies: ProxyProcess[] = [];
const swarms: Swarm[] = [];
const fail = (error: Error): void => console.error(error.message);

async function start(source: string, port?: string): Promise<ProxyProcess> {
  const proxy = await startProxyOn(source, [
    ...["--drain-delay", "0", "--drain-window", "0"],
    ...(port === undefined ? [] : ["--port", port]),
  ]);
  proxies.push(proxy);
  return proxy;
}

async function swarmOf({ sync }: ProxyProcess, connections: number): Promise<Swarm> {
  const port = Number(sync.split(":")[1]);
  const options = {
    host: "127.0.0.1",
    port,
    streams: 1,
    protocol: "bunting",
    topic: "default/bench",
  } as const;
  const swarm = new Swarm({ ...options, connections }, fail);
  swarms.push(swarm);
  const { elapsedMs, refused } = await swarm.connect();
  console.log(`${connections} connected in ${elapsedMs.toFixed(0)} ms, ${refused} refused`);
  return swarm;
}

const received = async (proxy: ProxyProcess): Promise<Record<string, number>> => {
  const kinds = ["unchanged", "delta", "snapshot"];
  const name = (kind: string): string => `bunting_proxy_upstream_received_bytes_total{kind="${kind}"}`;
  const bytes = kinds.map(async (kind) => [kind, await readMetric(proxy.management, name(kind), 0)] as const);
  return Object.fromEntries(await Promise.all(bytes));
};

try {
  let sequence = firstSequence;
  write(sequencedDocument({ sequence, bytes: documentBytes }));
  const root = await start(`dir:${folder}/watched`);
  const middle = await start(`upstream:${root.sync}`);
  const leaf = await start(`upstream:${middle.sync}`);
  const idleMb = processMemory(leaf.process.pid).rssMb;
  const [atRoot, atMiddle, atLeaf] = [
    await swarmOf(root, 1),
    await swarmOf(middle, 1),
    await swarmOf(leaf, subscribers),
  ];
  const samples: number[][] = [];
  const broadcast = async (isKept: boolean): Promise<void> => {
    sequence++;
    const arrivals = [atRoot, atMiddle, atLeaf].map((swarm) => swarm.expect(sequence));
    const startedMs = monotonicMs();
    write(sequencedDocument({ sequence, bytes: documentBytes }));
    const [one, two, three] = (await Promise.all(arrivals)) as [Arrival, Arrival, Arrival];
    const times = [one.firstMs, two.firstMs, three.firstMs, three.p50Ms, three.p99Ms, three.lastMs];
    if (isKept) samples.push([...times.map((ms) => ms - startedMs), three.messageBytes]);
    await delay(300);
  };
  for (let round = -3; round < rounds; round++) await broadcast(round >= 0);
  const names = ["root", "middle", "leaf first", "leaf p50", "leaf p99", "leaf last", "bytes of a message"];
  names.forEach((name, at) =>
    console.log(`${name}: median ${median(samples.map((sample) => sample[at] ?? NaN)).toFixed(1)}`),
  );
  const afterMb = processMemory(leaf.process.pid).rssMb;
  console.log(`leaf: ${idleMb.toFixed(0)} MB idle, ${afterMb.toFixed(0)} MB with ${subscribers}`);
  console.log(`middle: ${processMemory(middle.process.pid).rssMb.toFixed(0)} MB`);
  const before = await received(leaf);
  await middle.process.stop("SIGKILL");
  const killedMs = monotonicMs();
  await start(`upstream:${root.sync}`, middle.sync.split(":")[1]);
  while ((await received(leaf))["unchanged"] === before["unchanged"]) await delay(20);
  console.log(`middle back and resumed after ${(monotonicMs() - killedMs).toFixed(0)} ms`);
  console.log("bytes at the leaf before:", before, "after:", await received(leaf));
} finally {
  for (const swarm of swarms) swarm.close();
  for (const { process } of proxies) await process.stop("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
}
