import { ServerCredentials } from "@grpc/grpc-js";
import { expect } from "chai";
import { startAgent, type AgentProcess } from "../support/agent-process.js";
import { eventually } from "../support/event-queue.js";
import { startFlagdServer } from "../support/flagd-server.js";
import { agentImage, binaries, ServiceProcess } from "../support/service-process.js";
import { TempDirectory } from "../support/temp-directory.js";

function document(value: string): string {
  return JSON.stringify({ flags: { f: { state: "ENABLED", variants: { v: value }, defaultVariant: "v" } } });
}

describe("bunting-agent, whose source is a unix socket", () => {
  let directory: TempDirectory;
  const running: AgentProcess[] = [];
  beforeEach(() => {
    directory = new TempDirectory();
  });
  afterEach(async () => {
    for (const { process } of running.splice(0)) await process.stop("SIGKILL");
    directory.remove();
  });

  async function agentOf(...args: readonly string[]): Promise<AgentProcess> {
    const agent = await startAgent(args);
    running.push(agent);
    return agent;
  }

  const serves = (agent: AgentProcess, value: string): Promise<void> =>
    eventually(async () => {
      const response = await fetch(`${agent.ofrep}/ofrep/v1/evaluate/flags/f`, { method: "POST" });
      return ((await response.json()) as { readonly value?: unknown }).value === value;
    }, `the value ${value}`);

  for (const uriOf of [(path: string): string => `uds://${path}`, (path: string): string => `unix:${path}`]) {
    it(`takes the flags of grpc-js's server (${uriOf("/PATH")}), also if that listens later and again`, async () => {
      const path = directory.file("sync.sock");
      const agent = await agentOf("--uri", uriOf(path));
      for (const value of ["first", "second"]) {
        const { server } = await startFlagdServer({
          document: document(value),
          credentials: ServerCredentials.createInsecure(),
          address: `unix:${path}`,
        });
        try {
          await serves(agent, value);
        } finally {
          server.forceShutdown();
        }
      }
    });
  }

  it("takes the flags of another agent (--sync-socket-path), and edits", async () => {
    directory.replace("flags.json", document("first"));
    const path = directory.file("sync.sock");
    const free = ["--host", "127.0.0.1", "--port", "0", "--management-port", "0", "--ofrep-port", "0"];
    const upstream = await startAgentOnSocket(path, free);
    try {
      const agent = await agentOf("--uri", `uds://${path}`);
      await serves(agent, "first");
      directory.replace("flags.json", document("second"));
      await serves(agent, "second");
    } finally {
      expect(await upstream.stop()).to.equal(0);
    }
  });

  async function startAgentOnSocket(path: string, args: readonly string[]): Promise<ServiceProcess> {
    const uri = `file:${directory.file("flags.json")}`;
    const process = new ServiceProcess(binaries.agent, {
      args: ["start", ...args, "--sync-socket-path", path, "--uri", uri],
      image: agentImage,
    });
    while ((await process.nextLog("listening"))["service"] !== "sync");
    return process;
  }
});
