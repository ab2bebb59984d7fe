import { expect } from "chai";
import { caBundleOf, type LiveWebhooks } from "./ca-bundle.js";

const address = { service: { namespace: "bunting", name: "webhooks" } };

function live(bundles: readonly (string | undefined)[], annotations = {}): LiveWebhooks {
  const service = { ...address.service, path: "/x", port: 443 };
  return {
    metadata: { name: "config", annotations },
    webhooks: [
      ...bundles.map((caBundle, i) => ({
        name: `ours-${i}`,
        clientConfig: caBundle === undefined ? { service } : { service, caBundle },
      })),
      { name: "other-service", clientConfig: { service: { ...service, name: "other" } } },
      { name: "other-namespace", clientConfig: { service: { ...service, namespace: "other" } } },
      { name: "elsewhere", clientConfig: { url: "https://elsewhere.example/x" } },
    ],
  };
}

function of(configuration: LiveWebhooks): ReturnType<typeof caBundleOf> {
  return caBundleOf("MutatingWebhookConfiguration", configuration, "PEM", address);
}

describe("caBundleOf", () => {
  it("has the bundles of all our webhooks, and nothing else, as soon as one of them lacks it", () => {
    const expected = {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "MutatingWebhookConfiguration",
      metadata: { name: "config" },
      webhooks: [
        { name: "ours-0", clientConfig: { caBundle: "UEVN" } },
        { name: "ours-1", clientConfig: { caBundle: "UEVN" } },
      ],
    };
    for (const bundles of [
      [undefined, undefined],
      ["UEVN", undefined],
      ["UEVN", "b2xk"],
    ])
      expect(of(live(bundles))).to.deep.equal(expected);
  });

  it("is current where all of them have it, or none is ours", () => {
    expect(of(live(["UEVN", "UEVN"]))).to.equal("current");
    expect(of(live([]))).to.equal("current");
    expect(of({ metadata: { name: "config" } })).to.equal("current");
  });

  it("keeps certificates of others behind ours where their Pods answer as well, each once", () => {
    const pem = (text: string): string => `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----\n`;
    const bundlesOf = (caBundle: string): unknown => {
      const configuration = live([Buffer.from(caBundle).toString("base64")]);
      const kind = "MutatingWebhookConfiguration";
      const applied = caBundleOf(kind, configuration, pem("ours"), address, "kept");
      if (typeof applied === "string") return applied;
      const [webhook] = applied["webhooks"] as readonly { readonly clientConfig: { caBundle: string } }[];
      return Buffer.from(webhook?.clientConfig.caBundle ?? "", "base64").toString();
    };
    expect(bundlesOf(`# theirs\n${pem("theirs")}${pem("ours")}${pem("theirs")}`)).to.equal(
      pem("ours") + pem("theirs"),
    );
    expect(bundlesOf(pem("ours") + pem("theirs"))).to.equal("current");
    expect(bundlesOf("")).to.equal(pem("ours"));
  });

  it("leaves a configuration to cert-manager that asks for it", () => {
    expect(of(live([undefined], { "cert-manager.io/inject-ca-from": "a/b" }))).to.equal("injected");
  });

  it("knows webhooks by their URL where the operator runs outside of the cluster", () => {
    const webhooks = ["https://localhost:1/a", "https://localhost:12/a"].map((url) => ({
      name: url,
      clientConfig: { url },
    }));
    const applied = caBundleOf(
      "ValidatingWebhookConfiguration",
      { metadata: { name: "config" }, webhooks },
      "PEM",
      { url: "https://localhost:1" },
    );
    expect(applied).to.deep.include({
      webhooks: [{ name: "https://localhost:1/a", clientConfig: { caBundle: "UEVN" } }],
    });
  });
});
