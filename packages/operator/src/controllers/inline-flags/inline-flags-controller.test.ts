import { inlineKinds, type InlineKind } from "@bunting/featureflags/resources";
import { KubeError, type InformerOptions, type KubeObject, type ObjectScope } from "@bunting/kube";
import { createRegistry } from "@bunting/runtime";
import { eventually, recordingLogger } from "@bunting/test/support/grpc-port.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { operatorMetrics } from "../../operator-metrics.js";
import { InlineFlagsController, type InlineFlagsOptions } from "./inline-flags-controller.js";

const flagged = "openfeature.dev/inline-flags";
const remarked = "openfeature.io/operator-remarks";
const metrics = operatorMetrics(createRegistry(false));
const text = (value: number): string =>
  JSON.stringify({ flags: { a: { state: "ENABLED", variants: { v: value }, defaultVariant: "v" } } });

/** A namespace with workloads and FeatureFlags, whose watches say what a test changes. */
class World {
  readonly objects = new Map<string, KubeObject>();
  readonly writes: string[] = [];
  readonly events: string[] = [];
  refusal: KubeError | undefined;
  readonly #informed = new Map<string, InformerOptions<KubeObject, never>>();
  #version = 0;

  readonly client: InlineFlagsOptions["client"] = {
    get: (scope) => this.#at(scope),
    create: (_scope, body) => {
      const { metadata } = body as KubeObject;
      return this.#write("create", `featureflags/${metadata.name}`, {
        ...body,
        metadata: { ...metadata, uid: `made-${++this.#version}` },
      });
    },
    update: (scope, body) => this.#write("update", `featureflags/${scope.name}`, body),
    delete: (scope) => {
      this.writes.push(`delete featureflags/${scope.name}`);
      this.objects.delete(`featureflags/${scope.name}`);
      return Promise.resolve(undefined as never);
    },
    patch: async (scope, _type, body) => {
      const { metadata, ...object } = await this.#at(scope);
      const { annotations = {} } = (body as KubeObject).metadata;
      const next = Object.fromEntries(
        Object.entries({ ...metadata.annotations, ...annotations }).filter(
          ([, value]) => (value as string | null) !== null,
        ),
      );
      const key = `${scope.type.plural}/${scope.name}`;
      return this.#write("patch", key, { ...object, metadata: { ...metadata, annotations: next } });
    },
  };

  readonly watches = {
    inform: (
      scope: { readonly type: { readonly plural: string } },
      options: InformerOptions<KubeObject, never>,
    ) => {
      this.#informed.set(scope.type.plural, options);
      return { name: "watch", run: () => Promise.resolve() };
    },
  } as unknown as InlineFlagsOptions["watches"];

  put(kind: InlineKind, name: string, annotations: object = {}, uid = `${name}-1`): void {
    this.change(`${inlineKinds[kind].plural}/${name}`, {
      metadata: { namespace: "shop", name, uid, annotations } as KubeObject["metadata"],
    });
  }

  /** What somebody else does. */
  change(key: string, object: KubeObject | undefined): void {
    const before = this.objects.get(key);
    if (object === undefined) this.objects.delete(key);
    else this.objects.set(key, object);
    this.#tell(key, object, before);
  }

  flag(name: string): KubeObject | undefined {
    return this.objects.get(`featureflags/${name}`);
  }

  remarks(key: string): string | undefined {
    return this.objects.get(key)?.metadata.annotations?.[remarked];
  }

  #at({ type, name }: ObjectScope): Promise<KubeObject> {
    const found = this.objects.get(`${type.plural}/${name}`);
    return found === undefined
      ? Promise.reject(new KubeError("NOT_FOUND", "there is none"))
      : Promise.resolve(found);
  }

  #write(verb: string, key: string, object: object): Promise<KubeObject> {
    if (this.refusal !== undefined && verb !== "patch") return Promise.reject(this.refusal);
    this.writes.push(`${verb} ${key}`);
    const written = { ...object } as KubeObject;
    const before = this.objects.get(key);
    this.objects.set(key, written);
    this.#tell(key, written, before);
    return Promise.resolve(written);
  }

  #tell(key: string, now: KubeObject | undefined, before: KubeObject | undefined): void {
    const [plural = "", name = ""] = key.split("/");
    const {
      keeps = () => true,
      transform = (each: KubeObject) => each,
      handler,
    } = this.#informed.get(plural) ?? {};
    const seen = (object: KubeObject | undefined): KubeObject | undefined =>
      object !== undefined && keeps(object) ? transform(object) : undefined;
    const [is, was] = [seen(now), seen(before)];
    if (is !== undefined || was !== undefined) handler?.changed(`shop/${name}`, is, was);
  }
}

