import { copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { Authority } from "../support/certificates.js";
import { isReady, proxySources, startAgent, type AgentProcess } from "../support/agent-process.js";
import { eventually } from "../support/event-queue.js";
import { freePort } from "../support/free-port.js";
import { blockWith, codeBlocksOf, repository } from "../support/markdown-pages.js";
import { PageShell } from "../support/page-shell.js";
import { startProxy, type ProxyProcess } from "../support/proxy-process.js";
import { TempDirectory } from "../support/temp-directory.js";
import { TokenIssuer } from "../support/token-issuer.js";

const checkout = `apiVersion: core.openfeature.dev/v1beta1
kind: FeatureFlag
metadata: { name: shop, namespace: checkout }
spec:
  flagSpec:
    flags:
      new-checkout:
        state: ENABLED
        variants: { "on": true, "off": false }
        defaultVariant: "off"
        targeting:
          if:
            - ends_with: [{ var: email }, "@example.com"]
            - "on"
            - fractional: [["on", 10], ["off", 90]]
`;

/** As printed, but for the ports: other tests have the usual ones. */
describe("commands of the pages that need no cluster", function () {
  this.timeout(120_000);
  const directory = new TempDirectory();
  const shell = new PageShell(directory.path);
  let proxy: ProxyProcess;
  let agent: AgentProcess;
  let env: Readonly<Record<string, string>>;

  before(async () => {
    const storefront = readFileSync(path.join(repository, "examples/flags/storefront.yaml"), "utf8");
    // The reference asks one file for the flags of two pages.
    const both = `${storefront}      new-checkout:\n${checkout.split("new-checkout:\n")[1] ?? ""}`;
    writeFileSync(directory.file("flags.yaml"), both);
    writeFileSync(directory.file("before.yaml"), storefront);
    writeFileSync(
      directory.file("after.yaml"),
      storefront.replace('defaultVariant: "off"', 'defaultVariant: "on"'),
    );
    writeFileSync(directory.file("user.json"), '{"email":"ada@example.com"}');
    mkdirSync(directory.file("deploy/flags"), { recursive: true });
    writeFileSync(directory.file("deploy/flags/shop.yaml"), checkout);
    mkdirSync(directory.file("served"));
    // As it was before an edit of the file.
    writeFileSync(
      directory.file("served/flags.yaml"),
      both.replace('defaultVariant: "off"', 'defaultVariant: "on"'),
    );
    copyFileSync(directory.file("deploy/flags/shop.yaml"), directory.file("served/shop.yaml"));
    symlinkSync(path.join(repository, "examples"), directory.file("examples"));
    proxy = await startProxy(directory.file("served"));
    agent = await startAgent(proxySources(proxy.sync, "default/storefront"));
    await eventually(() => isReady(agent.management), "the agent is ready");
    env = {
      BUNTING_ADDRESS: proxy.sync,
      BUNTING_MANAGEMENT_ADDRESS: new URL(proxy.management).host,
      BUNTING_SYNC_ADDRESS: agent.sync,
    };
  });
  after(async () => {
    await shell.stop();
    await agent.process.stop("SIGKILL");
    await proxy.process.stop("SIGKILL");
    directory.remove();
  });

  /** Runs lines with the ports that are used here, and expects that they succeed. */
  async function follow(lines: string, codes: readonly number[] = [0]): Promise<string> {
    const here = lines
      .replaceAll(/agent:\/\/localhost:8016/g, `agent://${new URL(agent.ofrep).host}`)
      .replaceAll(/proxy:\/\/localhost:8015/g, `proxy://${proxy.sync}`)
      .replaceAll(/http:\/\/localhost:8016/g, agent.ofrep)
      .replaceAll(/\blocalhost:8016/g, new URL(proxy.management).host)
      .replaceAll(/\blocalhost:8014/g, new URL(agent.management).host)
      // What forwards a port needs a node; the ports are here.
      .replaceAll(/^kubectl .*port-forward.*\n/gm, "");
    const { code, out, err } = await shell.run(here, env);
    expect(codes, `${here}\n${out}${err}`).to.include(code);
    return out;
  }

  /** What a command says that finds nothing goes to the other output. */
  const followBoth = (line: string, codes: readonly number[] = [0]): Promise<string> =>
    follow(`{ ${line.trim()}; } 2>&1`, codes);

  describe("docs/flags/ci.md", () => {
    const page = "docs/flags/ci.md";

    it("tests a rule, and how wide a rollout is, and fails where they are wrong", async () => {
      const [rule, share] = [blockWith(page, "jq .value"), blockWith(page, "--users 1000")];
      await follow(rule);
      await follow(share);
      const wrong = checkout.replace("@example.com", "@example.org").replace('"on", 10', '"on", 30');
      writeFileSync(directory.file("deploy/flags/shop.yaml"), wrong);
      await follow(rule, [1]);
      await follow(share, [1]);
      writeFileSync(directory.file("deploy/flags/shop.yaml"), checkout);
    });

    it("shows what a change does, against Git and against a proxy", async () => {
      const git = "git -c user.name=test -c user.email=test@example.com";
      await follow(
        `git init --quiet --initial-branch=main\ngit add deploy/flags\n${git} commit --quiet --message=flags`,
      );
      const [inGit, served] = [blockWith(page, "git show"), blockWith(page, "proxy://")];
      expect(await follow(inGit)).to.equal(await follow(served));
      writeFileSync(directory.file("deploy/flags/shop.yaml"), checkout.replace('"on", 10', '"on", 30'));
      for (const lines of [inGit, served]) expect(await follow(lines, [0, 1])).to.match(/^~ new-checkout$/m);
      writeFileSync(directory.file("deploy/flags/shop.yaml"), checkout);
    });
  });

  it("the examples of bunting lint, eval and diff print something and succeed", async () => {
    const ofFiles = blocksOfReference()
      .flatMap((text) => text.trim().split("\n"))
      .filter((line) => /^bunting (lint|eval|diff) /.test(line));
    expect(ofFiles).to.have.length(10);
    for (const line of ofFiles) expect(await followBoth(line, [0, 1]), line).to.not.equal("");
    expect(await follow("bunting eval agent://localhost:8016 banner -c @user.json")).to.contain(
      "happy holidays",
    );
  });

  it("the examples of bunting tail and status show the proxy on this machine", async () => {
    const lines = blocksOfReference().flatMap((text) => text.trim().split("\n"));
    const limited =
      lines.find((line) => line.startsWith("bunting tail ") && line.includes("--limit 1")) ?? "";
    expect(JSON.parse(await follow(limited))).to.have.property("topic", "default/storefront");
    expect(await follow("bunting status --address localhost:8016")).to.contain("default/storefront");
    for (const line of ["bunting tail default/storefront", "bunting status --watch"]) {
      expect(lines).to.include(line);
      const child = shell.start(line, env);
      let said = "";
      child.stdout?.setEncoding("utf8").on("data", (text: string) => (said += text));
      await eventually(() => said.includes("default/storefront"), `${line} shows the topic`);
      expect(child.exitCode).to.equal(null);
    }
  });

  it("the examples of bunting completion are taken by the shells that are here", async () => {
    const lines = blocksOfReference().flatMap((text) => text.trim().split("\n"));
    const bash = lines.find((line) => line.endsWith("bunting completion bash)")) ?? "";
    expect(await follow(`${bash}\ncomplete -p bunting`)).to.contain("bunting");
    for (const name of ["zsh", "fish"])
      expect(await follow(`bunting completion ${name}`)).to.contain("bunting");
  });

  it("ask an agent and a proxy by HTTP, as the pages on languages, monitoring and troubles do", async () => {
    const asked: readonly (readonly [page: string, part: string, answer: RegExp])[] = [
      ["docs/start/sdk.md", "curl -X POST", /"key":"new-welcome"/],
      ["docs/operate/monitoring.md", "/status", /"topic": ?"default\/storefront"/],
      ["docs/troubleshoot/default-everywhere.md", "curl -X POST", /"variant":"festive"/],
      ["docs/troubleshoot/flag-not-found.md", "/readyz", /^ready\n/],
      ["docs/troubleshoot/which-version.md", "/readyz", /^ready\n/],
      ["docs/troubleshoot/wrong-value.md", "agent://", /banner = /],
    ];
    for (const [page, part, answer] of asked)
      expect(await follow(blockWith(page, part)), page).to.match(answer);
    const follows = blockWith("docs/troubleshoot/edit-does-not-arrive.md", "bunting tail");
    expect(await follow(follows.replace("bunting tail", "bunting tail --limit 1"))).to.contain(
      "default/storefront",
    );
    expect(await followBoth(blockWith("docs/troubleshoot/flags-refused.md", "bunting lint"))).to.contain(
      "no findings",
    );
  });

  it("read as an agent does whose token is refused, with a token of one's own", async () => {
    const authority = await Authority.create();
    const domains = ["bunting-proxy.bunting-system.svc"];
    const { cert, key } = await authority.issue({ domains });
    const issuer = new TokenIssuer();
    const files = {
      "ca.crt": authority.cert,
      "tls.crt": cert,
      "tls.key": key,
      jwks: issuer.keySet,
      token: issuer.issue("default", "checkout"),
    };
    for (const [name, text] of Object.entries(files)) writeFileSync(directory.file(name), text);
    const strict = await startProxy(directory.file("served"), [
      ...["--auth=token", "--auth-issuer", issuer.name, "--auth-jwks-file", directory.file("jwks")],
      ...[
        "--tls=on",
        "--tls-cert-path",
        directory.file("tls.crt"),
        "--tls-key-path",
        directory.file("tls.key"),
      ],
    ]);
    try {
      const [, tail = ""] = blockWith("docs/troubleshoot/refused.md", "--token-file").trim().split("\n");
      const { code, out, err } = await shell.run(tail, { BUNTING_ADDRESS: strict.sync });
      expect(code, err).to.equal(0);
      expect(out).to.contain("default/storefront");
    } finally {
      await strict.process.stop("SIGKILL");
    }
  });

  it("start a proxy and an agent by hand, as docs/start/node.md does", async () => {
    const page = "docs/start/node.md";
    const [sync, agentSync, ofrep] = [await freePort(), await freePort(), await freePort()];
    const lines = blockWith(page, "bunting-proxy start")
      .replace("bunting-proxy start", `bunting-proxy start --port ${sync} --management-port 0`)
      .replace("bunting-agent start", "bunting-agent start --port 0 --management-port 0")
      .replace("8015", String(sync))
      .replace("8025", String(agentSync))
      .replace("8026", String(ofrep));
    expect(lines).to.contain(`127.0.0.1:${sync}`);
    shell.start(`${lines}\nwait`);
    const ask = blockWith(page, "curl").replace("8026", String(ofrep));
    await eventually(async () => {
      const { out } = await shell.run(ask);
      return out.includes('"key":"new-welcome"') && out.includes('"value":false');
    }, "the agent answers");
  });

  function blocksOfReference(): readonly string[] {
    return codeBlocksOf("docs/reference/cli.md")
      .filter(({ language }) => language === "sh")
      .map(({ text }) => text);
  }
});
