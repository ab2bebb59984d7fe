import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { encodeDocument } from "@bunting/protocol";
import { firstSequence, sequencedDocument } from "../fixtures/sequenced-document.js";
import { entrypointFlags, proxyBinary } from "../support/binaries.js";
import { bundle } from "../support/bundle.js";
import { ChildProcess } from "../support/child-process.js";
import { monotonicMs } from "../support/monotonic.js";
import { freePort, untilReady } from "../support/wait.js";
import type { Published, PublishInput, ServerHandlers } from "./server-handlers.js";

/** One of the servers that a broadcast is measured on. */
export interface Contender {
  readonly name: string;
  readonly pid: number;
  readonly port: number;
  publish(input: PublishInput): Promise<Published>;
  stop(): Promise<void>;
}

export const broadcastPath = "/flagd.sync.v1.FlagSyncService/SyncFlags";
export const broadcastSelector = "default/bench";

/** A server that the case hands documents to over its channel. */
async function startServer(
  name: string,
  script: string,
  args: readonly string[],
  core: number | undefined,
): Promise<Contender> {
  const nodeFlags = entrypointFlags("proxy.Dockerfile");
  const server = new ChildProcess<ServerHandlers>({
    name,
    script: await bundle(script, "proxy"),
    args,
    nodeFlags,
    core,
  });
  const { port } = await server.call("listen", null);
  return {
    name,
    pid: server.pid,
    port,
    publish: (input) => server.call("publish", input),
    stop: () => server.stop(),
  };
}

function startPlainServer(core: number | undefined): Promise<Contender> {
  return startServer("plain node:http2", "servers/plain-server.ts", [], core);
}

function startYieldingServer(core: number | undefined): Promise<Contender> {
  return startServer("plain node:http2, yield every 256", "servers/plain-server.ts", ["--yield=256"], core);
}

/** The proxy's own stages from topic to stream, behind a source that the case drives. */
function startPublishingProxy(core: number | undefined): Promise<Contender> {
  return startServer("bunting-proxy, from publish", "servers/publishing-proxy.ts", [], core);
}

/** The proxy as it is shipped, on a directory whose file is renamed over: the time counts from before the rename. */
async function startWatchingProxy(core: number | undefined): Promise<Contender> {
  const folder = mkdtempSync(path.join(tmpdir(), "bunting-bench-"));
  // Written beside the watched directory, so that the rename is the first the proxy hears of it.
  const watched = path.join(folder, "watched");
  mkdirSync(watched);
  const served = path.join(watched, "bench.json");
  const waiting = path.join(folder, "bench.json");
  const write = (file: string, input: PublishInput) =>
    writeFileSync(file, encodeDocument(sequencedDocument(input)));
  write(served, { sequence: firstSequence, bytes: 1024 });
  const [port, managementPort] = [await freePort(), await freePort()];
  const name = "bunting-proxy, from rename";
  const where = ["--host", "127.0.0.1", "--port", String(port), "--management-port", String(managementPort)];
  const server = new ChildProcess({
    name,
    ...proxyBinary(),
    hasChannel: false,
    args: ["start", "--source", `dir:${watched}`, ...where],
    core,
  });
  await untilReady(`http://127.0.0.1:${managementPort}/readyz`, () => server.assertRuns());
  return {
    name,
    pid: server.pid,
    port,
    publish: (input) => {
      write(waiting, input);
      const publishedMs = monotonicMs();
      renameSync(waiting, served);
      return Promise.resolve({ publishedMs });
    },
    stop: async () => {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** By the names that `--servers` takes. */
export const contenders: Readonly<Record<string, (core: number | undefined) => Promise<Contender>>> = {
  plain: startPlainServer,
  yielding: startYieldingServer,
  publish: startPublishingProxy,
  rename: startWatchingProxy,
};
