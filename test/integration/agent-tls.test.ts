import { once } from "node:events";
import { createConnection, type Socket } from "node:net";
import { FlagdProvider } from "@openfeature/flagd-provider";
import { OpenFeature, ProviderStatus } from "@openfeature/server-sdk";
import { expect } from "chai";
import { isReady, startAgent, type AgentProcess } from "../support/agent-process.js";
import { Authority } from "../support/certificates.js";
import { eventually, patienceMs } from "../support/event-queue.js";
import { patient } from "../support/patience.js";
import { readMetric } from "../support/read-metric.js";
import { agentImage, binaries, ServiceProcess } from "../support/service-process.js";
import { TempDirectory } from "../support/temp-directory.js";
import { Vitals } from "../abuse/support/vitals.js";

const flags = (colour: string): string =>
  JSON.stringify({
    flags: {
      colour: { state: "ENABLED", variants: { red: "red", blue: "blue" }, defaultVariant: colour },
    },
  });

const ended = "bunting_agent_api_connections_ended_total";

/** What one takes that goes no further. */
const handshakeKibibytes = 20;
/** More than the memory for peers has room for. */
const warmUp = 600;
const stuckHandshakes = 2_800;

describe("bunting-agent with TLS", () => {
  const directory = new TempDirectory();
  const running: ServiceProcess[] = [];
  const sockets: Socket[] = [];
  let agent: AgentProcess;
  let authority: Authority;

  before(async () => {
    authority = await Authority.create();
    const { cert, key } = await authority.issue();
    directory.replace("ca.crt", authority.cert);
    directory.replace("tls.crt", cert);
    directory.replace("tls.key", key);
    directory.replace("other.key", (await authority.issue()).key);
    directory.replace("flags.json", flags("red"));
    agent = await start("--uri", `file:${directory.file("flags.json")}`, ...files("tls.crt", "tls.key"));
  });
  after(async () => {
    for (const socket of sockets) socket.destroy();
    // A provider that is closed while it reconnects leaves its timer behind.
    const clients = ["rpc", "in-process", "meanwhile"].map((domain) => OpenFeature.getClient(domain));
    await eventually(
      () => clients.every(({ providerStatus }) => providerStatus === ProviderStatus.READY),
      "all providers are connected",
    );
    await OpenFeature.close();
    for (const one of running) expect(await one.stop(), one.output).to.equal(0);
    directory.remove();
  });

  async function start(...args: readonly string[]): Promise<AgentProcess> {
    const started = await startAgent(args);
    running.push(started.process);
    await eventually(() => isReady(started.management), "the agent is ready");
    return started;
  }

  function files(cert: string, key: string): readonly string[] {
    return ["-c", directory.file(cert), "-k", directory.file(key)];
  }

  async function refusal(...args: readonly string[]): Promise<string> {
    const uri = `file:${directory.file("flags.json")}`;
    const one = new ServiceProcess(binaries.agent, {
      args: ["start", "--uri", uri, ...args],
      image: agentImage,
    });
    expect(await one.exit, one.output).to.equal(1);
    return one.words.join("\n").replaceAll(`${directory.path}/`, "");
  }

  for (const [resolverType, service] of [
    ["rpc", "evaluation"],
    ["in-process", "sync"],
  ] as const)
    it(`serves the flagd provider from npm (${resolverType}), and an edit`, async () => {
      const provider = new FlagdProvider({
        resolverType,
        host: "localhost",
        port: agent.ports.get(service) ?? 0,
        tls: true,
        certPath: directory.file("ca.crt"),
        cache: "disabled",
        deadlineMs: patient(patienceMs),
      });
      directory.replace("flags.json", flags("red"));
      await OpenFeature.setProviderAndWait(resolverType, provider);
      const client = OpenFeature.getClient(resolverType);
      await eventually(
        async () => (await client.getStringValue("colour", "none")) === "red",
        "the flag is served",
      );

      directory.replace("flags.json", flags("blue"));

      await eventually(
        async () => (await client.getStringValue("colour", "none")) === "blue",
        "the edit arrives",
      );
    });

  it("is a source of another agent", async () => {
    const uri = `grpcs://localhost:${agent.ports.get("sync") ?? 0}`;
    const other = await start(
      "--sources",
      JSON.stringify([{ uri, provider: "grpc", certPath: directory.file("ca.crt") }]),
    );

    const answer = await fetch(`${other.ofrep}/ofrep/v1/evaluate/flags/colour`, { method: "POST" });

    expect(await answer.json()).to.include({ key: "colour", reason: "STATIC" });
  });

  it("serves OFREP and the management port without TLS, as flagd does", async () => {
    const answer = await fetch(`${agent.ofrep}/ofrep/v1/evaluate/flags/colour`, { method: "POST" });

    expect(answer.status).to.equal(200);
    expect((await fetch(`${agent.management}/healthz`)).status).to.equal(200);
  });

  it("bounds what 3,400 handshakes that do not go on make it hold, and lets clients in meanwhile", async () => {
    const vitals = new Vitals(agent.process.pid);
    const port = agent.ports.get("evaluation") ?? 0;
    for (let count = 0; count < warmUp + stuckHandshakes; count++) {
      if (count === warmUp) vitals.markWarm();
      const socket = createConnection(port, "127.0.0.1").resume();
      socket.on("error", () => undefined);
      sockets.push(socket);
      await once(socket, "connect");
      // A ClientHello of 16 KB of which most is here.
      socket.write(Buffer.concat([Buffer.from("1603014000010039fc0303", "hex"), Buffer.alloc(12_000)]));
    }

    const provider = new FlagdProvider({
      resolverType: "rpc",
      host: "localhost",
      port,
      tls: true,
      certPath: directory.file("ca.crt"),
      deadlineMs: patient(patienceMs),
    });
    await OpenFeature.setProviderAndWait("meanwhile", provider);

    expect(await OpenFeature.getClient("meanwhile").getStringValue("colour", "none")).to.be.oneOf([
      "red",
      "blue",
    ]);
    vitals.expectGrowth({ below: 36, attack: (stuckHandshakes * handshakeKibibytes) / 1024 });
    vitals.stop();
    await eventually(
      async () => (await readMetric(agent.management, `${ended}{reason="memory"}`)) > 300,
      "stuck handshakes are ended",
    );
  });

  it("refuses to start where TLS can't be had, and says what to do", async () => {
    expect(await refusal("-c", directory.file("tls.crt"))).to.contain(
      "only --server-cert-path is set: set --server-key-path too, or neither",
    );
    expect(await refusal("-k", directory.file("tls.key"))).to.contain(
      "only --server-key-path is set: set --server-cert-path too, or neither",
    );
    expect(await refusal(...files("tls.crt", "none.key"))).to.contain(
      "the private key none.key can't be read (ENOENT): name a file that this user may read with --server-key-path",
    );
    expect(await refusal(...files("tls.crt", "other.key"))).to.contain(
      "the private key other.key is not that of the certificate tls.crt: name a pair with --server-cert-path and --server-key-path",
    );
  });
});
