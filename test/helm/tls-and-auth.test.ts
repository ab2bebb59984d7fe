import { expect } from "chai";
import path from "node:path";
import { applyType } from "../cluster/support/apply-type.js";
import { freshCluster } from "../cluster/support/use-cluster.js";
import { one, refusal, render, type Manifest } from "./support/chart.js";
import { goModuleSource } from "../../scripts/go-module-source.js";
import { Authority } from "../support/certificates.js";
import { TempDirectory } from "../support/temp-directory.js";
import { documentedBlocks, runAsPrinted } from "./support/readme.js";
import { runTool, skipWithout } from "./support/tool.js";

interface Pod {
  readonly containers: readonly [
    {
      readonly args: readonly string[];
      readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
      readonly readinessProbe: { readonly httpGet: object };
      readonly livenessProbe: { readonly httpGet: object };
    },
  ];
  readonly volumes?: readonly { readonly name: string; readonly secret: { readonly secretName: string } }[];
}

const podOf = (manifests: readonly Manifest[]): Pod =>
  (one(manifests, "Deployment").spec as { template: { spec: Pod } }).template.spec;
const argsOf = async (values: object): Promise<readonly string[]> =>
  podOf(await render(values)).containers[0].args;

const certificate = ["--tls-cert-path=/etc/bunting/tls/tls.crt", "--tls-key-path=/etc/bunting/tls/tls.key"];

/** Everything that these values can switch on. */
const everything = {
  tls: {
    mode: "both",
    management: "on",
    certManager: { issuerRef: { name: "cluster-ca" }, dnsNames: ["flags.example"] },
    clients: { auth: "request", caSecretName: "client-authorities" },
  },
  auth: { mode: "token", authorize: "rbac", tokenReview: true, audience: "flags", management: "rbac" },
  service: { flagdProxyAlias: true },
  serviceMonitor: { enabled: true, endpoint: { bearerTokenFile: "/var/run/secrets/bunting/token" } },
};

