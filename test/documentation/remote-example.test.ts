import { spawnSync } from "node:child_process";
import { expect } from "chai";
import { eventually } from "../support/event-queue.js";
import { freePort } from "../support/free-port.js";
import { codeBlocksOf } from "../support/markdown-pages.js";
import { PageShell } from "../support/page-shell.js";
import { TempDirectory } from "../support/temp-directory.js";

const page = "docs/operate/remote.md";

interface AgentStatus {
  readonly sources: readonly { readonly remote?: { readonly state: string; readonly flags?: object } }[];
}

/** As printed, but for the ports: other tests have the usual ones. */
describe("the example of docs/operate/remote.md without a cluster", function () {
  this.timeout(120_000);
  const directory = new TempDirectory();
  const shells: PageShell[] = [];
  const ports = { service: 0, ofrep: 0, sync: 0, management: 0 };
  let [service, own] = ["", ""];
  let [startService, startAgent] = ["", ""];
  let explain = "";

  before(async () => {
    for (const name of ["service", "ofrep", "sync", "management"] as const) ports[name] = await freePort();
    const blocks = codeBlocksOf(page);
    [service = "", own = ""] = blocks.filter(({ language }) => language === "json").map(({ text }) => text);
    directory.replace("service.json", service);
    directory.replace("own.json", own);
    const starts = blocks.find(({ text }) => text.includes("ofrep-bulk"))?.text ?? "";
    const { service: servicePort, ofrep, sync, management } = ports;
    [startService = "", startAgent = ""] = starts
      .replaceAll("9016", String(servicePort))
      .replace(
        "start --remote-hosts",
        `start --port 0 --sync-port ${sync} --ofrep-port ${ofrep} --management-port ${management} --remote-hosts`,
      )
      .split(/(?<=&)\n/);
    explain = (blocks.find(({ text }) => text.includes("--explain"))?.text ?? "").replace(
      "8016",
      String(ofrep),
    );
  });
  after(async () => {
    for (const shell of shells) await shell.stop();
    directory.remove();
  });

  /** A shell with lines running in it, which `stop` ends. */
  function start(lines: string): PageShell {
    const shell = new PageShell(directory.path);
    shells.push(shell);
    shell.start(`${lines}\nwait`);
    return shell;
  }

  async function status(): Promise<AgentStatus["sources"][number]["remote"]> {
    const response = await fetch(`http://127.0.0.1:${ports.management}/status`).catch(() => undefined);
    return response && ((await response.json()) as AgentStatus).sources[0]?.remote;
  }

  const isIn = (state: string): Promise<void> =>
    eventually(async () => (await status())?.state === state, `the remote is ${state}`, 60_000);

  async function value(key: string): Promise<unknown> {
    const url = `http://127.0.0.1:${ports.ofrep}/ofrep/v1/evaluate/flags/${key}`;
    const response = await fetch(url, { method: "POST", body: "{}" }).catch(() => undefined);
    return response && ((await response.json()) as { readonly value?: unknown }).value;
  }

  const has = (key: string, expected: unknown): Promise<void> =>
    eventually(async () => (await value(key)) === expected, `${key} is ${String(expected)}`, 60_000);

  /** What the page tells to run, at these ports. */
  async function explained(): Promise<string> {
    const env = {
      BUNTING_SYNC_ADDRESS: `localhost:${ports.sync}`,
      BUNTING_MANAGEMENT_ADDRESS: `localhost:${ports.management}`,
    };
    const { out, err } = await start("true").run(explain, env);
    return out + err;
  }

  it("serves both sides, edits of both, and what the remote said last while it is away, also after a restart", async () => {
    const first = start(startService);
    const agent = start(startAgent);
    await isIn("synced");
    await has("welcome", "Happy holidays");
    expect(await value("one-click")).to.equal(true);
    expect((await status())?.flags).to.deep.equal({ local: 1, remote: 1 });
    expect(await explained()).to.match(
      /^welcome = "Happy holidays"\n.*\nremote: the flag is of the remote of source 0 \(synced\)$/m,
    );
    const metrics = await (await fetch(`http://127.0.0.1:${ports.management}/metrics`)).text();
    expect(metrics).to.match(/^bunting_agent_remote_state\{source="0",state="synced"\} 1$/m);
    expect(metrics).to.match(/^bunting_agent_remote_flags\{source="0",side="remote"\} 1$/m);

    directory.replace("service.json", service.replaceAll("Happy holidays", "Happy new year"));
    await has("welcome", "Happy new year");
    directory.replace("own.json", own.replace('"defaultVariant": "on"', '"defaultVariant": "off"'));
    await has("one-click", false);

    await first.stop();
    await isIn("stale");
    expect(await value("welcome")).to.equal("Happy new year");
    await eventually(() => copies() === 2, "what was merged, and what the remote said, are on disk");
    await agent.stop();
    directory.replace("own.json", own);
    start(startAgent);
    // The file as it is now, and the remote as it was.
    await has("one-click", true);
    expect(await value("welcome")).to.equal("Happy new year");
    await isIn("stale");
  });

  function copies(): number {
    const { stdout } = spawnSync("ls", [directory.file("copies")]);
    return stdout.toString().match(/\.flags$/gm)?.length ?? 0;
  }
});
