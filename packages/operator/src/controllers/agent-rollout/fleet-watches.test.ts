import { ObjectStore, type ClusterWatches, type InformerOptions, type KubeObject } from "@bunting/kube";
import { aborted } from "@bunting/runtime";
import { expect } from "chai";
import { storedPod } from "./fleet-pod.js";
import { FleetWatches } from "./fleet-watches.js";

describe("FleetWatches", () => {
  let stores: Map<string, ObjectStore>;
  let handlers: Map<string, InformerOptions<KubeObject, never>["handler"]>;
  let open: number;
  let hasSynced: boolean;
  let fleet: FleetWatches;
  let abort: AbortController;

  /** Watches of which the test is the API server. */
  const watches = {
    inform: (
      { type }: { readonly type: { readonly plural: string } },
      options: InformerOptions<KubeObject, never>,
    ) => {
      const store = new ObjectStore();
      stores.set(type.plural, store);
      handlers.set(type.plural, options.handler);
      const informer = {
        store,
        get hasSynced() {
          return hasSynced;
        },
      };
      const run = async (signal: AbortSignal): Promise<void> => {
        open++;
        await aborted(signal);
        open--;
      };
      return { informer, run };
    },
  } as unknown as ClusterWatches;

  const image = (tag: string): string => `registry.example/agent:${tag}`;
  const live = (tag: string, resourceVersion: string, uid = "u"): KubeObject => ({
    metadata: { name: "a", namespace: "shop", uid, resourceVersion, labels: { "bunting.dev/agent": "1" } },
    spec: { containers: [], initContainers: [{ name: "flagd", image: image(tag) }] },
  });

  beforeEach(() => {
    stores = new Map();
    handlers = new Map();
    [open, hasSynced] = [0, true];
    fleet = new FleetWatches(watches, { exempt: new Set(["kube-system"]), own: "bunting" }, () => undefined);
    abort = new AbortController();
    fleet.begin(abort.signal);
  });
  afterEach(() => fleet.stop());

  function see(object: KubeObject): void {
    stores.get("pods")?.set(storedPod(object));
  }
  const imageNow = (): string | undefined => fleet.fleet?.pods[0]?.agent?.image;

  it("knows nothing before everything was read, and watches nothing once it is stopped", async () => {
    hasSynced = false;
    expect(fleet.fleet).to.equal(undefined);
    hasSynced = true;
    expect(fleet.fleet?.pods).to.deep.equal([]);
    expect(open).to.equal(3);
    await fleet.stop();
    expect(open).to.equal(0);
    expect(fleet.fleet).to.equal(undefined);
  });

  it("has what we have written before the watch tells of it, so that nothing is begun twice", () => {
    see(live("1", "5"));
    fleet.written(live("2", "7"));
    expect(imageNow()).to.equal(image("2"));
    see(live("1", "6"));
    expect(imageNow(), "an event from before").to.equal(image("2"));
    see(live("3", "8"));
    expect(imageNow(), "an event from after").to.equal(image("3"));
  });

  it("forgets what we have written of a Pod that is gone", () => {
    see(live("1", "5"));
    fleet.written(live("2", "7"));
    handlers.get("pods")?.changed("shop/a", undefined, undefined);
    see(live("1", "6", "another"));
    expect(imageNow()).to.equal(image("1"));
    fleet.written(live("2", "9"));
    expect(imageNow(), "another Pod of the name").to.equal(image("1"));
  });

  it("keeps nothing of a Pod that is gone before our write of it is answered", () => {
    fleet.written(live("2", "7"));
    see(live("1", "5"));
    expect(imageNow()).to.equal(image("1"));
  });

  it("leaves exempt namespaces out", () => {
    for (const name of ["shop", "kube-system"])
      stores.get("namespaces")?.set({ metadata: { name, labels: {} } });
    expect([...(fleet.fleet?.namespaces.keys() ?? [])]).to.deep.equal(["shop"]);
  });
});
