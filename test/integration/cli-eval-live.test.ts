import path from "node:path";
import { expect } from "chai";
import { proxySources, startAgent, type AgentProcess } from "../support/agent-process.js";
import { runBunting, type CliRun } from "../support/cli-process.js";
import { eventually } from "../support/event-queue.js";
import { freePort } from "../support/free-port.js";
import { startProxy, type ProxyProcess } from "../support/proxy-process.js";
import { TempDirectory } from "../support/temp-directory.js";

const examples = path.join(import.meta.dirname, "../../examples/flags");
const context = JSON.stringify({ email: "ada@example.com" });

describe("bunting eval of what is served now", () => {
  let proxy: ProxyProcess;
  let agent: AgentProcess;
  before(async () => {
    proxy = await startProxy(examples);
    agent = await startAgent(proxySources(proxy.sync, "default/storefront"));
    await untilServed(agent);
  });
  after(async () => {
    await agent.process.stop("SIGKILL");
    await proxy.process.stop("SIGKILL");
  });

  async function untilServed({ ofrep }: AgentProcess): Promise<void> {
    await eventually(async () => {
      const answer = await fetch(`${ofrep}/ofrep/v1/evaluate/flags/banner`, { method: "POST", body: "{}" });
      return answer.status === 200;
    }, "the agent has its flags");
  }

  const atProxy = (...args: readonly string[]): Promise<CliRun> =>
    runBunting(["eval", `proxy://${proxy.sync}/default/storefront`, ...args]);
  const atAgent = (of: AgentProcess, ...args: readonly string[]): Promise<CliRun> =>
    runBunting(["eval", `agent://${new URL(of.ofrep).host}`, "--sync", of.sync, ...args]);

  /** Of the document, as the proxy's status has it. */
  async function digest(): Promise<string> {
    const status = (await (await fetch(`${proxy.management}/status`)).json()) as {
      readonly topics: readonly { readonly newest: { readonly digest: string } }[];
    };
    return status.topics[0]?.newest.digest ?? "";
  }

  it("says of a proxy's flags what a file of them says, and the digest of the version", async () => {
    const file = await runBunting(["eval", path.join(examples, "storefront.yaml"), "banner", "-c", context]);
    const live = await atProxy("banner", "-c", context);
    const lines = (run: CliRun): string[] => run.out.split("\n").filter((_, index) => index !== 1);
    expect(lines(live)).to.deep.equal(lines(file));
    expect(live.out.split("\n")[1]).to.equal(
      `reason TARGETING_MATCH, variant "festive", default/storefront at proxy ${proxy.sync}, digest ${(await digest()).slice(0, 8)}`,
    );
    expect(live).to.include({ code: 0, err: "" });
    const json = JSON.parse((await atProxy("banner", "--json")).out) as object;
    expect(json).to.include({ key: "banner", digest: await digest(), topic: "default/storefront" });
  });

  it("says which side a flag is of, and why that is not known where the proxy does not tell it", async () => {
    const management = new URL(proxy.management).host;
    const explained = await atProxy("banner", "--explain", "--management", management);
    expect(explained.out.split("\n")[2]).to.equal(
      "local: the flag is of the FeatureFlag itself, which names no remote",
    );
    const json = await atProxy("banner", "--explain", "--management", management, "--json");
    expect(JSON.parse(json.out)).to.have.nested.property("side.name", "local");
    const unknown = await atProxy("banner", "--explain", "--management", proxy.sync);
    expect(unknown.out).to.contain("unknown side: the side of the flag is not known: ");
    expect([explained.code, json.code, unknown.code]).to.deep.equal([0, 0, 0]);
    const users = await atProxy("banner", "--explain", "--users", "10");
    expect(users).to.include({ code: 2 });
    const file = await runBunting(["eval", path.join(examples, "storefront.yaml"), "banner", "--explain"]);
    expect(file.out).to.contain("local: the flag is of the file, which names no remote for it");
  });

  it("shows the answer of an agent, and the way through the rule by the flags that it has", async () => {
    const live = await atAgent(agent, "banner", "-c", context);
    expect(live.err).to.equal("");
    expect(live.out).to.match(
      /^banner = "Welcome, and happy holidays!"\nreason TARGETING_MATCH, variant "festive", all sources at agent /,
    );
    expect(live.out).to.contain(
      `all sources at agent ${new URL(agent.ofrep).host}\n\nif → "festive"\n├─ if ends_with`,
    );
    expect(live.code).to.equal(0);
    const mismatch = await atAgent(agent, "banner", "--type", "boolean", "--json");
    expect(JSON.parse(mismatch.out)).to.include({ errorCode: "TYPE_MISMATCH" });
    expect(mismatch.code).to.equal(1);
  });

  it("says where the answer of an agent is not that of its flags", async () => {
    const args = proxySources(proxy.sync, "default/storefront");
    const other = await startAgent([...args, "--context-value", "email=ada@example.com"]);
    try {
      await untilServed(other);
      const { code, out, err } = await atAgent(other, "banner");
      expect(out).to.match(/^banner = "Welcome, and happy holidays!"\n/);
      expect(err).to.match(
        /^The agent's flags give "Welcome\." here \(reason DEFAULT\): it adds to the context/,
      );
      expect(code).to.equal(1);
    } finally {
      await other.process.stop("SIGKILL");
    }
  });

  it("shows the answer alone where there is no way to the flags, and errors as the agent says them", async () => {
    const address = `agent://${new URL(agent.ofrep).host}`;
    const away = `127.0.0.1:${await freePort()}`;
    const alone = await runBunting(["eval", address, "banner", "--sync", away]);
    expect(alone.out).to.match(/^banner = "Welcome\."\nreason DEFAULT, /);
    expect(alone.err).to.contain(`the way through the rule is not known: no flags came from ${away}: `);
    expect(alone.code).to.equal(0);
    const unknown = await atAgent(agent, "nothing");
    expect(unknown.out).to.contain("reason ERROR FLAG_NOT_FOUND");
    expect(unknown.code).to.equal(1);
  });

  it("says what an agent says that wants a token, and which file it was read from", async () => {
    const directory = new TempDirectory();
    directory.replace("right", "right");
    directory.replace("wrong", "wrong");
    const strict = await startAgent([
      ...proxySources(proxy.sync, "default/storefront"),
      ...["--auth-token-file", directory.file("right")],
    ]);
    try {
      const wanted = /answered 401: this agent needs a token of its --auth-token-file, as .*<token>\. /;
      const without = await atAgent(strict, "banner");
      expect(without.err).to.match(wanted).and.contain("Name a file with a token by --token-file");
      const wrong = await atAgent(strict, "banner", "--token-file", directory.file("wrong"));
      expect(wrong.err)
        .to.match(wanted)
        .and.match(/The token was read from ".*wrong"\n$/);
      expect([without.code, wrong.code]).to.deep.equal([2, 2]);
    } finally {
      directory.remove();
      await strict.process.stop("SIGKILL");
    }
  });

  it("says which port is meant if it is another, and that nobody answers", async () => {
    const management = await runBunting(["eval", `agent://${new URL(agent.management).host}`, "banner"]);
    expect(management.err).to.contain("/status. Is it the OFREP port of an agent, 8016 by default?");
    const nobody = await runBunting(["eval", `agent://127.0.0.1:${await freePort()}`, "banner"]);
    expect(nobody.err).to.match(/ can't be reached: .*ECONNREFUSED/);
    const missing = await runBunting(["eval", `proxy://${proxy.sync}/default/nothing`, "banner"]);
    expect(missing.err).to.contain("has no FeatureFlag default/nothing");
    expect([management.code, nobody.code, missing.code]).to.deep.equal([2, 2, 2]);
  });
});
