import { Informer, KubeError, type InformerOptions, type KubeObject, type ObjectScope } from "@bunting/kube";
import type { ClusterWatches, ResourceScope, RunningInformer } from "@bunting/kube";
import { aborted, createRegistry } from "@bunting/runtime";
import { eventually, recordingLogger } from "@bunting/test/support/grpc-port.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { operatorMetrics } from "../../operator-metrics.js";
import { AccessController } from "./access-controller.js";

/** An API server whose watches have read that there is nothing of ours, and say nothing more. */
class Objects {
  readonly stored = new Map<string, KubeObject>();

  get({ type, name }: ObjectScope): Promise<KubeObject> {
    const found = this.stored.get(`${type.plural}/${name}`);
    return found === undefined
      ? Promise.reject(new KubeError("NOT_FOUND", "there is none"))
      : Promise.resolve(found);
  }

  apply({ type, name }: ObjectScope, object: object): Promise<KubeObject> {
    this.stored.set(`${type.plural}/${name}`, object as KubeObject);
    return Promise.resolve(object as KubeObject);
  }

  delete(): Promise<unknown> {
    return Promise.reject(new Error("nothing is to be deleted"));
  }

  inform<Object extends KubeObject, Index extends string>(
    _scope: ResourceScope,
    options: InformerOptions<Object, Index>,
  ): RunningInformer<Object, Index> {
    const informer = new Informer<Object, Index>(options);
    informer.beginRead().complete("1", 1);
    return { name: "watch", informer, readAgain: () => Promise.resolve(), run: aborted };
  }
}

describe("AccessController", () => {
  it("makes a file once what others had there under its name is gone, of which no watch tells", async () => {
    const objects = new Objects();
    const clock = new ManualClock();
    const logger = recordingLogger();
    const controller = new AccessController({
      client: objects,
      watches: objects as unknown as ClusterWatches,
      sources: { listenToFlags: () => () => undefined, flagVersion: () => "1" },
      flagReaderRole: undefined,
      context: { clock, logger, metrics: operatorMetrics(createRegistry(false)) },
    });
    const abort = new AbortController();
    const running = controller.run(abort.signal);
    const flag = { namespace: "shop", name: "limits" };
    objects.stored.set("featureflags/limits", { metadata: { ...flag, uid: "u", resourceVersion: "1" } });
    objects.stored.set("configmaps/limits", { metadata: flag });
    controller.needs("shop", { files: [flag], watched: [], asksProxy: false });
    await eventually(
      () => logger.lines.some(({ message }) => message.includes("is somebody else's")),
      "it says so",
    );
    objects.stored.delete("configmaps/limits");
    await eventually(() => clock.hasTimerIn(60_000), "it is to look again");
    clock.advance(60_000);
    await eventually(() => objects.stored.has("configmaps/limits"), "the file is made");
    abort.abort();
    await running;
    expect(clock.pendingTimers).to.equal(0);
  });
});
