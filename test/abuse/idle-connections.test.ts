import { expect } from "chai";
import { frame, frameType, preface, settingsAck } from "../../bench/load/http2-frames.js";
import { createConnection, type Socket } from "node:net";
import { eventually } from "../support/event-queue.js";
import { manifest } from "../support/manifests.js";
import { portOf, startProxy, type ProxyProcess } from "../support/proxy-process.js";
import { RawSyncConnection, type RawSyncStream } from "../support/raw-sync-client.js";
import { readMetric } from "../support/read-metric.js";
import { TempDirectory } from "../support/temp-directory.js";
import { TokenIssuer } from "../support/token-issuer.js";
import { requestFrames } from "./support/hostile-peer.js";

/** As many as fit into the memory for peers, and more. */
const holders = 400;
const peerMemory = "4Mi";
const nearlyAll = (15 / 16) * 4 * 1024 * 1024;
const selector = "core.openfeature.dev/team-a/flags";

/** Each keeps its connection in another state in which it asks for nothing that it gets. */
const opening = Buffer.concat([preface, frame(frameType.settings, 0, 0, Buffer.alloc(0)), settingsAck]);
const states: Readonly<Record<string, Buffer>> = {
  "nothing after SETTINGS": opening,
  "a call that is refused": Buffer.concat([
    opening,
    requestFrames(1, "/flagd.sync.v1.FlagSyncService/SyncFlags", { message: Buffer.alloc(0) }),
  ]),
  "a health check that goes on": Buffer.concat([
    opening,
    requestFrames(1, "/grpc.health.v1.Health/Watch", { message: Buffer.alloc(0) }),
  ]),
  "a call whose message does not come": Buffer.concat([
    opening,
    requestFrames(1, "/flagd.sync.v1.FlagSyncService/SyncFlags", { endsStream: false }),
  ]),
};

describe("connections that hold a place and have no credential", () => {
  const issuer = new TokenIssuer();
  const sockets = new Set<Socket>();
  const closing: (() => unknown)[] = [];
  let directory: TempDirectory;
  let flags: TempDirectory;
  let proxy: ProxyProcess;
  let isAttacking = true;

  beforeEach(async () => {
    isAttacking = true;
    directory = new TempDirectory();
    flags = new TempDirectory();
    directory.replace("jwks.json", issuer.keySet);
    flags.replace("flags.yaml", manifest("flags", 1, "team-a"));
    proxy = await startProxy(flags.path, [
      ...["--auth=token", "--auth-issuer", issuer.name, "--auth-jwks-file", directory.file("jwks.json")],
      `--peer-memory=${peerMemory}`,
    ]);
  });

  afterEach(async () => {
    isAttacking = false;
    for (const close of closing.splice(0)) close();
    for (const socket of sockets) socket.destroy();
    expect(await proxy.process.stop(), proxy.process.output).to.equal(0);
    directory.remove();
    flags.remove();
  });

  /** Opens a connection from another address than that of honest clients, again whenever it is closed. */
  function hold(bytes: Buffer): void {
    const socket = createConnection({ port: portOf(proxy), host: "127.0.0.1", localAddress: "127.0.0.2" });
    sockets.add(socket);
    socket.on("error", () => undefined);
    // Answers to PING are no bytes that keep anything.
    socket.on("data", () => undefined);
    socket.write(bytes);
    socket.on("close", () => {
      sockets.delete(socket);
      if (isAttacking) setImmediate(hold, bytes);
    });
  }

  async function subscribe(): Promise<RawSyncStream> {
    const connection = await RawSyncConnection.open(portOf(proxy));
    closing.push(() => connection.close());
    return connection.subscribe(selector, { authorization: `Bearer ${issuer.issue("team-a", "web")}` });
  }

  const heldBytes = (): Promise<number> =>
    readMetric(proxy.management, "bunting_proxy_service_peer_memory_bytes");
  const readiness = async (): Promise<string> => (await fetch(`${proxy.management}/readyz`)).text();

  for (const [name, bytes] of Object.entries(states))
    it(`give way to clients that are let in, while they come again (${name})`, async () => {
      for (let index = 0; index < holders; index++) hold(bytes);
      await eventually(async () => (await heldBytes()) > nearlyAll, "the memory to be full");

      const clients = await Promise.all(Array.from({ length: 20 }, () => subscribe()));

      await eventually(() => clients.every(({ versions }) => versions.length > 0), "flags of all clients");
      expect(clients.filter(({ status, resetCode }) => (status ?? resetCode) !== undefined)).to.deep.equal(
        [],
      );
      expect(await readiness()).to.equal("ready\n");
    });
});
