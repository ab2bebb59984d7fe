import { expect } from "chai";
import { secretPath } from "../api/webhooks.js";
import { isFilledByOthers, webhookCallsOf, type LiveWebhooks } from "./webhook-calls.js";

const address = { service: { namespace: "bunting", name: "webhooks" } };
const call = { bundle: "PEM", key: "k" };
const certManager = { "cert-manager.io/inject-ca-from": "a/b" };
const podPath = secretPath("/mutate-v1-pod", "k");
const requiredPath = secretPath("/mutate-v1-pod/required", "k");

type WebhookOf = NonNullable<LiveWebhooks["webhooks"]>[number];
type Live = readonly { readonly caBundle?: string; readonly path?: string }[];

/** The configuration of Pods, with what its webhooks have, beside some of others. */
function live([pod = {}, required = {}]: Live, annotations = {}): LiveWebhooks {
  const ours = { ...address.service, port: 443 };
  const clientConfig = ({ caBundle, path }: Live[number]): WebhookOf["clientConfig"] => ({
    service: path === undefined ? ours : { ...ours, path },
    ...(caBundle === undefined ? {} : { caBundle }),
  });
  const webhooks = [
    { name: "mutate.openfeature.dev", clientConfig: clientConfig(pod) },
    { name: "required-pod.bunting.dev", clientConfig: clientConfig(required) },
    { name: "unknown.example", clientConfig: { service: ours } },
    { name: "required-namespace.bunting.dev", clientConfig: { service: { ...ours, name: "other" } } },
    { name: "vfeatureflag.kb.io", clientConfig: { service: { ...ours, namespace: "other" } } },
    { name: "vfeatureflagsource.kb.io", clientConfig: { url: "https://elsewhere.example/x" } },
  ];
  return { metadata: { name: "config", annotations }, webhooks };
}

function of(configuration: LiveWebhooks, wanted = call): ReturnType<typeof webhookCallsOf> {
  return webhookCallsOf("MutatingWebhookConfiguration", configuration, wanted, address);
}

describe("webhookCallsOf", () => {
  const current: Live = [
    { caBundle: "UEVN", path: podPath },
    { caBundle: "UEVN", path: requiredPath },
  ];

  it("has the paths and bundles of all our webhooks, and nothing else, as soon as one of them lacks its own", () => {
    const expected = {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "MutatingWebhookConfiguration",
      metadata: { name: "config" },
      webhooks: [
        {
          name: "mutate.openfeature.dev",
          clientConfig: { service: { path: podPath }, caBundle: "UEVN" },
        },
        {
          name: "required-pod.bunting.dev",
          clientConfig: { service: { path: requiredPath }, caBundle: "UEVN" },
        },
      ],
    };
    const [pod = {}, required = {}] = current;
    for (const state of [
      [],
      [pod, { ...required, path: "/mutate-v1-pod/required" }],
      [{ ...pod, caBundle: "b2xk" }, required],
      [{ caBundle: "UEVN" }, required],
    ])
      expect(of(live(state))).to.deep.equal(expected);
  });

  it("is current where all of them have it, or none is ours", () => {
    expect(of(live(current))).to.equal("current");
    expect(of({ metadata: { name: "config" } })).to.equal("current");
  });

  it("keeps certificates of others behind ours where their Pods answer as well, each once", () => {
    const pem = (text: string): string => `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----\n`;
    const wanted = { bundle: pem("ours"), key: "k" };
    const bundleOf = (given: string): unknown => {
      const [pod = {}, required = {}] = current;
      const caBundle = Buffer.from(given).toString("base64");
      const configuration = live([
        { ...pod, caBundle },
        { ...required, caBundle },
      ]);
      const applied = webhookCallsOf("MutatingWebhookConfiguration", configuration, wanted, address, "kept");
      if (typeof applied === "string") return applied;
      const [webhook] = applied["webhooks"] as readonly { readonly clientConfig: { caBundle: string } }[];
      return Buffer.from(webhook?.clientConfig.caBundle ?? "", "base64").toString();
    };
    expect(bundleOf(`# theirs\n${pem("theirs")}${pem("ours")}${pem("theirs")}`)).to.equal(
      pem("ours") + pem("theirs"),
    );
    expect(bundleOf(pem("ours") + pem("theirs"))).to.equal("current");
    expect(bundleOf("")).to.equal(pem("ours"));
  });

  it("leaves the bundle to cert-manager that is asked for it, or to whom the operator was told, but not the path", () => {
    const paths: Live = [
      { caBundle: "OTHER", path: podPath },
      { caBundle: "OTHER", path: requiredPath },
    ];
    const filled = live(paths, certManager);
    expect([isFilledByOthers(filled), isFilledByOthers(live(paths))]).to.deep.equal([true, false]);
    expect(of(filled)).to.equal("current");
    expect(webhookCallsOf("MutatingWebhookConfiguration", live(paths), { key: "k" }, address)).to.equal(
      "current",
    );
    const applied = of(live([{ caBundle: "OTHER" }, { caBundle: "OTHER" }], certManager));
    expect(applied)
      .to.have.nested.property("webhooks[0].clientConfig")
      .that.deep.equals({
        service: { path: podPath },
      });
  });

  it("knows webhooks by their URL where the operator runs outside of the cluster", () => {
    const ofUrl = (name: string, url: string): WebhookOf => ({
      name,
      clientConfig: { url },
    });
    const webhooks = [
      ofUrl("vfeatureflag.kb.io", "https://localhost:1/"),
      ofUrl("vfeatureflagsource.kb.io", "https://localhost:12/"),
    ];
    const url = "https://localhost:1";
    const configuration = { metadata: { name: "config" }, webhooks };
    const path = secretPath("/validate-core-openfeature-dev-v1beta1-featureflag", "k");
    const applied = webhookCallsOf("ValidatingWebhookConfiguration", configuration, call, { url });
    expect(applied).to.deep.include({
      webhooks: [{ name: "vfeatureflag.kb.io", clientConfig: { url: `${url}${path}`, caBundle: "UEVN" } }],
    });
  });
});
