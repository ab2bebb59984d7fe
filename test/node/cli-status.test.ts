import { spawn } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { runBunting } from "../support/cli-process.js";
import { eventually } from "../support/event-queue.js";
import { freePort } from "../support/free-port.js";
import { installedProxy, proxyNamespace, proxyPods } from "./support/proxy.js";
import { sharedNode } from "./support/use-node.js";

describe("bunting status on a real node", () => {
  const node = sharedNode();
  installedProxy(node);
  const account = "cli-reader";
  let kubeconfig: string;

  before(async () => {
    kubeconfig = `${node().cluster.kubeconfig}.${account}`;
    await allow({ pods: ["list"], "pods/portforward": ["get", "create"] });
    const token = (await node().kubectl(["-n", proxyNamespace, "create", "token", account])).trim();
    const ours = readFileSync(node().cluster.kubeconfig, "utf8");
    writeFileSync(
      kubeconfig,
      ours.replace(/("?token"?: ?"?)[^"\s]+/, (_, head: string) => `${head}${token}`),
    );
  });
  after(() => rmSync(kubeconfig, { force: true }));

  /** Gives the account exactly these verbs of resources. */
  async function allow(verbs: Readonly<Record<string, readonly string[]>>): Promise<void> {
    const metadata = { name: account, namespace: proxyNamespace };
    const apiVersion = "rbac.authorization.k8s.io/v1";
    const rules = Object.entries(verbs).map(([resource, list]) => ({
      apiGroups: [""],
      resources: [resource],
      verbs: list,
    }));
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: account };
    const subjects = [{ kind: "ServiceAccount", ...metadata }];
    await node().apply(
      { apiVersion: "v1", kind: "ServiceAccount", metadata },
      { apiVersion, kind: "Role", metadata, rules },
      { apiVersion, kind: "RoleBinding", metadata, roleRef, subjects },
    );
  }

  it("asks every replica through a port-forward, with the permissions that docs/cli.md names", async () => {
    const { code, out, err } = await runBunting([
      "status",
      "--json",
      "-n",
      proxyNamespace,
      "--kubeconfig",
      kubeconfig,
    ]);
    expect(code, err).to.equal(0);
    const { proxies } = JSON.parse(out) as {
      readonly proxies: readonly { readonly proxy: string; readonly status: { readonly isReady: boolean } }[];
    };
    const pods = (await proxyPods(node())).sort();
    expect(proxies.map(({ proxy }) => proxy)).to.deep.equal(pods.map((pod) => `${proxyNamespace}/${pod}`));
    expect(proxies.every(({ status }) => status.isReady)).to.equal(true);
  });

  it("is what curl gets through kubectl port-forward, as docs/operate/monitoring.md has it", async () => {
    const port = await freePort();
    const kubectl = path.join(process.env["BUNTING_CLUSTER_BIN"] ?? "", "kubectl");
    const forwarding = spawn(
      kubectl,
      ["-n", proxyNamespace, "port-forward", "deployment/bunting-proxy", `${port}:8016`],
      {
        env: { ...process.env, KUBECONFIG: node().cluster.kubeconfig },
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    try {
      let said = "";
      forwarding.stdout.setEncoding("utf8").on("data", (text: string) => (said += text));
      await eventually(() => said.includes(`127.0.0.1:${port} -> 8016`), "kubectl forwards the port");
      const answer = await fetch(`http://localhost:${port}/status`);
      expect(answer.status).to.equal(200);
      expect(await answer.json())
        .to.have.property("topics")
        .that.is.an("array");
    } finally {
      forwarding.kill();
    }
  });

  it("says which permission is missing, and why a port can't be reached", async () => {
    const wrong = await runBunting([
      "status",
      "-n",
      proxyNamespace,
      "--pod-port",
      "9",
      "--kubeconfig",
      kubeconfig,
    ]);
    expect(wrong.code, wrong.err).to.equal(2);
    expect(wrong.err).to.contain("the connection to port 9 of the Pod");
    await allow({ pods: ["list"] });
    let refused = wrong;
    // The API server goes by the role that was until it has seen the new one.
    await eventually(async () => {
      refused = await runBunting(["status", "-n", proxyNamespace, "--kubeconfig", kubeconfig]);
      return refused.code === 2;
    }, "the command to be refused");
    expect(refused.err).to.contain(
      "The command needs the verb list on pods, and get and create on pods/portforward",
    );
  });
});
