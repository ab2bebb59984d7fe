import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import type { ClusterConfig } from "./cluster-config.js";
import { kubeconfigConfig } from "./kubeconfig.js";
import { loadClusterConfig } from "./load-cluster-config.js";

const base64 = (text: string): string => Buffer.from(text).toString("base64");

describe("the configuration of a kubeconfig", () => {
  let directory: TempDirectory;
  beforeEach(() => (directory = new TempDirectory()));
  afterEach(() => directory.remove());

  /** A kubeconfig with one cluster, user and context. */
  function write(user: object = {}, cluster: object = {}, name = "config"): string {
    directory.replace(
      name,
      JSON.stringify({
        apiVersion: "v1",
        kind: "Config",
        clusters: [{ name: "c", cluster: { server: "https://example.org:6443/base", ...cluster } }],
        users: [{ name: "u", user }],
        contexts: [{ name: "x", context: { cluster: "c", user: "u", namespace: "demo" } }],
        "current-context": "x",
      }),
    );
    return directory.file(name);
  }

  function load(user: object = {}, cluster: object = {}): Promise<ClusterConfig> {
    return kubeconfigConfig({ path: write(user, cluster) });
  }

  async function refusal(promise: Promise<unknown>): Promise<string> {
    const error: unknown = await promise.catch((thrown: unknown) => thrown);
    expect(error).to.include({ code: "CONFIG_INVALID" });
    return (error as Error).message;
  }

  // The first test loads client-node.
  it("names server, authority, and a token", async () => {
    const config = await load({ token: "secret" }, { "certificate-authority-data": base64("authority") });
    expect(config.server.href).to.equal("https://example.org:6443/base");
    expect(await config.tls.read()).to.deep.equal({ ca: Buffer.from("authority") });
    expect(await config.credentials.headers()).to.deep.equal({ authorization: "Bearer secret" });
    expect(await config.credentials.renew({})).to.equal(false);
  });

  it("says where credentials that are refused come from, and what to do about them", async () => {
    directory.replace("token", "secret");
    directory.replace("me.crt", "certificate");
    directory.replace("me.key", "key");
    const exec = {
      apiVersion: "client.authentication.k8s.io/v1",
      command: "login",
      interactiveMode: "Never",
    };
    const advices: readonly (readonly [user: object, advice: RegExp])[] = [
      [{ token: "secret" }, /the token of its user u has expired, or is for another cluster$/],
      [{ tokenFile: "token" }, /check the token of its user u in .*token$/],
      [{ exec }, /log in again to the credential plugin of its user u$/],
      [{ username: "me", password: "secret" }, /check the password of its user u$/],
      [
        { "client-certificate": "me.crt", "client-key": "me.key" },
        /the client certificate of its user u has expired/,
      ],
      [{}, /its context has no user with credentials$/],
    ];
    for (const [user, advice] of advices) {
      const { refusedAdvice } = await load(user);
      const origin = `the credentials are those of the kubeconfig ${directory.file("config")}`;
      expect(refusedAdvice?.UNAUTHORIZED).to.contain(`${origin}: `).and.match(advice);
      expect(refusedAdvice?.FORBIDDEN).to.equal(origin);
    }
  });

  it("reads files that are named relative to it, and again when they change", async () => {
    directory.replace("ca.pem", "authority");
    directory.replace("me.crt", "certificate");
    directory.replace("me.key", "key");
    const config = await load(
      { "client-certificate": "me.crt", "client-key": "me.key" },
      { "certificate-authority": "ca.pem" },
    );
    const { ca, cert, key } = await config.tls.read();
    expect([ca, cert, key].map(String)).to.deep.equal(["authority", "certificate", "key"]);
    directory.replace("me.crt", "certificate 2");
    expect(String((await config.tls.read()).cert)).to.equal("certificate 2");
    expect(await config.credentials.headers()).to.deep.equal({});
  });

  it("reads certificates as data, tls-server-name and insecure-skip-tls-verify", async () => {
    const config = await load(
      { "client-certificate-data": base64("certificate"), "client-key-data": base64("key") },
      { "insecure-skip-tls-verify": true, "tls-server-name": "inside" },
    );
    expect(await config.tls.read()).to.deep.equal({
      cert: Buffer.from("certificate"),
      key: Buffer.from("key"),
      serverName: "inside",
      isUnverified: true,
    });
  });

  it("reads a tokenFile, which wins over a token, and reads it again", async () => {
    directory.replace("token", "first\n");
    const clock = new ManualClock();
    const config = await kubeconfigConfig({ path: write({ tokenFile: "token", token: "no" }), clock });
    expect(await config.credentials.headers()).to.deep.equal({ authorization: "Bearer first" });
    directory.replace("token", "second");
    clock.advance(60_000);
    expect(await config.credentials.headers()).to.deep.equal({ authorization: "Bearer second" });
  });

  it("supports passwords and impersonation", async () => {
    const config = await load({ username: "jane", password: "p:w", as: "joe" });
    expect(await config.credentials.headers()).to.deep.equal({
      authorization: `Basic ${base64("jane:p:w")}`,
      "impersonate-user": "joe",
    });
  });

  it("refuses what it can't impersonate, rather than to act with other rights", async () => {
    for (const more of [
      { "as-groups": ["viewers"] },
      { "as-uid": "1" },
      { "as-user-extra": { scopes: ["a"] } },
    ]) {
      const [key = ""] = Object.keys(more);
      expect(await refusal(load({ token: "t", as: "joe", ...more }))).to.include(
        `the kubeconfig's user u impersonates with ${key}, which is not supported`,
      );
    }
    await load({ token: "t", "as-groups": [], "as-uid": "", "as-user-extra": {} });
  });

  describe("with an exec plugin", () => {
    /** A plugin that prints a file, and counts how often it ran. */
    function plugin(status: object): object {
      directory.replace("answer", JSON.stringify({ kind: "ExecCredential", status }));
      const script = `require("fs").appendFileSync(process.argv[1], "x"); process.stdout.write(require("fs").readFileSync(process.argv[2]))`;
      return {
        exec: {
          command: process.execPath,
          args: ["-e", script, directory.file("runs"), directory.file("answer")],
        },
      };
    }

    it("runs it once while its token is valid, and again at once after a 401", async () => {
      const expirationTimestamp = new Date(Date.now() + 3_600_000).toISOString();
      const clock = new ManualClock();
      const config = await kubeconfigConfig({
        path: write(plugin({ token: "one", expirationTimestamp })),
        clock,
      });
      const first = { authorization: "Bearer one" };
      expect(await Promise.all([config.credentials.headers(), config.credentials.headers()])).to.deep.equal([
        first,
        first,
      ]);
      clock.advance(60_000);
      expect(await config.credentials.headers()).to.deep.equal(first);
      expect(await config.credentials.renew(first)).to.equal(false);
      plugin({ token: "two", expirationTimestamp });
      expect(await config.credentials.headers()).to.deep.equal(first);
      expect(await config.credentials.renew(first)).to.equal(true);
      expect(await config.credentials.headers()).to.deep.equal({ authorization: "Bearer two" });
      expect(readFileSync(directory.file("runs"), "utf8")).to.equal("xxx");
    });

    it("takes a client certificate from it", async () => {
      const config = await load(plugin({ clientCertificateData: "certificate", clientKeyData: "key" }));
      expect(await config.tls.read()).to.include({ cert: "certificate", key: "key" });
      expect(await config.tls.read()).to.equal(await config.tls.read());
      expect(await config.credentials.headers()).to.deep.equal({});
    });

    it("impersonates with its token, too", async () => {
      const config = await load({ ...plugin({ token: "one" }), as: "joe" });
      expect(await config.credentials.headers()).to.deep.equal({
        authorization: "Bearer one",
        "impersonate-user": "joe",
      });
    });

    it("reports that it failed, with its output", async () => {
      const config = await load({
        exec: { command: process.execPath, args: ["-e", "console.error('log in first'); process.exit(1)"] },
      });
      expect(await refusal(config.credentials.headers())).to.include("plugin failed: log in first");
    });
  });

  it("says what is wrong", async () => {
    expect(await refusal(kubeconfigConfig({ path: directory.file("nowhere") }))).to.include(
      "nowhere can't be read: ENOENT",
    );
    directory.replace("broken", "clusters: [");
    expect(await refusal(kubeconfigConfig({ path: directory.file("broken") }))).to.include(
      "broken can't be used",
    );
    directory.replace("empty", "apiVersion: v1\nkind: Config\n");
    expect(await refusal(kubeconfigConfig({ path: directory.file("empty") }))).to.include(
      "no current-context",
    );
    expect(await refusal(kubeconfigConfig({ path: write(), context: "y" }))).to.include(
      "no context y; it has x",
    );
    expect(await refusal(load({}, { server: "ftp://x" }))).to.include("not an http or https URL");
    expect(await refusal(load({}, { "proxy-url": "http://p" }))).to.include(
      "proxy-url, which is not supported",
    );
    expect(await refusal(load({}, { "certificate-authority": "nowhere.pem" }))).to.include(
      "nowhere.pem can't be read",
    );
    for (const [part, sentence] of [
      ["clusters", "cluster c, which it does not define"],
      ["users", "user u, which it does not define"],
    ] as const) {
      const whole = write();
      const parsed = JSON.parse(readFileSync(whole, "utf8")) as Record<string, unknown>;
      writeFileSync(whole, JSON.stringify({ ...parsed, [part]: [] }));
      expect(await refusal(kubeconfigConfig({ path: whole }))).to.include(sentence);
    }
  });

  it("merges several files: the first to name something wins", async () => {
    const one = write({ token: "one" }, {}, "one");
    const two = write({ token: "two" }, { server: "https://other" }, "two");
    const config = await kubeconfigConfig({ path: [one, two].join(path.delimiter) });
    expect(config.server.host).to.equal("example.org:6443");
    expect(await config.credentials.headers()).to.deep.equal({ authorization: "Bearer one" });
    directory.replace("token", "from a file");
    const three = write({ tokenFile: "token" }, {}, "three");
    const merged = await kubeconfigConfig({ path: [one, three].join(path.delimiter) });
    expect(await merged.credentials.headers()).to.deep.equal({ authorization: "Bearer one" });
  });

  describe("loadClusterConfig", () => {
    const inside = { KUBERNETES_SERVICE_HOST: "10.0.0.1", KUBERNETES_SERVICE_PORT: "443" };
    const hostOf = async (promise: Promise<ClusterConfig>): Promise<string> => (await promise).server.host;

    beforeEach(() => {
      directory.replace("token", "t");
      directory.replace("ca.crt", "c");
    });

    it("takes the kubeconfig that is named, else the Pod's cluster, else KUBECONFIG, else ~/.kube/config", async () => {
      const serviceAccountDirectory = directory.path;
      const named = write({}, { server: "https://named" }, "named");
      const fromEnv = write({}, { server: "https://from-env" }, "from-env");
      mkdirSync(directory.file(".kube"));
      write({}, { server: "https://home" }, ".kube/config");
      const env = { ...inside, KUBECONFIG: fromEnv, HOME: directory.path };
      const outside = { KUBECONFIG: fromEnv, HOME: directory.path };
      expect(await hostOf(loadClusterConfig({ kubeconfig: named, env, serviceAccountDirectory }))).to.equal(
        "named",
      );
      expect(await hostOf(loadClusterConfig({ env, serviceAccountDirectory }))).to.equal("10.0.0.1");
      expect(await hostOf(loadClusterConfig({ env: outside }))).to.equal("from-env");
      expect(await hostOf(loadClusterConfig({ env: { HOME: directory.path } }))).to.equal("home");
      // A context belongs to a kubeconfig.
      expect(await hostOf(loadClusterConfig({ env, kubeContext: "x", serviceAccountDirectory }))).to.equal(
        "from-env",
      );
    });

    it("says what to do when there is nothing", async () => {
      for (const env of [{}, { HOME: directory.path, KUBECONFIG: "" }]) {
        expect(await refusal(loadClusterConfig({ env }))).to.include(
          "Name a kubeconfig with --kubeconfig, or run in a cluster",
        );
      }
    });
  });
});
