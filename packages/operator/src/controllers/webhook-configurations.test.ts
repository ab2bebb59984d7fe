import type { InformerOptions, KubeObject, ResourceScope } from "@bunting/kube";
import { createRegistry, nextTurn, Signal } from "@bunting/runtime";
import { eventually, recordingLogger } from "@bunting/test/support/grpc-port.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { secretPath, webhookPaths } from "../api/webhooks.js";
import type { LiveWebhooks } from "../desired/webhook-calls.js";
import { operatorMetrics } from "../operator-metrics.js";
import { WebhookConfigurations } from "./webhook-configurations.js";

type Live = KubeObject & LiveWebhooks;
type Handler = InformerOptions<Live, never>["handler"];

const service = { namespace: "bunting", name: "webhooks" };
const metrics = operatorMetrics(createRegistry(false));

/** What an API server does with applies of bundles is tried in test/cluster/operator-admission.test.ts. */
describe("WebhookConfigurations", () => {
  const handlers = new Map<string, Handler>();
  const logger = recordingLogger();
  let clock: ManualClock;
  let applied: string[];
  let told: string[];
  let released: string[];
  /** Which configuration can't be written, and how often that was tried. */
  let refused: string | undefined;
  let refusals: number;
  let bundle: string | undefined;
  let key: string | undefined;
  let changes: Signal;
  let abort: AbortController;
  let running: Promise<void>;
  let configurations: WebhookConfigurations;

  beforeEach(() => start(true));

  function start(hasBundle: boolean): void {
    clock = new ManualClock();
    applied = [];
    told = [];
    released = [];
    [refused, refusals] = [undefined, 0];
    bundle = "ONE";
    key = "k1";
    changes = new Signal();
    abort = new AbortController();
    handlers.clear();
    logger.lines.length = 0;
    configurations = new WebhookConfigurations({
      client: {
        apply: ({ type }, object) => {
          if (type.plural === refused) {
            refusals++;
            return Promise.reject(new Error("refused"));
          }
          const clientConfig = (object as Live).webhooks?.[0]?.clientConfig;
          const pem = atob(clientConfig?.caBundle ?? "");
          applied.push(`${type.plural} ${pem}`);
          show(type.plural, pem, {}, clientConfig?.service?.path);
          return Promise.resolve(object as KubeObject);
        },
        patch: ({ type }, kind, patch) => {
          released.push(`${type.plural} ${kind} ${JSON.stringify(patch)}`);
          return Promise.resolve({ metadata: { name: type.plural } });
        },
      },
      watches: {
        inform: (scope: ResourceScope, { handler }: { readonly handler: Handler }) => {
          handlers.set(scope.type.plural, handler);
          return { run: () => Promise.resolve() } as never;
        },
      },
      source: {
        get call() {
          if (key === undefined || (hasBundle && bundle === undefined)) return undefined;
          return { key, ...(hasBundle && bundle !== undefined ? { bundle } : {}) };
        },
        onChange: (listener) => void changes.listen(listener),
      },
      address: { service },
      onApplied: (call) => told.push(call.bundle ?? "", call.key),
      context: { clock, logger, metrics },
    });
    running = configurations.run(abort.signal);
  }

  afterEach(async () => {
    abort.abort();
    await running;
    expect(clock.pendingTimers).to.equal(0);
  });

  /** With the path that it should have, where none is given. */
  function show(type: string, caBundle?: string, annotations = {}, path = pathOf("k1", type)): void {
    showManaged(type, caBundle, { annotations }, path);
  }

  function showManaged(type: string, caBundle?: string, metadata = {}, path = pathOf("k1", type)): void {
    const clientConfig = {
      service: { ...service, path },
      ...(caBundle === undefined ? {} : { caBundle: btoa(caBundle) }),
    };
    const object = {
      metadata: { name: type, ...metadata },
      webhooks: [{ name: nameOf(type), clientConfig }],
    };
    handlers.get(type)?.changed(type, object, undefined);
  }

  function nameOf(type: string): string {
    return type === mutating ? "mutate.openfeature.dev" : "vfeatureflag.kb.io";
  }

  function pathOf(ofKey: string, type: string): string {
    return secretPath(type === mutating ? webhookPaths.pod : webhookPaths.featureFlag, ofKey);
  }

  function synced(...types: readonly string[]): void {
    for (const type of types) handlers.get(type)?.synced?.();
  }

  const [mutating, validating] = [
    "mutatingwebhookconfigurations",
    "validatingwebhookconfigurations",
  ] as const;

  it("says that a bundle counts when all configurations that there are have it, and not before", async () => {
    show(mutating);
    await eventually(() => applied.length === 1);
    synced(mutating);
    await nextTurn();
    expect(told, "there may be another").to.deep.equal([]);
    show(validating, "OLD");
    synced(validating);
    await eventually(() => told.includes("ONE"));
    expect(applied).to.deep.equal([`${mutating} ONE`, `${validating} ONE`]);
  });

  it("says that a bundle counts once the only configuration is gone that could not be given it", async () => {
    refused = validating;
    show(mutating);
    show(validating);
    synced(mutating, validating);
    await eventually(() => applied.length === 1 && refusals === 1);
    clock.advance(1_000);
    await eventually(() => refusals === 2);
    expect(told).to.deep.equal([]);
    handlers.get(validating)?.changed(validating, undefined, undefined);
    clock.advance(1_000);
    await eventually(() => told.includes("ONE"));
  });

  it("needs only those that there are", async () => {
    show(validating, "ONE");
    synced(mutating, validating);
    await eventually(() => told.includes("ONE"));
    expect(applied).to.deep.equal([]);
  });

  it("does nothing while there is no authority, and puts the next bundle in when it changes", async () => {
    bundle = undefined;
    show(mutating);
    synced(mutating, validating);
    await nextTurn();
    expect([applied, told]).to.deep.equal([[], []]);
    bundle = "TWO";
    changes.emit();
    await eventually(() => told.includes("TWO"));
    expect(applied).to.deep.equal([`${mutating} TWO`]);
  });

  it("replaces certificates of another operator when that is gone, and not before", async () => {
    const [ours, theirs] = ["ours", "theirs"].map(
      (text) => `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----\n`,
    ) as [string, string];
    bundle = ours;
    show(mutating, theirs);
    synced(mutating, validating);
    await eventually(() => told.length > 0);
    const alone = new AbortController();
    const replacing = configurations.alone().run(alone.signal);
    await eventually(() => applied.length === 2);
    expect(applied).to.deep.equal([`${mutating} ${ours}${theirs}`, `${mutating} ${ours}`]);
    alone.abort();
    await replacing;
    show(mutating, ours + theirs);
    clock.advance(1_000);
    await nextTurn();
    expect(applied, "another one is there again").to.have.length(2);
  });

  it("owns nothing of a configuration that has the bundle, so that whoever installed it can remove webhooks", async () => {
    const helm = { manager: "helm", operation: "Apply" };
    showManaged(mutating, "ONE", {
      managedFields: [helm, { manager: "bunting-operator", operation: "Apply" }],
    });
    synced(mutating, validating);
    await eventually(() => released.length === 1);
    expect(released[0])
      .to.contain(`${mutating} json `)
      .and.contain(JSON.stringify([helm]));
    expect(applied).to.deep.equal([]);
    showManaged(mutating, "ONE", { managedFields: [helm] });
    clock.advance(1_000);
    await nextTurn();
    expect(released).to.have.length(1);
  });

  it("answers whoever writes over the bundle once in a second", async () => {
    show(mutating, "ONE");
    synced(mutating, validating);
    await eventually(() => told.length > 0);
    for (let i = 0; i < 10; i++) show(mutating, "OTHER");
    clock.advance(999);
    await nextTurn();
    expect(applied).to.deep.equal([]);
    clock.advance(1);
    await eventually(() => applied.length === 1);
  });

  it("puts the paths of another key in, and says that they count", async () => {
    show(mutating, "ONE");
    synced(mutating, validating);
    await eventually(() => told.includes("k1"));
    key = undefined;
    changes.emit();
    await nextTurn();
    expect(applied).to.deep.equal([]);
    key = "k2";
    changes.emit();
    await eventually(() => told.includes("k2"));
    expect(applied).to.deep.equal([`${mutating} ONE`]);
  });

  it("puts the paths in, and no bundle, where others do that", async () => {
    abort.abort();
    await running;
    start(false);
    show(mutating, "OTHERS", {}, "/mutate-v1-pod");
    synced(mutating, validating);
    await eventually(() => told.includes("k1"));
    expect(applied).to.deep.equal([`${mutating} `]);
    expect(told).to.not.include("ONE");
  });

  it("leaves a configuration to cert-manager that asks for it, and says once that this can't be meant", async () => {
    for (let i = 0; i < 3; i++) {
      show(mutating, "OTHER", { "cert-manager.io/inject-ca-from": "a/b" });
      clock.advance(1_000);
      await nextTurn();
    }
    expect(applied).to.deep.equal([]);
    expect(logger.lines.filter(({ level }) => level === "warn")).to.have.length(1);
  });
});
