import { ClusterWatches, Epochs, type KubeClient, type KubeObject } from "@bunting/kube";
import { recordingLogger } from "@bunting/test/support/grpc-port.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { PodStream } from "./pod-stream.js";

describe("PodStream", () => {
  const epoch = new Epochs(() => undefined).current;
  let heard: string[];
  let stream: PodStream;

  const pod = (name: string, enabled = "true"): KubeObject => ({
    metadata: { namespace: "shop", name, annotations: { "openfeature.dev/enabled": enabled } },
  });
  const event = (type: "ADDED" | "MODIFIED" | "DELETED", object: KubeObject): void =>
    stream.event({ type, object, resourceVersion: "1" });
  function read(...pods: readonly KubeObject[]): void {
    const reading = stream.beginRead();
    for (const each of pods) reading.add(each, "1");
    reading.complete("1", epoch);
  }

  beforeEach(() => {
    heard = [];
    const metrics = { relist: () => undefined, event: () => undefined, error: () => undefined };
    const watches = new ClusterWatches({
      client: {} as KubeClient,
      context: { clock: new ManualClock(), logger: recordingLogger(), metrics },
    });
    stream = new PodStream(watches, [
      { seen: (key) => heard.push(`seen ${key}`), gone: (key) => heard.push(`gone ${key}`) },
    ]);
  });

  it("tells of Pods that want flags, and of no others", () => {
    read(pod("a"), pod("b", "false"), { metadata: { namespace: "shop", name: "c" } });
    event("ADDED", pod("d"));
    event("MODIFIED", pod("a"));
    event("DELETED", pod("b"));
    expect(heard).to.deep.equal(["seen shop/a", "seen shop/d", "seen shop/a"]);
  });

  it("says when it has told of all that there are, and when it tells of none any more", async () => {
    const observer = {
      seen: () => heard.push("seen"),
      gone: () => heard.push("gone"),
      read: () => heard.push("read"),
      ended: () => heard.push("ended"),
    };
    const metrics = { relist: () => undefined, event: () => undefined, error: () => undefined };
    const context = { clock: new ManualClock(), logger: recordingLogger(), metrics };
    stream = new PodStream(new ClusterWatches({ client: {} as KubeClient, context }), [observer]);
    read(pod("a"));
    read();
    await stream.run(AbortSignal.abort());
    expect(heard).to.deep.equal(["seen", "read", "gone", "read", "ended"]);
  });

  it("tells of none as gone that a read of another namespace lacks", () => {
    read(pod("a"));
    heard = [];
    stream.beginRead("blog").complete("1", epoch);
    expect(heard).to.deep.equal([]);
    stream.beginRead("shop").complete("1", epoch);
    expect(heard).to.deep.equal(["gone shop/a"]);
  });

  it("tells of Pods that are gone, or want flags no longer, once", () => {
    read(pod("a"), pod("b"));
    heard = [];
    event("MODIFIED", pod("a", "false"));
    event("DELETED", pod("a", "false"));
    event("DELETED", pod("b"));
    expect(heard).to.deep.equal(["gone shop/a", "gone shop/b"]);
  });

  it("tells after a read of Pods that went while the connection was down", () => {
    read(pod("a"), pod("b"), pod("c"));
    heard = [];
    const reading = stream.beginRead();
    reading.add(pod("b"), "2");
    reading.add(pod("c"), "2");
    reading.remove(pod("c"));
    expect(heard, "nothing is gone before the read is complete").to.not.include("gone shop/a");
    reading.complete("2", epoch);
    expect(heard.filter((each) => each.startsWith("gone")).sort()).to.deep.equal([
      "gone shop/a",
      "gone shop/c",
    ]);
  });
});
