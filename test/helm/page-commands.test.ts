import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { featureFlagPath } from "../cluster/support/cluster.js";
import { freshCluster } from "../cluster/support/use-cluster.js";
import { blockWith, codeBlocksOf } from "../support/markdown-pages.js";
import { binaries } from "../support/service-process.js";
import { TempDirectory } from "../support/temp-directory.js";
import { root } from "./support/chart.js";
import { documentedBlocks, runAsPrinted } from "./support/readme.js";
import { skipWithout } from "./support/tool.js";

const stockNamespace = "open-feature-operator-system";
const rollouts = "/apis/bunting.dev/v1alpha1/agentrollouts/agents";

/**
 * Commands of pages that no other test runs, as printed, on a real API server. It has no nodes, so what reaches into Pods is left out, and names
 * in capitals are those of objects that are made here.
 */
describe("the commands of the pages on a cluster", function () {
  this.timeout(180_000);
  skipWithout("BUNTING_HELM", "BUNTING_CLUSTER_BIN");
  const cluster = freshCluster();
  let directory: TempDirectory;
  before(async () => {
    directory = new TempDirectory();
    mkdirSync(directory.file("bin"));
    const bunting = `#!/bin/sh\nexec '${process.execPath}' '${binaries.cli}' "$@"\n`;
    writeFileSync(directory.file("bin/bunting"), bunting, { mode: 0o755 });
    for (const name of ["password.txt", "ca.crt"]) writeFileSync(directory.file(name), "text");
    for (const name of ["checkout", "shop", stockNamespace]) await cluster().createNamespace(name);
    const off = { state: "ENABLED", variants: { on: true, off: false }, defaultVariant: "off" };
    for (const [namespace, name] of [
      ["checkout", "shop"],
      ["default", "checkout"],
      ["default", "storefront"],
    ] as const)
      await cluster().putFeatureFlag(namespace, name, { flags: { "new-checkout": off } });
    await createDeployment("shop", "checkout", "app");
  });
  after(() => directory.remove());

  function follow(lines: string, before = ""): Promise<string> {
    const here = lines
      .replaceAll("--from-file=", `--from-file=${directory.path}/`)
      .replaceAll(/(--from-file=[^=\s]+\/)(password=)/g, `--from-file=$2${directory.path}/`)
      .replaceAll("NAMESPACE", "shop");
    return runAsPrinted(`${before}${here}`, {
      kubeconfig: cluster().kubeconfig,
      home: directory.path,
      programs: [directory.file("bin")],
    });
  }

  async function createDeployment(namespace: string, name: string, container: string): Promise<void> {
    const labels = { app: name };
    const containers = [{ name: container, image: "registry.example/app" }];
    await cluster().api.create(`/apis/apps/v1/namespaces/${namespace}/deployments`, {
      metadata: { name },
      spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } },
    });
  }

  async function variantOf(namespace: string, name: string): Promise<unknown> {
    const { spec } = (await cluster().api.get(featureFlagPath(namespace, name))) as unknown as {
      readonly spec: { readonly flagSpec: { readonly flags: Record<string, { defaultVariant: unknown }> } };
    };
    return spec.flagSpec.flags["new-checkout"]?.defaultVariant;
  }

  it("flip a flag, by a patch and in an editor", async () => {
    await follow(blockWith("docs/flags/format.md", `"defaultVariant":"on"}`));
    expect(await variantOf("checkout", "shop")).to.equal("on");
    await follow(blockWith("docs/flags/format.md", '"targeting":null'));
    expect(await variantOf("checkout", "shop")).to.equal("off");
    // An editor that needs nobody.
    const editor = 'export KUBE_EDITOR="sed -i \'s/defaultVariant: .*/defaultVariant: \\"on\\"/\'"\n';
    const edit = blockWith("docs/start/open-feature-operator.md", "edit featureflag");
    await follow(
      edit.replace("-n NAMESPACE", "-n default").replace("featureflag NAME", "featureflag checkout"),
      editor,
    );
    expect(await variantOf("default", "checkout")).to.equal("on");
  });

  it("restart the workloads of a namespace", async () => {
    const [restart = ""] = documentedBlocks("docs/operate/migrate.md", "Afterwards", "sh");
    expect(blockWith("docs/start/open-feature-operator.md", "rollout restart")).to.equal(restart);
    expect(await follow(restart)).to.equal("deployment.apps/checkout restarted\n");
  });

  it("wait until an edit has come to all agents, and watch it", async () => {
    const [watch = "", wait = ""] = documentedBlocks(
      "docs/operate/operator.md",
      "How far an edit has come",
      "sh",
    )
      .join("")
      .trim()
      .split("\n");
    expect(wait).to.match(/^kubectl wait featureflag\/checkout /);
    const conditions = [
      {
        type: "Converged",
        status: "True",
        reason: "All",
        message: "",
        lastTransitionTime: "2026-01-01T00:00:00Z",
      },
    ];
    await cluster().api.patch(`${featureFlagPath("default", "checkout")}/status`, { status: { conditions } });
    expect(await follow(wait)).to.equal("featureflag.core.openfeature.dev/checkout condition met\n");
    // It runs until Ctrl-C.
    const shown = await follow(`timeout 5 ${watch} --request-timeout=2s || true`);
    expect(shown).to.match(/^NAME .*\ncheckout /);
  });

  it("make the Secrets of a Redis, and replicas that share it by an overlay of one's own", async () => {
    await follow(blockWith("docs/operate/operator.md", "flags-redis"));
    const [secret = "", apply = ""] = documentedBlocks("docs/operate/replicas.md", "Set up", "sh");
    await follow(secret);
    for (const [namespace, name] of [
      [stockNamespace, "flags-redis"],
      ["bunting-system", "bunting-proxy-backplane"],
    ] as const)
      expect(await secretKeys(namespace, name)).to.include.members(["address", "password", "user"]);
    const [overlay = ""] = documentedBlocks("docs/operate/replicas.md", "Set up", "yaml");
    const folder = directory.file("my-replicas");
    mkdirSync(folder);
    const base = path.relative(folder, path.join(root, "deploy/kustomize/replicated"));
    expect(overlay).to.contain("../deploy/kustomize/replicated");
    writeFileSync(
      path.join(folder, "kustomization.yaml"),
      overlay.replace("../deploy/kustomize/replicated", base),
    );
    await follow(apply.replace("my-replicas", folder));
    const deployment = "/apis/apps/v1/namespaces/bunting-system/deployments/bunting-proxy";
    expect(await cluster().api.get(deployment)).to.have.nested.property("spec.replicas", 3);
    const secure = blockWith("docs/operate/security.md", "deploy/kustomize/secure");
    await follow(secure);
    expect(JSON.stringify(await cluster().api.get(deployment))).to.contain('"--auth=token"');
  });

  async function secretKeys(namespace: string, name: string): Promise<readonly string[]> {
    const { data } = (await cluster().api.get(
      `/api/v1/namespaces/${namespace}/secrets/${name}`,
    )) as unknown as {
      readonly data: object;
    };
    return Object.keys(data);
  }

  it("name our images to an open-feature-operator that was installed without Helm", async () => {
    const name = "open-feature-operator-controller-manager";
    await createDeployment(stockNamespace, name, "manager");
    await follow(blockWith("docs/operate/proxy.md", "set env"));
    const found = await cluster().api.get(`/apis/apps/v1/namespaces/${stockNamespace}/deployments/${name}`);
    const text = JSON.stringify(found);
    for (const variable of ["SIDECAR_IMAGE", "FLAGD_IMAGE", "FLAGD_PROXY_IMAGE", "FLAGD_PROXY_TAG"])
      expect(text).to.contain(`"name":"${variable}"`);
  });

  it("switch AgentRollouts on, and pause one and let it go on", async () => {
    const home = { kubeconfig: cluster().kubeconfig, home: directory.path };
    // The resource types are there already.
    const install = documentedBlocks("docs/operate/operator.md", "Install it", "sh")
      .join("")
      .replaceAll(/^kubectl .*rollout status.*\n/gm, "")
      .replace("helm upgrade", "helm upgrade --set crds.install=false");
    await runAsPrinted(install, home);
    await runAsPrinted(blockWith("docs/operate/upgrade-in-place.md", "agent-rollouts=true"), home);
    const operator = "/apis/apps/v1/namespaces/bunting-system/deployments/bunting-operator";
    expect(JSON.stringify(await cluster().api.get(operator))).to.contain("--agent-rollouts=true");
    const [rollout = ""] = documentedBlocks("docs/operate/upgrade-in-place.md", "One rollout", "yaml");
    writeFileSync(directory.file("rollout.yaml"), rollout);
    await follow(`kubectl apply -f ${directory.file("rollout.yaml")}`);
    const [pause = "", wait = "", goOn = ""] = blockWith("docs/operate/upgrade-in-place.md", "paused")
      .trim()
      .split("\n");
    await follow(pause);
    await cluster().api.patch(`${rollouts}/status`, { status: { phase: "Paused" } });
    await follow(wait);
    await follow(goOn);
    expect(await cluster().api.get(rollouts)).to.have.nested.property("spec.paused", false);
    const table = codeBlocksOf("docs/operate/upgrade-in-place.md").find(
      ({ language }) => language === "console",
    );
    const [asked = "", heads = ""] = table?.text.split("\n") ?? [];
    const shown = await follow(asked.replace(/^\$ /, ""));
    expect(shown.split("\n")[0]?.split(/ +/)).to.deep.equal(heads.split(/ +/));
  });

  it("look for what the operator tells, as the pages on security and troubles do", async () => {
    await follow(
      `kubectl -n ${stockNamespace} create configmap bunting-proxy-security --from-literal=state=off`,
    );
    expect(await follow(blockWith("docs/security/operator.md", "bunting-proxy-security"))).to.contain(
      '{"state":"off"}',
    );
    await follow(blockWith("docs/troubleshoot/no-sidecar.md", "reason=Missed"));
    const may = blockWith("docs/troubleshoot/refused.md", "can-i");
    expect(await follow(`${may.trim()} || true`)).to.contain("no");
    await follow("kubectl -n shop create serviceaccount checkout");
    const [token = ""] = blockWith("docs/troubleshoot/refused.md", "create token").split("\n");
    await follow(token.replace("> token", `> ${directory.file("token")}`));
    expect(readFileSync(directory.file("token"), "utf8")).to.match(/^[\w-]+\.[\w-]+\.[\w-]+\s*$/);
    await cluster().api.create("/api/v1/namespaces/shop/pods", {
      metadata: { name: "checkout-0", annotations: { "openfeature.dev/enabled": "true" } },
      spec: { containers: [{ name: "app", image: "registry.example/app" }] },
    });
    const described = blockWith("docs/troubleshoot/restarts.md", "describe pod").replace("POD", "checkout-0");
    expect(await follow(described)).to.contain("checkout-0");
    const [ofAddress = ""] = blockWith("docs/troubleshoot/edit-does-not-arrive.md", "status.podIP").split(
      "\n",
    );
    const podIP = ofAddress.split("=").at(-1) ?? "";
    const status = JSON.stringify({ status: { podIP, podIPs: [{ ip: podIP }] } });
    await follow(
      `kubectl -n shop patch pod checkout-0 --subresource=status --type=merge --patch='${status}'`,
    );
    expect(await follow(ofAddress)).to.contain("checkout-0");
    const explain = `${blockWith("docs/troubleshoot/no-sidecar.md", "operator explain").trim()} || [ $? = 1 ]`;
    expect(await follow(explain)).to.contain("shop/checkout-0 asks for flags, and has none");
  });

  it("are those that the reference of bunting shows for a cluster", async () => {
    const lines = codeBlocksOf("docs/reference/cli.md")
      .filter(({ language }) => language === "sh")
      .flatMap(({ text }) => text.trim().split("\n"));
    const lineWith = (part: string): string => lines.find((line) => line.includes(part)) ?? expect.fail(part);
    const lint = await follow(`{ ${lineWith("get featureflags -o yaml")}; } 2>&1`);
    expect(lint).to.contain("2 flags: no findings");
    // No operator answers for Pods that require their flags.
    const deployment = readFileSync(path.join(root, "examples/application/deployment.yaml"), "utf8");
    writeFileSync(directory.file("deployment.yaml"), deployment.replace(/^.*injection: required\n/m, ""));
    const ends: readonly (readonly [part: string, says: RegExp])[] = [
      ["check --pre", /^cluster\n/],
      ["operator explain deployment shop/checkout -o json", /"verdict": *"no-pod"|"not-asked"/],
      ["operator render deployment.yaml", /^(?!bunting: )./],
      ["operator migrate check", /findings block the take-over/],
      ["status -n bunting-system", /no running Pod with the labels/],
      ["check -n flags --only proxy", /ca\.crt/],
    ];
    for (const [part, says] of ends) {
      const line = lineWith(part).replace("deployment.yaml", directory.file("deployment.yaml"));
      // Some end with 1 or 2, because there is something to say, or nobody to ask.
      expect(await follow(`{ ${line}; } 2>&1 || [ $? -le 2 ]`), line).to.match(says);
    }
    // The head of the report without an operator of ours that is ready.
    expect(await follow(`${lines.find((line) => line === "bunting check") ?? ""} || [ $? -le 2 ]`)).to.match(
      /^cluster\n/,
    );
  });
});
