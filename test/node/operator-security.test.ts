import { setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";
import { eventually } from "../support/event-queue.js";
import { skipWithout } from "../helm/support/tool.js";
import { AskingDeployment } from "./support/asking-deployment.js";
import { installOperator, operatorNamespace, uninstallOperator } from "./support/operator.js";
import { sharedNode } from "./support/use-node.js";
import { editVersion, versionSpec } from "./support/version-flag.js";

const configMap = `/api/v1/namespaces/${operatorNamespace}/configmaps/bunting-proxy-security`;
const proxies = `/api/v1/namespaces/${operatorNamespace}/pods?labelSelector=app.kubernetes.io%2Fname%3Dflagd-proxy`;
/** A step waits for rollouts of the operator and of the proxy, a minute for everybody to hear of it, and for looks at Pods half a minute apart. */
const stepMs = 240_000;

interface ProxyPod {
  readonly metadata: { readonly deletionTimestamp?: string };
  readonly spec: { readonly containers: readonly [{ readonly args: readonly string[] }] };
}

/** The operator, two replicas of the proxy, and applications that ask their sidecars all the time, while flags are edited twice a second. */
describe("the security of the operator's proxy, switched on and off again under load on a real node", function () {
  this.timeout(stepMs + 60_000);
  skipWithout("BUNTING_HELM");
  const node = sharedNode();
  const over = new AbortController();
  let namespace: string;
  let asking: AskingDeployment;
  let editing: Promise<void> | undefined;
  let version = 1;

  before(async () => {
    namespace = await node().cluster.createNamespace();
    await node().cluster.putFeatureFlag(namespace, "flags", versionSpec(version));
    await installOperator(node());
    await node().cluster.api.create(
      `/apis/core.openfeature.dev/v1beta1/namespaces/${namespace}/featureflagsources`,
      {
        apiVersion: "core.openfeature.dev/v1beta1",
        kind: "FeatureFlagSource",
        metadata: { name: "checkout", namespace },
        spec: { sources: [{ source: "flags", provider: "flagd-proxy" }] },
      },
    );
    const condition = ["featureflagsource/checkout", "--for=condition=Compiled", "--timeout=60s"];
    await node().kubectl(["-n", namespace, "wait", ...condition]);
    asking = await AskingDeployment.create(node(), namespace, "checkout", { replicas: 3 });
    await asking.untilAll(version);
    editing = edit();
  });
  after(async () => {
    over.abort();
    await editing;
    await asking.stop();
    await uninstallOperator(node());
  });

  async function edit(): Promise<void> {
    while (!over.signal.aborted) {
      await editVersion(node().cluster, namespace, "flags", ++version);
      await delay(500);
    }
  }

  async function stored(): Promise<Readonly<Record<string, string>>> {
    const { status, text } = await node().cluster.api.request("GET", configMap);
    return status === 200 ? (JSON.parse(text) as { data: Record<string, string> }).data : {};
  }

  async function until(
    isSo: (data: Readonly<Record<string, string>>) => boolean,
    what: string,
  ): Promise<void> {
    let last = {};
    await eventually(
      async () => {
        last = await stored();
        return isSo(last);
      },
      what,
      stepMs,
    ).catch((error: unknown) => {
      throw new Error(`it is ${JSON.stringify(last)}`, { cause: error });
    });
  }

  const wish = (target: string): Promise<void> =>
    installOperator(node(), `--set-string=options.proxy-security=${target}`);

  /** Edits go on meanwhile: each Pod gets one that was made after now. */
  async function expectAllFollow(): Promise<void> {
    const now = version;
    const follow = async (): Promise<boolean> => {
      const names = (await asking.pods()).map(({ metadata }) => metadata.name);
      return names.length > 0 && names.every((name) => Number(asking.answers.get(name)?.values.at(-1)) > now);
    };
    await eventually(follow, "all Pods get an edit from after now", 60_000);
  }

  /** How the proxies serve that are not ending: the value of --auth, if there is one. */
  async function served(): Promise<readonly (string | undefined)[]> {
    const { items } = await node().cluster.api.list(proxies);
    return (items as unknown as readonly ProxyPod[])
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map(({ spec }) => spec.containers[0].args.find((arg) => arg.startsWith("--auth=")));
  }

  async function restart(): Promise<void> {
    await node().kubectl(["-n", namespace, "rollout", "restart", "deployment/asking"]);
    await asking.untilRolledOut();
  }

  it("serves both, and says which Pods hold it up, as long as there are some from before", async () => {
    await wish("on");
    await until(
      ({ state, waitsFor }) => state === "mixed" && waitsFor?.includes(namespace) === true,
      "mixed",
    );
    expect(await served()).to.deep.equal(["--auth=optional", "--auth=optional"]);
    await expectAllFollow();
  });

  it("serves TLS with tokens alone once the application was rolled out", async () => {
    await restart();
    await expectAllFollow();
    await until(({ state }) => state === "on", "on");
    expect(await served()).to.deep.equal(["--auth=token", "--auth=token"]);
    await expectAllFollow();
  });

  it("serves both again where it is not wanted any more, as long as Pods speak TLS", async () => {
    await wish("off");
    await until(
      ({ state, waitsFor }) => state === "leaving" && waitsFor?.includes(namespace) === true,
      "leaving",
    );
    expect(await served()).to.deep.equal(["--auth=optional", "--auth=optional"]);
    await expectAllFollow();
  });

  it("serves plaintext alone once the application was rolled out again", async () => {
    await restart();
    await expectAllFollow();
    await until(({ state }) => state === "off", "off");
    expect(await served()).to.deep.equal([undefined, undefined]);
    await expectAllFollow();
  });

  it("has lost no answer by then, and no Pod got an older version after a newer one", async () => {
    over.abort();
    await editing;
    await asking.untilAll(version);
    expect(asking.heard.length, "three Pods, three times").to.be.at.least(9);
    await asking.expectNoFailure();
  });
});
