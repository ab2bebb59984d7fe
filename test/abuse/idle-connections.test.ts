import { syncV1 } from "@bunting/protocol";
import { expect } from "chai";
import { frame, frameType, preface, settingsAck } from "../../bench/load/http2-frames.js";
import { createConnection, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { Authority } from "../support/certificates.js";
import { eventually } from "../support/event-queue.js";
import { manifest } from "../support/manifests.js";
import { MemoryCgroup } from "../support/memory-cgroup.js";
import { portOf, startProxyOn, type ProxyProcess } from "../support/proxy-process.js";
import { RawSyncConnection, type RawSyncStream } from "../support/raw-sync-client.js";
import { readMetric } from "../support/read-metric.js";
import { TempDirectory } from "../support/temp-directory.js";
import { TokenIssuer } from "../support/token-issuer.js";
import { requestFrames } from "./support/hostile-peer.js";
import { mebibyte } from "./support/vitals.js";

/** As many as fit into the memory for peers, and more. */
const holders = 400;
const memoryMebibytes = { plain: 4, tls: 16 };
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
  "a health check that was answered": Buffer.concat([
    opening,
    requestFrames(1, "/grpc.health.v1.Health/Check", { message: Buffer.alloc(0) }),
  ]),
  "a call whose message does not come": Buffer.concat([
    opening,
    requestFrames(1, "/flagd.sync.v1.FlagSyncService/SyncFlags", { endsStream: false }),
  ]),
};

/** What holders have sent once TLS is there. */
const statesOverTls: Readonly<Record<string, Buffer>> = {
  "nothing after the handshake": Buffer.alloc(0),
  "half of the preface": preface.subarray(0, 12),
  "nothing after SETTINGS": opening,
};

describe("connections that hold a place and have no credential", () => {
  const issuer = new TokenIssuer();
  const sockets = new Set<Socket>();
  const closing: (() => unknown)[] = [];
  let directory: TempDirectory;
  let flags: TempDirectory;
  let authority: Authority;
  let proxy: ProxyProcess;
  let group: MemoryCgroup | undefined;
  let isAttacking = true;

  before(async () => (authority = await Authority.create()));
  beforeEach(() => {
    isAttacking = true;
    group = MemoryCgroup.isAvailable ? new MemoryCgroup(512 * mebibyte) : undefined;
    directory = new TempDirectory();
    flags = new TempDirectory();
    directory.replace("jwks.json", issuer.keySet);
    flags.replace("flags.yaml", manifest("flags", 1, "team-a"));
  });

  afterEach(async () => {
    isAttacking = false;
    for (const close of closing.splice(0)) close();
    for (const socket of sockets) socket.destroy();
    expect(await proxy.process.stop(), proxy.process.output).to.equal(0);
    expect(group?.kills ?? 0).to.equal(0);
    await group?.remove();
    directory.remove();
    flags.remove();
  });

  async function start(auth: "token" | "optional", ...args: readonly string[]): Promise<void> {
    const keys = ["--auth-issuer", issuer.name, "--auth-jwks-file", directory.file("jwks.json")];
    const kind = args.length === 0 ? "plain" : "tls";
    const all = [`--auth=${auth}`, ...keys, `--peer-memory=${memoryMebibytes[kind]}Mi`, ...args];
    proxy = await startProxyOn(`dir:${flags.path}`, all, {}, group?.wrapper);
  }

  /** Opens a connection from another address than that of honest clients, again whenever it is closed. */
  function hold(bytes: Buffer, isTls = false): void {
    const plain = createConnection({ port: portOf(proxy), host: "127.0.0.1", localAddress: "127.0.0.2" });
    const socket = isTls ? connectTls({ socket: plain, rejectUnauthorized: false }) : plain;
    sockets.add(socket);
    for (const each of [plain, socket]) each.on("error", () => undefined);
    // Answers to PING are no bytes that keep anything.
    socket.on("data", () => undefined);
    socket.write(bytes);
    socket.on("close", () => {
      sockets.delete(socket);
      // Handshakes without a pause would keep this process busy, which is that of the clients, too.
      if (isAttacking) setTimeout(hold, isTls ? 2_000 : 0, bytes, isTls);
    });
  }

  async function subscribe(tls?: { readonly ca: string }): Promise<RawSyncStream> {
    const connection = await RawSyncConnection.open(portOf(proxy), undefined, tls);
    closing.push(() => connection.close());
    return connection.subscribe(selector, { authorization: `Bearer ${issuer.issue("team-a", "web")}` });
  }

  async function expectLetIn(tls?: { readonly ca: string }): Promise<void> {
    const clients = await Promise.all(Array.from({ length: 20 }, () => subscribe(tls)));
    await eventually(() => clients.every(({ versions }) => versions.length > 0), "flags of all clients");
    expect(clients.filter(({ status, resetCode }) => (status ?? resetCode) !== undefined)).to.deep.equal([]);
    expect(await readiness()).to.match(/^ready(\n$|, but new clients are refused)/);
  }

  async function isFull(): Promise<void> {
    const metric = (name: string): Promise<number> =>
      readMetric(proxy.management, `bunting_proxy_service_peer_memory_${name}`);
    const budget = await metric("budget_bytes");
    await eventually(async () => (await metric("bytes")) > (15 / 16) * budget, "the memory to be full");
  }
  const readiness = async (): Promise<string> => (await fetch(`${proxy.management}/readyz`)).text();

  for (const [name, bytes] of Object.entries(states))
    it(`give way to clients that are let in, while they come again (${name})`, async () => {
      await start("token");
      for (let index = 0; index < holders; index++) hold(bytes);
      await isFull();
      await expectLetIn();
    });

  for (const [name, bytes] of Object.entries(statesOverTls))
    it(`give way over TLS, too (${name})`, async () => {
      const { cert, key } = await authority.issue();
      directory.replace("tls.crt", cert);
      directory.replace("tls.key", key);
      const pair = [
        "--tls-cert-path",
        directory.file("tls.crt"),
        "--tls-key-path",
        directory.file("tls.key"),
      ];
      await start("token", "--tls=on", ...pair);
      for (let index = 0; index < holders; index++) hold(bytes, true);
      await isFull();
      await expectLetIn({ ca: authority.cert });
    });

  it("give way also where they are served flags without one, if one address holds most of the memory", async () => {
    await start("optional");
    const subscription = syncV1.SyncFlagsRequest.encode({ providerId: "", selector }).finish();
    const call = requestFrames(1, "/flagd.sync.v1.FlagSyncService/SyncFlags", { message: subscription });
    for (let index = 0; index < holders; index++) hold(Buffer.concat([opening, call]));
    await isFull();
    // From now on those that are let in only hold their places.
    isAttacking = false;
    await expectLetIn();
  });
});
