import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { expect } from "chai";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import { inClusterConfig } from "./in-cluster.js";
import { clusterTlsFiles } from "./tls-files.js";
import { ClusterTokenFile } from "./token-file.js";

const env = { KUBERNETES_SERVICE_HOST: "10.0.0.1", KUBERNETES_SERVICE_PORT: "443" };

function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => new Error("it should have failed"),
    (error: unknown) => error,
  );
}

describe("the configuration in a cluster", () => {
  let directory: TempDirectory;
  beforeEach(() => {
    directory = new TempDirectory();
    directory.replace("token", "first\n");
    directory.replace("ca.crt", "authority one");
  });
  afterEach(() => directory.remove());

  describe("inClusterConfig", () => {
    it("names the server, the authority and the token of the mount", async () => {
      const config = await inClusterConfig({ env, directory: directory.path });
      expect(config.refusedAdvice?.FORBIDDEN).to.equal(
        "the credentials are those of the Pod's ServiceAccount",
      );
      expect(config.refusedAdvice?.UNAUTHORIZED).to.contain(
        `ServiceAccount still exists and its token is mounted in ${directory.path}`,
      );
      expect(config.server.href).to.equal("https://10.0.0.1/");
      expect(String((await config.tls.read()).ca)).to.equal("authority one");
      expect(await config.credentials.headers()).to.deep.equal({ authorization: "Bearer first" });
    });

    it("puts brackets around an IPv6 address", async () => {
      const six = { KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "6443" };
      expect((await inClusterConfig({ env: six, directory: directory.path })).server.host).to.equal(
        "[fd00::1]:6443",
      );
    });

    it("says what is missing", async () => {
      const messageOf = async (promise: Promise<unknown>): Promise<string> => {
        const error = await failure(promise);
        expect(error).to.include({ code: "CONFIG_INVALID" });
        return (error as Error).message;
      };
      expect(await messageOf(inClusterConfig({ env: {}, directory: directory.path }))).to.include(
        "KUBERNETES_SERVICE_HOST",
      );
      const odd = { KUBERNETES_SERVICE_HOST: "a b", KUBERNETES_SERVICE_PORT: "x" };
      expect(await messageOf(inClusterConfig({ env: odd, directory: directory.path }))).to.include(
        "are not a valid address",
      );
      writeFileSync(directory.file("token"), " \n");
      expect(await messageOf(inClusterConfig({ env, directory: directory.path }))).to.include("is empty");
      rmSync(directory.file("token"));
      expect(await messageOf(inClusterConfig({ env, directory: directory.path }))).to.include(
        "automountServiceAccountToken",
      );
      directory.replace("token", "first");
      rmSync(directory.file("ca.crt"));
      expect(await messageOf(inClusterConfig({ env, directory: directory.path }))).to.include(
        "ca.crt can't be read",
      );
    });
  });

  describe("TokenFile", () => {
    const old = { authorization: "Bearer first" };

    it("reads a token again when it is a minute old, not before", async () => {
      const clock = new ManualClock();
      const token = new ClusterTokenFile(directory.file("token"), clock);
      expect(await token.headers()).to.deep.equal(old);
      directory.replace("token", "second");
      clock.advance(59_999);
      expect(await token.headers()).to.deep.equal(old);
      clock.advance(1);
      expect(await token.headers()).to.deep.equal({ authorization: "Bearer second" });
    });

    it("reads it at once after a 401, and says whether there is another one to try", async () => {
      const token = new ClusterTokenFile(directory.file("token"), new ManualClock());
      expect(await token.headers()).to.deep.equal(old);
      expect(await token.renew(old)).to.equal(false);
      directory.replace("token", "second");
      expect(await Promise.all([token.renew(old), token.renew(old)])).to.deep.equal([true, true]);
      // Another request has renewed it meanwhile: the token in memory is worth a try without a read.
      rmSync(directory.file("token"));
      expect(await token.renew(old)).to.equal(true);
      expect(await token.headers()).to.deep.equal({ authorization: "Bearer second" });
    });

    it("keeps the token while the file is away or empty", async () => {
      const clock = new ManualClock();
      const token = new ClusterTokenFile(directory.file("token"), clock, { "impersonate-user": "jane" });
      const whole = { ...old, "impersonate-user": "jane" };
      expect(await token.headers()).to.deep.equal(whole);
      clock.advance(60_000);
      writeFileSync(directory.file("token"), "");
      expect(await token.headers()).to.deep.equal(whole);
      rmSync(directory.file("token"));
      expect(await token.renew(whole)).to.equal(false);
      directory.replace("token", "second");
      expect((await token.headers())["authorization"]).to.equal("Bearer second");
    });
  });

  describe("TlsFiles", () => {
    it("returns the same object until a file changes", async () => {
      const files = clusterTlsFiles({ caFile: directory.file("ca.crt"), fixed: { serverName: "x" } });
      const first = await files.read();
      expect(await files.read()).to.equal(first);
      directory.replace("ca.crt", "authority two");
      const second = await files.read();
      expect(second).to.deep.equal({ serverName: "x", ca: Buffer.from("authority two") });
      expect(await files.read()).to.equal(second);
    });

    it("follows the symlinks of a mounted volume", async () => {
      for (const [name, text] of [
        ["one", "authority one"],
        ["two", "authority two"],
      ] as const) {
        mkdirSync(directory.file(name));
        writeFileSync(directory.file(`${name}/ca.crt`), text);
      }
      symlinkSync("one", directory.file("..data"));
      symlinkSync("..data/ca.crt", directory.file("mounted.crt"));
      const files = clusterTlsFiles({ caFile: directory.file("mounted.crt") });
      expect(String((await files.read()).ca)).to.equal("authority one");
      rmSync(directory.file("..data"));
      symlinkSync("two", directory.file("..data"));
      expect(String((await files.read()).ca)).to.equal("authority two");
    });

    it("keeps what it has while a file is away", async () => {
      const files = clusterTlsFiles({ caFile: directory.file("ca.crt") });
      const first = await files.read();
      rmSync(directory.file("ca.crt"));
      expect(await files.read()).to.equal(first);
    });

    it("opens no pipe, which would wait for its writer, and says why", async () => {
      execFileSync("mkfifo", [directory.file("pipe")]);
      const error = await failure(clusterTlsFiles({ caFile: directory.file("pipe") }).read());
      expect(error).to.include({ code: "CONFIG_INVALID" });
      expect((error as Error).message).to.contain("pipe can't be read (it is no regular file)");
    });

    it("reads certificate and key, and fails if half of the pair was never there", async () => {
      directory.replace("tls.crt", "certificate");
      const files = clusterTlsFiles({
        certFile: directory.file("tls.crt"),
        keyFile: directory.file("tls.key"),
      });
      expect(await failure(files.read())).to.include({ code: "CONFIG_INVALID" });
      directory.replace("tls.key", "key");
      const { cert, key } = await files.read();
      expect([String(cert), String(key)]).to.deep.equal(["certificate", "key"]);
    });
  });
});
