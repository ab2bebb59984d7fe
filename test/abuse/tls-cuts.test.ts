import { readdirSync } from "node:fs";
import { connect } from "node:tls";
import { expect } from "chai";
import { connectionOpening } from "../../bench/load/http2-frames.js";
import { isReady, startAgent } from "../support/agent-process.js";
import { Authority } from "../support/certificates.js";
import { eventually } from "../support/event-queue.js";
import { manifest } from "../support/manifests.js";
import { startProxy } from "../support/proxy-process.js";
import type { ServiceProcess } from "../support/service-process.js";
import { TempDirectory } from "../support/temp-directory.js";
import { maxGrowthMebibytes } from "./support/attacked-agent.js";
import { CutSocket, type Cut } from "./support/cut-socket.js";
import { requestFrames } from "./support/hostile-peer.js";
import { Vitals } from "./support/vitals.js";

const connectionsAtOnce = 20;
/** Odd, so that each second cut is at an odd place. */
const cutEveryBytes = 3;
const windowBytes = 1_048_576;

interface Service {
  readonly process: ServiceProcess;
  readonly management: string;
  readonly port: number;
  readonly path: string;
  readonly message: Uint8Array;
}

/** An exchange over TLS that is cut, by RST and FIN in turn, everywhere in either direction. */
describe("connections over TLS that are cut anywhere", () => {
  const directory = new TempDirectory();
  const flags = new TempDirectory();
  let authority: Authority;
  let service: Service | undefined;

  before(async () => {
    authority = await Authority.create();
    const { cert, key } = await authority.issue();
    directory.replace("tls.crt", cert);
    directory.replace("tls.key", key);
  });

  afterEach(async () => {
    expect(await service?.process.stop(), service?.process.output).to.equal(0);
    expect(service?.process.logs.filter(({ level }) => level === "error")).to.deep.equal([]);
  });

  after(() => {
    directory.remove();
    flags.remove();
  });

  async function agent(): Promise<Service> {
    const on = { state: "ENABLED", variants: { on: true }, defaultVariant: "on" };
    directory.replace("flags.json", JSON.stringify({ flags: { on } }));
    const pair = ["-c", directory.file("tls.crt"), "-k", directory.file("tls.key")];
    const started = await startAgent(["--uri", `file:${directory.file("flags.json")}`, ...pair]);
    await eventually(() => isReady(started.management), "the agent is ready");
    return {
      ...started,
      port: started.ports.get("evaluation") ?? 0,
      path: "/flagd.evaluation.v1.Service/ResolveBoolean",
      message: Buffer.of(0x0a, 2, 0x6f, 0x6e),
    };
  }

  async function proxy(): Promise<Service> {
    flags.replace("flags.yaml", manifest("flags", 1));
    const pair = ["--tls-cert-path", directory.file("tls.crt"), "--tls-key-path", directory.file("tls.key")];
    const drain = ["--drain-delay=0", "--drain-window=0"];
    const started = await startProxy(flags.path, ["--tls=on", ...drain, ...pair]);
    return {
      ...started,
      port: Number(started.sync.split(":").at(-1)),
      path: "/flagd.sync.v1.FlagSyncService/FetchAllFlags",
      message: Buffer.concat([Buffer.of(0x12, 13), Buffer.from("default/flags")]),
    };
  }

  /** One request over TLS; resolves with the bytes of each direction once the connection has ended on both sides. */
  async function exchange({ port, path, message }: Service, cut?: Cut): Promise<CutSocket["bytes"]> {
    const socket = new CutSocket(port, cut);
    const client = connect({ socket, ca: authority.cert, servername: "localhost", ALPNProtocols: ["h2"] });
    client.on("error", () => undefined);
    client.on("secureConnect", () => {
      client.write(Buffer.concat([connectionOpening(windowBytes), requestFrames(1, path, { message })]));
    });
    // Trailers are the last that an answer has: now this side ends the connection, if it is not cut before.
    let text = "";
    client.on("data", (chunk: Buffer) => {
      text += chunk.toString("latin1");
      if (text.includes("grpc-status")) client.end();
    });
    await socket.gone();
    client.destroy();
    return socket.bytes;
  }

  for (const [name, start] of Object.entries({ agent, proxy })) {
    it(`leave nothing behind in the ${name}`, async () => {
      service = await start();
      const started = service;
      const descriptors = (): number => readdirSync(`/proc/${started.process.pid}/fd`).length;
      const total = await exchange(started);
      expect(total.toClient).to.be.above(1_000);
      const before = descriptors();
      const cuts: Cut[] = (["toServer", "toClient"] as const).flatMap((of) =>
        Array.from({ length: Math.ceil(total[of] / cutEveryBytes) }, (_, index) => ({
          of,
          afterBytes: index * cutEveryBytes,
          isReset: index % 2 === 0,
        })),
      );
      const vitals = new Vitals(started.process.pid);
      const cutAll = async (some: Iterator<Cut>): Promise<void> => {
        for (let next = some.next(); next.done !== true; next = some.next())
          await exchange(started, next.value);
      };
      const all = cuts.values();
      await Promise.all(Array.from({ length: connectionsAtOnce }, () => cutAll(all)));

      // The process may have opened one of its own meanwhile.
      await eventually(() => descriptors() <= before + 1, "the descriptors to be closed");
      expect((await exchange(started)).toClient).to.be.above(1_000);
      vitals.expectWithinContainer(maxGrowthMebibytes);
      vitals.stop();
    });
  }
});
