import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { encodeDocument } from "@bunting/protocol";
import { expect } from "chai";
import { eventually } from "@bunting/test/support/event-queue.js";
import { documentOf, FollowingAgent, hexOf, send, tell } from "./following-agent.fixture.js";
import type { SyncStream } from "./sync/bunting-server.fixture.js";

/** Proxies that are away, slow, behind each other or hostile while the list of an agent changes. */
describe("an agent whose list changes while its proxy does not do its part", function () {
  this.timeout(30_000);
  let agent: FollowingAgent;
  beforeEach(async () => {
    agent = new FollowingAgent();
    await agent.listen();
  });
  afterEach(() => agent.stop());

  const restarted = async (meanwhile: () => Promise<void>): Promise<void> => {
    const { relay } = agent.server;
    await relay.close();
    await meanwhile();
    await relay.listen();
  };
  const streamOf = async (wanted: string): Promise<SyncStream> => {
    for (;;) {
      const { stream, topic } = await agent.nextStream();
      if (topic === wanted) return stream;
    }
  };

  it("answers what it has until those of the list have answered, without --start-wait as well", async () => {
    const first = await agent.serving([]);
    tell(first, ["ops/b"]);
    const { stream } = await agent.nextStream();
    // The stream before is heard after that.
    await send(first, "shop/a", documentOf("a", "edited"));
    expect([await agent.answer("edited"), await agent.answer("b")]).to.deep.equal(["edited", 404]);
    await send(stream, "ops/b", documentOf("b"));
    await agent.switched();
    expect([await agent.answer("edited"), await agent.answer("b")]).to.deep.equal([404, "b"]);
  });

  it("answers what it has as long as the proxy is away that has told the list", async () => {
    const first = await agent.serving(["--start-wait", "1s"]);
    tell(first, ["ops/b"]);
    await agent.nextStream();
    await restarted(async () => {
      await eventually(async () => (await agent.readyz()).includes("disconnected"), "it is away");
      expect(await agent.answer("a")).to.equal("a");
    });
    await send(await streamOf("ops/b"), "ops/b", documentOf("b"));
    await agent.switched();
    expect([await agent.answer("a"), await agent.answer("b")]).to.deep.equal([404, "b"]);
  });

  it("gives a list up whose FeatureFlags do not answer once there is a newer one", async () => {
    const first = await agent.serving();
    tell(first, ["ops/slow"]);
    const { stream: slow } = await agent.nextStream();
    expect(await agent.readyz()).to.contain("the newest has 1, whose flags are waited for");
    tell(first, ["shop/a", "ops/b"]);
    await slow.closed;
    const next = await agent.nextStreams(2);
    expect(await agent.answer("a")).to.equal("a");
    await send(next.get("ops/b"), "ops/b", documentOf("b"));
    await agent.switched();
    expect([await agent.answer("a"), await agent.answer("b")]).to.deep.equal(["a", "b"]);
    await eventually(() => agent.server.relay.open === 2, "one connection for each source");
  });

  it("stays with what it has where the list becomes again what it was", async () => {
    const first = await agent.serving();
    tell(first, ["ops/slow"]);
    const { stream: slow } = await agent.nextStream();
    tell(first, ["shop/a"]);
    await slow.closed;
    await send(first, "shop/a", documentOf("a", "edited"));
    expect([await agent.answer("a"), await agent.answer("edited")]).to.deep.equal(["a", "edited"]);
    await eventually(() => agent.server.relay.open === 1, "one connection");
    expect(await agent.readyz()).to.contain("followed, 1 FeatureFlags\n");
  });

  it("is not stopped by the word of a proxy that is behind, which it asks only in the change", async () => {
    const first = await agent.serving();
    tell(first, ["ops/b"]);
    const { stream: behind } = await agent.nextStream();
    tell(behind, ["shop/a"]);
    await send(behind, "ops/b", documentOf("b"));
    await agent.switched();
    // What the stream says that is served now counts, as soon as it says better as well.
    const { stream: again, topic } = await agent.nextStream();
    expect(topic).to.equal("shop/a");
    tell(behind, ["ops/b"]);
    await again.closed;
    expect([await agent.answer("a"), await agent.answer("b")]).to.deep.equal([404, "b"]);
  });

  it("comes to the newest version where its old stream is behind the new one", async () => {
    const first = await agent.serving();
    tell(first, ["shop/a", "ops/b"]);
    const next = await agent.nextStreams(2);
    await send(next.get("shop/a"), "shop/a", documentOf("a", "second", "third"));
    await send(first, "shop/a", documentOf("a", "second"));
    await send(next.get("ops/b"), "ops/b", documentOf("b"));
    await agent.switched();
    const { stream, topic, held } = await agent.nextStream();
    expect([topic, held]).to.deep.equal(["shop/a", hexOf(documentOf("a", "second"))]);
    await send(stream, "shop/a", documentOf("a", "second", "third"));
    expect([await agent.answer("second"), await agent.answer("third")]).to.deep.equal(["second", "third"]);
    await eventually(() => agent.server.relay.open === 2, "one connection for each source");
  });

  it("keeps nothing of the lists before: no flags, not even of the arguments, and no copies on disk", async () => {
    const first = await agent.serving();
    tell(first, ["ops/b"]);
    const { stream } = await agent.nextStream();
    await send(stream, "ops/b", documentOf("b"));
    await agent.switched();
    tell(stream, ["ops/c"]);
    await send((await agent.nextStream()).stream, "ops/c", documentOf("c"));
    await agent.switched();
    const held = (): readonly number[] => agent.stores.map((store) => store.deref()?.flags().length ?? 0);
    await eventually(() => held().join() === "0,0,1", "the flags of the first two to be let go of");
    expect(await agent.answer("c")).to.equal("c");
    await agent.stopAgent();
    const copies = readdirSync(agent.cache.path).filter((name) => name.endsWith(".flags"));
    expect(copies, "those of the arguments, and of the list").to.have.lengthOf(2);
  });

  it("keeps on disk what it serves once a list is given up, and nothing that only this one had", async () => {
    const copies = (): readonly string[] =>
      readdirSync(agent.cache.path)
        .filter((name) => name.endsWith(".flags"))
        .map((name) => readFileSync(path.join(agent.cache.path, name), "latin1"));
    const first = await agent.serving();
    tell(first, ["shop/a", "ops/b", "ops/slow"]);
    const next = await agent.nextStreams(3);
    await send(first, "shop/a", documentOf("a", "newest"));
    await eventually(() => copies().some((copy) => copy.includes("newest")), "the copy of what is served");
    await send(next.get("shop/a"), "shop/a", documentOf("a", "behind"));
    await send(next.get("ops/b"), "ops/b", documentOf("b"));
    await eventually(() => copies().length === 2, "the copy of what only the list has");
    tell(first, ["shop/a"]);
    await next.get("ops/slow")?.closed;
    await eventually(() => agent.server.relay.open === 1, "one connection");
    await agent.stopAgent();
    expect(copies().map((copy) => /newest|behind|"b"/.exec(copy)?.[0])).to.deep.equal(["newest"]);
  });

  it("says in its metrics how the source is that is served, while a list is waited for and when it is given up", async () => {
    const unconfirmed = async (): Promise<readonly string[]> =>
      [...(await agent.metrics()).matchAll(/^bunting_agent_sync_unconfirmed_seconds(.+)$/gm)].map(
        ([, value = ""]) => value,
      );
    const first = await agent.serving();
    tell(first, ["ops/slow", "ops/b"]);
    const next = await agent.nextStreams(2);
    expect(await unconfirmed()).to.deep.equal(['{source="0"} 0']);
    tell(first, ["shop/a"]);
    await next.get("ops/slow")?.closed;
    await send(first, "shop/a", documentOf("a", "edited"));
    await eventually(() => agent.server.relay.open === 1, "one connection");
    expect(await unconfirmed()).to.deep.equal(['{source="0"} 0']);
  });

  it("says in its metrics how the source is that has a place now, not the one before", async () => {
    const first = await agent.serving();
    const bytes = encodeDocument(documentOf("a", "both")).length;
    const gauges = async (name: string): Promise<readonly number[]> =>
      [
        ...(await agent.metrics()).matchAll(new RegExp(`^bunting_agent_${name}{source="\\d"} (\\d+)$`, "gm")),
      ].map(([, value]) => Number(value));
    tell(first, ["ops/b", "shop/a"]);
    const next = await agent.nextStreams(2);
    next.get("ops/b")?.send({ missing: { topic: "ops/b" } });
    await agent.switched();
    expect([await gauges("sync_empty"), await gauges("store_document_bytes")]).to.deep.equal([
      [1, 0],
      [0, bytes],
    ]);
    tell(next.get("ops/b"), ["shop/a"]);
    await agent.switched();
    expect([await gauges("sync_empty"), await gauges("store_document_bytes")]).to.deep.equal([[0], [bytes]]);
  });

  it("says in its metrics how the sources are that are served, and nothing of a list that was given up", async () => {
    const first = await agent.serving();
    tell(first, ["shop/a", "ops/slow"]);
    const next = await agent.nextStreams(2);
    tell(first, ["shop/a"]);
    await next.get("ops/slow")?.closed;
    await eventually(() => agent.server.relay.open === 1, "one connection");
    const series = [
      ...(await agent.metrics()).matchAll(/^bunting_agent_sync_(connected|unconfirmed_seconds){.*/gm),
    ].map(([line]) => line);
    expect(series).to.have.members([
      'bunting_agent_sync_connected{source="0"} 1',
      'bunting_agent_sync_unconfirmed_seconds{source="0"} 0',
    ]);
  });
});
