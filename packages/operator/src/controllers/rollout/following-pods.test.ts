import type { KubeObject } from "@bunting/kube";
import { expect } from "chai";
import type { AgentsOfAddress } from "@bunting/protocol";
import type { ToldAddresses } from "../agents/told-addresses.js";
import { followed, type Followed } from "./following-pods.js";

const signal = new AbortController().signal;
const lists = new Map([["app", { frame: "f1", digest: "d2" }]]);
const variable = { name: "BUNTING_SOURCE_LIST", value: "shop/app@f1:0:0" };

interface PodParts {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly metadata?: object;
  readonly spec?: object;
  readonly status?: object;
}

function podOf(workload: string, { annotations = {}, metadata, spec, status }: PodParts = {}): KubeObject {
  const owner = {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    name: `${workload}-1f`,
    uid: "u",
    controller: true,
  };
  return {
    metadata: {
      ...{ name: `${workload}-x`, namespace: "shop", labels: { "pod-template-hash": "1f" } },
      annotations: {
        ...{ "openfeature.dev/enabled": "true", "openfeature.dev/featureflagsource": "app" },
        ...annotations,
      },
      ownerReferences: [owner],
      ...metadata,
    },
    spec: {
      containers: [{ name: "main" }],
      initContainers: [{ name: "flagd", env: [variable] }],
      ...spec,
    },
    status: { phase: "Running", podIPs: [{ ip: `ip-of-${workload}` }], ...status },
  };
}

describe("who follows a list", () => {
  let told: ToldAddresses;
  let asked: (readonly string[])[];
  beforeEach(() => {
    asked = [];
    tell();
  });

  function tell(...agents: readonly (readonly [workload: string, ...lists: readonly string[]])[]): void {
    const of = (workload: string, digests: readonly string[]): AgentsOfAddress => ({
      ...{ address: `ip-of-${workload}`, subscriptions: 1, current: 1, lists: digests },
    });
    told = {
      kind: "told",
      agents: new Map(agents.map(([workload, ...digests]) => [`ip-of-${workload}`, of(workload, digests)])),
    };
  }

  async function ask(...pods: readonly KubeObject[]): Promise<Followed> {
    return followed(
      {
        readPage: (_scope, _query, onObject) => {
          pods.forEach(onObject);
          return Promise.resolve({ continueToken: undefined } as never);
        },
      },
      {
        readOf: (addresses) => {
          asked.push(addresses);
          return Promise.resolve(told);
        },
      },
      { namespace: "shop", lists },
      signal,
    );
  }

  const none = { kind: "told", unable: new Set(), behind: new Set() };

  it("is a Pod whose sidecar says that it has the newest list", async () => {
    tell(["web", "d1", "d2"]);
    expect(await ask(podOf("web"))).to.deep.equal(none);
    expect(asked).to.deep.equal([["ip-of-web"]]);
  });

  it("is not yet one whose sidecar says another list, or none, as older agents and flagd", async () => {
    tell(["old", "d1"], ["flagd"], ["web", "d2"]);
    const behind = new Set(["shop/Deployment/old", "shop/Deployment/flagd", "shop/Deployment/gone"]);
    expect(await ask(podOf("old"), podOf("flagd"), podOf("gone"), podOf("web"))).to.deep.equal({
      ...none,
      behind,
    });
    told = { kind: "silent" };
    expect(await ask(podOf("web")), "no proxy says such a thing").to.deep.equal({
      ...none,
      behind: new Set(["shop/Deployment/web"]),
    });
  });

  it("is unknown while a proxy does not say it", async () => {
    told = { kind: "unknown" };
    expect(await ask(podOf("web"))).to.deep.equal({ kind: "unknown" });
  });

  const unable: readonly (readonly [what: string, parts: PodParts])[] = [
    ["has no sidecar", { spec: { initContainers: [] } }],
    ["was not told which list it has", { spec: { initContainers: [{ name: "flagd" }] } }],
    [
      "is older than its source",
      {
        spec: { initContainers: [{ name: "flagd", env: [{ ...variable, value: "shop/app@f0:0:0" }] }] },
      },
    ],
    [
      "has the list of another text",
      {
        spec: { initContainers: [{ name: "flagd", env: [{ ...variable, value: "shop/app,b@f1:0:0" }] }] },
      },
    ],
    ["has the address of its node", { spec: { hostNetwork: true } }],
  ];
  for (const [what, parts] of unable)
    it(`can't be one that ${what}, and no proxy is asked about its workload`, async () => {
      const one = podOf("web", parts);
      expect(await ask(one, podOf("web"))).to.deep.equal({
        ...none,
        unable: new Set(["shop/Deployment/web"]),
      });
      expect(asked).to.deep.equal([]);
    });

  const passedOver: readonly (readonly [what: string, pod: KubeObject])[] = [
    ["has not started", podOf("web", { status: { phase: "Pending" } })],
    ["has no address yet", podOf("web", { status: { podIPs: [] } })],
    ["is ending", podOf("web", { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } })],
    ["has ended", podOf("web", { status: { phase: "Failed" }, spec: { initContainers: [] } })],
    ["names other sources", podOf("web", { annotations: { "openfeature.dev/featureflagsource": "other" } })],
    ["wants no flags", podOf("web", { annotations: { "openfeature.dev/enabled": "false" } })],
    ["nothing would replace", podOf("web", { metadata: { ownerReferences: [] } })],
  ];
  for (const [what, pod] of passedOver)
    it(`passes over a Pod that ${what}`, async () => {
      expect(await ask(pod)).to.deep.equal(none);
      expect(asked).to.deep.equal([]);
    });

  it("is a Pod with a sidecar among its containers, too", async () => {
    tell(["web", "d2"]);
    const containers = [{ name: "main" }, { name: "flagd", env: [variable] }];
    expect(await ask(podOf("web", { spec: { initContainers: undefined, containers } }))).to.deep.equal(none);
    expect(asked).to.have.lengthOf(1);
  });
});
