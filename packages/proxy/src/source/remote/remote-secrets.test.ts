import type { RemoteFlagProvider } from "@bunting/featureflags/resources";
import { KubeError, type KubeObject, type ObjectScope } from "@bunting/kube";
import { testTls } from "@bunting/test/support/faulty-api-server/index.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";

import { hostAnnotation, remoteSecrets } from "./remote-secrets.js";

const provider: RemoteFlagProvider = {
  type: "http",
  uri: "https://Flags.test/v1",
  strategy: "merge",
  intervalMs: 5_000,
  allowEmpty: false,
  credentials: { secretRef: { name: "vendor", key: "token" } },
};

function secretOf(data: Record<string, string>, host?: string): KubeObject {
  const annotations = host === undefined ? {} : { [hostAnnotation]: host };
  const encoded = Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString("base64")]);
  return {
    metadata: { name: "vendor", namespace: "demo", annotations },
    data: Object.fromEntries(encoded),
  };
}

describe("remoteSecrets", () => {
  const asked: string[] = [];
  beforeEach(() => asked.splice(0));
  const read = (answer: KubeObject | KubeError, changes: Partial<RemoteFlagProvider> = {}) => {
    const get = (scope: ObjectScope): Promise<KubeObject> => {
      asked.push(`${scope.type.plural} ${scope.namespace}/${scope.name}`);
      return answer instanceof KubeError ? Promise.reject(answer) : Promise.resolve(answer);
    };
    const readSecrets = remoteSecrets(() => ({ get: get }), new ManualClock());
    return readSecrets("demo", { ...provider, ...changes }, new AbortController().signal);
  };

  it("reads the Secret of the FeatureFlag's namespace alone, and gives what may be sent to the provider's host", async () => {
    expect(await read(secretOf({ token: "abc\n" }, "flags.test"))).to.deep.equal({
      kind: "read",
      values: { credential: "abc" },
    });
    expect(asked).to.deep.equal(["secrets demo/vendor"]);
  });

  it("gives none to a host that the Secret does not name", async () => {
    for (const [host, uri] of [
      [undefined, provider.uri],
      ["other.test", provider.uri],
      ["flags.test.evil.test", provider.uri],
      ["flags.test", "https://flags.test:8443/"],
      ["flags.test", "https://flags.test@evil.test/"],
      ["flags.test:8443", "https://flags.test/"],
      ["flags.test", "flags.test:8015"],
    ] as const) {
      const answer = await read(secretOf({ token: "abc" }, host), { uri });
      expect(answer, uri).to.have.nested.property("failure.reason", "CredentialsForOtherHost");
      expect(JSON.stringify(answer)).not.to.contain("abc");
    }
  });

  it("takes a host for the one that is called, however the address is written", async () => {
    for (const [host, uri] of [
      ["flags.test:443", "https://flags.test/"],
      ["flags.test", "grpcs://flags.test:443"],
      ["flags.test:443", "grpcs://flags.test:443"],
      ["flags.test:8015", "grpcs://FLAGS.test:8015"],
      ["flags.test:8015", "grpcs://flags%2Etest:8015"],
      ["xn--flgs-moa.test:8015", "grpcs://fl\u00e4gs.test:8015"],
    ] as const)
      expect(await read(secretOf({ token: "abc" }, host), { uri }), uri).to.include({ kind: "read" });
    expect(
      await read(secretOf({ token: "abc" }, "flags%2etest:8015"), { uri: "grpcs://flags%2Etest:8015" }),
    ).to.have.nested.property("failure.reason", "CredentialsForOtherHost");
  });

  it("says how to allow what is forbidden, what is missing, and what can't be sent", async () => {
    const forbidden = await read(new KubeError("FORBIDDEN", "no"));
    expect(forbidden).to.include({ kind: "forbidden" });
    expect(forbidden)
      .to.have.nested.property("failure.message")
      .that.contains("bunting grant credentials demo/vendor");
    expect(await read(new KubeError("NOT_FOUND", "no"))).to.have.nested.property(
      "failure.reason",
      "CredentialsMissing",
    );
    expect(await read(secretOf({ other: "abc" }, "flags.test"))).to.have.nested.property(
      "failure.reason",
      "CredentialsMissing",
    );
    for (const token of ["two\nlines", "naïve", "\u0000", "x".repeat(65 * 1024)])
      expect(await read(secretOf({ token }, "flags.test"))).to.have.nested.property(
        "failure.reason",
        "CredentialsInvalid",
      );
  });

  it("does not know what they hold while the API server does not answer", async () => {
    expect(await read(new KubeError("CONNECTION_LOST", "away"))).to.include({ kind: "unknown" });
    const none = remoteSecrets(() => undefined, new ManualClock());
    expect(await none("demo", provider, new AbortController().signal)).to.include({ kind: "unknown" });
  });

  it("reads a certificate of whatever host, as it is not secret, and nothing where nothing is named", async () => {
    const { type, uri, strategy, intervalMs, allowEmpty } = provider;
    const ca = String(testTls.ca);
    const plain: RemoteFlagProvider = { type, uri, strategy, intervalMs, allowEmpty };
    const get = { get: (() => Promise.resolve(secretOf({ ca, other: "PEM" }))) as never };
    const readSecrets = remoteSecrets(() => get, new ManualClock());
    const { signal } = new AbortController();
    expect(
      await readSecrets("demo", { ...plain, caSecretRef: { name: "vendor", key: "ca" } }, signal),
    ).to.deep.equal({
      kind: "read",
      values: { ca },
    });
    const other = { ...plain, caSecretRef: { name: "vendor", key: "other" } };
    expect(await readSecrets("demo", other, signal)).to.have.nested.property(
      "failure.reason",
      "CertificateInvalid",
    );
    expect(await remoteSecrets(() => undefined, new ManualClock())("demo", plain, signal)).to.deep.equal({
      kind: "read",
      values: {},
    });
  });
});
