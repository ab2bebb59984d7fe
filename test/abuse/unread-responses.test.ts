import { expect } from "chai";
import { reflectionV1 } from "@bunting/protocol";
import { eventually } from "../support/event-queue.js";
import { startProxy, type ProxyProcess } from "../support/proxy-process.js";
import { readMetric } from "../support/read-metric.js";
import { TempDirectory } from "../support/temp-directory.js";
import { HostilePeer, prefixed } from "./support/hostile-peer.js";
import { dataFrame } from "../../bench/load/http2-frames.js";
import { mebibyte, Vitals } from "./support/vitals.js";

const selector = Buffer.concat([Buffer.of(0x12, 13), Buffer.from("default/flags")]);
const fetchAll = "/flagd.sync.v1.FlagSyncService/FetchAllFlags";
const documentMebibytes = 1;
const questionsPerCall = 300;
/** Of server reflection, at least. */
const answerBytes = 1_600;
const reflection = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";

/** A FeatureFlag whose document is 1 MiB. */
const manifest = JSON.stringify({
  apiVersion: "core.openfeature.dev/v1beta1",
  kind: "FeatureFlag",
  metadata: { name: "flags" },
  spec: {
    flagSpec: {
      flags: Object.fromEntries(
        Array.from({ length: 1_000 }, (_, index) => [
          `flag-${index}`,
          { state: "ENABLED", variants: { on: "x".repeat(1_000) }, defaultVariant: "on" },
        ]),
      ),
    },
  },
});

/** Clients whose window is 0, so that they take no byte of any response, or that do not read their socket. */
describe("responses that are not read", () => {
  let directory: TempDirectory;
  let proxy: ProxyProcess;
  let vitals: Vitals;
  const peers: HostilePeer[] = [];

  beforeEach(async () => {
    directory = new TempDirectory();
    directory.replace("flags.json", manifest);
    proxy = await startProxy(directory.path, [
      ...["--stall-timeout", "2s", "--keepalive-interval", "0"],
      ...["--drain-delay", "0", "--drain-window", "0"],
    ]);
    vitals = new Vitals(proxy.process.pid);
  });

  afterEach(async () => {
    vitals.stop();
    for (const peer of peers.splice(0)) peer.destroy();
    expect(await proxy.process.stop(), proxy.process.output).to.equal(0);
    directory.remove();
  });

  async function connect(options: Parameters<typeof HostilePeer.connect>[1] = {}): Promise<HostilePeer> {
    const peer = await HostilePeer.connect(Number(proxy.sync.split(":")[1]), { windowBytes: 0, ...options });
    peers.push(peer);
    return peer;
  }

  function metric(series: string): Promise<number> {
    return readMetric(proxy.management, series);
  }

  it("cost one frame, however many calls of FetchAllFlags have it, and are reset after the stall timeout", async () => {
    const peer = await connect();
    const calls = 300;
    const warmUp = calls / 4;
    for (let call = 0; call < calls; call++) {
      if (call === warmUp) vitals.markWarm();
      await peer.request(fetchAll, { message: selector });
    }
    await eventually(() => peer.resets.size === calls, "resets");
    expect(new Set(peer.resets.values()), "REFUSED_STREAM").to.deep.equal(new Set([7]));
    expect(peer.isClosed).to.equal(false);
    expect(await metric("bunting_proxy_subscriber_stalled_total")).to.equal(calls);
    vitals.expectGrowth({ below: 96, attack: (calls - warmUp) * documentMebibytes });
  });

  it("of server reflection stop the reading of requests", async () => {
    const peer = await connect();
    const question = prefixed(
      reflectionV1.ServerReflectionRequest.encode({
        host: "",
        messageRequest: { $case: "fileContainingSymbol", value: "flagd.sync.v1.FlagSyncService" },
      }).finish(),
    );
    const questions = Buffer.concat(Array<Buffer>(questionsPerCall).fill(question));
    const calls = 300;
    const warmUp = calls / 4;
    for (let call = 0; call < calls; call++) {
      if (call === warmUp) vitals.markWarm();
      const streamId = await peer.request(reflection, { endsStream: false });
      await peer.send(dataFrame(streamId, questions, false));
    }
    await eventually(() => peer.resets.size === calls, "resets");
    const attack = ((calls - warmUp) * questionsPerCall * answerBytes) / mebibyte;
    vitals.expectGrowth({ below: 64, attack });
  });

  it("are reset after the stall timeout, whatever the method; an error needs no window", async () => {
    const peer = await connect();
    const empty = Buffer.alloc(0);
    const unread = [
      await peer.request("/grpc.health.v1.Health/Check", { message: empty }),
      await peer.request("/grpc.health.v1.Health/Watch", { message: empty, endsStream: false }),
      await peer.request("/flagd.sync.v1.FlagSyncService/SyncFlags", {
        message: selector,
        endsStream: false,
      }),
      await peer.request("/flagd.sync.v1.FlagSyncService/GetMetadata", { message: empty }),
    ];
    const refused = [
      await peer.request("/x", { message: empty, headers: { "content-type": "text/plain" } }),
      await peer.request("/flagd.sync.v1.FlagSyncService/NoSuchMethod", { message: empty }),
    ];
    await eventually(() => unread.every((streamId) => peer.resets.has(streamId)), "resets");
    expect([...peer.ended]).to.deep.equal(refused);
    expect(peer.isClosed).to.equal(false);
  });

  it("end the connection of a peer that does not read its socket", async () => {
    const peer = await connect({ windowBytes: 2 ** 31 - 1, reads: false });
    const calls = 300;
    const warmUp = calls / 4;
    for (let call = 0; call < calls; call++) {
      if (call === warmUp) vitals.markWarm();
      await peer.request(fetchAll, { message: selector });
    }
    // More than a connection's window, or flow control would hold the responses back.
    const all = Buffer.of(0, 0, 4, 8, 0, 0, 0, 0, 0, 0x7f, 0xff, 0, 0);
    await peer.send(all);
    await eventually(
      async () => (await metric('bunting_proxy_service_connections_ended_total{reason="stalled"}')) === 1,
      "the end of the connection",
    );
    vitals.expectGrowth({ below: 96, attack: (calls - warmUp) * documentMebibytes });
  });
});
