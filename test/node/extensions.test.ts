import { randomBytes } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { expect } from "chai";
import { skipWithout } from "../helm/support/tool.js";
import { ExtensionProcess } from "../support/extension-process.js";
import { readRecipe } from "../support/extension-recipe.js";
import { addresses } from "./support/addresses.js";
import { installOperator, operatorNamespace, uninstallOperator } from "./support/operator.js";
import { sharedNode } from "./support/use-node.js";
import { editVersion, versionFlag, versionSpec } from "./support/version-flag.js";
import { Workload } from "./support/workload.js";

const extensions = "/apis/bunting.dev/v1alpha1/extensions";

interface ReviewedToken {
  readonly status: { readonly authenticated?: boolean; readonly user?: { readonly username?: string } };
}

interface InjectedPod {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: {
    readonly initContainers?: readonly { readonly name: string; readonly resources: object }[];
  };
}

/** The operator is installed by its chart; the programs of examples/extensions run on the node, behind a server that sees what they are asked with. */
describe("extensions on a real node", function () {
  this.timeout(300_000);
  skipWithout("BUNTING_HELM");
  const node = sharedNode();
  const programs = new Map<string, ExtensionProcess>();
  const tokens = new Set<string>();
  let server: Server;
  let namespace: string;

  before(async () => {
    const { program, env } = readRecipe("qos");
    programs.set("qos", await ExtensionProcess.start(program, env));
    programs.set("annotater", await ExtensionProcess.start("annotater/annotater.mjs"));
    server = createServer((request, response) => {
      const program = programs.get(request.url?.slice(1) ?? "");
      tokens.add(request.headers.authorization?.replace(/^Bearer /, "") ?? "");
      const forward = async (): Promise<void> => {
        const answer = await fetch(program?.url ?? "", { method: "POST", body: await text(request) });
        response.writeHead(answer.status, { "content-type": "application/json" }).end(await answer.text());
      };
      forward().catch(() => response.destroy());
    });
    await new Promise<void>((resolve) => server.listen(0, resolve));
    const origin = `http://${addresses.node}:${(server.address() as AddressInfo).port}`;
    for (const name of programs.keys()) await register(name, origin);
    namespace = await node().cluster.createNamespace(`money-${randomBytes(3).toString("hex")}-dev`);
    await node().cluster.putFeatureFlag(namespace, "flags", versionSpec(1));
    await installOperator(
      node(),
      "--set=options.extensions=true",
      `--set-string=options.extension-hosts=${origin}=${addresses.node}/32`,
    );
    await node().cluster.api.create(
      `/apis/core.openfeature.dev/v1beta1/namespaces/${namespace}/featureflagsources`,
      {
        ...{ apiVersion: "core.openfeature.dev/v1beta1", kind: "FeatureFlagSource" },
        metadata: { name: "checkout", namespace },
        spec: { sources: [{ source: "flags", provider: "flagd-proxy" }] },
      },
    );
    const wait = ["wait", "featureflagsource/checkout", "--for=condition=Compiled", "--timeout=60s"];
    await node().kubectl(["-n", namespace, ...wait]);
  });
  after(async () => {
    for (const name of programs.keys()) await node().cluster.api.request("DELETE", `${extensions}/${name}`);
    await uninstallOperator(node());
    await Promise.all([...programs.values()].map((each) => each.stop()));
    server.closeAllConnections();
    server.close();
  });

  async function register(name: string, origin: string): Promise<void> {
    await node().cluster.api.apply(`${extensions}/${name}`, {
      ...{ apiVersion: "bunting.dev/v1alpha1", kind: "Extension", metadata: { name } },
      spec: {
        ...{ hooks: ["pre-create"], objects: ["Sidecar"], url: `${origin}/${name}`, failurePolicy: "Fail" },
        mutates: name === "qos" ? ["/spec/container/resources"] : ["/metadata/annotations"],
      },
    });
  }

  it("give a Pod its quality of service and its annotations, and it serves flags and edits of them", async () => {
    const workload = await Workload.createBare(node(), { namespace, name: "extended", source: "checkout" });
    const { metadata, spec } = (await node().cluster.api.get(workload.path)) as unknown as InjectedPod;
    expect(metadata.annotations).to.include({ "example.com/managed-by": "bunting" });
    expect(spec.initContainers?.find(({ name }) => name === "flagd")?.resources).to.deep.equal({
      requests: { cpu: "10m", memory: "32Mi" },
      limits: { memory: "64Mi" },
    });
    await workload.untilReady();
    await workload.untilAnswers(versionFlag, 1);
    await editVersion(node().cluster, namespace, "flags", 2);
    await workload.untilAnswers(versionFlag, 2);
  });

  it("are shown a token of the operator that is for them alone", async () => {
    const [token = ""] = tokens;
    const review = async (audiences?: readonly string[]): Promise<ReviewedToken["status"]> => {
      const body = {
        ...{ apiVersion: "authentication.k8s.io/v1", kind: "TokenReview" },
        spec: { token, ...(audiences === undefined ? {} : { audiences }) },
      };
      const path = "/apis/authentication.k8s.io/v1/tokenreviews";
      return ((await node().cluster.api.create(path, body)) as unknown as ReviewedToken).status;
    };
    const { authenticated, user } = await review(["bunting-extension"]);
    expect(authenticated).to.equal(true);
    expect(user?.username).to.match(new RegExp(`^system:serviceaccount:${operatorNamespace}:`));
    expect((await review()).authenticated, "no API server takes it").not.to.equal(true);
  });
});
