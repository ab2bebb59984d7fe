import {
  KubeError,
  type ApplyOptions,
  type Condition,
  type KubeObject,
  type ObjectScope,
} from "@bunting/kube";
import { nextTurn } from "@bunting/runtime";
import { recordingLogger } from "@bunting/test/support/grpc-port.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { operatorMetrics } from "../../operator-metrics.js";
import type { SourcePlan } from "../../sources/source-plan.js";
import { ProxyReadyController, type SourceWithStatus } from "./proxy-ready-controller.js";

const planOf = (way: "proxy" | "remote"): SourcePlan =>
  ({ sources: [{ way: "remote" }, { way }] }) as unknown as SourcePlan;
const available = { kind: "available" } as const;
const degraded = { kind: "degraded", message: "it hangs" } as const;

describe("ProxyReadyController", () => {
  const metrics = operatorMetrics();
  let clock: ManualClock;
  let objects: Map<string, SourceWithStatus>;
  let written: string[];
  let options: ApplyOptions | undefined;
  let fault: KubeError | undefined;
  /** As the definition of the open-feature-operator does with the fields of a status. */
  let drops: boolean;
  let controller: ProxyReadyController;
  let abort: AbortController;
  let running: Promise<void>;

  beforeEach(() => {
    clock = new ManualClock();
    objects = new Map();
    written = [];
    fault = undefined;
    drops = false;
    controller = new ProxyReadyController({
      client: { apply },
      source: (key) => objects.get(key),
      context: context(),
    });
    abort = new AbortController();
    running = controller.run(abort.signal);
  });

  afterEach(async () => {
    abort.abort();
    await running;
    expect(clock.pendingTimers).to.equal(0);
  });

  const context = () => ({ clock, logger: recordingLogger(), metrics });

  /** The API server, whose objects come back by the watch at once. */
  function apply(
    { namespace = "", name }: ObjectScope,
    body: object,
    how: ApplyOptions,
  ): Promise<KubeObject> {
    if (fault !== undefined) return Promise.reject(fault);
    options = how;
    const { status } = body as { readonly status: { readonly conditions: readonly Condition[] } };
    written.push(`${name} ${status.conditions.map(({ reason }) => reason).join()}`);
    if (drops) return Promise.resolve({ ...(body as KubeObject), status: {} });
    const before = objects.get(`${namespace}/${name}`);
    if (before !== undefined) {
      const others = before.status?.conditions?.filter(({ type }) => type !== "ProxyReady") ?? [];
      objects.set(`${namespace}/${name}`, {
        ...before,
        status: { conditions: [...others, ...status.conditions] },
      });
    }
    return Promise.resolve(body as KubeObject);
  }

  function put(name: string, generation = 1): void {
    const { status = { conditions: [accepted] } } = objects.get(`shop/${name}`) ?? {};
    objects.set(`shop/${name}`, { metadata: { namespace: "shop", name, generation }, status });
  }

  async function compiled(name: string, way: "proxy" | "remote" | undefined): Promise<void> {
    controller.compiled(`shop/${name}`, way === undefined ? undefined : planOf(way));
    await settle();
  }

  async function settle(ms = 0): Promise<void> {
    clock.advance(ms);
    await nextTurn();
  }

  it("says whether the proxy is ready of sources that use it, and of no others", async () => {
    for (const name of ["a", "b", "c"]) put(name);
    controller.entered(available);
    await compiled("a", "proxy");
    await compiled("b", "remote");
    await compiled("c", undefined);
    expect(written).to.deep.equal(["a Available"]);
    expect(options).to.include({ subresource: "status", force: true });
    expect(objects.get("shop/a")?.status?.conditions?.map(({ type }) => type)).to.deep.equal([
      "Accepted",
      "ProxyReady",
    ]);
    expect(objects.get("shop/a")?.status?.conditions?.[1]).to.include({
      observedGeneration: 1,
      status: "True",
    });
  });

  it("does not even look at a source that was compiled again, if it says the same already", async () => {
    put("a");
    controller.entered(available);
    await compiled("a", "proxy");
    await settle(60_000);
    const runs = (): number => metrics.reconciled.read("proxy-ready", "succeeded");
    const before = runs();
    await compiled("a", "proxy");
    expect(runs()).to.equal(before);
    put("a", 2);
    await compiled("a", "proxy");
    expect(runs(), "it is another version").to.equal(before + 1);
    expect(objects.get("shop/a")?.status?.conditions?.[1]).to.include({ observedGeneration: 2 });
  });

  it("says nothing until the state of the proxy is known", async () => {
    put("a");
    await compiled("a", "proxy");
    await settle(60_000);
    expect(written).to.deep.equal([]);
    controller.entered({ kind: "deploying" });
    await settle();
    expect(written).to.deep.equal(["a Progressing"]);
  });

  it("follows the state and the version of the source, ten seconds after it has said something", async () => {
    put("a");
    controller.entered(available);
    await compiled("a", "proxy");
    controller.entered(degraded);
    await settle(9_999);
    expect(written).to.deep.equal(["a Available"]);
    await settle(1);
    put("a", 2);
    await compiled("a", "proxy");
    await settle(10_000);
    expect(written).to.deep.equal(["a Available", "a Degraded", "a Degraded"]);
    await compiled("a", "proxy");
    await settle(60_000);
    expect(written, "no news").to.have.lengthOf(3);
  });

  it("takes back what it said when the source no longer uses the proxy", async () => {
    put("a");
    controller.entered(available);
    await compiled("a", "proxy");
    await compiled("a", "remote");
    await settle(10_000);
    expect(written).to.deep.equal(["a Available", "a "]);
    expect(objects.get("shop/a")?.status?.conditions).to.deep.equal([accepted]);
  });

  it("writes to twenty sources at once, and then to five a second", async () => {
    controller.entered(available);
    for (let index = 0; index < 30; index++) {
      put(`s${index}`);
      await compiled(`s${index}`, "proxy");
    }
    expect(written).to.have.lengthOf(20);
    for (let turn = 0; turn < 5; turn++) await settle(200);
    expect(written).to.have.lengthOf(25);
    for (let turn = 0; turn < 5; turn++) await settle(200);
    expect(written).to.have.lengthOf(30);
  });

  it("ends at once when it is stopped while sources wait for their turn", async () => {
    controller.entered(available);
    for (let index = 0; index < 22; index++) {
      put(`s${index}`);
      await compiled(`s${index}`, "proxy");
    }
    abort.abort();
    await running;
    expect(written).to.have.lengthOf(20);
  });

  it("forgets sources that are deleted, also meanwhile", async () => {
    put("a");
    fault = new KubeError("NOT_FOUND", "it is gone");
    controller.entered(available);
    await compiled("a", "proxy");
    objects.clear();
    controller.entered(degraded);
    await settle(10_000);
    fault = undefined;
    put("a");
    controller.entered(available);
    await settle(60_000);
    expect(written).to.deep.equal([]);
  });

  it("tries again after ten minutes where the type has no status, and not before", async () => {
    put("a");
    drops = true;
    controller.entered(available);
    await compiled("a", "proxy");
    for (let minute = 0; minute < 9; minute++) await settle(60_000);
    controller.entered(degraded);
    await settle();
    expect(written).to.deep.equal(["a Available"]);
    drops = false;
    await settle(600_000);
    expect(written).to.deep.equal(["a Available", "a Degraded"]);
  });

  it("tries again what the API server did not take", async () => {
    put("a");
    fault = new KubeError("SERVER_ERROR", "not now");
    controller.entered(available);
    await compiled("a", "proxy");
    fault = undefined;
    await settle(1_000);
    expect(written).to.deep.equal(["a Available"]);
  });

  it("forgets sources that are gone, under however many names they come and go", async () => {
    for (let batch = 0; batch < 20; batch++) {
      const keys = Array.from({ length: 500 }, (_, i) => `shop/b${batch}-${i}`);
      for (const key of keys) objects.set(key, { metadata: { namespace: "shop", name: key.slice(5) } });
      for (const key of keys) controller.compiled(key, planOf("proxy"));
      for (let turn = 0; turn < 5; turn++) await nextTurn();
      objects.clear();
    }
    let looks = 0;
    objects.get = () => {
      looks++;
      return undefined;
    };
    controller.entered(available);
    for (let turn = 0; turn < 5; turn++) await nextTurn();
    expect(looks).to.be.within(1, 2_000);
  });
});

const accepted: Condition = {
  ...{ type: "Accepted", status: "True", reason: "Accepted", message: "" },
  lastTransitionTime: "2026-01-01T00:00:00Z",
};
