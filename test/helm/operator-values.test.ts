import { expect } from "chai";
import { readFileSync } from "node:fs";
import path from "node:path";
import { TempDirectory } from "../support/temp-directory.js";
import { helm, one, parseManifests, root } from "./support/chart.js";
import { operatorChart } from "./support/operator-chart.js";
import { skipWithout } from "./support/tool.js";

interface Deployment {
  readonly template: {
    readonly spec: {
      readonly containers: readonly {
        readonly env?: readonly { readonly name: string; readonly value?: string }[];
      }[];
    };
  };
}

/** The values for the open-feature-operator's chart, on the real chart, made as its release makes it. */
describe("values-openfeature-operator.yaml", () => {
  skipWithout("BUNTING_HELM", "BUNTING_CLUSTER_BIN");
  const file = path.join(root, "deploy/helm/values-openfeature-operator.yaml");
  let environment: Readonly<Record<string, string>>;
  let defaults: Readonly<Record<string, string>>;

  let directory: TempDirectory | undefined;
  after(() => directory?.remove());

  before("the operator's chart", async function () {
    directory = new TempDirectory();
    const chart = await operatorChart(directory.path);
    if (chart === undefined) return this.skip();
    const environmentWith = async (...flags: readonly string[]): Promise<Record<string, string>> => {
      const { code, stdout, stderr } = await helm(["template", "operator", chart, ...flags]);
      if (code !== 0) throw new Error(stderr);
      const { template } = one(parseManifests(stdout), "Deployment").spec as Deployment;
      const variables = template.spec.containers.flatMap(({ env }) => env ?? []);
      return Object.fromEntries(variables.map(({ name, value = "" }) => [name, value]));
    };
    defaults = await environmentWith();
    environment = await environmentWith("--values", file);
  });

  it("names our images in all variables of the operator that name one, and changes nothing else", () => {
    const changed = Object.entries(environment).filter(([name, value]) => value !== defaults[name]);
    const { version } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")) as {
      version: string;
    };
    expect(Object.fromEntries(changed)).to.deep.equal({
      FLAGD_IMAGE: "ghcr.io/bunting/bunting-agent",
      FLAGD_TAG: version,
      FLAGD_PROXY_IMAGE: "ghcr.io/bunting/bunting-proxy",
      FLAGD_PROXY_TAG: version,
      FLAGD_PROXY_REPLICA_COUNT: "2",
      SIDECAR_IMAGE: "ghcr.io/bunting/bunting-agent",
      SIDECAR_TAG: version,
    });
    const images = Object.keys(defaults).filter((name) => name.endsWith("_IMAGE"));
    expect(images).to.have.members(["FLAGD_IMAGE", "FLAGD_PROXY_IMAGE", "SIDECAR_IMAGE"]);
  });
});
