import { createHash } from "node:crypto";
import { expect } from "chai";
import type { StatusReport } from "@bunting/proxy/internal/management/status-report.js";
import { isReady, startAgent, type AgentProcess } from "../support/agent-process.js";
import { eventually } from "../support/event-queue.js";
import { manifest } from "../support/manifests.js";
import { startProxy } from "../support/proxy-process.js";
import type { ServiceProcess } from "../support/service-process.js";
import { TempDirectory } from "../support/temp-directory.js";

const flag = { state: "ENABLED", variants: { on: true, off: false }, defaultVariant: "on" };

/** What an agent says of its flags to whoever looks for a fault: by its log, /readyz and /metrics. */
describe("the words of bunting-agent", () => {
  let directory: TempDirectory;
  const running: ServiceProcess[] = [];
  beforeEach(() => (directory = new TempDirectory()));
  afterEach(async () => {
    for (const one of running.splice(0)) await one.stop("SIGKILL");
    directory.remove();
  });

  const text = async ({ management }: AgentProcess, path: string): Promise<string> =>
    (await fetch(`${management}${path}`)).text();

  async function agentOf(sources: readonly object[], ...args: readonly string[]): Promise<AgentProcess> {
    const agent = await startAgent(["--sources", JSON.stringify(sources), ...args]);
    running.push(agent.process);
    return agent;
  }

  it("name the document of each source by digest and version, as the proxy does, and the keys that an edit changes", async () => {
    directory.replace("flags.yaml", manifest("flags", 1));
    const local = JSON.stringify({
      flags: Object.fromEntries([...Array(14).keys()].map((n) => [`f${n}`, flag])),
    });
    directory.replace("local.txt", local);
    const proxy = await startProxy(directory.path, ["--drain-delay", "0", "--drain-window", "0"]);
    running.push(proxy.process);
    const agent = await agentOf([
      { uri: proxy.sync, provider: "grpc", selector: "default/flags" },
      { uri: directory.file("local.txt"), provider: "file" },
    ]);
    await eventually(() => isReady(agent.management), "/readyz");
    const digestAtProxy = async (): Promise<string | undefined> =>
      ((await (await fetch(`${proxy.management}/status`)).json()) as StatusReport).topics[0]?.newest?.digest;
    const digest = (await digestAtProxy()) ?? "none";
    expect(await text(agent, "/readyz")).to.match(new RegExp(`^source 0 .*, digest ${digest}$`, "m"));
    const fileDigest = createHash("sha256").update(local).digest("hex");
    expect(await text(agent, "/readyz")).to.match(new RegExp(`^source 1 .*, digest ${fileDigest}$`, "m"));

    const first = [
      await agent.process.nextLog("flags changed"),
      await agent.process.nextLog("flags changed"),
    ];
    const ofProxy = first.find(({ sourceIndex }) => sourceIndex === 0);
    const source = proxy.sync;
    expect(ofProxy).to.deep.include({
      level: "info",
      source,
      selector: "default/flags",
      digest,
      flags: ["on-off"],
    });
    const ofFile = first.find(({ sourceIndex }) => sourceIndex === 1);
    expect(ofFile).to.deep.include({ digest: fileDigest, more: 4 });
    expect(ofFile?.["flags"]).to.have.length(10);

    directory.replace("flags.yaml", manifest("flags", 2));
    const edit = await agent.process.nextLog("flags changed");
    expect(edit).to.deep.include({ sourceIndex: 0, digest: await digestAtProxy(), flags: ["on-off"] });
    expect(edit).not.to.have.property("more");
    expect(await text(agent, "/metrics")).to.contain(
      `bunting_agent_sync_source_info{source="0",provider="grpc",uri="${source}",selector="default/flags"} 1`,
    );
  });

  it("are the proxy's, where it can't follow the flags itself", async () => {
    directory.replace("flags.yaml", manifest("flags", 1));
    const proxy = await startProxy(directory.path, ["--drain-delay", "0", "--drain-window", "0"]);
    running.push(proxy.process);
    const agent = await agentOf([{ uri: proxy.sync, provider: "grpc", selector: "default/flags" }]);
    await eventually(() => isReady(agent.management), "/readyz");
    directory.replace("flags.yaml", "{");
    const invalid = "the proxy refuses the newest version";
    const { cause, reason } = await agent.process.nextLog(
      `${invalid}; the last flags, if any, are still served`,
    );
    expect(cause).to.equal("invalid");
    expect(reason).to.match(/flags\.yaml:\d+: /);
    expect(await text(agent, "/readyz")).to.match(
      new RegExp(
        `^ready, but flags may be stale\nsource 0 .*: connected for .*: ${invalid}: .*flags\\.yaml:`,
      ),
    );
    directory.replace("flags.yaml", manifest("flags", 1));
    await agent.process.nextLog("the proxy follows the flags again");
    expect(await text(agent, "/readyz")).to.match(/^ready\n/);
  });

  it("have each evaluation with --debug, by key, reason and variant, and none without", async () => {
    directory.replace("local.json", JSON.stringify({ flags: { a: flag } }));
    const sources = [{ uri: directory.file("local.json"), provider: "file" }];
    const agents = [await agentOf(sources, "--debug"), await agentOf(sources)];
    for (const agent of agents) {
      await eventually(() => isReady(agent.management), "/readyz");
      for (const key of ["a", "none"])
        await fetch(`http://${agent.ofrep.replace("http://", "")}/ofrep/v1/evaluate/flags/${key}`, {
          method: "POST",
          body: "{}",
        });
      const body = JSON.stringify({ flagKey: "a", context: {} });
      const headers = { "content-type": "application/json" };
      const url = `http://${agent.evaluation}/flagd.evaluation.v1.Service/ResolveBoolean`;
      await fetch(url, { method: "POST", headers, body });
      expect(await text(agent, "/healthz")).to.equal("ok\n");
    }
    const said = (agent: AgentProcess | undefined): object[] =>
      (agent?.process.logs ?? [])
        .filter(({ msg }) => msg === "evaluated a flag")
        .map((line) => ({ ...line, ts: "" }));
    const line = { level: "debug", ts: "", msg: "evaluated a flag" };
    const answered = { ...line, flag: "a", reason: "STATIC", variant: "on" };
    await eventually(() => said(agents[0]).length === 3, "three lines");
    expect(said(agents[0])).to.deep.equal([
      answered,
      { ...line, flag: "none", reason: "ERROR", error: "FLAG_NOT_FOUND" },
      answered,
    ]);
    expect(said(agents[1])).to.deep.equal([]);
  });

  it("show no secret of a source's URI", async () => {
    const uri = "http://me:s3cret@127.0.0.1:9/flags.json?sig=s3cret";
    const agent = await agentOf([{ uri, provider: "http" }]);
    await agent.process.nextLog("the source is unreachable; retrying");
    for (const path of ["/readyz", "/metrics"])
      expect(await text(agent, path))
        .to.contain("http://127.0.0.1:9/flags.json?…")
        .and.not.contain("s3cret");
    expect(agent.process.output).to.not.contain("s3cret");
  });
});
