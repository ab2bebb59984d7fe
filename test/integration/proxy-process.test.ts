import { existsSync, readdirSync, rmSync } from "node:fs";
import { createServer, connect, type AddressInfo, type Server } from "node:net";
import { healthV1, reflectionV1 } from "@bunting/protocol";
import { Client, credentials, status } from "@grpc/grpc-js";
import { proxyOptionTable } from "@bunting/proxy";
import { expect } from "chai";
import { AgentConnection } from "../support/agent-client.js";
import { eventually } from "../support/event-queue.js";
import { manifest, versionOf } from "../support/manifests.js";
import { portOf, startProxy } from "../support/proxy-process.js";
import { binaries, ServiceProcess } from "../support/service-process.js";
import { StalledSubscriber } from "../support/stalled-subscribers.js";
import { StockSyncClient } from "../support/stock-sync-client.js";
import { TempDirectory } from "../support/temp-directory.js";

/** What a process that can't start leaves behind: its words and its exit code. */
async function refusal(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> {
  const proxy = new ServiceProcess(binaries.proxy, { args, env });
  expect(await proxy.exit, proxy.output).to.equal(1);
  return proxy.words.join("\n");
}

describe("bunting-proxy as a process", () => {
  let directory: TempDirectory;
  const running: ServiceProcess[] = [];
  const clients: StockSyncClient[] = [];

  const start = async (args: readonly string[] = []) => {
    const proxy = await startProxy(directory.path, args);
    running.push(proxy.process);
    const client = new StockSyncClient(proxy.sync);
    clients.push(client);
    return { ...proxy, client };
  };

  beforeEach(() => (directory = new TempDirectory()));
  afterEach(async () => {
    for (const client of clients.splice(0)) client.close();
    for (const one of running.splice(0)) await one.stop("SIGKILL");
    directory.remove();
  });

  describe("start", () => {
    it("ends with a sentence that names --source dir:PATH where there is no source", async () => {
      expect(await refusal(["start"])).to.match(
        /^bunting-proxy: there is no source of flags, and this is no Pod of a cluster: .*--source dir:PATH/,
      );
      expect(await refusal(["start", "--source", "ftp:x"])).to.contain("--source dir:PATH");
    });

    it("says which port is taken and which option chooses another, without a stack", async () => {
      const taken: Server = createServer().listen(0, "127.0.0.1");
      await new Promise((resolve) => taken.once("listening", resolve));
      const { port } = taken.address() as AddressInfo;
      const source = ["--source", `dir:${directory.path}`, "--host", "127.0.0.1"];
      const words = await refusal(["start", ...source, "--port", `${port}`, "--management-port", "0"]);
      taken.close();
      expect(words).to.equal(
        `bunting-proxy: port ${port} of 127.0.0.1 is taken by another process: stop that one, or choose another port with --port`,
      );
    });

    it("says which two options name one port", async () => {
      const source = ["--source", `dir:${directory.path}`];
      expect(await refusal(["start", ...source, "--management-port", "8015"])).to.equal(
        "bunting-proxy: --port and --management-port are both 8015: choose another port with one of them",
      );
    });

    it("ends at once with the one reason where it needs a cluster and there is none, without a drain that nobody would notice", async () => {
      const common = ["start", "--host", "127.0.0.1", "--port", "0", "--management-port", "0"];
      const noCluster = "no cluster was found: ";
      for (const [reason, args] of [
        [noCluster, ["--source", "kubernetes"]],
        [
          `--auth=token asks an API server who callers are: ${noCluster}`,
          ["--source", `dir:${directory.path}`, "--auth", "token"],
        ],
      ] as const) {
        // Without a HOME, which may have a kubeconfig.
        const proxy = new ServiceProcess(binaries.proxy, {
          args: [...common, ...args],
          env: { HOME: directory.path, KUBECONFIG: "", KUBERNETES_SERVICE_HOST: "" },
        });
        expect(await proxy.exit, proxy.output).to.equal(1);
        expect(proxy.words, proxy.output).to.have.lengthOf(1);
        expect(proxy.words[0]?.startsWith(`bunting-proxy: ${reason}`), proxy.words[0]).to.equal(true);
      }
    });

    it("refuses to start with flags, keys and variables that it does not know, each of which could leave a door open", async () => {
      directory.replace("options.yaml", "auht: token\n");
      const file = directory.file("options.yaml");
      const cases: readonly (readonly [string[], Record<string, string>, string])[] = [
        [
          ["--auht", "token", "--tsl", "on"],
          {},
          "unknown flags: --auht (did you mean --auth?), --tsl (did you mean --tls?)",
        ],
        [["--config", file], {}, `unknown key "auht" in the config file ${file} (did you mean --auth?)`],
        [
          [],
          { BUNTING_AUHT: "token" },
          "unknown environment variable: BUNTING_AUHT (did you mean BUNTING_AUTH?)",
        ],
      ];
      for (const [args, env, reason] of cases) {
        const source = ["--source", `dir:${directory.path}`, "--port=0", "--management-port=0"];
        const proxy = new ServiceProcess(binaries.proxy, { args: ["start", ...source, ...args], env });
        expect(await proxy.exit, proxy.output).to.equal(1);
        expect(proxy.words[0], proxy.output).to.contain(`bunting-proxy: ${reason}`);
      }
    });

    it("starts with what the stock operator passes, and with Kubernetes service links in its environment", async () => {
      const proxy = new ServiceProcess(binaries.proxy, {
        args: ["start", "--management-port", "0", "--debug"],
        env: {
          BUNTING_SOURCE: `dir:${directory.path}`,
          FLAGD_PROXY_PORT: "tcp://10.0.0.1:80",
          BUNTING_PORT: "0",
          BUNTING_HOST: "127.0.0.1",
          BUNTING_PROXY_PORT: "tcp://10.0.0.1:8015",
          BUNTING_PROXY_SERVICE_HOST: "10.0.0.1",
          BUNTING_PROXY_PORT_8015_TCP_ADDR: "10.0.0.1",
        },
      });
      running.push(proxy);
      await proxy.nextLog("listening");
      expect(await proxy.stop()).to.equal(0);
    });

    it("listens at once, whatever the source does, and is not ready until it was read (P-16)", async () => {
      // A FIFO in place of the directory is never read to its end.
      const missing = directory.file("not-there-yet");
      const { process, management, client } = await startProxy(missing).then((proxy) => {
        running.push(proxy.process);
        const one = new StockSyncClient(proxy.sync);
        clients.push(one);
        return { ...proxy, client: one };
      });
      const early = client.subscribe({ selector: "default/flags" });
      await early.headers;
      const notReady = await fetch(`${management}/readyz`);
      expect([notReady.status, await notReady.text()]).to.deep.equal([
        412,
        "waiting for the source to be read for the first time\n",
      ]);
      expect((await fetch(`${management}/healthz`)).status).to.equal(200);
      expect(process.child.exitCode).to.equal(null);
    });
  });

  describe("serving", () => {
    it("serves both protocols, by header or field, FetchAllFlags and GetMetadata (P-13, P-14)", async () => {
      directory.replace("flags.yaml", manifest("flags", 1, "demo"));
      const { client } = await start();
      const selector = "core.openfeature.dev/demo/flags";
      const byHeader = await client
        .subscribe({ header: selector, selector: "demo/other" })
        .messages.nextEvent();
      expect(versionOf(byHeader.text)).to.equal(1);
      expect(byHeader.syncContext).to.deep.equal({});
      const byField = await client.subscribe({ selector: "demo/flags" }).messages.nextEvent();
      expect(byField.text).to.equal(byHeader.text);
      const legacy = await client.subscribe({ selector, legacy: true }).messages.nextEvent();
      expect([legacy.text, legacy.state]).to.deep.equal([byHeader.text, 1]);
      expect(await client.fetchAll(selector)).to.equal(byHeader.text);
      expect(await client.fetchAll(selector, true)).to.equal(byHeader.text);
      expect(await client.metadata()).to.deep.equal({});
    });

    it("holds a subscriber of a FeatureFlag that does not exist, through its leaving and coming back (P-6)", async () => {
      const { client, process } = await start();
      const first = client.subscribe({ selector: "default/flags" });
      await first.headers;
      await process.nextLog("the FeatureFlag does not exist; its subscribers are held until it does");
      first.cancel();
      await first.ended;
      const second = client.subscribe({ selector: "default/flags" });
      await second.headers;
      directory.replace("flags.yaml", manifest("flags", 1));
      expect(versionOf((await second.messages.nextEvent()).text)).to.equal(1);
    });

    for (const { policy, expected } of [
      { policy: "empty", expected: '{"flags":{}}' },
      { policy: "close", expected: status.NOT_FOUND },
    ]) {
      it(`passes a deletion on as --deletion-policy ${policy} says, and serves the FeatureFlag when it is back (P-5)`, async () => {
        directory.replace("flags.yaml", manifest("flags", 1));
        const { client } = await start(["--deletion-policy", policy, "--deletion-grace", "100ms"]);
        const old = client.subscribe({ selector: "default/flags" });
        await old.messages.nextEvent();
        rmSync(directory.file("flags.yaml"));
        const last = policy === "close" ? (await old.ended).code : (await old.messages.nextEvent()).text;
        expect(last).to.equal(expected);
        const next = policy === "close" ? client.subscribe({ selector: "default/flags" }) : old;
        directory.replace("flags.yaml", manifest("flags", 2));
        expect(
          versionOf((await next.messages.nextMatching(({ text }) => text.includes("version"))).text),
        ).to.equal(2);
      });
    }

    it("serves a deleted FeatureFlag on to old and new subscribers by default", async () => {
      directory.replace("flags.yaml", manifest("flags", 1));
      const { client, process, sync } = await start(["--deletion-grace", "50ms"]);
      const old = client.subscribe({ selector: "default/flags" });
      await old.messages.nextEvent();
      const connection = await AgentConnection.open(portOf({ sync }));
      const agent = connection.stream();
      agent.subscribe("default/flags");
      agent.ack("default/flags", (await agent.next("snapshot")).version?.digest);
      rmSync(directory.file("flags.yaml"));
      await agent.next("deleted");
      connection.close();
      expect(process.logs.some(({ msg }) => msg.includes("deleted"))).to.equal(true);
      const late = await client.subscribe({ selector: "default/flags" }).messages.nextEvent();
      expect(versionOf(late.text)).to.equal(1);
      expect(old.messages.size).to.equal(0);
    });

    it("keeps the last good flags of a file that became invalid, and says once where it is wrong", async () => {
      directory.replace("flags.yaml", manifest("flags", 1));
      const { client, process, management } = await start();
      const one = client.subscribe({ selector: "default/flags" });
      await one.messages.nextEvent();
      directory.replace("flags.yaml", manifest("flags", 2).replace("variants:", "variants: ["));
      await eventually(() => process.logs.some(({ level }) => level === "error"), "an error line");
      const [error, ...more] = process.logs.filter(({ level }) => level === "error");
      expect(error).to.include({ file: directory.file("flags.yaml") });
      expect(error?.["line"]).to.be.within(1, manifest("flags", 2).split("\n").length + 1);
      expect(more).to.deep.equal([]);
      expect(await (await fetch(`${management}/metrics`)).text()).to.match(
        /bunting_proxy_source_invalid_documents_total(\{[^}]*\})? 1/,
      );
      directory.replace("flags.yaml", manifest("flags", 3));
      expect(versionOf((await one.messages.nextEvent()).text)).to.equal(3);
    });
  });

  it("answers gRPC health on both ports, and reflection on the sync port", async () => {
    const { sync, management } = await start();
    const ask = <Answer>(
      address: string,
      path: string,
      request: Buffer,
      decode: (bytes: Buffer) => Answer,
    ): Promise<Answer> => {
      const client = new Client(address, credentials.createInsecure());
      return new Promise<Answer>((resolve, reject) => {
        const call = client.makeBidiStreamRequest(path, (bytes: Buffer) => bytes, decode);
        call.once("data", resolve).once("error", reject);
        call.write(request);
      }).finally(() => client.close());
    };
    const check = Buffer.from(healthV1.HealthCheckRequest.encode({ service: "" }).finish());
    const decodeHealth = (bytes: Buffer) => healthV1.HealthCheckResponse.decode(bytes).status;
    for (const address of [sync, new URL(management).host]) {
      await eventually(
        async () => (await ask(address, "/grpc.health.v1.Health/Watch", check, decodeHealth)) === 1,
        `SERVING on ${address}`,
      );
    }
    const list = reflectionV1.ServerReflectionRequest.encode({
      host: "",
      messageRequest: { $case: "listServices", value: "" },
    }).finish();
    const answer = await ask(
      sync,
      "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
      Buffer.from(list),
      (bytes) => reflectionV1.ServerReflectionResponse.decode(bytes).messageResponse,
    );
    const services =
      answer?.$case === "listServicesResponse" ? answer.value.service.map(({ name }) => name) : [];
    expect(services).to.include.members([
      "bunting.sync.v1.SyncService",
      "flagd.sync.v1.FlagSyncService",
      "sync.v1.FlagSyncService",
      "grpc.health.v1.Health",
      "grpc.reflection.v1.ServerReflection",
    ]);
  });

  describe("SIGTERM", () => {
    it("turns /readyz to 412, serves on for the delay, then ends streams with UNAVAILABLE and exits with 0 (P-17)", async () => {
      directory.replace("flags.yaml", manifest("flags", 1));
      const { client, process, management } = await start(["--drain-delay", "5s", "--drain-window", "200ms"]);
      const old = client.subscribe({ selector: "default/flags" });
      await old.messages.nextEvent();
      process.child.kill("SIGTERM");
      await process.nextLog("draining");
      expect((await fetch(`${management}/readyz`)).status).to.equal(412);
      const late = await client.subscribe({ selector: "default/flags" }).messages.nextEvent();
      expect(versionOf(late.text)).to.equal(1);
      directory.replace("flags.yaml", manifest("flags", 2));
      expect(versionOf((await old.messages.nextEvent()).text)).to.equal(2);
      expect((await old.ended).code).to.equal(status.UNAVAILABLE);
      expect(await process.exit).to.equal(0);
    });

    it("exits with 0 after the delay and the window, by default within 8 s, with 1,000 subscribers that do not read", async () => {
      directory.replace("flags.yaml", manifest("flags", 1));
      const { process, sync } = await start(["--drain-delay", "200ms", "--drain-window", "500ms"]);
      const stalled = Array.from({ length: 1_000 }, () => new StalledSubscriber(sync, "default/flags"));
      await Promise.all(stalled.map(({ opened }) => opened));
      // What the clock shows depends on how busy the machine is: what the defaults come to does not.
      const { drainDelay, drainWindow } = proxyOptionTable;
      expect(drainDelay.default + drainWindow.default).to.be.at.most(8_000);
      expect(await process.stop()).to.equal(0);
      await Promise.all(stalled.map(({ closed }) => closed));
      // REFUSED_STREAM is what clients read as UNAVAILABLE.
      expect(new Set(stalled.map(({ resetCode }) => resetCode))).to.deep.equal(new Set([7]));
    });

    it("is what SIGHUP asks for too, also when it comes twice, as from a terminal that is closed", async () => {
      directory.replace("flags.yaml", manifest("flags", 1));
      const { client, process } = await start(["--drain-delay", "1s", "--drain-window", "200ms"]);
      const stream = client.subscribe({ selector: "default/flags" });
      await stream.messages.nextEvent();
      process.child.kill("SIGHUP");
      await process.nextLog("draining");
      process.child.kill("SIGHUP");
      expect((await stream.ended).code).to.equal(status.UNAVAILABLE);
      expect(await process.exit).to.equal(0);
    });

    it("leaves no process, and a second signal does not wait", async () => {
      const { process } = await start(["--drain-delay", "1m"]);
      // Before that it was never ready, and would end at once.
      await process.nextLog("flag directory read");
      process.child.kill("SIGTERM");
      await process.nextLog("draining");
      process.child.kill("SIGINT");
      expect(await process.exit).to.equal(130);
      expect(existsSync(`/proc/${process.pid}`)).to.equal(false);
    });
  });

  it("answers 408 to a management client that sends its request too slowly", async () => {
    const { management } = await start();
    const { port } = new URL(management);
    const socket = connect(Number(port), "127.0.0.1");
    socket.write("GET /healthz HTTP/1.1\r\nhost: x\r\n");
    const answer = await new Promise<string>((resolve) => {
      let text = "";
      socket.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      socket.once("close", () => resolve(text));
    });
    expect(answer).to.match(/^HTTP\/1\.1 408 /);
  });

  it("keeps no file open for a subscriber that left", async () => {
    directory.replace("flags.yaml", manifest("flags", 1));
    const { client, process } = await start();
    const open = (): number => readdirSync(`/proc/${process.pid}/fd`).length;
    await client.fetchAll("default/flags");
    const before = open();
    for (let i = 0; i < 5; i++) {
      const one = new StalledSubscriber(client.address, "default/flags");
      await one.opened;
      one.destroy();
      await one.closed;
    }
    await eventually(() => open() <= before, "the connections of those who left are closed");
  });
});