describe("the values tls and auth of the Helm chart", () => {
  skipWithout("BUNTING_HELM");

  it("change nothing by default", async () => {
    const { containers, volumes } = podOf(await render());
    expect(containers[0].args).to.deep.equal(["start"]);
    expect([volumes, containers[0].volumeMounts]).to.deep.equal([undefined, undefined]);
    expect(containers[0].readinessProbe.httpGet).not.to.have.property("scheme");
  });

  it("mount a Secret and serve TLS with it", async () => {
    const { containers, volumes } = podOf(await render({ tls: { mode: "both", secretName: "mine" } }));
    expect(containers[0].args).to.deep.equal(["start", "--tls=both", ...certificate]);
    expect(containers[0].volumeMounts).to.deep.equal([
      { name: "bunting-tls", mountPath: "/etc/bunting/tls", readOnly: true },
    ]);
    expect(volumes).to.deep.equal([{ name: "bunting-tls", secret: { secretName: "mine" } }]);
    // As YAML reads them without quotes.
    const unquoted = { tls: { mode: true, management: false, secretName: "mine", clients: { auth: false } } };
    expect(await argsOf(unquoted)).to.deep.equal(["start", "--tls=on", ...certificate]);
  });

  it("have probes and monitors speak TLS where the management port does", async () => {
    const values = { tls: { management: "on", secretName: "mine" }, podMonitor: { enabled: true } };
    const manifests = await render(values);
    const [{ readinessProbe, livenessProbe }] = podOf(manifests).containers;
    for (const { httpGet } of [readinessProbe, livenessProbe])
      expect(httpGet).to.include({ scheme: "HTTPS", port: "management" });
    expect(one(manifests, "PodMonitor").spec)
      .to.have.property("podMetricsEndpoints")
      .that.deep.equals([
        {
          port: "management",
          path: "/metrics",
          interval: "30s",
          scheme: "https",
          tlsConfig: {
            serverName: "bunting-proxy.bunting-system.svc",
            ca: { secret: { name: "mine", key: "ca.crt" } },
          },
        },
      ]);
    const both = podOf(await render({ tls: { management: "both", secretName: "mine" } }));
    expect(both.containers[0].readinessProbe.httpGet).not.to.have.property("scheme");
  });

  it("ask for client certificates, of the authority in the same Secret or in another one", async () => {
    const own = { tls: { mode: "on", secretName: "mine", clients: { auth: "require" } } };
    expect(await argsOf(own)).to.deep.equal([
      ...["start", "--tls=on", certificate[0]],
      ...["--tls-client-auth=require", "--tls-client-ca-path=/etc/bunting/tls/ca.crt", certificate[1]],
    ]);
    const { containers, volumes = [] } = podOf(await render(everything));
    expect(containers[0].args).to.include("--tls-client-ca-path=/etc/bunting/client-ca/ca.crt");
    expect(volumes.map(({ secret }) => secret.secretName)).to.deep.equal([
      "bunting-proxy-tls",
      "client-authorities",
    ]);
  });

  it("have cert-manager make the Secret, for the names of the Services", async () => {
    const { spec } = one(await render(everything), "Certificate");
    expect(spec).to.deep.include({
      secretName: "bunting-proxy-tls",
      issuerRef: { name: "cluster-ca", kind: "ClusterIssuer", group: "cert-manager.io" },
    });
    const hosts = ["bunting-proxy", "flagd-proxy-svc"].flatMap((service) =>
      ["", ".bunting-system", ".bunting-system.svc", ".bunting-system.svc.cluster.local"].map(
        (domain) => service + domain,
      ),
    );
    expect((spec as { dnsNames: string[] }).dnsNames).to.deep.equal([...hosts, "flags.example"]);
    expect((await render()).some(({ kind }) => kind === "Certificate")).to.equal(false);
  });

  it("say who is served, and grant what that needs and nothing else", async () => {
    const rulesOf = async (auth: object): Promise<string[]> => {
      const manifests = await render({ auth });
      const role = manifests.find(({ metadata }) => metadata.name === "bunting-proxy-access");
      const rules = (role?.["rules"] ?? []) as { resources: string[]; verbs: string[] }[];
      const bound = manifests.filter(({ kind }) => kind === "ClusterRoleBinding");
      return [
        ...rules.map(({ resources, verbs }) => `${resources.join()} ${verbs.join()}`),
        ...bound
          .map((binding) => (binding["roleRef"] as { name: string }).name)
          .filter((name) => name.startsWith("system:")),
      ];
    };
    const keys = "system:service-account-issuer-discovery";
    expect(await rulesOf({ mode: "token" })).to.deep.equal([keys]);
    expect(await rulesOf({ mode: "token", management: "identity" })).to.deep.equal([keys]);
    expect(await rulesOf({ mode: "optional", tokenReview: true })).to.deep.equal([
      "tokenreviews create",
      keys,
    ]);
    const review = "subjectaccessreviews create";
    for (const auth of [
      { authorize: "rbac" },
      { management: "rbac" },
      { authorize: "rbac", management: "rbac" },
    ])
      expect(await rulesOf({ mode: "token", ...auth }), JSON.stringify(auth)).to.deep.equal([review, keys]);
    expect(await rulesOf({ mode: "pod-ip" })).to.deep.equal(["pods get,list"]);
    const { auth } = everything;
    expect(await argsOf({ auth })).to.deep.equal([
      ...["start", "--auth=token", "--auth-audience=flags", "--authorize=rbac", "--management-auth=rbac"],
      "--token-review=true",
    ]);
  });

  const refused: Readonly<Record<string, readonly [values: object, sentence: string]>> = {
    "an option that is set twice": [
      { options: { auth: "optional" }, auth: { mode: "token" } },
      "options.auth: the values `tls` and `auth` set that option as well; leave one of the two out",
    ],
    "TLS without a certificate": [
      { tls: { mode: "on" } },
      "tls: name the Secret with the certificate (secretName), or the issuer that makes it (certManager.issuerRef.name)",
    ],
    "a certificate without TLS": [
      { tls: { secretName: "mine" } },
      "tls: a certificate or clients.auth has no effect while mode and management are off",
    ],
    "authorities that nothing uses": [
      { tls: { mode: "on", secretName: "mine", clients: { caSecretName: "x" } } },
      "tls.clients.caSecretName has no effect while tls.clients.auth is off",
    ],
    "another mode": [{ auth: { mode: "mtls" } }, "at '/auth/mode': value must be one of"],
  };
  for (const [what, [values, sentence]] of Object.entries(refused))
    it(`refuse ${what}`, async () => {
      expect(await refusal(values)).to.contain(sentence);
    });

  describe("with promtool", () => {
    skipWithout("BUNTING_PROMTOOL");

    it("go with the configuration of Prometheus in docs/security/management-port.md", async () => {
      const directory = new TempDirectory();
      const [config = ""] = documentedBlocks("docs/security/management-port.md", "Prometheus", "yaml").filter(
        (block) => block.startsWith("scrape_configs:"),
      );
      // promtool looks for the files that it names.
      for (const name of ["token", "ca.crt"]) directory.replace(name, "");
      const local = config
        .replace("/var/run/secrets/bunting/token", directory.file("token"))
        .replace("/etc/prometheus/bunting/ca.crt", directory.file("ca.crt"))
        // The promtool of the tests is built without discovery.
        .replace(/^( *)kubernetes_sd_configs: .*$/m, "$1static_configs: [{ targets: [localhost:8016] }]");
      expect(local).not.to.equal(config);
      directory.replace("prometheus.yml", local);
      const check = ["check", "config", directory.file("prometheus.yml")];
      const { code, stdout, stderr } = await runTool(process.env["BUNTING_PROMTOOL"] ?? "", check);
      expect(code, stdout + stderr).to.equal(0);
      directory.remove();
    });
  });

  describe("on a real API server", () => {
    skipWithout("BUNTING_CLUSTER_BIN");
    const cluster = freshCluster({ crds: false });

    before("the resource types of cert-manager and of the Prometheus operator", async function () {
      const certManager = goModuleSource(
        "github.com/cert-manager/cert-manager",
        "v1.21.2",
        "h1:UWgoYM+KLNtRlqmoWOKjKBOBUPVHeepQ6/ac3ERJW68=",
      );
      const operator = goModuleSource(
        "github.com/prometheus-operator/prometheus-operator",
        "v0.85.0",
        "h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=",
      );
      if (certManager === undefined || operator === undefined) return this.skip();
      const types = path.join(operator, "example/prometheus-operator-crd");
      for (const file of [
        path.join(certManager, "deploy/crds/cert-manager.io_certificates.yaml"),
        path.join(types, "monitoring.coreos.com_servicemonitors.yaml"),
        path.join(types, "monitoring.coreos.com_podmonitors.yaml"),
      ]) {
        await applyType(cluster(), file);
      }
      await cluster().api.create("/api/v1/namespaces", { metadata: { name: "bunting-system" } });
    });

    for (const [what, values] of Object.entries({
      everything,
      "a PodMonitor": { ...everything, serviceMonitor: { enabled: false }, podMonitor: { enabled: true } },
    }))
      it(`are applied without a warning: ${what}`, async () => {
        const items = await render({ ...values, crds: { install: false } });
        const { code, stdout, stderr } = await cluster().tryKubectl(
          ["apply", "--server-side", "--force-conflicts", "--validate=strict", "-f", "-"],
          JSON.stringify({ apiVersion: "v1", kind: "List", items }),
        );
        expect([code, stderr]).to.deep.equal([0, ""]);
        expect(stdout.trim().split("\n")).to.have.length(items.length);
      });

    it("are set up as docs/operate/security.md prints it", async () => {
      const directory = new TempDirectory();
      const { cert, key } = await (await Authority.create()).issue();
      for (const [name, content] of Object.entries({ "tls.crt": cert, "tls.key": key, "ca.crt": cert }))
        directory.replace(name, content);
      const around = {
        kubeconfig: cluster().kubeconfig,
        home: directory.path,
      };
      const blocks = documentedBlocks("docs/operate/security.md", "Set it up", "sh");
      expect(blocks).to.have.length(5);
      const namespace = "bunting-docs";
      const args: string[][] = [];
      for (const block of blocks.slice(0, 4)) {
        const lines = block
          .replaceAll("bunting-system", namespace)
          .replaceAll("--from-file=", `--from-file=${directory.path}/`);
        await runAsPrinted(lines, around);
        if (!lines.includes("helm")) continue;
        const get = `kubectl --namespace=${namespace} get deployment bunting-proxy --output=json`;
        const found = JSON.parse(await runAsPrinted(get, around)) as Manifest;
        args.push([...podOf([found]).containers[0].args]);
      }
      expect(args).to.deep.equal([
        ["start", "--auth=optional", "--tls=both", ...certificate],
        ["start", "--auth=token", "--tls=on", ...certificate, "--token-review=true"],
        [
          ...["start", "--auth=token", "--management-auth=rbac", "--management-tls=on", "--tls=on"],
          ...[...certificate, "--token-review=true"],
        ],
      ]);
      directory.remove();
    });

    it("let the proxy ask what its options need", async () => {
      const canI = async (verb: string, resource: string): Promise<string> => {
        const account = "--as=system:serviceaccount:bunting-system:bunting-proxy";
        return (await cluster().tryKubectl(["auth", "can-i", verb, resource, account])).stdout.trim();
      };
      expect(await canI("create", "tokenreviews.authentication.k8s.io")).to.equal("yes");
      expect(await canI("create", "subjectaccessreviews.authorization.k8s.io")).to.equal("yes");
      expect(await canI("list", "pods")).to.equal("no");
      expect(await canI("get", "secrets")).to.equal("no");
    });
  });
});
