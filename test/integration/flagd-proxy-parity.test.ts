import { connect } from "node:http2";
import { status } from "@grpc/grpc-js";
import { expect } from "chai";
import { eventually } from "../support/event-queue.js";
import { freePort } from "../support/free-port.js";
import { manifest, versionOf } from "../support/manifests.js";
import { startProxy } from "../support/proxy-process.js";
import { readMetric } from "../support/read-metric.js";
import { binaries, ServiceProcess } from "../support/service-process.js";
import { holdStockPorts } from "../support/stock-ports.js";
import { StockSyncClient } from "../support/stock-sync-client.js";
import { TempDirectory } from "../support/temp-directory.js";

/** A FeatureFlag with all that flagd-proxy sends, in another order, and with characters that Go escapes in JSON. */
const everything = `
apiVersion: core.openfeature.dev/v1beta1
kind: FeatureFlag
metadata: { name: all, namespace: demo }
spec:
  flagSpec:
    $evaluators: { low: { "<": [{ var: n }, 1] } }
    metadata: { flagSetId: payments }
    flags:
      zeta: { variants: { b: true, a: false }, defaultVariant: a, state: ENABLED, targeting: { if: [{ $ref: low }, b] } }
      alpha: { state: DISABLED, variants: { a: "<&>" }, defaultVariant: a, metadata: { owner: x } }
`;

