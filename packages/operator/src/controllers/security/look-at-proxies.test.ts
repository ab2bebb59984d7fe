import { KubeError, type KubeObject } from "@bunting/kube";
import { expect } from "chai";
import type { ProxyAccess } from "../../desired/proxy-security/security-state.js";
import { lookAtProxies, type ProxySight } from "./look-at-proxies.js";

interface Replica {
  readonly access?: string;
  readonly phase?: string;
}

interface Deployment {
  readonly access?: string;
  readonly generation?: number;
  readonly status?: object;
}

const signal = new AbortController().signal;
const annotated = (access: string | undefined): object => ({
  annotations: access === undefined ? {} : { "bunting.dev/proxy-access": access },
});
const rolledOut = { observedGeneration: 2, replicas: 2, updatedReplicas: 2 };

function look(
  access: ProxyAccess,
  replicas: readonly Replica[],
  deployment?: Deployment,
): Promise<ProxySight> {
  const asked: string[] = [];
  const live = (): KubeObject => {
    if (deployment === undefined) throw new KubeError("NOT_FOUND", "none");
    const { access: deployed, generation = 2, status = rolledOut } = deployment;
    const template = { metadata: annotated(deployed) };
    return { metadata: { name: "flagd-proxy", generation }, spec: { template }, status };
  };
  const pods = replicas.map(({ access: served, phase = "Running" }, index) => ({
    metadata: { name: `p${index}`, ...annotated(served) },
    status: { phase },
  }));
  const client = {
    get: () => {
      asked.push("deployment");
      return Promise.resolve().then(live);
    },
    list: () => {
      expect(asked, "its Pods may be newer than the Deployment, and not older").to.deep.equal(["deployment"]);
      return Promise.resolve({ resourceVersion: "1", continueToken: undefined, items: pods });
    },
  };
  return lookAtProxies(client, "flags", access, signal);
}

describe("lookAtProxies", () => {
  it("names the Pods that serve otherwise, those that end included, and none that has ended", async () => {
    const { others } = await look(
      "both",
      [
        { access: "both" },
        {},
        { access: "secured" },
        { access: "plain", phase: "Failed" },
        { access: "else" },
      ],
      { access: "both" },
    );
    expect(others).to.deep.equal(["p1", "p2", "p4"]);
  });

  it("takes a Pod, and a Deployment, without a word of it for one that serves plaintext", async () => {
    const { others, deployed, isRolledOut } = await look("plain", [{}, { access: "both" }], {});
    expect({ others, deployed, isRolledOut }).to.deep.equal({
      others: ["p1"],
      deployed: "plain",
      isRolledOut: true,
    });
  });

  it("is done where there is no Deployment, once its Pods are gone", async () => {
    const { isRolledOut, deployed, deployment } = await look("both", []);
    expect({ isRolledOut, deployed, deployment }).to.deep.equal({
      isRolledOut: true,
      deployed: undefined,
      deployment: undefined,
    });
  });

  for (const [what, deployment] of Object.entries({
    "is not yet as it should be": { access: "plain" },
    "has not been looked at since it was changed": { access: "both", generation: 3 },
    "has a Pod of before": { access: "both", status: { ...rolledOut, replicas: 3 } },
    "has no status yet": { access: "both", status: {} },
  } satisfies Record<string, Deployment>)) {
    it(`waits for a Deployment that ${what}`, async () => {
      expect((await look("both", [{ access: "both" }], deployment)).isRolledOut).to.equal(false);
    });
  }

  it("does not wait for more replicas than there can be: what is there serves as it should", async () => {
    const status = { observedGeneration: 2, replicas: 1, updatedReplicas: 1, unavailableReplicas: 1 };
    expect((await look("both", [{ access: "both" }], { access: "both", status })).isRolledOut).to.equal(true);
  });
});