/** Waits until an expectation holds. */
async function until(check: () => void): Promise<void> {
  const holds = (): boolean => {
    try {
      check();
      return true;
    } catch {
      return false;
    }
  };
  // What fails says more than that it took too long.
  await eventually(holds, "the expectation holds").catch(check);
}

describe("InlineFlagsController", () => {
  let world: World;
  let clock: ManualClock;
  let abort: AbortController;
  let running: Promise<void>;

  beforeEach(() => {
    world = new World();
    clock = new ManualClock();
    abort = new AbortController();
    const { client, watches } = world;
    const controller = new InlineFlagsController({
      ...{ client, watches, maxDocumentBytes: 1_000_000 },
      events: { record: ({ reason, note }) => void world.events.push(`${reason}: ${note}`) },
      context: { clock, metrics, logger: recordingLogger() },
    });
    running = controller.run(abort.signal);
  });
  afterEach(async () => {
    abort.abort();
    await running;
  });

  const owner = (name: string): unknown =>
    (world.flag(name)?.metadata as { readonly ownerReferences?: readonly object[] } | undefined)
      ?.ownerReferences?.[0];
  const stored = async (name: string, value: number): Promise<void> => {
    const flagSpec = JSON.parse(text(value)) as unknown;
    await until(() => expect(world.flag(name)?.["spec"]).to.deep.equal({ flagSpec }));
  };

  it("writes the FeatureFlag and the remarks once, and nothing when nothing has changed", async () => {
    world.put("Deployment", "checkout", { [flagged]: text(1) });
    await until(() => expect(world.writes).to.have.length(2));
    world.put("Deployment", "checkout", {
      ...world.objects.get("deployments/checkout")?.metadata.annotations,
      "team.example/other": "x",
    });
    world.put("Job", "fence", { [flagged]: text(1) });
    await until(() => expect(world.remarks("jobs/fence")).to.be.a("string"));
    expect(world.writes).to.deep.equal([
      "create featureflags/inline-deployment-checkout",
      "patch deployments/checkout",
      "create featureflags/inline-job-fence",
      "patch jobs/fence",
    ]);
    expect(world.events).to.deep.equal([]);
  });

  it("takes a FeatureFlag that it has made and that lost its owner for the workload that is made anew", async () => {
    world.put("StatefulSet", "db", { [flagged]: text(1) });
    await stored("inline-statefulset-db", 1);
    world.change("statefulsets/db", undefined);
    const { metadata, ...rest } = world.flag("inline-statefulset-db") ?? { metadata: { name: "" } };
    const orphan = { ...rest, metadata: { ...metadata, ownerReferences: [] } };
    world.change("featureflags/inline-statefulset-db", orphan);
    world.put("StatefulSet", "db", { [flagged]: text(2) }, "db-2");
    await stored("inline-statefulset-db", 2);
    expect(owner("inline-statefulset-db")).to.include({ kind: "StatefulSet", name: "db", uid: "db-2" });
    expect(world.events).to.deep.equal([]);
  });

  it("makes itself the owner again if somebody takes the owner away", async () => {
    world.put("Deployment", "checkout", { [flagged]: text(1) });
    await until(() => expect(world.remarks("deployments/checkout")).to.be.a("string"));
    const { metadata, ...rest } = world.flag("inline-deployment-checkout") ?? { metadata: { name: "" } };
    world.change("featureflags/inline-deployment-checkout", {
      ...rest,
      metadata: { ...metadata, ownerReferences: [] },
    });
    await until(() => expect(owner("inline-deployment-checkout")).to.include({ uid: "checkout-1" }));
  });

  const named = "inline-deployment-checkout";
  const key = `featureflags/${named}`;
  const none = { name: "" };
  for (const [what, edit] of [
    [
      "edit it",
      ({ metadata, ...rest }: KubeObject) => ({
        ...{ ...rest, spec: { flagSpec: { flags: {} } } },
        metadata: { ...metadata, generation: (metadata.generation ?? 1) + 1 },
      }),
    ],
    [
      "write another digest",
      ({ metadata, ...rest }: KubeObject) => ({
        ...rest,
        metadata: { ...metadata, annotations: { "bunting.dev/inline-digest": "of their own" } },
      }),
    ],
    [
      "take its owner away",
      ({ metadata, ...rest }: KubeObject) => ({ ...rest, metadata: { ...metadata, ownerReferences: [] } }),
    ],
    ["delete it", () => undefined],
  ] as const) {
    it(`writes a FeatureFlag five times, and then every half a minute, where others ${what} each time, and what the workload says at once`, async () => {
      world.put("Deployment", "checkout", { [flagged]: text(1) });
      const written = (times: number): Promise<void> =>
        until(() =>
          expect(
            world.writes.filter((write) => write.endsWith(key) && !write.startsWith("patch")),
          ).to.have.length(times),
        );
      const change = (): void => world.change(key, edit(world.flag(named) ?? { metadata: none }));
      await written(1);
      for (let times = 2; times <= 5; times++) {
        change();
        await written(times);
      }
      change();
      await until(() => expect(clock.hasTimerIn(30_000)).to.equal(true));
      await written(5);
      world.put("Deployment", "checkout", { [flagged]: text(2) });
      await stored(named, 2);
      for (let times = 7; times <= 10; times++) {
        change();
        await written(times);
      }
      change();
      await until(() => expect(clock.hasTimerIn(30_000)).to.equal(true));
      clock.advance(30_000);
      await written(11);
      await stored(named, 2);
      expect(owner(named)).to.include({ uid: "checkout-1" });
    });
  }

  it("waits until the FeatureFlag of an earlier workload of the name is collected", async () => {
    world.put("Job", "import", { [flagged]: text(1) });
    await stored("inline-job-import", 1);
    world.change("jobs/import", undefined);
    world.put("Job", "import", { [flagged]: text(2) }, "import-2");
    await until(() => expect(clock.hasTimerIn(5_000)).to.equal(true));
    expect(owner("inline-job-import")).to.include({ uid: "import-1" });
    world.objects.delete("featureflags/inline-job-import");
    clock.advance(5_000);
    await until(() => expect(owner("inline-job-import")).to.include({ uid: "import-2" }));
  });

  it("leaves a FeatureFlag of others alone, whether it has an owner or none", async () => {
    const metadata = { namespace: "shop", name: "inline-job-a", uid: "x" };
    world.change("featureflags/inline-job-a", { metadata });
    const owned = { ...metadata, name: "inline-job-b", ownerReferences: [{ ...other, controller: true }] };
    world.change("featureflags/inline-job-b", { metadata: owned });
    for (const name of ["a", "b"]) {
      world.put("Job", name, { [flagged]: text(1) });
      await until(() => expect(world.remarks(`jobs/${name}`)).to.match(/^refused: there is a FeatureFlag/));
      world.put("Job", name, { [remarked]: "said before" });
      await until(() => expect(world.remarks(`jobs/${name}`)).to.equal(undefined));
    }
    expect(world.writes.filter((write) => !write.startsWith("patch jobs/"))).to.deep.equal([]);
    expect(world.events.map((event) => event.split(":")[0])).to.deep.equal(["NameTaken", "NameTaken"]);
  });

  it("stores the flags once a FeatureFlag of others has gone that had the name, of which no watch tells", async () => {
    world.change("featureflags/inline-job-a", {
      metadata: { namespace: "shop", name: "inline-job-a", uid: "x" },
    });
    world.put("Job", "a", { [flagged]: text(1) });
    await until(() => expect(world.remarks("jobs/a")).to.match(/^refused: there is a FeatureFlag/));
    world.objects.delete("featureflags/inline-job-a");
    await until(() => expect(clock.hasTimerIn(60_000)).to.equal(true));
    clock.advance(60_000);
    await stored("inline-job-a", 1);
  });
  const other = { apiVersion: "v1", kind: "ConfigMap", name: "b", uid: "other" };

  it("says on the workload if the API server does not store its flags, and tries again later", async () => {
    world.refusal = new KubeError("FORBIDDEN", "exceeded quota: flags");
    world.put("CronJob", "nightly", { [flagged]: text(1) });
    await until(() =>
      expect(world.remarks("cronjobs/nightly")).to.equal(
        "refused, and the last flags stay: exceeded quota: flags",
      ),
    );
    expect(world.events).to.deep.equal(["InlineFlagsRefused: Its flags: exceeded quota: flags."]);
    world.refusal = undefined;
    await until(() => expect(clock.hasTimerIn(60_000)).to.equal(true));
    clock.advance(60_000);
    await until(() => expect(world.remarks("cronjobs/nightly")).to.match(/^inline, 1 flag/));
  });

  it("keeps what was stored while the text is no flags, and says the place", async () => {
    world.put("Deployment", "checkout", { [flagged]: text(1) });
    await stored("inline-deployment-checkout", 1);
    world.put("Deployment", "checkout", { [flagged]: "{\n x" });
    await until(() =>
      expect(world.remarks("deployments/checkout")).to.match(
        /^refused, and the last flags stay: line 2, column/,
      ),
    );
    await stored("inline-deployment-checkout", 1);
  });

  it("removes only what it has made when the annotation goes", async () => {
    world.put("Deployment", "checkout", { [flagged]: text(1) });
    await stored("inline-deployment-checkout", 1);
    world.put("Deployment", "checkout", { [remarked]: "said before" });
    await until(() => expect(world.flag("inline-deployment-checkout")).to.equal(undefined));
    await until(() => expect(world.remarks("deployments/checkout")).to.equal(undefined));
  });
});
