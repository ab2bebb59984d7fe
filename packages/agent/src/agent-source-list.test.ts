import { readdirSync } from "node:fs";
import { expect } from "chai";
import { eventually } from "@bunting/test/support/event-queue.js";
import { digestOf, documentOf, FollowingAgent, hexOf, list, send, tell } from "./following-agent.fixture.js";
import { BuntingServer, flagdFrame, versionOf } from "./sync/bunting-server.fixture.js";

/** What a followed list owes applications: no answer is lost while the sources change. */
describe("an agent that follows the list of its sources", () => {
  let agent: FollowingAgent;
  beforeEach(async () => {
    agent = new FollowingAgent();
    await agent.listen();
  });
  afterEach(() => agent.stop());

  it("answers flags of what is added, and those before without a gap, in one step", async () => {
    const first = await agent.serving();
    tell(first, ["shop/a", "ops/b"]);
    const next = await agent.nextStreams(2);
    // Subscribed to, and not served before it has answered.
    expect(await agent.answer("b")).to.equal(404);
    expect(await agent.answer("a")).to.equal("a");
    await send(next.get("ops/b"), "ops/b", documentOf("b"));
    await agent.switched();
    expect([await agent.answer("a"), await agent.answer("b")]).to.deep.equal(["a", "b"]);
    expect(await agent.readyz()).to.contain("followed, 2 FeatureFlags");
    expect(await agent.listState()).to.equal("followed");
    expect(await agent.metrics()).to.contain("list_changes_total 1\n");
    await first.closed;
    // What stays goes on from what is held.
    await send(next.get("shop/a"), "shop/a", documentOf("a", "more"));
    expect([await agent.answer("more"), await agent.answer("both"), await agent.answer("b")]).to.deep.equal([
      "more",
      404,
      "b",
    ]);
  });

  it("offers the version that it holds of what stays", async () => {
    const first = await agent.serving();
    tell(first, ["ops/b", "shop/a"]);
    const versions = new Map<string, unknown>();
    for (let i = 0; i < 2; i++) {
      const stream = await agent.server.nextStream();
      const { topic, held } = await stream.subscribed();
      versions.set(topic, held?.digest);
    }
    expect(versions.get("shop/a")).to.deep.equal(versionOf(documentOf("a", "both")).digest);
    expect(versions.get("ops/b")).to.equal(undefined);
  });

  it("takes what is removed out in the same step, and the order of the list for what both have", async () => {
    const first = await agent.serving();
    tell(first, ["shop/a", "ops/b"]);
    const second = await agent.nextStreams(2);
    await send(second.get("ops/b"), "ops/b", {
      flags: { both: { state: "ENABLED", variants: { on: "of b" }, defaultVariant: "on" } },
    });
    await agent.switched();
    expect(await agent.answer("both")).to.equal("of b");
    tell(second.get("shop/a"), ["ops/b", "shop/a"]);
    const third = await agent.nextStreams(2);
    await agent.switched();
    expect(await agent.answer("both")).to.equal("both");
    tell(third.get("ops/b"), ["ops/b"]);
    await agent.nextStreams(1);
    await agent.switched();
    expect([await agent.answer("both"), await agent.answer("a")]).to.deep.equal(["of b", 404]);
    expect(await agent.readyz()).not.to.contain("shop/a");
  });

  it("serves the others if one of them does not exist, or may not be read", async () => {
    await agent.stopAgent();
    await agent.start(["shop/a"], list, ["--start-wait", "1s"]);
    const { stream: first } = await agent.nextStream();
    await send(first, "shop/a", documentOf("a"));
    await agent.open();
    tell(first, ["shop/a", "ops/secret", "ops/missing", "ops/b"]);
    const next = await agent.nextStreams(4);
    const message = "shop may not read ops/secret";
    next.get("ops/secret")?.send({ topicError: { topic: "ops/secret", code: 7, message, retryAfterMs: 0 } });
    next.get("ops/missing")?.send({ missing: { topic: "ops/missing" } });
    await send(next.get("ops/b"), "ops/b", documentOf("b"));
    await agent.switched();
    expect([await agent.answer("a"), await agent.answer("b")]).to.deep.equal(["a", "b"]);
    const body = await agent.readyz();
    expect(body).to.contain(`PERMISSION_DENIED: ${message}`);
    expect(body.split("PERMISSION_DENIED")).to.have.lengthOf(2);
  });

  it("says on the streams of each list which one it is", async () => {
    const first = await agent.serving();
    tell(first, ["ops/b", "shop/a"]);
    const said = new Map<string, string | undefined>();
    for (let index = 0; index < 2; index++) {
      const { topic, has } = await agent.nextStream();
      said.set(topic, has);
    }
    expect(said.get("ops/b")).to.equal(digestOf(["ops/b", "shop/a"]));
    expect(said.get("shop/a"), "one stream asks").to.equal(undefined);
    await agent.stopAgent();
    await agent.start(["shop/a"], "shop/checkout@f2:0:0");
    expect((await agent.nextStream()).has).to.equal(digestOf(["shop/a"], "f2"));
  });

  it("says that the Pod is older than its source where more has changed, and keeps what it has", async () => {
    const first = await agent.serving();
    tell(first, ["shop/a", "ops/b"], "f2");
    await eventually(
      async () => (await agent.readyz()).includes("the Pod is older than its FeatureFlagSource"),
      "readyz",
    );
    expect(await agent.readyz()).to.match(/^ready\n/);
    expect(await agent.listState()).to.equal("older");
    tell(first, ["shop/a"]);
    await eventually(async () => !(await agent.readyz()).includes("older"), "readyz");
    expect(await agent.answer("a")).to.equal("a");
    expect(agent.server.streams.size).to.equal(0);
  });

  it("goes on with its arguments where the proxy knows no lists, as one of 0.1.0", async () => {
    const first = await agent.serving();
    await send(first, "shop/a", documentOf("a", "edited"));
    expect([await agent.answer("a"), await agent.answer("edited")]).to.deep.equal(["a", "edited"]);
    expect(await agent.readyz()).to.match(/^ready\n/);
    expect(await agent.readyz()).to.contain(
      '"checkout" of shop: no proxy has told it; served are the 1 FeatureFlags',
    );
    expect(await agent.listState()).to.equal("untold");
    expect(agent.server.streams.size, "it has the streams that it had").to.equal(0);
  });

  it("goes on with its arguments where the server speaks flagd.sync.v1 alone", async () => {
    await agent.server.stop();
    await agent.listen(new BuntingServer({ bunting: false, flagd: true }));
    await agent.start(["shop/a", "ops/b"]);
    for (let each = 0; each < 2; each++) {
      const { selector, out } = await agent.server.nextFlagdStream();
      out.write(flagdFrame(documentOf(selector.endsWith("shop/a") ? "a" : "b")));
    }
    await agent.open();
    expect([await agent.answer("a"), await agent.answer("b")]).to.deep.equal(["a", "b"]);
  });

  it("shows nobody a version from before one that was served, if an edit comes while the list changes", async () => {
    const first = await agent.serving();
    tell(first, ["shop/a", "ops/b"]);
    const next = await agent.nextStreams(2);
    await send(first, "shop/a", documentOf("a", "edited"));
    expect(await agent.answer("edited")).to.equal("edited");
    await send(next.get("ops/b"), "ops/b", documentOf("b"));
    await agent.switched();
    expect([await agent.answer("edited"), await agent.answer("b")]).to.deep.equal(["edited", "b"]);
    // The stream that was to bring it is another one now, whose proxy hears what is held, however far behind it is.
    const { stream, held } = await agent.nextStream();
    expect(held).to.equal(hexOf(documentOf("a", "edited")));
    await send(stream, "shop/a", documentOf("a", "edited", "more"));
    expect([await agent.answer("edited"), await agent.answer("more")]).to.deep.equal(["edited", "more"]);
  });

  it("ignores a list that names what can be no FeatureFlag", async () => {
    const first = await agent.serving();
    for (const topics of [[], ["../x"], ["shop/a", "no-namespace"]]) {
      tell(first, topics);
      await eventually(async () => (await agent.readyz()).includes("can't be followed"), "readyz");
      tell(first, ["shop/a"]);
      await eventually(async () => !(await agent.readyz()).includes("can't be followed"), "readyz");
    }
    expect(agent.server.streams.size).to.equal(0);
  });

  it("begins with the last list after a restart, unless it is of another frame", async () => {
    const first = await agent.serving();
    tell(first, ["shop/a", "ops/b"]);
    const next = await agent.nextStreams(2);
    await send(next.get("ops/b"), "ops/b", documentOf("b"));
    await agent.switched();
    await agent.stopAgent();
    await agent.start(["shop/a"]);
    expect([...(await agent.nextStreams(2)).keys()]).to.have.members(["shop/a", "ops/b"]);
    await agent.stopAgent();
    await agent.start(["shop/a"], "shop/checkout@f2:0:0");
    const { topic } = await agent.nextStream();
    expect(topic).to.equal("shop/a");
    expect(agent.server.streams.size).to.equal(0);
  });

  it("keeps on disk what it serves, and nothing of what is gone from the list", async () => {
    const first = await agent.serving();
    const copies = (): readonly string[] =>
      readdirSync(agent.cache.path).filter((name) => name.endsWith(".flags"));
    tell(first, ["shop/a", "ops/b"]);
    const next = await agent.nextStreams(2);
    await send(next.get("ops/b"), "ops/b", documentOf("b"));
    await agent.switched();
    await eventually(() => copies().length === 2, "the copies of both");
    tell(next.get("shop/a"), ["shop/a"]);
    await agent.nextStream();
    await agent.switched();
    await agent.stopAgent();
    expect(copies()).to.have.lengthOf(1);
  });

  it("waits for the first answers where the list changes before them", async () => {
    await agent.start(["shop/a"]);
    const { stream } = await agent.nextStream();
    tell(stream, ["ops/b"]);
    const { stream: next, topic } = await agent.nextStream();
    expect(topic).to.equal("ops/b");
    expect(await agent.readyz()).to.contain("waiting for the first flags");
    await send(next, "ops/b", documentOf("b"));
    await agent.open();
    expect(await agent.answer("b")).to.equal("b");
    await eventually(async () => (await agent.readyz()).startsWith("ready"), "readyz");
  });
});
