import { eventually } from "@bunting/test/support/event-queue.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { setImmediate } from "node:timers/promises";
import { ProxyError } from "../../proxy-error.js";
import type { SourceReport } from "../flag-source.js";
import { RecordingSink } from "../source.fixture.js";
import {
  documentOf,
  flagsOf,
  manyKeys,
  providerOf,
  RemoteCluster,
  RemoteReplica,
  ScriptedRemotes,
  topic,
} from "./remote.fixture.js";

const uri = "https://remote.test/a";
const local = (version: number) => documentOf("local", version, ["both", "own"]);
const remote = (version: number, keys: readonly string[] = ["both", "far"]) =>
  documentOf("remote", version, keys);

/** A topic without memory for documents with some text. */
class CrowdedSink extends RecordingSink {
  crowdedOut: string | undefined;

  override report(report: SourceReport): void {
    if (
      this.crowdedOut !== undefined &&
      report.kind === "document" &&
      JSON.stringify(report.document).includes(this.crowdedOut)
    )
      throw new ProxyError("DOCUMENT_CROWDED_OUT", "the proxy has no memory");
    super.report(report);
  }
}

describe("MergedTopic", () => {
  let clock: ManualClock;
  let cluster: RemoteCluster;
  let remotes: ScriptedRemotes;
  let replica: RemoteReplica;
  let sink: CrowdedSink;
  beforeEach(async () => {
    clock = new ManualClock();
    cluster = new RemoteCluster();
    remotes = new ScriptedRemotes(clock);
    replica = new RemoteReplica({ clock, cluster, remotes });
    sink = new CrowdedSink();
    replica.watch(undefined, sink);
    await setImmediate();
  });
  afterEach(async () => {
    await replica.stop();
    expect(clock.pendingTimers, "timers left").to.equal(0);
  });
  const pass = async (ms: number): Promise<void> => {
    for (let turn = 0; turn < 5; turn++) await setImmediate();
    clock.advance(ms);
    for (let turn = 0; turn < 5; turn++) await setImmediate();
  };

  it("is not stale once an outage is over that began and ended before the remote's first answer", async () => {
    cluster.publish(local(1), providerOf());
    replica.cluster.stale(topic, new Error("the API server is away"));
    replica.cluster.renew(topic, "102");
    remotes.says.set(uri, remote(1));
    await pass(5_000);
    expect(sink.last?.kind).to.equal("document");
    expect(flagsOf(sink)["far"]).to.equal("remote 1");
  });

  for (const [what, provider] of [
    ["another remote", providerOf({ uri: "https://remote.test/b" })],
    ["a remote that can't be used", providerOf({ uri: 7 })],
    ["no remote", undefined],
  ] as const)
    it(`follows its remote on when there is no memory for an edit that names ${what}`, async () => {
      remotes.says.set(uri, remote(1));
      cluster.publish(local(1), providerOf());
      await pass(0);
      sink.crowdedOut = "local 2";
      expect(() => cluster.publish(local(2), provider)).to.throw("no memory");
      await pass(4_000);
      expect(flagsOf(sink)["far"]).to.equal("remote 1");
      remotes.says.set(uri, remote(2));
      await pass(5_000);
      expect(flagsOf(sink)).to.deep.equal({ both: "local 1", own: "local 1", far: "remote 2" });
    });

  describe("of which a merge takes many turns of the event loop", () => {
    const keys = [...manyKeys(2_000), "both", "far"];
    const isServed = (key: string, value: string): Promise<void> =>
      eventually(() => flagsOf(sink)[key] === value, `${key}: ${value}`);
    beforeEach(async () => {
      remotes.says.set(uri, remote(1, keys));
      cluster.publish(local(1), providerOf());
      await isServed("far", "remote 1");
    });

    it("serves an edit that there was no memory for, once there is", async () => {
      sink.crowdedOut = "local 2";
      cluster.publish(local(2), providerOf());
      await eventually(() => sink.last?.kind === "stale", "it is refused");
      sink.crowdedOut = undefined;
      await pass(30_000);
      await isServed("own", "local 2");
    });

    it("serves what its remote says that there was no memory for, once there is, also after an edit", async () => {
      sink.crowdedOut = "remote 2";
      remotes.says.set(uri, remote(2, keys));
      await pass(5_000);
      await eventually(() => sink.events.some(({ kind }) => kind === "stale"), "it is refused");
      cluster.publish(local(2), providerOf());
      await isServed("own", "local 2");
      expect(flagsOf(sink)["far"]).to.equal("remote 1");
      sink.crowdedOut = undefined;
      await pass(30_000);
      await isServed("far", "remote 2");
      expect(flagsOf(sink)["own"]).to.equal("local 2");
    });
  });
});
