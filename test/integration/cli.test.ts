import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, rmSync } from "node:fs";
import path from "node:path";
import { ServerCredentials } from "@grpc/grpc-js";
import { expect } from "chai";
import { proxySources, startAgent } from "../support/agent-process.js";
import { FollowedCommand, runBunting } from "../support/cli-process.js";
import { eventually } from "../support/event-queue.js";
import { startFlagdServer } from "../support/flagd-server.js";
import { manifest } from "../support/manifests.js";
import { startProxy, type ProxyProcess } from "../support/proxy-process.js";
import { binaries } from "../support/service-process.js";
import { TempDirectory } from "../support/temp-directory.js";

const root = path.dirname(path.dirname(import.meta.dirname));
const examples = path.join(root, "examples/flags");

describe("the command bunting", () => {
  let directory: TempDirectory;
  beforeEach(() => {
    directory = new TempDirectory();
  });
  afterEach(() => directory.remove());

  it("ends quietly where nobody reads on", async () => {
    const many = Array.from(
      { length: 20_000 },
      (_, i) => `  f${i}: { state: Disabled, variants: { a: 1 } }\n`,
    );
    directory.replace("many.yaml", `flags:\n${many.join("")}`);
    const child = spawn(process.execPath, [binaries.cli, "lint", directory.file("many.yaml")], {
      env: {},
      stdio: ["ignore", "pipe", "pipe"],
    });
    let err = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));
    await once(child.stdout, "data");
    child.stdout.destroy();
    const [code] = (await once(child, "close")) as [number | null];
    expect({ code, err }).to.deep.equal({ code: 1, err: "1 file, 20000 flags: 0 errors, 20000 warnings\n" });
  });

  it("runs from a package without dependencies, as npx fetches it", () => {
    const packed = execFileSync("npm", ["pack", "--silent", "--pack-destination", directory.path], {
      cwd: path.join(root, "packages/cli"),
      encoding: "utf8",
    });
    const archive = directory.file(packed.trim());
    execFileSync("tar", ["-xzf", archive, "-C", directory.path]);
    const command = directory.file("package/bin/bunting.cjs");
    const out = execFileSync(command, ["eval", path.join(examples, "pricing.json"), "shipping"], {
      encoding: "utf8",
    });
    expect(out).to.contain('shipping = {"days":3,"carrier":"post"}');
  });

  it("completes commands, options and values in bash", async () => {
    const { out } = await runBunting(["completion", "bash"]);
    directory.replace("bunting", `#!/bin/sh\nexec "${process.execPath}" "${binaries.cli}" "$@"\n`);
    chmodSync(directory.file("bunting"), 0o755);
    const env = { PATH: `${directory.path}:${process.env["PATH"] ?? ""}` };
    const completed = (...words: readonly string[]): string[] => {
      const line = `COMP_WORDS=(bunting ${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length}`;
      const script = `${out}\n${line}; _bunting_yargs_completions; echo "\${COMPREPLY[@]}"`;
      return execFileSync("bash", ["--norc", "-c", script], { encoding: "utf8", env }).trim().split(" ");
    };
    expect(completed("l")).to.deep.equal(["lint"]);
    expect(completed("")).to.include.members(["lint", "eval", "diff", "tail", "status", "help"]);
    expect(completed("help", "ta")).to.deep.equal(["tail"]);
    expect(completed("lint", "--ma")).to.deep.equal(["--max-document"]);
    expect(completed("lint", "--fail-on", "w")).to.deep.equal(["warning"]);
    // Then bash completes names of files.
    expect(completed("lint", "flags.y")).to.deep.equal([""]);
  });

  describe("lint", () => {
    it("accepts what a proxy and an agent then serve, flag by flag", async () => {
      const clean = await runBunting(["lint", "--source", examples]);
      expect(clean).to.deep.equal({ code: 0, out: "", err: "2 files, 5 flags: no findings\n" });
      const proxy = await startProxy(examples);
      const agent = await startAgent(proxySources(proxy.sync, "default/storefront", "default/pricing"));
      try {
        const ask = async (): Promise<{ flags: { key: string; value: unknown; reason: string }[] }> =>
          (await (
            await fetch(`${agent.ofrep}/ofrep/v1/evaluate/flags`, {
              method: "POST",
              headers: { "content-type": "application/json" },
              body: JSON.stringify({ context: { targetingKey: "ada", email: "ada@example.com", orders: 7 } }),
            })
          ).json()) as { flags: { key: string; value: unknown; reason: string }[] };
        await eventually(async () => (await ask()).flags.length === 5, "the agent has all flags");
        const context = JSON.stringify({ targetingKey: "ada", email: "ada@example.com", orders: 7 });
        for (const { key, value, reason } of (await ask()).flags) {
          const file = path.join(
            examples,
            ["discount-percent", "shipping"].includes(key) ? "pricing.json" : "storefront.yaml",
          );
          const { out } = await runBunting(["eval", file, key, "--json", "--context", context]);
          expect(JSON.parse(out)).to.deep.include({ key, value, reason });
        }
      } finally {
        await agent.process.stop("SIGKILL");
        await proxy.process.stop("SIGKILL");
      }
    });

    it("finds what the proxy refuses", async () => {
      directory.replace("a.yaml", "flags:\n  a: { state: 1 }\n");
      const proxy = await startProxy(directory.path);
      try {
        const { reason, line, column } = await proxy.process.nextLog(
          "part of a flag file is invalid; its last valid version, if it had one, is still served",
        );
        const { out, code } = await runBunting(["lint", "--json", directory.path]);
        const { findings } = JSON.parse(out) as {
          findings: { message: string; line: number; column: number }[];
        };
        expect(findings).to.have.length(1);
        expect(findings[0]).to.include({ message: reason, line, column });
        expect(code).to.equal(1);
      } finally {
        await proxy.process.stop("SIGKILL");
      }
    });

    it("takes the standard input, and annotates in GitHub Actions", async () => {
      const { out, code } = await runBunting(["lint", "-"], {
        stdin: "flags: [",
        env: { GITHUB_ACTIONS: "true" },
      });
      expect(code).to.equal(1);
      expect(out).to.match(/^::error file=<stdin>,line=1,col=\d+,title=bunting lint%3A syntax::/);
    });
  });

  describe("at a proxy and an agent", () => {
    let proxy: ProxyProcess;
    beforeEach(async () => {
      directory.replace("a.yaml", manifest("a", 1));
      proxy = await startProxy(directory.path, [
        "--drain-delay",
        "0",
        "--drain-window",
        "0",
        "--deletion-grace",
        "0",
      ]);
    });
    afterEach(() => proxy.process.stop("SIGKILL"));

    it("diff compares files with what the proxy serves", async () => {
      const url = `proxy://${proxy.sync}/default/a`;
      const same = await runBunting(["diff", directory.file("a.yaml"), url]);
      expect(same).to.deep.equal({ code: 0, out: "", err: "" });
      directory.replace(".b.yaml", manifest("a", 2));
      const { code, out } = await runBunting(["diff", url, directory.file(".b.yaml")]);
      expect(out).to.equal('~ on-off\n    defaultVariant: "on" → "off"\n    metadata.version: 1 → 2\n');
      expect(code).to.equal(1);
      const missing = await runBunting(["diff", directory.file("a.yaml"), `proxy://${proxy.sync}/default/b`]);
      expect(missing).to.deep.equal({
        code: 2,
        out: "",
        err: `bunting: ${proxy.sync} has no FeatureFlag default/b\n`,
      });
      const nobody = await runBunting(["diff", directory.file("a.yaml"), "proxy://127.0.0.1:1/default/a"]);
      expect(nobody.code).to.equal(2);
      expect(nobody.err).to.contain("ECONNREFUSED 127.0.0.1:1");
    });

    it("tail prints each edit, waits for a proxy that is away, and ends with Ctrl-C", async () => {
      const tail = new FollowedCommand(["tail", "default/a", "--json", "--address", proxy.sync]);
      const first = await tail.next();
      expect(first).to.include({ event: "version", topic: "default/a", flags: 1 });
      directory.replace("a.yaml", manifest("a", 2));
      const second = await tail.next();
      expect(second["changes"]).to.deep.include({
        key: "on-off",
        kind: "changed",
        changes: [
          { path: "defaultVariant", before: "on", after: "off" },
          { path: "metadata.version", before: 1, after: 2 },
        ],
        before: on(1),
        after: on(2),
      });
      await proxy.process.stop("SIGKILL");
      directory.replace("a.yaml", manifest("a", 3));
      proxy = await startProxy(directory.path, [
        "--port",
        proxy.sync.split(":")[1] ?? "",
        "--deletion-grace",
        "0",
      ]);
      expect(await tail.next()).to.include({ event: "version" });
      rmSync(directory.file("a.yaml"));
      expect(await tail.next()).to.include({ event: "deleted", policy: "keep" });
      const { code, err } = await tail.interrupt();
      expect(code).to.equal(0);
      expect(err).to.contain(`connected to ${proxy.sync}, bunting.sync.v1`).and.contain("; trying again");
    });

    it("tail follows any server of flagd.sync.v1", async () => {
      const document = { flags: { f: { state: "ENABLED", variants: { v: 1 }, defaultVariant: "v" } } };
      const credentials = ServerCredentials.createInsecure();
      const { port, server } = await startFlagdServer({ document: JSON.stringify(document), credentials });
      const address = `127.0.0.1:${port}`;
      const { code, out, err } = await runBunting([
        "tail",
        "default/a",
        "--limit",
        "1",
        "--address",
        address,
      ]);
      server.forceShutdown();
      expect(out).to.match(/^\d{4}-\S+ default\/a 1 flag\n$/);
      expect(err).to.contain("flagd.sync.v1");
      expect(code).to.equal(0);
    });

    it("status shows topics and who is behind, once or again and again", async () => {
      const management = proxy.management.replace("http://", "");
      const empty = await runBunting(["status", "--address", management]);
      expect(empty.code).to.equal(0);
      expect(empty.out).to.contain("No topics");
      const tail = new FollowedCommand(["tail", "default/a", "--json", "--address", proxy.sync]);
      await tail.next();
      const { out } = await runBunting(["status", "--address", management]);
      expect(out).to.match(/^default\/a +live +1 \([\da-f]{8}\) +1 +\d+ +\d+ s +1 +0 /m);
      const json = await runBunting(["status", "--json", "--address", management]);
      const { proxies } = JSON.parse(json.out) as { proxies: { status: { subscribers: number } }[] };
      expect(proxies[0]?.status).to.include({ subscribers: 1, isReady: true });
      const watching = new FollowedCommand([
        "status",
        "--watch",
        "--json",
        "--interval",
        "100ms",
        "--address",
        management,
      ]);
      await watching.next();
      await watching.next();
      expect((await watching.interrupt()).code).to.equal(0);
      await tail.interrupt();
      const wrong = await runBunting(["status", "--address", proxy.sync]);
      expect(wrong.code).to.equal(2);
      expect(wrong.err).to.contain("answered 505");
    });
  });
});

/** What `manifest` writes, as `bunting diff` shows it. */
function on(version: number): object {
  return {
    state: "ENABLED",
    defaultVariant: version % 2 === 1 ? "on" : "off",
    variants: { on: true, off: false },
    metadata: { version },
  };
}
