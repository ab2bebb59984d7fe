import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { parse } from "yaml";
import { node24Version } from "./node24.js";
import { openFeatureOperator } from "./upstream-suite.js";

const root = path.dirname(import.meta.dirname);
const read = (file: string): string => readFileSync(path.join(root, file), "utf8");
const page = read("SUPPORT.md");

/** The cell beside a row's name. */
function versionsOf(row: string): string {
  const cells =
    page
      .split("\n")
      .find((line) => line.startsWith(`| ${row} `))
      ?.split("|") ?? [];
  return cells[2]?.trim() ?? expect.fail(`SUPPORT.md has no row ${row}`);
}

function found(file: string, pattern: RegExp): string {
  return pattern.exec(read(file))?.[1] ?? expect.fail(`${file} has no ${pattern.source}`);
}

describe("SUPPORT.md", () => {
  const { dependencies } = JSON.parse(read("test/package.json")) as {
    readonly dependencies: Readonly<Record<string, string>>;
  };
  const version = (name: string): string => dependencies[name] ?? expect.fail(`tests do not use ${name}`);

  it("names the versions of the programs that tests build or fetch", () => {
    const module = "test/machinery/go.mod";
    expect(versionsOf("Kubernetes")).to.equal(found(module, /\tk8s\.io\/kubernetes v(\S+)/));
    expect(versionsOf("Helm")).to.equal(found(module, /\thelm\.sh\/helm\/v4 v(\S+)/));
    expect(`v${versionsOf("open-feature-operator")}`).to.equal(openFeatureOperator[1]);
    expect(versionsOf("flagd")).to.equal(found("scripts/flagd-parity.ts", /what flagd (\S+) has/));
    const proxy = "test/fixtures/stock-operator/proxy-deployment.json";
    expect(versionsOf("flagd-proxy")).to.equal(found(proxy, /flagd-proxy:v([\d.]+)/));
    const { engines } = JSON.parse(read("package.json")) as { readonly engines: { readonly node: string } };
    expect(versionsOf("Node"))
      .to.include(`${engines.node.replace(">=", "")} and newer`)
      .and.include(`tests run on ${node24Version} `);
  });

  it("names the versions of the SDKs, providers and clients that tests use", () => {
    expect(versionsOf("OpenFeature SDKs for JavaScript")).to.equal(
      `server ${version("@openfeature/server-sdk")}, web ${version("@openfeature/web-sdk")}`,
    );
    const providers = ["flagd", "flagd-web", "ofrep", "ofrep-web"].map(
      (name) => `${name} ${version(`@openfeature/${name}-provider`)}`,
    );
    expect(versionsOf("providers for JavaScript")).to.equal(providers.join(", "));
    const clients = {
      "grpc-js": "@grpc/grpc-js",
      Connect: "@connectrpc/connect",
      "grpc-web": "grpc-web",
    };
    expect(versionsOf("gRPC clients")).to.equal(
      Object.entries(clients)
        .map(([name, module]) => `${name} ${version(module)}`)
        .join(", "),
    );
    const folder = "test/conformance/providers";
    const python = [/openfeature-sdk==(\S+)/, /flagd==(\S+)/].map((each) =>
      found(`${folder}/requirements.txt`, each),
    );
    expect(versionsOf("SDK and flagd provider for Python")).to.equal(python.join(" and "));
    const java = ["sdk", "flagd"].map((name) =>
      found(`${folder}/pom.xml`, new RegExp(`<artifactId>${name}</artifactId>\\s*<version>(.*)</version>`)),
    );
    expect(versionsOf("SDK and flagd provider for Java")).to.equal(java.join(" and "));
    // What the page tells to install is what its examples are tested with.
    const go = [/go-sdk\/openfeature@v(\S+)/, /providers\/flagd\/pkg@v(\S+)/];
    const rust = [/open-feature@(\S+)/, /open-feature-flagd@(\S+)/];
    for (const [language, patterns] of Object.entries({ Go: go, Rust: rust }))
      expect(versionsOf(`SDK and flagd provider for ${language}`)).to.equal(
        patterns.map((each) => found("docs/start/sdk.md", each)).join(" and "),
      );
  });

  it("names the versions that README.md names", () => {
    for (const peer of ["flagd", "flagd-proxy", "open-feature-operator"])
      expect(found("README.md", new RegExp(`^\\| ${peer} +\\| ([\\d.]+\\d)`, "m"))).to.equal(
        versionsOf(peer),
      );
    const compared = found("docs/flagd-proxy-parity.md", /flagd-proxy (\S+), whose source was read/);
    expect(read("README.md")).to.include(`with the source of ${compared}`);
  });

  it("names the oldest Kubernetes that each chart accepts", () => {
    for (const [chart, name] of Object.entries({ bunting: "proxy", "bunting-operator": "operator" })) {
      const { kubeVersion } = parse(read(`deploy/helm/${chart}/Chart.yaml`)) as {
        readonly kubeVersion: string;
      };
      expect(page).to.include(`${/>=(\d+\.\d+)\.0-0/.exec(kubeVersion)?.[1] ?? ""} on (${name})`);
    }
  });
});

describe("the pages for contributors and reporters", () => {
  const pages = ["SECURITY.md", "SUPPORT.md", "CODE_OF_CONDUCT.md", "docs/releases.md"];

  for (const file of pages) {
    it(`link to what there is, in ${file}`, () => {
      const links = [...read(file).matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)].map(([, link = ""]) => link);
      expect(links).to.not.have.length(0);
      for (const link of links.filter((each) => !each.startsWith("https://")))
        expect(existsSync(path.join(root, path.dirname(file), link)), link).to.equal(true);
    });
  }

  it("are issue forms with fields that have names of their own", () => {
    const folder = ".github/ISSUE_TEMPLATE";
    const forms = readdirSync(path.join(root, folder)).filter((name) => name !== "config.yml");
    expect(forms).to.have.members(["bug.yaml", "idea.yaml"]);
    for (const form of forms) {
      const { name, description, body } = parse(read(`${folder}/${form}`)) as {
        readonly name: string;
        readonly description: string;
        readonly body: readonly {
          readonly type: string;
          readonly id?: string;
          readonly attributes: object;
        }[];
      };
      expect(name.length * description.length, form).to.be.greaterThan(0);
      const fields = body.filter(({ type }) => type !== "markdown");
      expect(new Set(fields.map(({ id }) => id)).size, form).to.equal(fields.length);
      for (const { type } of body)
        expect(["markdown", "input", "textarea", "dropdown"], form).to.include(type);
    }
  });
});
