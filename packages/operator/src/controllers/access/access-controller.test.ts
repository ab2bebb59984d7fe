import { Informer, KubeError, type InformerOptions, type KubeObject, type ObjectScope } from "@bunting/kube";
import type { ClusterWatches, ResourceScope, RunningInformer } from "@bunting/kube";
import { aborted, createRegistry } from "@bunting/runtime";
import { eventually, recordingLogger } from "@bunting/test/support/grpc-port.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { operatorMetrics } from "../../operator-metrics.js";
import { AccessController, type AccessControllerOptions } from "./access-controller.js";

/** An API server whose watches have read that there is nothing of ours, and say nothing more. */
class Objects {
  readonly stored = new Map<string, KubeObject>();
  /** Events, as `reason of the object: note`. */
  readonly told: string[] = [];
  refusal: KubeError | undefined;

  readonly events: AccessControllerOptions["events"] = {
    record: ({ reason, regarding, note }) => {
      this.told.push(`${reason} of ${regarding.namespace ?? ""}/${regarding.name}: ${note}`);
    },
  };

  get({ type, name }: ObjectScope): Promise<KubeObject> {
    const found = this.stored.get(`${type.plural}/${name}`);
    return found === undefined
      ? Promise.reject(new KubeError("NOT_FOUND", "there is none"))
      : Promise.resolve(found);
  }

  apply({ type, name }: ObjectScope, object: object): Promise<KubeObject> {
    if (this.refusal !== undefined) return Promise.reject(this.refusal);
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
  const flag = { namespace: "shop", name: "limits" };
  let objects: Objects;
  let clock: ManualClock;
  let abort: AbortController;
  let running: Promise<void>;
  /** Has the sidecars of the namespace need the file. */
  let ask: () => void;

  beforeEach(() => {
    objects = new Objects();
    clock = new ManualClock();
    abort = new AbortController();
    const { events } = objects;
    const controller = new AccessController({
      client: objects,
      watches: objects as unknown as ClusterWatches,
      sources: { listenToFlags: () => () => undefined, flagVersion: () => "1" },
      events,
      flagReaderRole: undefined,
      context: { clock, logger: recordingLogger(), metrics: operatorMetrics(createRegistry(false)) },
    });
    running = controller.run(abort.signal);
    objects.stored.set("featureflags/limits", { metadata: { ...flag, uid: "u", resourceVersion: "1" } });
    ask = () => controller.needs("shop", { files: [flag], watched: [], asksProxy: false });
  });

  afterEach(async () => {
    abort.abort();
    await running;
    expect(clock.pendingTimers).to.equal(0);
  });

  it("makes a file once what others had there under its name is gone, of which no watch tells", async () => {
    objects.stored.set("configmaps/limits", { metadata: flag });
    ask();
    await eventually(() => objects.told.length === 1, "an event says so");
    expect(objects.told[0]).to.match(
      /^NameTaken of shop\/bunting: the ConfigMap shop\/limits is somebody else's/,
    );
    objects.stored.delete("configmaps/limits");
    await eventually(() => clock.hasTimerIn(60_000), "it is to look again");
    clock.advance(60_000);
    await eventually(() => objects.stored.has("configmaps/limits"), "the file is made");
  });

  it("says in the namespace why a file can't be written, and tries again", async () => {
    objects.refusal = new KubeError("FORBIDDEN", "exceeded quota: files");
    ask();
    await eventually(() => objects.told.length === 1, "an event says so");
    expect(objects.told).to.deep.equal([
      "NotWritten of shop/bunting: the ConfigMap shop/limits, which sidecars need, could not be written: exceeded quota: files",
    ]);
    objects.refusal = undefined;
    await eventually(() => clock.pendingTimers > 0, "it is to try again");
    clock.advance(10_000);
    await eventually(() => objects.stored.has("configmaps/limits"), "the file is made");
  });
});
