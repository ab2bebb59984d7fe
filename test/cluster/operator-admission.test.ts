import { authoritySecret } from "@bunting/operator/internal/certificates/authority-secret.js";
import { webhookKeySecret } from "@bunting/operator/internal/certificates/webhook-key-secret.js";
import { fullEntry } from "@bunting/operator/internal/pod/injection-entry.fixture.js";
import { expect } from "chai";
import { Authority } from "../support/certificates.js";
import { eventually } from "../support/event-queue.js";
import { AdmissionWorld } from "./support/admission-world.js";
import type { ApiResponse } from "./support/api-client.js";
import { inParallel } from "./support/in-parallel.js";
import { sharedCluster } from "./support/use-cluster.js";

interface Container {
  readonly name: string;
  readonly env?: readonly { readonly name: string }[];
}

interface Pod {
  readonly metadata: { readonly annotations: Readonly<Record<string, string>>; readonly labels?: object };
  readonly spec: {
    readonly containers: readonly Container[];
    readonly initContainers?: readonly Container[];
  };
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

function podOf({ status, text }: ApiResponse): Pod {
  expect(status, text).to.equal(201);
  return JSON.parse(text) as Pod;
}

function hasSidecar({ spec }: Pod): boolean {
  return spec.initContainers?.some(({ name }) => name === "flagd") === true;
}

function messageOf({ status, text }: ApiResponse): string {
  expect(status, text).to.be.greaterThan(399);
  return (JSON.parse(text) as { message: string }).message;
}

interface Admissions {
  readonly admitted: number;
  readonly injected: number;
  /** What the API server has logged of calls that failed meanwhile. */
  readonly failed: readonly string[];
}

/** All were injected but those, three at the most, for which a busy machine took longer than the three seconds that an API server waits for a call. */
function expectNoneLost({ admitted, injected, failed }: Admissions): void {
  expect(failed.filter((line) => !line.includes("context deadline exceeded"))).to.deep.equal([]);
  expect(failed.length, failed.join("\n")).to.be.at.most(3);
  expect(injected).to.equal(admitted - failed.length);
}

const required = { "bunting.dev/injection": "required" };
const gone = { "openfeature.dev/featureflagsource": "gone" };

describe("admission by the operator, as a real API server asks for it", function () {
  this.timeout(180_000);
  const cluster = sharedCluster();
  let world: AdmissionWorld;

  before(async () => {
    world = await AdmissionWorld.start(cluster());
  });

  after(() => world.stop());

  beforeEach(() => {
    world.reviews.length = 0;
  });

  const untilRequiredStart = (): Promise<void> =>
    eventually(
      async () => (await world.createPod({ annotations: required })).status === 201,
      "the Pod that waited starts",
    );

  it("injects the Pods that want flags, dry runs alike, and sees no others", async () => {
    const stored = podOf(await world.createPod({ isDryRun: false }));
    const tried = podOf(await world.createPod({}));
    for (const pod of [stored, tried]) {
      expect(hasSidecar(pod)).to.equal(true);
      expect(pod.metadata.annotations["bunting.dev/injected"]).to.equal(`webhook ${fullEntry.digest}`);
      expect(pod.metadata.labels).to.deep.include({ "bunting.dev/agent": fullEntry.revision });
      expect(pod.spec.containers[0]?.env?.map(({ name }) => name)).to.include.members(
        fullEntry.env.map(({ name }) => name),
      );
    }
    expect(world.reviews).to.have.length(2);
    const plain = podOf(await world.createPod({ annotations: { "openfeature.dev/enabled": "false" } }));
    expect(hasSidecar(plain)).to.equal(false);
    expect(world.reviews).to.have.length(2);
  });

  it("does not see Pods that the policy has injected, but does those that only say so", async () => {
    const annotations = { "bunting.dev/injected": "policy 0123" };
    const flagd = { name: "flagd", image: "agent", restartPolicy: "Always" };
    podOf(await world.createPod({ annotations, spec: { initContainers: [flagd] } }));
    expect(world.reviews).to.deep.equal([]);
    expect(hasSidecar(podOf(await world.createPod({ annotations })))).to.equal(true);
  });

  it("never touches the operator's own namespace, required or not", async () => {
    const pod = podOf(
      await world.createPod({ annotations: { ...gone, ...required }, namespace: world.ownNamespace }),
    );
    expect(hasSidecar(pod)).to.equal(false);
    expect(world.reviews).to.deep.equal([]);
  });

  it("admits a Pod whose source is unknown, with a warning that kubectl shows, and the reason on the Pod", async () => {
    const answer = await world.createPod({ annotations: gone });
    expect(podOf(answer).metadata.annotations["bunting.dev/not-injected"]).to.equal("UnknownSource");
    expect(answer.headers.warning).to.contain("the Pod gets no flags: there is no FeatureFlagSource gone");
  });

  it("refuses it where its owner, or that of the namespace, requires flags", async () => {
    const refused = await world.createPod({ annotations: { ...gone, ...required } });
    expect(messageOf(refused)).to.match(
      /"required-pod\.bunting\.dev" denied.*there is no FeatureFlagSource gone/,
    );
    world.reviews.length = 0;
    expect(hasSidecar(podOf(await world.createPod({ annotations: required })))).to.equal(true);
    expect(world.reviews.map(({ path }) => path)).to.deep.equal(["/mutate-v1-pod"]);
    const path = `/api/v1/namespaces/${world.namespace}`;
    await cluster().api.patch(path, { metadata: { labels: required } });
    await eventually(
      async () =>
        (await world.createPod({ annotations: gone })).text.includes("required-namespace.bunting.dev"),
      "the label of the namespace counts",
    );
    expect(hasSidecar(podOf(await world.createPod({})))).to.equal(true);
    await cluster().api.patch(path, { metadata: { labels: { "bunting.dev/injection": null } } });
    await eventually(
      async () => (await world.createPod({ annotations: gone })).status === 201,
      "it counts no more",
    );
  });

  it("has a controller try again until the source is there, where the operator refuses Pods without", async () => {
    const serve = async (missingSource: typeof world.missingSource): Promise<void> => {
      await world.stopServing();
      world.missingSource = missingSource;
      await world.serve();
    };
    const late = { "openfeature.dev/featureflagsource": "late" };
    await serve("refuse");
    try {
      await eventually(
        async () => (await world.createPod({ annotations: late })).status !== 201,
        "the API server asks again",
      );
      const refused = await world.createPod({ annotations: late });
      expect(messageOf(refused)).to.match(
        /"mutate\.openfeature\.dev" denied.*there is no FeatureFlagSource late/,
      );
      world.entries.set(`${world.namespace} late`, fullEntry);
      expect(hasSidecar(podOf(await world.createPod({ annotations: late })))).to.equal(true);
    } finally {
      await serve("admit");
    }
    await world.untilCalled();
  });

  it("takes an annotation of 200 KB, which is what a Pod may have, and a Pod that has nothing else", async () => {
    const answer = await world.createPod({ annotations: { note: "x".repeat(200_000), ...gone } });
    expect(podOf(answer).metadata.annotations["bunting.dev/not-injected"]).to.equal("UnknownSource");
    const long = await world.createPod({
      annotations: { "openfeature.dev/featureflagsource": "x".repeat(250_000) },
    });
    expect(podOf(long).metadata.annotations["bunting.dev/not-injected"]).to.equal("UnknownSource");
  });

  it("completes a container that another webhook adds later", async () => {
    await world.addMesh();
    try {
      let pod: Pod | undefined;
      await eventually(async () => {
        world.reviews.length = 0;
        pod = podOf(await world.createPod({}));
        return pod.spec.containers.length === 2;
      }, "the other webhook is called");
      const names = fullEntry.env.map(({ name }) => name);
      expect(pod?.spec.containers.map(({ name }) => name)).to.deep.equal(["app", "mesh"]);
      for (const { env = [] } of pod?.spec.containers ?? [])
        expect(env.map(({ name }) => name)).to.include.members(names);
      expect(pod?.spec.initContainers?.filter(({ name }) => name === "flagd")).to.have.length(1);
      expect(world.reviews.map(({ containers }) => containers.join())).to.deep.equal(["app", "app,mesh"]);
    } finally {
      await world.removeMesh();
    }
  });

  it("refuses a bad FeatureFlag with its fields, and accepts a good one, with warnings", async () => {
    const bad = await world.writeFlag("bad", { defaultVariant: "of" });
    expect(messageOf(bad)).to.match(
      /"vfeatureflag\.kb\.io" denied the request: spec\.flagSpec\.flags\.a\.defaultVariant: /,
    );
    const { details } = JSON.parse(bad.text) as { details: { causes: { field: string }[] } };
    expect(details.causes[0]?.field).to.equal("spec.flagSpec.flags.a.defaultVariant");
    const good = await world.writeFlag("good", { targeting: { if: [{ $ref: "gone" }, "on", "off"] } });
    expect(good.status, good.text).to.equal(201);
    expect(good.headers.warning).to.contain('there is no evaluator \\"gone\\"');
    const tried = await world.writeFlag("tried", {}, "?dryRun=All");
    expect([tried.status, tried.headers.warning]).to.deep.equal([201, undefined]);
  });

  it("refuses a FeatureFlagSource with which no Pod could start", async () => {
    const collection = `/apis/core.openfeature.dev/v1beta1/namespaces/${world.namespace}/featureflagsources`;
    const create = (spec: object): Promise<ApiResponse> =>
      cluster().api.request("POST", `${collection}?dryRun=All`, {
        body: {
          apiVersion: "core.openfeature.dev/v1beta1",
          kind: "FeatureFlagSource",
          metadata: { name: "source" },
          spec: { sources: [{ source: "flags", provider: "flagd-proxy" }], ...spec },
        },
      });
    expect((await create({})).status).to.equal(201);
    const resources = { requests: { memory: "128Mi" }, limits: { memory: "64Mi" } };
    expect(messageOf(await create({ resources }))).to.contain(
      "spec.resources.requests.memory: 128Mi is more",
    );
  });

  it("while it is away, Pods start, an edit of flags passes, and only Pods that require it wait", async () => {
    expect((await world.writeFlag("incident", {})).status).to.equal(201);
    await world.stopServing();
    expect(hasSidecar(podOf(await world.createPod({})))).to.equal(false);
    const waiting = await world.createPod({ annotations: required });
    expect(messageOf(waiting)).to.match(/failed calling webhook "required-pod\.bunting\.dev"/);
    podOf(await world.createPod({ annotations: { ...required, "openfeature.dev/enabled": "false" } }));
    expect((await world.writeFlag("incident", { defaultVariant: "off" })).status).to.equal(200);
    await world.serve();
    await untilRequiredStart();
  });

  it("while it hangs, Pods start after its time, and only Pods that require it wait", async () => {
    await world.stopServing();
    const goOn = await world.hang();
    const [pod, waiting] = await Promise.all([
      world.createPod({}),
      world.createPod({ annotations: required }),
      world
        .writeFlag("incident", { defaultVariant: "off" })
        .then(({ status }) => expect(status).to.equal(200)),
    ]);
    expect(hasSidecar(podOf(pod))).to.equal(false);
    expect(messageOf(waiting)).to.match(
      /failed calling webhook "required-pod\.bunting\.dev".*(deadline exceeded|timeout)/,
    );
    await goOn();
    await world.serve();
    await untilRequiredStart();
  });

  it("while its certificate is not accepted, Pods start, only those that require it wait, and the metric tells", async () => {
    await world.stopServing();
    const before = world.refusedHandshakes;
    const other = await Authority.create();
    await world.serve(await other.issue({ domains: ["localhost"] }));
    expect(hasSidecar(podOf(await world.createPod({})))).to.equal(false);
    const waiting = await world.createPod({ annotations: required });
    expect(messageOf(waiting)).to.match(
      /failed calling webhook "required-pod\.bunting\.dev".*x509: certificate signed by unknown authority/,
    );
    expect(world.refusedHandshakes).to.be.greaterThan(before);
    await world.stopServing();
    await world.serve();
    await untilRequiredStart();
  });

  it("answers only those who know the path, which API servers show to nobody", async () => {
    const { url } = await world.configuration();
    const secret = new URL(url).pathname.split("/").at(-1) ?? "";
    expect(url).to.match(/\/mutate-v1-pod\/[0-9a-f]{64}$/);
    const plain = url.slice(0, -secret.length - 1);
    for (const wrong of [plain, `${plain}/`, `${url}x`, url.replace(/.$/, "")])
      expect((await world.post(wrong)).status, wrong).to.equal(404);
    expect(await world.post(url)).to.deep.include({ status: 200 });
    expect((await world.post(url)).text).to.contain('"patch"');
    // An error of a webhook that may not fail has its URL.
    await world.stopServing();
    const waiting = messageOf(await world.createPod({ annotations: required }));
    const shown = /https:\/\/[^"?]+/.exec(waiting)?.[0] ?? "";
    expect(shown).to.match(/\/mutate-v1-pod\/required\/[0-9a-f]{64}$/);
    expect(waiting).to.not.contain(secret);
    await world.serve();
    const { status, text } = await world.post(shown);
    expect([status, text.includes("patch")], text).to.deep.equal([200, false]);
    expect((await world.post(shown.replace("/required/", "/"))).status).to.equal(404);
    await world.untilCalled();
  });

  it("finds what was stored while it was away, and says so in the status and by an event", async () => {
    const path = `/apis/core.openfeature.dev/v1beta1/namespaces/${world.namespace}/featureflags/unseen`;
    const accepted = async (): Promise<Condition | undefined> => {
      const { status } = (await cluster().api.get(path)) as { status?: { conditions?: Condition[] } };
      return status?.conditions?.find(({ type }) => type === "Accepted");
    };
    await world.stopServing();
    expect((await world.writeFlag("unseen", { defaultVariant: "of" })).status).to.equal(201);
    await eventually(async () => (await accepted())?.status === "False", "it is found");
    const found = await accepted();
    expect(found).to.include({ reason: "Flag", observedGeneration: 1 });
    expect(found?.message).to.contain("spec.flagSpec.flags.a.defaultVariant: agents refuse it");
    await world.serve();
    await world.untilCalled();
    const events = `/apis/events.k8s.io/v1/namespaces/${world.namespace}/events`;
    await eventually(async () => {
      const { items } = await cluster().api.list(events);
      return items.some(({ reason, note }) => reason === "Flag" && note === found?.message);
    }, "there is an event");
    expect((await world.writeFlag("unseen", {})).status).to.equal(200);
    await eventually(async () => (await accepted())?.status === "True", "it is accepted");
    const { status } = (await cluster().api.get(path)) as { status?: { flags: number; digest: string } };
    expect(status?.flags).to.equal(1);
    expect(status?.digest).to.match(/^[0-9a-f]{64}$/);
  });

  it("owns nothing of the configurations, so that whoever installed them can remove webhooks", async () => {
    const isReleased = async (): Promise<boolean> => {
      const { object } = await world.configuration();
      const { managedFields = [] } = object.metadata as { managedFields?: readonly { manager: string }[] };
      return !managedFields.some(({ manager }) => manager.startsWith("bunting"));
    };
    await eventually(isReleased, "nothing is the operator's");
    const { bundle } = await world.configuration();
    expect(bundle).to.contain("BEGIN CERTIFICATE");
    expect(await world.installWebhooks(1)).to.equal(1);
    expect((await world.configuration()).bundle).to.equal(bundle);
    expect(await world.installWebhooks()).to.equal(3);
    await world.untilCalled();
  });

  it("puts the bundle back that somebody else has written over", async () => {
    const { bundle } = await world.configuration();
    await world.overwriteBundle();
    await eventually(async () => (await world.configuration()).bundle === bundle, "the bundle is back");
    await world.untilCalled();
  });

  it("knows by what an API server says that a type lacks a field of the status", async () => {
    const path = `/apis/core.openfeature.dev/v1beta1/namespaces/${world.namespace}/featureflags/incident`;
    const { text } = await cluster().api.request("PATCH", `${path}/status?fieldManager=test`, {
      contentType: "application/apply-patch+yaml",
      body: {
        apiVersion: "core.openfeature.dev/v1beta1",
        kind: "FeatureFlag",
        metadata: { name: "incident" },
        status: { unknown: 1 },
      },
    });
    expect(text).to.contain("field not declared in schema");
  });

  it("loses none of 200 admissions while its key is replaced, and answers by the old one for ten minutes more", async () => {
    const { url } = await world.configuration();
    await world.deleteKeys();
    const failedBefore = world.failedCalls().length;
    let admitted = 0;
    let injected = 0;
    let isShifted = false;
    await inParallel(
      Array.from({ length: 200 }, (_, i) => i),
      async () => {
        if (admitted >= 50 && !isShifted) {
          isShifted = true;
          await eventually(async () => {
            const newest = (await world.stored(webhookKeySecret)).at(-1);
            return newest !== undefined && newest.usedMs === undefined;
          }, "there is a new key");
          world.clock.shiftMs += 61_000;
          world.keep();
        }
        if (hasSidecar(podOf(await world.createPod({})))) injected++;
        admitted++;
      },
    );
    expectNoneLost({ admitted, injected, failed: world.failedCalls().slice(failedBefore) });
    await eventually(async () => (await world.configuration()).url !== url, "the path is another");
    expect(hasSidecar(podOf(await world.createPod({})))).to.equal(true);
    expect((await world.post(url)).status).to.equal(200);
    const isTold = async (): Promise<boolean> =>
      (await world.stored(webhookKeySecret)).at(-1)?.toldMs !== undefined;
    await eventually(isTold, "it is noted when API servers were told of the new path");
    world.clock.shiftMs += 660_000;
    await eventually(async () => {
      world.keep();
      return (await world.post(url)).status === 404;
    }, "nobody knows the old path any more");
    await world.untilCalled();
  });

  it("loses none of 1,000 admissions while its authority is replaced", async () => {
    await world.ageAuthority();
    await world.untilCalled();
    const authorities = async (): Promise<number> =>
      (await world.configuration()).bundle.split("BEGIN CERTIFICATE").length - 1;
    await eventually(async () => (await authorities()) === 2, "both authorities are in the bundle");
    const before = await world.servedAuthority();
    const failedBefore = world.failedCalls().length;
    let admitted = 0;
    let injected = 0;
    let isShifted = false;
    await inParallel(
      Array.from({ length: 1_000 }, (_, i) => i),
      async () => {
        if (admitted >= 300 && !isShifted) {
          isShifted = true;
          const isTrusted = async (): Promise<boolean> =>
            (await world.stored(authoritySecret)).at(-1)?.trustedMs !== undefined;
          await eventually(isTrusted, "it is noted when API servers were told of the new authority");
          world.clock.shiftMs += 61_000;
          world.keep();
        }
        const pod = podOf(await world.createPod({}));
        if (hasSidecar(pod)) injected++;
        admitted++;
      },
    );
    expectNoneLost({ admitted, injected, failed: world.failedCalls().slice(failedBefore) });
    await eventually(
      async () => (await world.servedAuthority()) !== before,
      "the certificate is of the new authority",
    );
    expect(hasSidecar(podOf(await world.createPod({})))).to.equal(true);
    expect(await authorities()).to.equal(2);
  });
});
