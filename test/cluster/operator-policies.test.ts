import path from "node:path";
import { expect } from "chai";
import { imagePull } from "@bunting/operator/internal/desired/image-pull.js";
import { fullEntry, inProcessEntry } from "@bunting/operator/internal/pod/injection-entry.fixture.js";
import { notInjectedReasons } from "@bunting/operator/internal/pod/reasons.js";
import { eventually } from "../support/event-queue.js";
import type { ApiObject, ApiResponse } from "./support/api-client.js";
import { featureFlagPath } from "./support/cluster.js";
import { InjectionWorlds } from "./support/injection-world.js";
import { TestPolicies } from "./support/test-policies.js";
import { sharedCluster } from "./support/use-cluster.js";

const app = { name: "app", image: "shop.example/app" };
const flag = { state: "ENABLED", variants: { on: true, off: false }, defaultVariant: "on" };

interface PullPod {
  readonly metadata: object;
  readonly spec: { readonly containers: readonly [{ readonly securityContext: object }] };
}

interface Answer {
  readonly status: number;
  readonly message: string;
  /** What kubectl prints as warnings. */
  readonly warnings: readonly string[];
}

function answerOf({ status, headers, text }: ApiResponse): Answer {
  const { message = "" } = JSON.parse(text) as { readonly message?: string };
  const warning = headers.warning;
  const warnings = typeof warning === "string" ? [...warning.matchAll(/299 - "((?:[^"\\]|\\.)*)"/g)] : [];
  return { status, message, warnings: warnings.map(([, each = ""]) => each) };
}

