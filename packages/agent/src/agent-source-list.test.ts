import { encodeDocument, sourceListDigest, type FlagDocument } from "@bunting/protocol";
import { createLogger, readOptions } from "@bunting/runtime";
import { expect } from "chai";
import { EventQueue, eventually } from "@bunting/test/support/event-queue.js";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import { createAgent } from "./agent.js";
import { agentOptionTable } from "./options.js";
import { BuntingServer, flagdFrame, versionOf, type SyncStream } from "./sync/bunting-server.fixture.js";

interface LogLine {
  readonly msg: string;
  readonly service?: string;
  readonly port?: number;
}

function documentOf(...keys: readonly string[]): FlagDocument {
  const flag = (value: string): FlagDocument["flags"][string] => ({
    state: "ENABLED",
    variants: { on: value },
    defaultVariant: "on",
  });
  return { flags: Object.fromEntries(keys.map((key) => [key, flag(key)])) };
}

const list = "shop/checkout@f1:0:0";
const digestOf = (topics: readonly string[], frame = "f1"): string =>
  sourceListDigest({ namespace: "shop", text: "checkout", frame, topics });

/** What a followed list owes applications: no answer is lost while the sources change. */
describe("an agent that follows the list of its sources", () => {
  let cache: TempDirectory;
  let server: BuntingServer;
  let target: string;
  let stops: (() => Promise<void>)[];
  let ofrep: string;
  let management: string;
  let lines: EventQueue<LogLine>;
  beforeEach(async () => {
    cache = new TempDirectory();
    server = new BuntingServer();
    target = await server.start();
    stops = [];
  });
  afterEach(async () => {
    for (const stop of stops.splice(0)) await stop();
    await server.stop();
    cache.remove();
  });

  async function start(
    topics: readonly string[],
    sourceList = list,
    more: readonly string[] = [],
  ): Promise<void> {
    lines = new EventQueue<LogLine>();
    const logger = createLogger(
      { format: "json", debug: false },
      { write: (line) => lines.push(JSON.parse(line) as LogLine) },
    );
    const sources = topics.map((topic) => ({
      uri: target,
      provider: "grpc",
      selector: `core.openfeature.dev/${topic}`,
    }));
    const ports = ["--port", "--management-port", "--sync-port", "--ofrep-port"].flatMap((name) => [
      name,
      "0",
    ]);
    const { options } = await readOptions(agentOptionTable, {
      argv: [
        ...["--host", "127.0.0.1", "--sources", JSON.stringify(sources), "--start-wait", "60s"],
        ...["--cache-dir", cache.path, "--source-list", sourceList, ...ports, ...more],
      ],
      env: {},
    });
    const abort = new AbortController();
    const running = createAgent(options, logger).run(abort.signal);
    stops.push(() => {
      abort.abort();
      return running;
    });
    const { port } = await lines.nextMatching(({ service }) => service === "management", "the port");
    management = `http://127.0.0.1:${port ?? 0}`;
  }

  async function open(): Promise<void> {
    const { port } = await lines.nextMatching(({ service }) => service === "ofrep", "the port for OFREP");
    ofrep = `http://127.0.0.1:${port ?? 0}`;
  }

  /** The next stream, by its topic. */
  async function nextStream(): Promise<{
    readonly stream: SyncStream;
    readonly topic: string;
    readonly has: string | undefined;
  }> {
    const stream = await server.nextStream();
    const hello = await stream.next("hello");
    const { topic } = await stream.next("subscribe");
    return { stream, topic, has: hello.sources?.digest };
  }

  async function nextStreams(count: number): Promise<Map<string, SyncStream>> {
    const streams = new Map<string, SyncStream>();
    while (streams.size < count) {
      const { stream, topic } = await nextStream();
      streams.set(topic, stream);
    }
    return streams;
  }

  async function send(stream: SyncStream | undefined, topic: string, document: FlagDocument): Promise<void> {
    const version = versionOf(document);
    stream?.send({ snapshot: { topic, version, document: Buffer.from(encodeDocument(document)) } });
    await stream?.next("ack");
  }

  function tell(stream: SyncStream | undefined, topics: readonly string[], frame = "f1"): void {
    stream?.send({ sourceFlags: { topics: [...topics], frame } });
  }

  async function answer(key: string): Promise<unknown> {
    const response = await fetch(`${ofrep}/ofrep/v1/evaluate/flags/${key}`, { method: "POST", body: "{}" });
    return ((await response.json()) as { value?: unknown; errorCode?: string }).value ?? response.status;
  }

  const readyz = async (): Promise<string> => (await fetch(`${management}/readyz`)).text();
  /** As the metrics have it. */
  async function listState(): Promise<string | undefined> {
    const text = await (await fetch(`${management}/metrics`)).text();
    return /^bunting_agent_sync_list\{state="(\w+)"\} 1$/m.exec(text)?.[1];
  }
  const switched = (): Promise<LogLine> =>
    lines.nextMatching(({ msg }) => msg === "the list of sources has changed", "the change");

  /** An agent with the FeatureFlag `shop/a`, which is served. */
  async function serving(): Promise<SyncStream> {
    await start(["shop/a"]);
    const { stream, has } = await nextStream();
    expect(has, "it says which list it has").to.equal(digestOf(["shop/a"]));
    await send(stream, "shop/a", documentOf("a", "both"));
    await open();
    return stream;
  }

  it("answers flags of what is added, and those before without a gap, in one step", async () => {
    const first = await serving();
    tell(first, ["shop/a", "ops/b"]);
    const next = await nextStreams(2);
    // Subscribed to, and not served before it has answered.
    expect(await answer("b")).to.equal(404);
    expect(await answer("a")).to.equal("a");
    await send(next.get("ops/b"), "ops/b", documentOf("b"));
    await switched();
    expect([await answer("a"), await answer("b")]).to.deep.equal(["a", "b"]);
    expect(await readyz()).to.contain("followed, 2 FeatureFlags");
    expect(await listState()).to.equal("followed");
    expect(await (await fetch(`${management}/metrics`)).text()).to.contain("list_changes_total 1\n");
    await first.closed;
    // What stays goes on from what is held.
    await send(next.get("shop/a"), "shop/a", documentOf("a", "more"));
    expect([await answer("more"), await answer("both"), await answer("b")]).to.deep.equal(["more", 404, "b"]);
  });

  it("offers the version that it holds of what stays", async () => {
    const first = await serving();
    tell(first, ["ops/b", "shop/a"]);
    const versions = new Map<string, unknown>();
    for (let i = 0; i < 2; i++) {
      const stream = await server.nextStream();
      const { topic, held } = await stream.subscribed();
      versions.set(topic, held?.digest);
    }
    expect(versions.get("shop/a")).to.deep.equal(versionOf(documentOf("a", "both")).digest);
    expect(versions.get("ops/b")).to.equal(undefined);
  });

  it("takes what is removed out in the same step, and the order of the list for what both have", async () => {
    const first = await serving();
    tell(first, ["shop/a", "ops/b"]);
    const second = await nextStreams(2);
    await send(second.get("ops/b"), "ops/b", {
      flags: { both: { state: "ENABLED", variants: { on: "of b" }, defaultVariant: "on" } },
    });
    await switched();
    expect(await answer("both")).to.equal("of b");
    tell(second.get("shop/a"), ["ops/b", "shop/a"]);
    const third = await nextStreams(2);
    await switched();
    expect(await answer("both")).to.equal("both");
    tell(third.get("ops/b"), ["ops/b"]);
    await nextStreams(1);
    await switched();
    expect([await answer("both"), await answer("a")]).to.deep.equal(["of b", 404]);
    expect(await readyz()).not.to.contain("shop/a");
  });

  it("serves the others if one of them does not exist, or may not be read", async () => {
    await stops.pop()?.();
    await start(["shop/a"], list, ["--start-wait", "1s"]);
    const { stream: first } = await nextStream();
    await send(first, "shop/a", documentOf("a"));
    await open();
    tell(first, ["shop/a", "ops/secret", "ops/missing", "ops/b"]);
    const next = await nextStreams(4);
    const message = "shop may not read ops/secret";
    next.get("ops/secret")?.send({ topicError: { topic: "ops/secret", code: 7, message, retryAfterMs: 0 } });
    next.get("ops/missing")?.send({ missing: { topic: "ops/missing" } });
    await send(next.get("ops/b"), "ops/b", documentOf("b"));
    await switched();
    expect([await answer("a"), await answer("b")]).to.deep.equal(["a", "b"]);
    const body = await readyz();
    expect(body).to.contain(`PERMISSION_DENIED: ${message}`);
    expect(body.split("PERMISSION_DENIED")).to.have.lengthOf(2);
  });

  it("says on the streams of each list which one it is", async () => {
    const first = await serving();
    tell(first, ["ops/b", "shop/a"]);
    const said = new Map<string, string | undefined>();
    for (let index = 0; index < 2; index++) {
      const { topic, has } = await nextStream();
      said.set(topic, has);
    }
    expect(said.get("ops/b")).to.equal(digestOf(["ops/b", "shop/a"]));
    expect(said.get("shop/a"), "one stream asks").to.equal(undefined);
    await stops.pop()?.();
    await start(["shop/a"], "shop/checkout@f2:0:0");
    expect((await nextStream()).has).to.equal(digestOf(["shop/a"], "f2"));
  });

  it("says that the Pod is older than its source where more has changed, and keeps what it has", async () => {
    const first = await serving();
    tell(first, ["shop/a", "ops/b"], "f2");
    await eventually(
      async () => (await readyz()).includes("the Pod is older than its FeatureFlagSource"),
      "readyz",
    );
    expect(await readyz()).to.match(/^ready\n/);
    expect(await listState()).to.equal("older");
    tell(first, ["shop/a"]);
    await eventually(async () => !(await readyz()).includes("older"), "readyz");
    expect(await answer("a")).to.equal("a");
    expect(server.streams.size).to.equal(0);
  });

  it("goes on with its arguments where the proxy knows no lists, as one of 0.1.0", async () => {
    const first = await serving();
    await send(first, "shop/a", documentOf("a", "edited"));
    expect([await answer("a"), await answer("edited")]).to.deep.equal(["a", "edited"]);
    expect(await readyz()).to.match(/^ready\n/);
    expect(await readyz()).to.contain(
      '"checkout" of shop: no proxy has told it; served are the 1 FeatureFlags',
    );
    expect(await listState()).to.equal("untold");
    expect(server.streams.size, "it has the streams that it had").to.equal(0);
  });

  it("goes on with its arguments where the server speaks flagd.sync.v1 alone", async () => {
    await server.stop();
    server = new BuntingServer({ bunting: false, flagd: true });
    target = await server.start();
    await start(["shop/a", "ops/b"]);
    for (let each = 0; each < 2; each++) {
      const { selector, out } = await server.nextFlagdStream();
      out.write(flagdFrame(documentOf(selector.endsWith("shop/a") ? "a" : "b")));
    }
    await open();
    expect([await answer("a"), await answer("b")]).to.deep.equal(["a", "b"]);
  });

  it("shows nobody a version from before one that was served, if an edit comes while the list changes", async () => {
    const first = await serving();
    tell(first, ["shop/a", "ops/b"]);
    const next = await nextStreams(2);
    await send(first, "shop/a", documentOf("a", "edited"));
    expect(await answer("edited")).to.equal("edited");
    await send(next.get("ops/b"), "ops/b", documentOf("b"));
    await switched();
    expect([await answer("edited"), await answer("b")]).to.deep.equal(["edited", "b"]);
    await send(next.get("shop/a"), "shop/a", documentOf("a", "edited", "more"));
    expect([await answer("edited"), await answer("more")]).to.deep.equal(["edited", "more"]);
  });

  it("ignores a list that names what can be no FeatureFlag", async () => {
    const first = await serving();
    for (const topics of [[], ["../x"], ["shop/a", "no-namespace"]]) {
      tell(first, topics);
      await eventually(async () => (await readyz()).includes("can't be followed"), "readyz");
      tell(first, ["shop/a"]);
      await eventually(async () => !(await readyz()).includes("can't be followed"), "readyz");
    }
    expect(server.streams.size).to.equal(0);
  });

  it("begins with the last list after a restart, unless it is of another frame", async () => {
    const first = await serving();
    tell(first, ["shop/a", "ops/b"]);
    const next = await nextStreams(2);
    await send(next.get("ops/b"), "ops/b", documentOf("b"));
    await switched();
    await stops.pop()?.();
    await start(["shop/a"]);
    expect([...(await nextStreams(2)).keys()]).to.have.members(["shop/a", "ops/b"]);
    await stops.pop()?.();
    await start(["shop/a"], "shop/checkout@f2:0:0");
    const { topic } = await nextStream();
    expect(topic).to.equal("shop/a");
    expect(server.streams.size).to.equal(0);
  });

  it("waits for the first answers where the list changes before them", async () => {
    await start(["shop/a"]);
    const { stream } = await nextStream();
    tell(stream, ["ops/b"]);
    const { stream: next, topic } = await nextStream();
    expect(topic).to.equal("ops/b");
    expect(await readyz()).to.contain("waiting for the first flags");
    await send(next, "ops/b", documentOf("b"));
    await open();
    expect(await answer("b")).to.equal("b");
    await eventually(async () => (await readyz()).startsWith("ready"), "readyz");
  });
});
