import { rmSync } from "node:fs";
import type { ClusterWatches, RunningWatch } from "@bunting/kube/pod";
import { featureFlagType } from "@bunting/protocol";
import { FaultyApiServer } from "@bunting/test/support/faulty-api-server/index.js";
import { eventually } from "@bunting/test/support/event-queue.js";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import { expect } from "chai";
import { SourceProbe } from "../sync.fixture.js";
import { sharedCluster, type RunWatch } from "./shared-cluster.js";

/** More microtasks than pass until the connection of the last watch is closed. */
const maxMicrotasks = 24;
const never = new AbortController().signal;

describe("sharedCluster", () => {
  let api: FaultyApiServer;
  let pod: TempDirectory;
  beforeEach(async () => {
    api = await FaultyApiServer.start();
    pod = new TempDirectory();
    pod.replace("token", "first");
    pod.replace("ca.crt", api.ca.toString());
  });
  afterEach(async () => {
    await api.close();
    pod.remove();
  });

  /** A watch that calls back with what it hears first. */
  const watching =
    (heard: (what: string) => void) =>
    (watches: ClusterWatches): RunningWatch =>
      watches.watch({
        scope: { type: featureFlagType, namespace: "shop", name: "flags" },
        handler: {
          beginRead: () => ({
            add: () => undefined,
            remove: () => undefined,
            complete: () => heard("read"),
          }),
          event: () => undefined,
          failed: ({ code }) => heard(code),
        },
      });

  function runWatches(): RunWatch {
    const environment = {
      KUBERNETES_SERVICE_HOST: "127.0.0.1",
      KUBERNETES_SERVICE_PORT: String(api.port),
    };
    const { options } = new SourceProbe();
    return sharedCluster({ ...options, pod: { environment, serviceAccountDirectory: pod.path } }, "test");
  }

  it("closes its connection after the last watch, though one has failed", async () => {
    const runWatch = runWatches();
    const ending = new AbortController();
    let isRead = (): void => undefined;
    const read = new Promise<void>((resolve) => (isRead = resolve));
    const other = runWatch(watching(isRead), ending.signal);
    await read;
    const failing = runWatch(
      () => ({ ...({} as RunningWatch), run: () => Promise.reject(new Error("a bug")) }),
      never,
    );
    expect(await failing.catch((error: unknown) => (error as Error).message)).to.equal("a bug");
    ending.abort();
    await other;
    await eventually(() => api.connections === 0, "the connection is closed");
  });

  it("connects again after it could not, for all who wanted to", async () => {
    const runWatch = runWatches();
    rmSync(pod.file("token"));
    const failing = [1, 2].map(() =>
      runWatch(
        watching(() => undefined),
        never,
      ),
    );
    const failed = await Promise.allSettled(failing);
    expect(failed.map(({ status }) => status)).to.deep.equal(["rejected", "rejected"]);
    pod.replace("token", "first");
    const ending = new AbortController();
    let ended: Promise<void> = Promise.resolve();
    const heard = await new Promise((resolve) => {
      ended = runWatch(watching(resolve), ending.signal);
    });
    expect(heard).to.equal("read");
    ending.abort();
    await ended;
  });

  it("serves a watch that comes while the last one before it leaves", async () => {
    const runWatch = runWatches();
    for (let microtasks = 0; microtasks < maxMicrotasks; microtasks++) {
      let leave = (): void => undefined;
      const leaving = new Promise<void>((resolve) => (leave = resolve));
      let left: Promise<void> = Promise.resolve();
      await new Promise<void>((opened) => {
        left = runWatch((watches) => {
          opened();
          return { ...watching(() => undefined)(watches), run: () => leaving };
        }, never);
      });
      leave();
      for (let passed = 0; passed < microtasks; passed++) await Promise.resolve();
      const coming = new AbortController();
      let ended: Promise<void> = Promise.resolve();
      const heard = await new Promise((resolve) => {
        ended = runWatch(watching(resolve), coming.signal);
      });
      expect(heard, `after ${microtasks} microtasks`).to.equal("read");
      coming.abort();
      await Promise.all([left, ended]);
    }
  });
});
