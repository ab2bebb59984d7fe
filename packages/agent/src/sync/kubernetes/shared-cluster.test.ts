import type { ClusterWatches, RunningWatch } from "@bunting/kube/pod";
import { featureFlagType } from "@bunting/protocol";
import { FaultyApiServer } from "@bunting/test/support/faulty-api-server/index.js";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import { expect } from "chai";
import { SourceProbe } from "../sync.fixture.js";
import { sharedCluster } from "./shared-cluster.js";

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

  it("serves a watch that comes while the last one before it leaves", async () => {
    const environment = {
      KUBERNETES_SERVICE_HOST: "127.0.0.1",
      KUBERNETES_SERVICE_PORT: String(api.port),
    };
    const { options } = new SourceProbe();
    const runWatch = sharedCluster(
      { ...options, pod: { environment, serviceAccountDirectory: pod.path } },
      "test",
    );
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
