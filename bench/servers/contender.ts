import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { encodeDocument } from "@bunting/protocol";
import { Authority, type CertificatePair } from "@bunting/test/support/certificates.js";
import { freePort } from "@bunting/test/support/free-port.js";
import { imageEntrypoint } from "../../scripts/images/image-entrypoint.js";
import { firstSequence, sequencedDocument } from "../fixtures/sequenced-document.js";
import { proxyBinary } from "../support/binaries.js";
import { bundle } from "../support/bundle.js";
import { ChildProcess } from "../support/child-process.js";
import { monotonicMs } from "../support/monotonic.js";
import { untilReady } from "../support/wait.js";
import type { ConvergingHandlers, Published, PublishInput } from "./server-handlers.js";

/** One of the servers whose broadcasts are measured. */
export interface Contender {
  readonly pid: number;
  readonly port: number;
  publish(input: PublishInput): Promise<Published>;
  /** When the server knew that every subscriber has the latest document; absent if it can't know. */
  converged?(): Promise<{ convergedMs: number }>;
  /** What its clients have to present. */
  readonly clientCertificate?: CertificatePair | undefined;
  stop(): Promise<void>;
}

/** The key of the server's certificate; `mutual` is P-256, and clients have to present a certificate. */
type Tls = "P-256" | "RSA-2048" | "mutual";

export const benchTopic = "default/bench";

interface ServerScript {
  readonly script: string;
  readonly args?: readonly string[];
  readonly converges?: boolean;
}

/** A server that gets documents from the case over its channel. */
async function startServer(server: ServerScript, core: number | undefined): Promise<Contender> {
  const { script, args = [], converges = false } = server;
  const child = new ChildProcess<ConvergingHandlers>({
    name: script,
    script: await bundle(script, "proxy"),
    args,
    ...imageEntrypoint("proxy.Dockerfile"),
    core,
  });
  const { port } = await child.call("listen", null);
  return {
    pid: child.pid,
    port,
    publish: (input) => child.call("publish", input),
    ...(converges ? { converged: () => child.call("converged", null) } : {}),
    stop: () => child.stop(),
  };
}

/** Writes the files of TLS, and returns the options that name them. */
async function setUpTls(
  folder: string,
  tls: Tls,
): Promise<{ args: readonly string[]; clientCertificate?: CertificatePair }> {
  const authority = await Authority.create();
  const { cert, key } = await authority.issue(tls === "mutual" ? {} : { key: tls });
  const write = (name: string, content: string): string => {
    const file = path.join(folder, name);
    writeFileSync(file, content);
    return file;
  };
  const files = ["--tls-cert-path", write("tls.crt", cert), "--tls-key-path", write("tls.key", key)];
  const args = ["--tls=on", ...files];
  if (tls !== "mutual") return { args };
  return {
    args: [...args, "--tls-client-auth=require", "--tls-client-ca-path", write("ca.crt", authority.cert)],
    clientCertificate: await authority.issue({ uris: ["spiffe://cluster.local/ns/default/sa/bench"] }),
  };
}

/** The shipped proxy on a directory in which a new file is renamed over the old one: the time starts before the rename. */
async function startWatchingProxy(core: number | undefined, tls?: Tls): Promise<Contender> {
  const folder = mkdtempSync(path.join(tmpdir(), "bunting-bench-"));
  // Written outside the watched directory, so that the rename is the first event the proxy sees.
  const watched = path.join(folder, "watched");
  mkdirSync(watched);
  const served = path.join(watched, "bench.json");
  const waiting = path.join(folder, "bench.json");
  const write = (file: string, input: PublishInput) =>
    writeFileSync(file, encodeDocument(sequencedDocument(input)));
  write(served, { sequence: firstSequence, bytes: 1024 });
  const [port, managementPort] = [await freePort(), await freePort()];
  const where = ["--host", "127.0.0.1", "--port", String(port), "--management-port", String(managementPort)];
  const { args = [], clientCertificate } = tls === undefined ? {} : await setUpTls(folder, tls);
  const server = new ChildProcess({
    name: "bunting-proxy",
    ...proxyBinary(),
    hasChannel: false,
    args: ["start", "--source", `dir:${watched}`, ...where, ...args],
    core,
  });
  await untilReady(`http://127.0.0.1:${managementPort}/readyz`, () => server.assertRuns());
  return {
    pid: server.pid,
    port,
    clientCertificate,
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

/** All servers, by the names that `--servers` takes. */
export const contenders = {
  /** Writes one shared buffer to each socket of node:net. */
  floor: (core) => startServer({ script: "servers/floor-server.ts" }, core),
  /** Writes one shared buffer to each stream of node:http2. */
  plain: (core) => startServer({ script: "servers/plain-server.ts" }, core),
  yielding: (core) => startServer({ script: "servers/plain-server.ts", args: ["--yield=256"] }, core),
  /** grpc-js, with one write of the message per call. */
  naive: (core) => startServer({ script: "servers/naive-server.ts" }, core),
  /** The proxy's own stages from topic to stream, behind a source that the case drives. */
  publish: (core) => startServer({ script: "servers/publishing-proxy.ts", converges: true }, core),
  rename: (core) => startWatchingProxy(core),
  "rename-tls": (core) => startWatchingProxy(core, "P-256"),
  "rename-rsa": (core) => startWatchingProxy(core, "RSA-2048"),
  "rename-mutual": (core) => startWatchingProxy(core, "mutual"),
} satisfies Record<string, (core: number | undefined) => Promise<Contender>>;

export type ContenderName = keyof typeof contenders;
