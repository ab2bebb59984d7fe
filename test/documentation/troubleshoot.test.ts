import { readFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { isReady, proxySources, startAgent, type AgentProcess } from "../support/agent-process.js";
import { runBunting } from "../support/cli-process.js";
import { eventually } from "../support/event-queue.js";
import { codeBlocksOf, markdownPages, repository } from "../support/markdown-pages.js";
import { startProxy, type ProxyProcess } from "../support/proxy-process.js";
import { TempDirectory } from "../support/temp-directory.js";
import { TokenIssuer } from "../support/token-issuer.js";

const flags = readFileSync(path.join(repository, "examples/flags/storefront.yaml"), "utf8");

/** What the pages show, by the names in their comments `output: …`. */
const outputs = new Map(
  markdownPages("docs/troubleshoot").flatMap((page) =>
    codeBlocksOf(page)
      .filter(({ comment }) => comment.startsWith("output: "))
      .map(({ comment, text }) => [comment.replace("output: ", ""), text] as const),
  ),
);
const compared = new Set<string>();

/** Digests, addresses, times and other numbers differ from run to run, and the columns of tables with them. */
function shape(text: string): string {
  return text
    .trim()
    .replaceAll(/\b(?:[\da-f]{64}|(?=[a-f]*\d)[\da-f]{8})\b/g, "D")
    .replaceAll(/localhost|127\.0\.0\.1/g, "H")
    .replaceAll(/[\d.]*\d|-\/-\/-/g, "N")
    .replaceAll("N/N/N", "N")
    .replaceAll(/ +/g, " ");
}

describe("what the pages of docs/troubleshoot show", () => {
  const directory = new TempDirectory();
  let proxy: ProxyProcess;
  let agent: AgentProcess;

  before(async () => {
    directory.replace("storefront.yaml", flags);
    proxy = await startProxy(directory.path);
    const sources = proxySources(proxy.sync, "default/storefront", "default/storefrnt");
    agent = await startAgent([...sources, "--stale-after", "100ms"]);
    await eventually(() => isReady(agent.management), "the agent is ready");
  });
  after(async () => {
    agent.process.child.kill("SIGCONT");
    await agent.process.stop("SIGKILL");
    await proxy.process.stop("SIGKILL");
    directory.remove();
  });

  /** Waits until a command or a page prints what the page shows, but for numbers. Lines of the second source, which is misspelt, may be left out. */
  async function shows(name: string, ask: () => Promise<string>): Promise<void> {
    compared.add(name);
    const expected = shape(outputs.get(name) ?? "");
    let last = "";
    await eventually(async () => {
      last = shape((await ask()).replaceAll(directory.path, "/etc/flags"));
      return last === expected || last.replace(/\nsource N H:N \(default\/storefrnt\).*/, "") === expected;
    }, "the output").catch(() => expect(last, name).to.equal(expected));
  }
  const readyOf = (one: AgentProcess) => async (): Promise<string> =>
    (await fetch(`${one.management}/readyz`)).text();
  const status = async (): Promise<string> =>
    (await runBunting(["status", "--address", proxy.management.replace("http://", "")])).out;

  it("is what an agent says of a FeatureFlag that is misspelt", () => shows("missing", readyOf(agent)));

  it("is what an agent says that has its flags", async () => {
    const well = await startAgent(proxySources(proxy.sync, "default/storefront"));
    try {
      await shows("version", readyOf(well));
    } finally {
      await well.process.stop();
    }
  });

  it("is what the proxy says of a flag that agents refuse", async () => {
    directory.replace("storefront.yaml", flags.replace("defaultVariant: plain", "defaultVariant: plane"));
    await shows("flag", status);
  });

  it("is what the proxy says of a file that can't be read", async () => {
    directory.replace("storefront.yaml", flags);
    await eventually(async () => !(await status()).includes("refuses the flag"), "the flag is mended");
    directory.replace("storefront.yaml", "flags: [\n");
    await shows("file", status);
  });

  it("is what the proxy says of an agent that is frozen", async () => {
    directory.replace("storefront.yaml", flags);
    await eventually(async () => !(await status()).includes("is stale"), "the file is mended");
    agent.process.child.kill("SIGSTOP");
    directory.replace("storefront.yaml", flags.replace('defaultVariant: "off"', 'defaultVariant: "on"'));
    await shows("behind", status);
    agent.process.child.kill("SIGCONT");
  });

  it("is what an agent says while its proxy is away", async () => {
    await proxy.process.stop("SIGKILL");
    await shows("stale", readyOf(agent));
    const answer = await fetch(`${agent.ofrep}/ofrep/v1/evaluate/flags/new-welcome`, { method: "POST" });
    expect(await answer.json()).to.include({ value: true, reason: "STALE" });
  });

  it("is what an agent without a token says", async () => {
    const issuer = new TokenIssuer();
    directory.replace("storefront.yaml", flags);
    directory.replace("jwks", issuer.keySet);
    const keys = ["--auth-issuer", issuer.name, "--auth-jwks-file", directory.file("jwks")];
    const strict = await startProxy(directory.path, ["--auth=token", ...keys]);
    const refused = await startAgent(proxySources(strict.sync, "default/storefront"));
    try {
      await shows("refused", readyOf(refused));
    } finally {
      await refused.process.stop("SIGKILL");
      await strict.process.stop("SIGKILL");
    }
  });

  it("is what an agent says of a document that does not fit its heap", async () => {
    const flag = { state: "ENABLED", variants: { on: true, off: false }, defaultVariant: "off" };
    const targeting = { if: [{ ends_with: [{ var: "email" }, "@example.com"] }, "on", null] };
    const many = Array.from({ length: 40_000 }, (_, i) => [`flag-${i}`, { ...flag, targeting }] as const);
    directory.replace("big.json", JSON.stringify({ flags: Object.fromEntries(many) }));
    const full = await startAgent(["--uri", `file:${directory.file("big.json")}`]);
    try {
      await shows("large", readyOf(full));
    } finally {
      await full.process.stop("SIGKILL");
    }
  });

  it("is compared by these tests, all of it", () => {
    expect(compared).to.deep.equal(new Set(outputs.keys()));
    expect(outputs.size).to.equal(8);
  });
});
