import { spawn } from "node:child_process";
import { createServer, type AddressInfo, type Server } from "node:net";
import path from "node:path";
import { expect } from "chai";

const root = path.dirname(path.dirname(import.meta.dirname));

/** What `npm start` runs once everything is built. */
async function demonstrate(
  args: readonly string[],
): Promise<{ readonly code: number | null; readonly output: string }> {
  const child = spawn(
    process.execPath,
    ["--conditions=@bunting/source", "--import=tsx", "examples/start.ts", ...args],
    {
      cwd: root,
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (chunk: string) => (output += chunk));
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, output };
}

function listen(): Promise<Server> {
  const server = createServer();
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}

async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(Array.from({ length: count }, listen));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

describe("npm start", () => {
  it("shows four providers answering and an edit arriving at each, and ends cleanly", async () => {
    const flags = [
      "proxy-port",
      "proxy-management-port",
      "agent-port",
      "agent-management-port",
      "agent-sync-port",
      "agent-ofrep-port",
    ];
    const ports = await freePorts(flags.length);
    const { code, output } = await demonstrate([
      "--once",
      ...flags.flatMap((flag, i) => [`--${flag}`, `${ports[i] ?? 0}`]),
    ]);
    expect(code, output).to.equal(0);
    expect(output.match(/banner="Welcome, and happy holidays!" \(TARGETING_MATCH\)/g), output).to.have.length(
      4,
    );
    expect(output.match(/new-welcome=true after \d+\.\d ms/g), output).to.have.length(4);
    expect(output).to.contain(
      `curl -s -X POST http://127.0.0.1:${ports[5] ?? 0}/ofrep/v1/evaluate/flags/new-welcome`,
    );
  });

  it("says which port is taken and how to choose another", async () => {
    const server = await listen();
    const { port } = server.address() as AddressInfo;
    const { code, output } = await demonstrate(["--agent-ofrep-port", `${port}`]);
    server.close();
    expect(code).to.equal(1);
    expect(output).to.contain(`Port ${port} is taken. Choose another: npm start -- --agent-ofrep-port`);
  });
});
