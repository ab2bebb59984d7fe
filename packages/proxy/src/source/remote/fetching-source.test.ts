import { createLogger, systemClock } from "@bunting/runtime";
import { eventually } from "@bunting/test/support/event-queue.js";
import { ScriptedSource } from "@bunting/test/support/scripted-source.js";
import type { TopicKey } from "@bunting/protocol";
import { expect } from "chai";
import { RecordingSink } from "../source.fixture.js";
import { FetchingSource } from "./fetching-source.js";
import { RemoteSource } from "./remote-source.js";
import { documentOf, flagsOf, languageOf, providerOf, ScriptedRemotes } from "./remote.fixture.js";

describe("FetchingSource with as many remotes as it may read", () => {
  const stopping: AbortController[] = [];
  afterEach(() => {
    for (const controller of stopping.splice(0)) controller.abort();
  });
  const names = ["one", "two", "three"] as const;
  const topicOf = (name: string): TopicKey => (name.includes("/") ? name : `demo/${name}`) as TopicKey;
  const uriOf = (name: string): string => `https://remote.test/${name}`;

  interface Watching {
    readonly sink: RecordingSink;
    readonly end: () => void;
  }

  function start(maxRemotes: number) {
    const lines: string[] = [];
    const logger = createLogger({ format: "json", debug: false }, { write: (line) => void lines.push(line) });
    const cluster = new ScriptedSource(systemClock);
    const remotes = new ScriptedRemotes(systemClock);
    const language = languageOf(remotes);
    const context = { clock: systemClock, logger, metrics: { remoteAnswer: () => undefined } };
    const readSecrets = () => Promise.resolve({ kind: "read", values: {} } as const);
    const fetching = new FetchingSource({ source: cluster, language, readSecrets, maxRemotes, context });
    const metrics = { remoteCounts: () => undefined };
    const source = new RemoteSource({
      ...{ source: fetching, remotes: fetching, language },
      context: { clock: systemClock, logger, metrics },
    });
    const all = new AbortController();
    stopping.push(all);
    void source.run(all.signal);
    const publish = (name: string, hasRemote = true): void => {
      const provider = hasRemote ? providerOf({ uri: uriOf(name), intervalMs: 50 }) : undefined;
      cluster.publish(topicOf(name), documentOf("local", 1, ["own"]), {
        resourceVersion: String(Date.now()),
        ...(provider === undefined ? {} : { provider }),
      });
    };
    const watch = (name: string): Watching => {
      remotes.says.set(uriOf(name), documentOf("remote", 1, ["far"]));
      const own = new AbortController();
      stopping.push(own);
      const sink = new RecordingSink();
      source.watch(topicOf(name), sink, own.signal);
      publish(name);
      return { sink, end: () => own.abort() };
    };
    const isIn = (name: string, state: string): Promise<void> =>
      eventually(() => source.remoteOf(topicOf(name))?.state === state, `the remote ${name} is ${state}`);
    return { source, remotes, fetching, lines, publish, watch, isIn };
  }

  it("reads no more, says so, and reads those that wait, in their turn, once there is room", async () => {
    const { source, remotes, lines, publish, watch, isIn } = start(1);
    const first = watch(names[0]);
    await isIn("one", "synced");
    const [second, third] = [watch("two"), watch("three")];
    await isIn("two", "never");
    await isIn("three", "never");
    expect(source.remoteOf(topicOf("two"))?.reason).to.equal("TooManyRemotes");
    expect(source.remoteOf(topicOf("two"))?.message).to.contain("reads 1 remotes");
    expect(lines.join("")).to.contain("the remote of a FeatureFlag is not read");
    await eventually(() => flagsOf(second.sink)["own"] === "local 1", "its own flags");
    expect(remotes.asked.has(uriOf("two"))).to.equal(false);
    // An edit takes its turn from nobody.
    publish("two");
    first.end();
    await isIn("two", "synced");
    await eventually(() => flagsOf(second.sink)["far"] === "remote 1", "the remote's flags");
    expect(remotes.asked.has(uriOf("three"))).to.equal(false);
    publish("two", false);
    await isIn("three", "synced");
    await eventually(() => flagsOf(third.sink)["far"] === "remote 1", "the remote's flags");
  });

  it("has no namespace lock out another: one that has fewer gets a place of the one that has most", async () => {
    const { source, watch, isIn } = start(3);
    const many = ["a/1", "a/2", "a/3", "a/4"];
    const flags = many.map((name) => watch(name));
    await isIn("a/4", "never");
    watch("b/1");
    await isIn("b/1", "synced");
    await isIn("a/3", "stale");
    expect(flagsOf(flags[2]?.sink ?? new RecordingSink())["far"]).to.equal("remote 1");
    expect(source.remoteOf("a/3")?.reason).to.equal("TooManyRemotes");
    watch("b/2");
    await isIn("b/2", "never");
    // Of two namespaces with one place each, it is the turn of who has waited longest.
    flags[0]?.end();
    await isIn("a/4", "synced");
    expect(source.remoteOf("b/2")?.state).to.equal("never");
  });

  it("counts a remote once, however often its FeatureFlag is edited, and forgets one that waits no longer", async () => {
    const { remotes, fetching, publish, watch, isIn } = start(1);
    watch("one");
    await isIn("one", "synced");
    const second = watch("two");
    await isIn("two", "never");
    for (let edit = 0; edit < 3; edit++) publish("one");
    await isIn("one", "synced");
    expect([...fetching.reports()].map(({ state }) => state.kind)).to.deep.equal(["synced", "never"]);
    second.end();
    publish("one", false);
    watch("three");
    await isIn("three", "synced");
    expect(remotes.asked.has(uriOf("two"))).to.equal(false);
  });
});
