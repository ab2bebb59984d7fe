import { expect } from "chai";
import { eventually } from "../support/event-queue.js";
import type { ApiResponse } from "./support/api-client.js";
import { restrictedSpec } from "./support/injection-world.js";
import { asking, hasSidecar, OperatorHome, readiness } from "./support/operator-home.js";
import type { OperatorProcess } from "./support/operator-process.js";
import { TestPolicies } from "./support/test-policies.js";
import { freshCluster } from "./support/use-cluster.js";

const core = "/apis/core.openfeature.dev/v1beta1";
const rbac = "/apis/rbac.authorization.k8s.io/v1";
const enabled = { "openfeature.dev/enabled": "true" };
const proxied = { sources: [{ source: "flags", provider: "flagd-proxy" }] };

const kinds = {
  featureflags: "FeatureFlag",
  featureflagsources: "FeatureFlagSource",
  inprocessconfigurations: "InProcessConfiguration",
} as const;

/** A namespace, and what its tenant may do by a token: everything there, and nothing elsewhere. */
interface Tenancy {
  readonly namespace: string;
  readonly token: string;
}

/** Whoever may do everything in a namespace of their own, and means harm to others. */
describe("a tenant with all rights in a namespace", function () {
  this.timeout(180_000);
  const cluster = freshCluster();
  let home: OperatorHome;
  let operator: OperatorProcess;
  let policies: TestPolicies;
  const tenants = new Map<string, Tenancy>();
  const victims = new Map<string, string>();
  const ways = ["policy", "webhook"] as const;

  before("the operator runs", async () => {
    home = await OperatorHome.create(cluster(), []);
    operator = home.start("operator-1");
    await operator.leads();
    policies = new TestPolicies(cluster());
    for (const file of ["inject.yaml", "operator.yaml"]) await policies.install(file, home.account.user);
    await home.put("FeatureFlagSource", "app", proxied);
    await home.registerWebhooks(await operator.webhookPort());
    for (const way of ways) {
      const labels = { "pod-security.kubernetes.io/enforce": "restricted" };
      const namespace = await (way === "policy"
        ? policies.createNamespace(labels)
        : cluster().createNamespace());
      const victim = await (way === "policy" ? policies : cluster()).createNamespace();
      tenants.set(way, { namespace, token: await tenantOf(namespace) });
      victims.set(way, victim);
      for (const each of [namespace, victim]) {
        await put(each, "featureflagsources", "app", proxied);
        await put(each, "inprocessconfigurations", "direct", {});
        await untilInjected(each, way);
      }
    }
  });
  after(() => home.stop());

  async function tenantOf(namespace: string): Promise<string> {
    const { token } = await cluster().createServiceAccountToken(namespace, "tenant");
    const apiVersion = "rbac.authorization.k8s.io/v1";
    const role = { apiVersion, kind: "Role", metadata: { name: "all", namespace } };
    const rules = [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }];
    await cluster().api.apply(`${rbac}/namespaces/${namespace}/roles/all`, { ...role, rules });
    await cluster().api.apply(`${rbac}/namespaces/${namespace}/rolebindings/all`, {
      ...{ apiVersion, kind: "RoleBinding", metadata: { name: "all", namespace } },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "all" },
      subjects: [{ kind: "ServiceAccount", name: "tenant", namespace }],
    });
    await eventually(async () => {
      const path = `/api/v1/namespaces/${namespace}/pods`;
      return (await cluster().api.request("GET", path, { token })).status === 200;
    }, "the role counts");
    return token;
  }

  async function put(
    namespace: string,
    plural: keyof typeof kinds,
    name: string,
    spec: object,
    token?: string,
  ): Promise<ApiResponse> {
    const kind = kinds[plural];
    const path = `${core}/namespaces/${namespace}/${plural}/${name}?fieldManager=tenant&force=true`;
    return cluster().api.request("PATCH", path, {
      body: { apiVersion: "core.openfeature.dev/v1beta1", kind, metadata: { name, namespace }, spec },
      contentType: "application/apply-patch+yaml",
      ...(token === undefined ? {} : { token }),
    });
  }

  function createPod(
    { namespace, token }: Tenancy | { readonly namespace: string; readonly token: undefined },
    metadata: object,
    spec: object = restrictedSpec,
  ): Promise<ApiResponse> {
    const body = { metadata: { generateName: "app-", ...metadata }, spec };
    return cluster().api.request("POST", `/api/v1/namespaces/${namespace}/pods?dryRun=All`, {
      body,
      ...(token === undefined ? {} : { token }),
    });
  }

  async function untilInjected(namespace: string, way: string): Promise<void> {
    await eventually(async () => {
      const { text } = await createPod({ namespace, token: undefined }, { annotations: asking });
      return text.includes(`"bunting.dev/injected":"${way} `);
    }, `Pods of ${namespace} are injected by the ${way}`);
  }

  function partiesOf(way: string): { readonly tenant: Tenancy; readonly victim: string } {
    const [tenant, victim] = [tenants.get(way), victims.get(way)];
    if (tenant === undefined || victim === undefined) throw new Error(`nobody is injected by the ${way}`);
    return { tenant, victim };
  }

  for (const way of ways)
    describe(`whose Pods are injected by the ${way}`, () => {
      it("gets nothing of another namespace, whatever Pods and sources name", async () => {
        const { tenant, victim } = partiesOf(way);
        await put(victim, "featureflags", "flags", { flagSpec: { flags: {} } });
        for (const annotations of [
          { "openfeature.dev/featureflagsource": `${victim}/app` },
          { "openfeature.dev/featureflagsource": `app,${victim}/app` },
          { "openfeature.dev/featureflag": `${victim}/flags` },
          { "openfeature.dev/inprocessconfiguration": `${victim}/direct` },
        ]) {
          const { status, text } = await createPod(tenant, { annotations: { ...enabled, ...annotations } });
          expect(status, text).to.equal(201);
          expect(hasSidecar({ text } as ApiResponse), text).to.equal(false);
          expect(text).to.not.contain('"FLAGD_');
        }
        for (const provider of ["flagd-proxy", "kubernetes", "file"]) {
          const sources = [
            { source: "flags", provider: "flagd-proxy" },
            { source: `${victim}/flags`, provider },
          ];
          const { status } = await put(
            tenant.namespace,
            "featureflagsources",
            provider,
            { sources },
            tenant.token,
          );
          expect(status).to.equal(201);
          await untilStatus(tenant.namespace, provider, "NotShared");
          const annotations = { ...enabled, "openfeature.dev/featureflagsource": provider };
          const made = await createPod(tenant, { annotations });
          expect(hasSidecar(made), made.text).to.equal(true);
          // The name is there in the annotations of nobody: only sidecars would have it.
          expect(made.text).to.not.contain(`${victim}/flags`);
          expect(made.text).to.not.contain(`${victim}_flags`);
        }
        const { items } = await cluster().api.list(`/api/v1/namespaces/${tenant.namespace}/configmaps`);
        expect(JSON.stringify(items)).to.not.contain(`${victim}_flags`);
      });

      it("gets no right by a source that its Pods do not have", async () => {
        const { tenant } = partiesOf(way);
        const volumes = [{ name: "node", hostPath: { path: "/" } }];
        const securityContext = { privileged: true, allowPrivilegeEscalation: true, runAsUser: 0 };
        const more = {
          volumes,
          securityContext,
          hostNetwork: true,
          hostPID: true,
          image: "evil.example/agent",
        };
        const spec = { ...proxied, ...more, podDefaults: more, podTemplate: { spec: more }, sidecar: more };
        const path = `${core}/namespaces/${tenant.namespace}/featureflagsources`;
        // An API server drops fields that the type does not have, and refuses to apply them.
        const { status, text } = await cluster().api.request("POST", path, {
          body: { ...kind("FeatureFlagSource"), metadata: { name: "more" }, spec },
          token: tenant.token,
        });
        expect(status, text).to.equal(201);
        await untilStatus(tenant.namespace, "more", "get the entry");
        const annotations = { ...enabled, "openfeature.dev/featureflagsource": "more" };
        const made = await createPod(tenant, { annotations });
        expect(made.status, made.text).to.equal(201);
        expect(hasSidecar(made)).to.equal(true);
        for (const word of ['"hostPath"', '"privileged":true', '"hostNetwork"', '"hostPID"', "evil.example"])
          expect(made.text).to.not.contain(word);
      });

      it("changes nothing for others by forged marks, labels and owners", async () => {
        const { tenant, victim } = partiesOf(way);
        const ofVictim = async (): Promise<unknown> => {
          const { text } = await createPod({ namespace: victim, token: undefined }, { annotations: asking });
          const { metadata, spec } = JSON.parse(text) as { metadata: { annotations: object }; spec: object };
          return { annotations: metadata.annotations, spec };
        };
        const before = await ofVictim();
        const labels = {
          "app.kubernetes.io/name": "flagd-proxy",
          "app.kubernetes.io/managed-by": "open-feature-operator",
          "app.kubernetes.io/component": "controller-manager",
          "bunting.dev/agent": "forged",
          "bunting.dev/access": victim,
          "bunting.dev/inline-flags": "deployment",
        };
        const annotations = {
          ...asking,
          "bunting.dev/injected": `${way} 0123456789abcdef`,
          "bunting.dev/readers": victim,
          "openfeature.dev/featureflag": `${victim}/flags`,
        };
        const ofOperator = {
          ...{ apiVersion: "apps/v1", kind: "Deployment", controller: true, blockOwnerDeletion: false },
          ...{ name: "bunting-operator", uid: "00000000-0000-0000-0000-000000000000" },
        };
        const ownerReferences = [ofOperator];
        const finalizers = ["tenant.example/held"];
        const metadata = { name: "inline-deployment-web", labels, annotations, ownerReferences, finalizers };
        const path = `/namespaces/${tenant.namespace}`;
        const flags = `${core}${path}/featureflags`;
        const made: readonly (readonly [at: string, body: object])[] = [
          [`/api/v1${path}/pods`, { metadata, spec: restrictedSpec }],
          [`/api/v1${path}/configmaps`, { metadata, data: {} }],
          [`${rbac}${path}/rolebindings`, { metadata, roleRef: roleRef("all"), subjects: [] }],
          [flags, { ...kind("FeatureFlag"), metadata, spec: { flagSpec: { flags: {} } } }],
          [
            `${core}${path}/featureflagsources`,
            { ...kind("FeatureFlagSource"), metadata: { ...metadata, name: "app.shared" }, spec: proxied },
          ],
          [
            flags,
            {
              ...kind("FeatureFlag"),
              metadata: { ...metadata, name: "other", ownerReferences: [{ ...ofOperator, name: ".." }] },
              spec: { flagSpec: { flags: {} } },
            },
          ],
        ];
        for (const [at, body] of made) {
          const { status, text } = await cluster().api.request("POST", at, { body, token: tenant.token });
          expect(status, text).to.equal(201);
          const { name } = (body as { metadata: { name: string } }).metadata;
          // It never ends.
          await cluster().api.request("DELETE", `${at}/${name}`, { token: tenant.token });
        }
        // What came after it is done, so it was heard of.
        await put(victim, "featureflagsources", "later", proxied);
        await untilStatus(victim, "later", "get the entry");
        expect(await ofVictim()).to.deep.equal(before);
        expect((await readiness(operator)).isReady).to.equal(true);
      });
    });

  it("writes no Injection, nor its labels or finalizers", async () => {
    const { tenant } = partiesOf("policy");
    const path = `/apis/bunting.dev/v1alpha1/namespaces/${tenant.namespace}/injections`;
    const patch = (body: object): Promise<ApiResponse> =>
      cluster().api.request("PATCH", `${path}/bunting`, {
        body,
        contentType: "application/merge-patch+json",
        token: tenant.token,
      });
    const object = { apiVersion: "bunting.dev/v1alpha1", kind: "Injection" };
    const refused = [
      await patch({ spec: { sources: null } }),
      await patch({ metadata: { finalizers: ["tenant.example/held"] } }),
      await patch({ metadata: { labels: { a: "b" } } }),
      await cluster().api.request("POST", path, {
        body: { ...object, metadata: { name: "other" }, spec: { format: 1, sources: {} } },
        token: tenant.token,
      }),
    ];
    for (const { status, text } of refused) {
      expect(status, text).to.equal(403);
      expect(text).to.contain("Injections are written by the operator only");
    }
    // The operator may have written it meanwhile.
    const { metadata, spec } = await cluster().api.get(`${path}/bunting`);
    const managers = (metadata["managedFields"] as readonly { readonly manager: string }[]).map(
      ({ manager }) => manager,
    );
    for (const manager of managers) expect(manager).to.match(/^bunting-operator/);
    expect(metadata).not.to.have.property("finalizers");
    expect(metadata["labels"] ?? {}).not.to.have.property("a");
    expect(spec).to.have.property("sources").that.is.an("object");
    expect((await cluster().api.request("GET", `${path}/other`)).status).to.equal(404);
  });

  const kind = (of: string): object => ({ apiVersion: "core.openfeature.dev/v1beta1", kind: of });
  const roleRef = (name: string): object => ({ apiGroup: "rbac.authorization.k8s.io", kind: "Role", name });

  async function untilStatus(namespace: string, name: string, part: string): Promise<void> {
    await eventually(
      async () => {
        const { status } = await cluster().api.get(
          `${core}/namespaces/${namespace}/featureflagsources/${name}`,
        );
        return JSON.stringify(status ?? {}).includes(part);
      },
      `the status of ${name} says ${part}`,
      60_000,
    );
  }
});