/** What docs/flagd-proxy-parity.md says of our proxy and no other test does. */
describe("bunting-proxy in place of flagd-proxy", () => {
  let directory: TempDirectory;
  const running: ServiceProcess[] = [];
  const clients: StockSyncClient[] = [];

  beforeEach(() => (directory = new TempDirectory()));
  afterEach(async () => {
    for (const client of clients.splice(0)) client.close();
    for (const one of running.splice(0)) await one.stop("SIGKILL");
    directory.remove();
  });

  const start = async () => {
    const proxy = await startProxy(directory.path);
    running.push(proxy.process);
    const client = new StockSyncClient(proxy.sync);
    clients.push(client);
    return { ...proxy, client };
  };

  const startWith = (args: readonly string[], env: Readonly<Record<string, string>> = {}): ServiceProcess => {
    const proxy = new ServiceProcess(binaries.proxy, {
      args: ["start", ...args],
      env: { BUNTING_SOURCE: `dir:${directory.path}`, BUNTING_HOST: "127.0.0.1", ...env },
    });
    running.push(proxy);
    return proxy;
  };

  it("takes flagd-proxy's short flags", async () => {
    directory.replace("flags.yaml", manifest("flags", 1));
    const ports = [await freePort(), await freePort()];
    const proxy = startWith(["-p", `${ports[0]}`, "-m", `${ports[1]}`, "-z", "json", "-x"], {
      FLAGD_PROXY_LOG_FORMAT: "console",
    });
    const listening = [await proxy.nextLog("listening"), await proxy.nextLog("listening")];
    expect(listening.map(({ port }) => port)).to.have.members(ports);
    const client = new StockSyncClient(`127.0.0.1:${ports[0]}`);
    clients.push(client);
    await client.fetchAll("default/flags");
    expect((await proxy.nextLog("published")).level).to.equal("debug");
  });

  it("writes its log for people by default, and nothing for who debugs", async () => {
    directory.replace("flags.yaml", manifest("flags", 1));
    const port = await freePort();
    const args = ["--port", `${port}`, "--management-port", "0", "--drain-delay", "0", "--drain-window", "0"];
    const proxy = startWith(args, { FLAGD_PROXY_LOG_FORMAT: "" });
    const client = new StockSyncClient(`127.0.0.1:${port}`);
    clients.push(client);
    await eventually(() => proxy.words.some((line) => / INFO {2}flag directory read /.test(line)), "a line");
    await client.fetchAll("default/flags");
    expect(await proxy.stop()).to.equal(0);
    expect(proxy.words.filter((line) => !/^\S+ (?:INFO|WARN) {2}/.test(line))).to.deep.equal([]);
  });

  it("says how it is started where it gets no command", async () => {
    const proxy = new ServiceProcess(binaries.proxy, { args: [] });
    expect(await proxy.exit).to.equal(0);
    expect(proxy.words[0]).to.contain("Usage: bunting-proxy start [options]");
  });

  it("takes its ports from FLAGD_PROXY_PORT and FLAGD_PROXY_MANAGEMENT_PORT", async () => {
    const ports = [await freePort(), await freePort()];
    const proxy = startWith([], {
      FLAGD_PROXY_PORT: `${ports[0]}`,
      FLAGD_PROXY_MANAGEMENT_PORT: `${ports[1]}`,
    });
    const listening = [await proxy.nextLog("listening"), await proxy.nextLog("listening")];
    expect(listening.map(({ port }) => port)).to.have.members(ports);
  });

  it("takes --metrics-port, which older operators pass", async () => {
    const port = await freePort();
    const proxy = startWith(["--port", "0", "--metrics-port", `${port}`]);
    await proxy.nextLog("listening");
    await proxy.nextLog("listening");
    expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).to.equal(200);
  });

  describe("with the variable PORT in its environment", () => {
    holdStockPorts();

    it("listens on 8015 all the same", async () => {
      const proxy = startWith(["--management-port", "0"], { PORT: `${await freePort()}` });
      const listening = [await proxy.nextLog("listening"), await proxy.nextLog("listening")];
      expect(listening.find(({ service }) => service === "sync")?.["port"]).to.equal(8015);
    });
  });

  it("sends flags, metadata and $evaluators, in this order, keys of maps sorted, and nothing escaped that JSON does not escape", async () => {
    directory.replace("flags.yaml", everything);
    const { client } = await start();
    expect(await client.fetchAll("core.openfeature.dev/demo/all")).to.equal(
      '{"flags":{' +
        '"alpha":{"defaultVariant":"a","metadata":{"owner":"x"},"state":"DISABLED","variants":{"a":"<&>"}},' +
        '"zeta":{"defaultVariant":"a","state":"ENABLED","targeting":{"if":[{"$ref":"low"},"b"]},"variants":{"a":false,"b":true}}},' +
        '"metadata":{"flagSetId":"payments"},"$evaluators":{"low":{"<":[{"var":"n"},1]}}}',
    );
  });

  for (const { selector, names } of [
    { selector: "", names: "the selector is empty" },
    { selector: "core.openfeature.dev/demo", names: "core.openfeature.dev/<namespace>/<name>" },
    { selector: "core.openfeature.dev/demo/a/b", names: "core.openfeature.dev/<namespace>/<name>" },
    { selector: "flagSetId=payments", names: "core.openfeature.dev/<namespace>/<name>" },
    { selector: "file:/etc/passwd", names: "--allow-file-selectors" },
  ])
    it(`refuses the selector "${selector}" with INVALID_ARGUMENT, and says what would be right`, async () => {
      const { client } = await start();
      const { code, details } = await client.subscribe({ selector }).ended;
      expect(code).to.equal(status.INVALID_ARGUMENT);
      expect(details).to.contain(names);
    });

  it("refuses a request of more than 64 KiB", async () => {
    const { client } = await start();
    const refused = await client.subscribe({ selector: "a".repeat(64 * 1024) }).ended;
    expect(refused.code).to.equal(status.RESOURCE_EXHAUSTED);
    const read = await client.subscribe({ selector: "a".repeat(63 * 1024) }).ended;
    expect(read.code).to.equal(status.INVALID_ARGUMENT);
  });

  it("sends nothing where a write changes no flag", async () => {
    directory.replace("flags.yaml", [manifest("same", 1), manifest("other", 1)].join("---\n"));
    const { client } = await start();
    const same = client.subscribe({ selector: "default/same" }).messages;
    const other = client.subscribe({ selector: "default/other" }).messages;
    await same.nextEvent();
    await other.nextEvent();
    // The other FeatureFlag shows that the file was read again.
    directory.replace(
      "flags.yaml",
      [`# a comment\n${manifest("same", 1)}`, manifest("other", 2)].join("---\n"),
    );
    expect(versionOf((await other.nextEvent()).text)).to.equal(2);
    await client.fence();
    expect(same.size).to.equal(0);
  });

  it("counts the streams of both protocols in sync_active_streams, until they end", async () => {
    directory.replace("flags.yaml", manifest("flags", 1));
    const { client, management } = await start();
    const streams = [false, true].map((legacy) => client.subscribe({ selector: "default/flags", legacy }));
    for (const { messages } of streams) await messages.nextEvent();
    expect(await readMetric(management, "sync_active_streams")).to.equal(2);
    expect(await (await fetch(`${management}/metrics`)).text()).not.to.match(/^go_/m);
    for (const stream of streams) stream.cancel();
    await eventually(
      async () => (await readMetric(management, "sync_active_streams")) === 0,
      "no stream that counts",
    );
  });

  it("answers probes over HTTP/2 by prior knowledge, too", async () => {
    const { management } = await start();
    const session = connect(management);
    try {
      const stream = session.request({ ":path": "/healthz" });
      const answer = await new Promise<number | undefined>((resolve, reject) => {
        stream.once("response", (headers) => resolve(headers[":status"])).once("error", reject);
      });
      expect(answer).to.equal(200);
    } finally {
      session.destroy();
    }
  });

  it("tells a client of HTTP/1.1 that the sync port speaks gRPC", async () => {
    const { sync } = await start();
    const answer = await fetch(`http://${sync}/`);
    expect([answer.status, await answer.text()]).to.deep.equal([505, "This port speaks gRPC over HTTP/2.\n"]);
  });
});
