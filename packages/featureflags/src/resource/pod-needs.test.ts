import { expect } from "chai";
import { podNeeds, type AskingPod, type PodNeeds } from "./pod-needs.js";

const uri = "flagd-proxy-svc.flags.svc.cluster.local:8015";
const mount = { name: "bunting-identity", mountPath: "/var/run/secrets/bunting", readOnly: true };
const identity = {
  name: mount.name,
  projected: { sources: [{ serviceAccountToken: { audience: "bunting", path: "token" } }] },
};
const sidecar = { name: "flagd", args: ["start", "--sources", `[{"uri":"${uri}"}]`] };
const secured = {
  ...sidecar,
  env: [
    { name: "BUNTING_TOKEN_FILE", value: `${mount.mountPath}/token` },
    { name: "BUNTING_CA_FILE", value: `${mount.mountPath}/ca.crt` },
  ],
  volumeMounts: [mount],
};
const application = { name: "app" };

const needs = (spec: Partial<AskingPod["spec"]>, status?: object): PodNeeds =>
  podNeeds({ spec: { containers: [application], ...spec }, ...(status === undefined ? {} : { status }) });

describe("podNeeds", () => {
  it("sees what a sidecar without an identity needs, whoever has injected it", () => {
    const plain = { isSecured: false, isPlain: true };
    expect(needs({ initContainers: [sidecar] })).to.deep.equal(plain);
    expect(needs({ containers: [application, sidecar] })).to.deep.equal(plain);
  });

  it("sees what one with an identity needs", () => {
    const found = needs({ initContainers: [secured], volumes: [identity] });
    expect(found).to.deep.equal({ isSecured: true, isPlain: false });
  });

  it("needs both in a Pod without a ServiceAccount, whose sidecar speaks TLS and has no token", () => {
    const volumes = [{ name: mount.name, projected: { sources: [{ configMap: {} }] } }];
    const both = { isSecured: true, isPlain: true };
    expect(needs({ initContainers: [secured], volumes })).to.deep.equal(both);
    expect(needs({ initContainers: [{ ...secured, volumeMounts: [] }], volumes: [identity] })).to.deep.equal(
      both,
    );
  });

  it("knows an application that asks the proxy itself, also beside a sidecar with an identity", () => {
    const inProcess = { name: "app", env: [{ name: "FLAGD_HOST", value: "flagd-proxy-svc.flags" }] };
    expect(needs({ containers: [inProcess] })).to.deep.equal({ isSecured: false, isPlain: true });
    expect(needs({ containers: [inProcess], initContainers: [secured], volumes: [identity] })).to.deep.equal({
      isSecured: true,
      isPlain: true,
    });
  });

  it("takes variables with the prefix of their source for the same", () => {
    const env = secured.env.map(({ name, value }) => ({ name: `FLAGD_${name}`, value }));
    const found = needs({ initContainers: [{ ...secured, env }], volumes: [identity] });
    expect(found).to.deep.equal({ isSecured: true, isPlain: false });
  });

  it("leaves out Pods that do not ask the proxy, and those that are over", () => {
    const none = { isSecured: false, isPlain: false };
    expect(needs({})).to.deep.equal(none);
    expect(
      needs({ initContainers: [{ name: "flagd", args: ["start", "--uri", "file:/flags.json"] }] }),
    ).to.deep.equal(none);
    for (const phase of ["Succeeded", "Failed"])
      expect(needs({ initContainers: [sidecar] }, { phase })).to.deep.equal(none);
    expect(needs({ initContainers: [sidecar] }, { phase: "Running" }).isPlain).to.equal(true);
  });

  it("leaves out a Pod that was deleted before it had a node: what keeps it can keep nothing else waiting", () => {
    const deleted = { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } };
    const spec = { containers: [application], initContainers: [sidecar] };
    expect(podNeeds({ ...deleted, spec })).to.deep.equal({ isSecured: false, isPlain: false });
    expect(podNeeds({ ...deleted, spec: { ...spec, nodeName: "node" } }).isPlain, "it may run yet").to.equal(
      true,
    );
    expect(podNeeds({ metadata: {}, spec }).isPlain, "it may be given a node").to.equal(true);
  });
});