describe("the policies on a real API server", function () {
  this.timeout(120_000);
  const cluster = sharedCluster();
  let policies: TestPolicies;
  let namespace: string;

  const pods = (): string => `/api/v1/namespaces/${namespace}/pods`;
  const post = async (at: string, body: unknown): Promise<Answer> =>
    answerOf(await cluster().api.request("POST", `${at}?dryRun=All`, { body }));

  describe("notice.yaml", () => {
    let worlds: InjectionWorlds;
    before(async () => {
      worlds = await InjectionWorlds.create(cluster());
      ({ policies } = worlds);
      await policies.install("notice.yaml");
      const entries = { sources: { shop: fullEntry }, inProcess: { direct: inProcessEntry } };
      ({ injecting: namespace } = await worlds.world(entries));
      const unknown = { "openfeature.dev/enabled": "true", "openfeature.dev/featureflagsource": "none" };
      await eventually(async () => (await warningsOf(unknown)).length > 0, "the policy warns");
    });
    after(() => policies.remove());

    async function warningsOf(annotations: object, spec: object = {}): Promise<readonly string[]> {
      const pod = { metadata: { name: "app", annotations }, spec: { containers: [app], ...spec } };
      const { status, warnings } = await post(pods(), pod);
      expect(status, "nothing is refused").to.equal(201);
      return warnings.map((warning) => warning.replace(/^.*?: this Pod/, "this Pod"));
    }
    const enabled = { "openfeature.dev/enabled": "true" };
    const source = (name: string): object => ({ ...enabled, "openfeature.dev/featureflagsource": name });
    const direct = (name: string): object => ({ ...enabled, "openfeature.dev/inprocessconfiguration": name });

    it("is silent about Pods that get what they ask for, or ask for nothing", async () => {
      expect(await warningsOf(source("shop"))).to.deep.equal([]);
      expect(await warningsOf(direct("direct"))).to.deep.equal([]);
      expect(await warningsOf({ ...source("none"), "openfeature.dev/enabled": "false" })).to.deep.equal([]);
      expect(await warningsOf({})).to.deep.equal([]);
      const mirror = { ...source("none"), "kubernetes.io/config.mirror": "4f5e" };
      expect(await warningsOf(mirror, { nodeName: "node" })).to.deep.equal([]);
    });

    it("asks for a sidecar where a sidecar is wanted, and for the mark where variables are", async () => {
      const injected = { "bunting.dev/injected": "policy 0123456789abcdef" };
      expect(await warningsOf({ ...source("none"), ...injected })).to.have.lengthOf(1);
      const initContainers = [{ ...app, name: "flagd" }];
      expect(await warningsOf(direct("none"), { initContainers })).to.have.lengthOf(1);
      expect(await warningsOf({ ...direct("none"), ...injected })).to.deep.equal([]);
      expect(await warningsOf(source("none"), { initContainers })).to.deep.equal([]);
    });

    it("names what a Pod asks for that is not there", async () => {
      expect(await warningsOf(source("none"))).to.deep.equal([
        `this Pod gets no flags: is there a FeatureFlagSource none for the namespace ${namespace}, and does the operator of Bunting run?`,
      ]);
      expect(await warningsOf(direct("none"))).to.deep.equal([
        `this Pod gets no flags: is there an InProcessConfiguration none for the namespace ${namespace}, and does the operator of Bunting run?`,
      ]);
      expect(await warningsOf(enabled)).to.deep.equal([
        `this Pod gets no flags: ${notInjectedReasons.NoSource}`,
      ]);
    });

    it("says why a Pod was not injected, in our own words", async () => {
      const spec = { HostNetwork: { hostNetwork: true }, Windows: { os: { name: "windows" } } };
      for (const [reason, each] of Object.entries(spec)) {
        const sentence = notInjectedReasons[reason as keyof typeof spec];
        expect(await warningsOf(source("shop"), each)).to.deep.equal([`this Pod gets no flags: ${sentence}`]);
      }
      // Mirrors are never changed, and what lacks a source needs no word to be told from others.
      const others = Object.entries(notInjectedReasons).filter(
        ([reason]) => !/^(MirrorPod|NoSource)$/.test(reason),
      );
      for (const [reason, sentence] of others) {
        const annotations = { ...source("none"), "bunting.dev/not-injected": reason };
        expect(await warningsOf(annotations)).to.deep.equal([`this Pod gets no flags: ${sentence}`]);
      }
    });

    it("warns whatever the annotation has", async () => {
      const [long = ""] = await warningsOf(source("x".repeat(20_000)));
      expect(long).to.contain("this Pod");
      expect(await warningsOf(source('äöü\n"quoted"'))).to.have.lengthOf(1);
    });
  });

  describe("feature-flags.yaml", () => {
    before(async () => {
      policies = new TestPolicies(cluster());
      await policies.install("feature-flags.yaml");
      namespace = await policies.createNamespace();
      const bad = { flags: { bad: { ...flag, defaultVariant: "none" } } };
      const nested = { flags: {}, metadata: { deep: {} } };
      await eventually(async () => {
        const answers = [await create("probe", bad), await create("probe", nested)];
        return answers[0]?.status === 422 && answers[1]?.warnings.length === 1;
      }, "the policies are obeyed");
    });
    after(() => policies.remove());

    const object = (name: string, flagSpec: unknown, annotations: object = {}): object => ({
      apiVersion: "core.openfeature.dev/v1beta1",
      kind: "FeatureFlag",
      metadata: { name, annotations },
      spec: flagSpec === undefined ? {} : { flagSpec },
    });
    const create = (name: string, flagSpec: unknown, annotations?: object): Promise<Answer> =>
      post(featureFlagPath(namespace), object(name, flagSpec, annotations));

    it("accept flags whose default is a variant, or that have none", async () => {
      for (const flagSpec of [
        undefined,
        { flags: {} },
        { flags: { a: flag, "b c/d": flag } },
        { flags: { none: { state: "ENABLED", variants: {}, defaultVariant: "" } } },
        { flags: { empty: { ...flag, variants: { "": true }, defaultVariant: "" } } },
      ]) {
        expect(await create("ok", flagSpec)).to.deep.equal({ status: 201, message: "", warnings: [] });
      }
    });

    it("refuse a default that is no variant, and name the flags", async () => {
      const bad = { ...flag, defaultVariant: "On" };
      const { status, message } = await create("no", { flags: { a: flag, first: bad, second: bad } });
      expect(status).to.equal(422);
      // The policy language reads a map in no order.
      expect(message).to.match(
        /the default variant of these flags is not one of their variants: (first, second|second, first)/,
      );
      const many = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`flag-${index}`, bad]));
      expect((await create("no", { flags: many })).message).to.match(/variants: (flag-\d+, ){10}…/);
    });

    it("let an object with an older fault be mended and edited, but not made worse", async () => {
      const bad = { ...flag, defaultVariant: "gone" };
      // The annotation admits it, as an object that is older than the policy.
      await cluster().api.create(
        featureFlagPath(namespace),
        object("old", { flags: { bad, a: flag } }, { "bunting.dev/validation": "warn" }),
      );
      const edit = async (flags: object): Promise<number> => {
        const body = {
          metadata: { annotations: { "bunting.dev/validation": null } },
          spec: { flagSpec: { flags } },
        };
        const at = `${featureFlagPath(namespace, "old")}?dryRun=All`;
        const contentType = "application/merge-patch+json";
        return (await cluster().api.request("PATCH", at, { body, contentType })).status;
      };
      expect(await edit({ bad: { state: "DISABLED" } })).to.equal(200);
      expect(await edit({ a: { defaultVariant: "off" } })).to.equal(200);
      expect(await edit({ bad: { defaultVariant: "on" } })).to.equal(200);
      expect(await edit({ a: { defaultVariant: "gone" } })).to.equal(422);
      expect(await edit({ bad: { defaultVariant: "other" } })).to.equal(422);
      expect(await edit({ a: { variants: { on: null } } })).to.equal(422);
    });

    it("refuse nothing where the namespace says so, unless the object says otherwise", async () => {
      const bad = { flags: { bad: { ...flag, defaultVariant: "gone" } } };
      const lenient = await policies.createNamespace();
      await cluster().api.patch(`/api/v1/namespaces/${lenient}`, {
        metadata: { annotations: { "bunting.dev/validation": "warn" } },
      });
      const at = featureFlagPath(lenient);
      await eventually(async () => (await post(at, object("x", bad))).status === 201, "it is obeyed");
      expect((await post(at, object("x", bad, { "bunting.dev/validation": "strict" }))).status).to.equal(422);
    });

    it("warn of metadata that will not be served", async () => {
      const flat = { owner: "team", ticket: 7, share: 0.5, beta: true };
      const served = await create("ok", { flags: { a: { ...flag, metadata: flat } }, metadata: flat });
      expect(served).to.deep.equal({ status: 201, message: "", warnings: [] });
      const nested = { ...flat, deep: { a: 1 }, list: [1] };
      const { status, warnings } = await create("ok", {
        flags: { a: { ...flag, metadata: nested }, b: flag, c: { ...flag, metadata: { none: null } } },
        metadata: nested,
      });
      expect(status).to.equal(201);
      expect(warnings).to.have.lengthOf(2);
      expect(warnings[0]).to.contain("metadata of the flag set");
      expect(warnings[1]).to.match(/left out of these flags: (a, c|c, a)$/);
    });

    it("judge 10,000 flags of 0.9 MB at once, and an edit of 1,000", async () => {
      const flags = Object.fromEntries(
        Array.from({ length: 10_000 }, (_, index) => [`flag-${index}`, { ...flag, metadata: { n: index } }]),
      );
      const last = { ...flag, defaultVariant: "gone" };
      expect((await create("large", { flags: { ...flags, last } })).message).to.contain("variants: last");
      const fewer = Object.fromEntries(Object.entries(flags).slice(0, 1_000));
      await cluster().putFeatureFlag(namespace, "large", { flags: fewer });
      const at = `${featureFlagPath(namespace, "large")}?dryRun=All`;
      const contentType = "application/merge-patch+json";
      const body = { spec: { flagSpec: { flags: { last } } } };
      const { message } = answerOf(await cluster().api.request("PATCH", at, { body, contentType }));
      expect(message).to.contain("variants: last");
    });
  });

  describe("operator.yaml", () => {
    let token: string;
    before(async () => {
      policies = new TestPolicies(cluster());
      namespace = await policies.createNamespace();
      const account = await cluster().createServiceAccountToken(namespace, "operator");
      token = account.token;
      await policies.install("operator.yaml", `system:serviceaccount:${namespace}:operator`);
      await bind(namespace);
      await eventually(async () => (await write()).status === 403, "the policy is obeyed");
      await eventually(async () => (await write(token)).status === 201, "the operator may write");
    });
    after(() => policies.remove());

    /** The operator may do anything in the namespace, as far as RBAC goes. */
    async function bind(of: string): Promise<void> {
      await cluster().api.create(`/apis/rbac.authorization.k8s.io/v1/namespaces/${of}/rolebindings`, {
        metadata: { name: "operator" },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
        subjects: [{ kind: "ServiceAccount", name: "operator", namespace }],
      });
    }

    const injections = (): string => `/apis/bunting.dev/v1alpha1/namespaces/${namespace}/injections`;
    async function write(as?: string): Promise<Answer> {
      const object = { apiVersion: "bunting.dev/v1alpha1", kind: "Injection", metadata: { name: "bunting" } };
      const options = { body: object, ...(as === undefined ? {} : { token: as }) };
      return answerOf(await cluster().api.request("POST", `${injections()}?dryRun=All`, options));
    }

    it("lets the operator alone write Injections, and whoever may delete them", async () => {
      expect((await write()).message).to.contain("Injections are written by the operator only");
      const object = { apiVersion: "bunting.dev/v1alpha1", kind: "Injection", metadata: { name: "bunting" } };
      const created = await cluster().api.request("POST", injections(), { body: object, token });
      expect(created.status).to.equal(201);
      const body = { spec: { format: 1 } };
      const at = `${injections()}/bunting`;
      const contentType = "application/merge-patch+json";
      const edited = await cluster().api.request("PATCH", at, { body, contentType });
      expect(answerOf(edited).message).to.contain("Injections are written by the operator only");
      await cluster().api.delete(at);
    });

    describe("the operator's changes of workloads of others", () => {
      let shop: string;
      const at = (of: string, name = "held"): string => `/apis/apps/v1/namespaces/${of}/deployments/${name}`;
      async function patch(path: string, operations: readonly object[], as?: string): Promise<Answer> {
        const contentType = "application/json-patch+json";
        const options = { body: operations, contentType, ...(as === undefined ? {} : { token: as }) };
        return answerOf(await cluster().api.request("PATCH", `${path}?dryRun=All`, options));
      }
      const replace = (field: string, value: unknown): object => ({ op: "replace", path: field, value });
      const add = (field: string, value: unknown): object => ({ op: "add", path: field, value });
      const image = [replace("/spec/template/spec/containers/0/image", "evil:1")];
      const managed = { "app.kubernetes.io/managed-by": "open-feature-operator" };

      before(async () => {
        shop = await policies.createNamespace();
        await bind(shop);
        const owner = { apiVersion: "core.openfeature.dev/v1beta1", kind: "Flagd", name: "a", uid: "4f5e" };
        for (const [of, name, metadata] of [
          [shop, "held", { annotations: { other: "x" }, labels: { app: "shop" } }],
          [shop, "made", { labels: managed }],
          [shop, "owned", { ownerReferences: [owner] }],
          [namespace, "held", {}],
        ] as const)
          await cluster().api.create(`/apis/apps/v1/namespaces/${of}/deployments`, {
            metadata: { name, ...metadata },
            spec: {
              selector: { matchLabels: { app: "shop" } },
              template: {
                metadata: { labels: { app: "shop" }, annotations: { a: "b" } },
                spec: { containers: [app] },
              },
            },
          });
        const isHeld = async (): Promise<boolean> => (await patch(at(shop), image, token)).status === 422;
        await eventually(isHeld, "the policy is obeyed");
      });

      it("may be of annotations, those of the template included", async () => {
        const remarks = add("/metadata/annotations/openfeature.io~1operator-remarks", "inline");
        const restart = add("/spec/template/metadata/annotations/kubectl.kubernetes.io~1restartedAt", "now");
        for (const operation of [remarks, restart])
          expect((await patch(at(shop), [operation], token)).status).to.equal(200);
      });

      it("may be of anything where it has made the workload itself", async () => {
        for (const path of [at(shop, "made"), at(shop, "owned"), at(namespace)])
          expect((await patch(path, image, token)).status, path).to.equal(200);
      });

      for (const [what, operation] of Object.entries({
        "the image": image[0],
        "the number of replicas": replace("/spec/replicas", 0),
        "the ServiceAccount": add("/spec/template/spec/serviceAccountName", "admin"),
        "a label of the Pods": add("/spec/template/metadata/labels/role", "backend"),
        "a label": add("/metadata/labels/role", "backend"),
        "the label of what it has made": add(
          "/metadata/labels/app.kubernetes.io~1managed-by",
          "open-feature-operator",
        ),
        "an owner": add("/metadata/ownerReferences", [
          { apiVersion: "core.openfeature.dev/v1beta1", kind: "Flagd", name: "x", uid: "4f5e" },
        ]),
        "a finalizer": add("/metadata/finalizers", ["bunting.dev/hold"]),
      }))
        it(`may not be ${what}, which others may change`, async () => {
          const { status, message } = await patch(at(shop), [operation ?? {}], token);
          expect(message).to.contain("the operator may");
          expect(status).to.equal(422);
          expect((await patch(at(shop), [operation ?? {}])).status).to.equal(200);
        });

      it("may not be of the status", async () => {
        const { message } = await patch(`${at(shop)}/status`, [add("/status/observedGeneration", 9)], token);
        expect(message).to.contain("the operator may not change the status of workloads");
      });
    });

    describe("Pods that the operator creates", () => {
      const pull = imagePull({
        ...{ namespace: "", node: "node", image: "registry.example/agent:2", pullSecrets: ["registry"] },
        ...{ rollout: { name: "agents", uid: "4f5e" }, choosesUser: true },
      }) as unknown as PullPod;
      const [container] = pull.spec.containers;
      const create = async (spec: object, of = namespace): Promise<Answer> => {
        const body = {
          ...pull,
          metadata: { ...pull.metadata, namespace: of },
          spec: { ...pull.spec, ...spec },
        };
        const options = { body, token };
        return answerOf(
          await cluster().api.request("POST", `/api/v1/namespaces/${of}/pods?dryRun=All`, options),
        );
      };
      const security = container.securityContext;

      before(() =>
        eventually(async () => (await create({ hostPID: true })).status === 422, "the policy is obeyed"),
      );

      it("may have a node pull an image", async () => {
        const { status, message } = await create({});
        expect(message).to.equal("");
        expect(status).to.equal(201);
      });

      for (const [what, spec] of Object.entries<object>({
        "another command": { containers: [{ ...container, command: ["sh"] }] },
        "other arguments": { containers: [{ ...container, args: ["start"] }] },
        variables: { containers: [{ ...container, env: [{ name: "NODE_OPTIONS", value: "--require=/x" }] }] },
        "a second container": { containers: [container, app] },
        "an init container": { initContainers: [app] },
        "a volume": { volumes: [{ name: "host", hostPath: { path: "/" } }] },
        "a token": { automountServiceAccountToken: true },
        "the node's network": { hostNetwork: true },
        "the node's processes": { hostPID: true },
        "a restart": { restartPolicy: "Always" },
        "a hook": { containers: [{ ...container, lifecycle: { preStop: { exec: { command: ["sh"] } } } }] },
        "a probe": { containers: [{ ...container, livenessProbe: { exec: { command: ["sh"] } } }] },
        root: { securityContext: {} },
        "root of the container": {
          containers: [{ ...container, securityContext: { ...security, runAsNonRoot: false } }],
        },
        "more privileges later": {
          containers: [{ ...container, securityContext: { ...security, allowPrivilegeEscalation: true } }],
        },
        "a capability": {
          containers: [
            {
              ...container,
              securityContext: { ...security, capabilities: { drop: ["ALL"], add: ["NET_ADMIN"] } },
            },
          ],
        },
      }))
        it(`may not have ${what}`, async () => {
          const { status, message } = await create(spec);
          expect(message).to.contain("the operator may");
          expect(status).to.equal(422);
        });

      it("may not be in another namespace", async () => {
        const other = await policies.createNamespace();
        await bind(other);
        let answer = await create({}, other);
        // What was bound counts a moment later.
        const counts = async (): Promise<boolean> => (answer = await create({}, other)).status !== 403;
        await eventually(counts, "the operator may create Pods there");
        const { status, message } = answer;
        expect(message).to.contain("in namespaces of others");
        expect(status).to.equal(422);
      });
    });

    describe("the operator's own changes of Pods", () => {
      let at: string;
      async function patch(operations: readonly object[], suffix = ""): Promise<Answer> {
        const contentType = "application/json-patch+json";
        const options = { body: operations, contentType, token };
        return answerOf(await cluster().api.request("PATCH", `${at}${suffix}?dryRun=All`, options));
      }
      const replace = (field: string, value: unknown): object => ({ op: "replace", path: field, value });
      const add = (field: string, value: unknown): object => ({ op: "add", path: field, value });

      before(async () => {
        at = `${pods()}/held`;
        await cluster().api.create(pods(), {
          metadata: {
            name: "held",
            labels: { app: "shop" },
            annotations: { other: "x", "bunting.dev/injected": "policy 1" },
          },
          spec: {
            automountServiceAccountToken: false,
            containers: [{ ...app, resources: { requests: { cpu: "1" } } }],
            initContainers: [
              { name: "flagd", image: "flagd:1", restartPolicy: "Always" },
              { ...app, name: "wait" },
            ],
          },
        });
        const isHeld = async (): Promise<boolean> =>
          (await patch([replace("/spec/containers/0/image", "evil:1")])).status === 422;
        await eventually(isHeld, "the policy is obeyed");
      });

      it("may be of the sidecar's image and our annotations", async () => {
        const { status } = await patch([
          replace("/spec/initContainers/0/image", "bunting-agent:2"),
          add("/metadata/annotations/bunting.dev~1agent-previous", "flagd:1"),
          { op: "remove", path: "/metadata/annotations/bunting.dev~1injected" },
        ]);
        expect(status).to.equal(200);
      });

      for (const [what, operation] of Object.entries({
        "another image": replace("/spec/containers/0/image", "evil:1"),
        "the image of another init container": replace("/spec/initContainers/1/image", "evil:1"),
        "a label": add("/metadata/labels/role", "backend"),
        "the removal of a label": { op: "remove", path: "/metadata/labels/app" },
        "an annotation of others": replace("/metadata/annotations/other", "y"),
        "a new annotation of others": add("/metadata/annotations/new", "y"),
        "the removal of an annotation": { op: "remove", path: "/metadata/annotations/other" },
        "a toleration": add("/spec/tolerations/-", { key: "node", operator: "Exists" }),
        "a deadline": add("/spec/activeDeadlineSeconds", 1),
        "a finalizer": add("/metadata/finalizers", ["bunting.dev/hold"]),
        "an owner": add("/metadata/ownerReferences", [
          { apiVersion: "v1", kind: "ConfigMap", name: "x", uid: "4f5e" },
        ]),
      })) {
        it(`may not be ${what}, which others may change`, async () => {
          const { status, message } = await patch([operation]);
          expect(message).to.contain("the operator may");
          expect(status).to.equal(422);
          const contentType = "application/json-patch+json";
          const others = { body: [operation], contentType };
          expect((await cluster().api.request("PATCH", `${at}?dryRun=All`, others)).status).to.equal(200);
        });
      }

      it("may not be of its status, resources or ephemeral containers", async () => {
        const ephemeral = [add("/spec/ephemeralContainers", [{ ...app, name: "debug" }])];
        const resize = [replace("/spec/containers/0/resources/requests/cpu", "2")];
        for (const [suffix, operations] of [
          ["/ephemeralcontainers", ephemeral],
          ["/resize", resize],
          ["/status", [add("/status/message", "x")]],
        ] as const) {
          expect((await patch(operations, suffix)).message, suffix).to.contain(
            "the operator may not change the status",
          );
        }
      });
    });
  });

  it("of v1beta1 are the same as of v1, except for the versions of what is a beta there", async () => {
    const rendered = async (directory: string): Promise<readonly ApiObject[]> => {
      const at = path.resolve(import.meta.dirname, "../../deploy", directory);
      const text = await cluster().kubectl(["kustomize", at]);
      const { parseAllDocuments } = await import("yaml");
      return parseAllDocuments(text).map((document) => document.toJS() as ApiObject);
    };
    const isMutating = ({ kind }: ApiObject): boolean => (kind as string).startsWith("Mutating");
    const [stable, beta] = [await rendered("policies"), await rendered("policies-v1beta1")];
    expect(beta.filter(isMutating).map(({ apiVersion }) => apiVersion)).to.deep.equal([
      "admissionregistration.k8s.io/v1beta1",
      "admissionregistration.k8s.io/v1beta1",
    ]);
    const inVersion1 = (object: ApiObject): ApiObject =>
      isMutating(object) ? { ...object, apiVersion: "admissionregistration.k8s.io/v1" } : object;
    const byName = (objects: readonly ApiObject[]): object =>
      Object.fromEntries(
        objects.map((object) => [`${object["kind"] as string} ${object.metadata.name}`, object]),
      );
    expect(byName(beta.map(inVersion1))).to.deep.equal(byName(stable));
  });
});
