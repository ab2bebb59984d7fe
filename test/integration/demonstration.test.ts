import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type AddressInfo, type Server } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { eventually } from "../support/event-queue.js";
import { freePort, isFree } from "../support/free-port.js";

const root = path.dirname(path.dirname(import.meta.dirname));

const startArgs = ["--conditions=@bunting/source", "--import=tsx", "examples/start.ts"];
const portFlags = [
  "proxy-port",
  "proxy-management-port",
  "agent-port",
  "agent-management-port",
  "agent-sync-port",
  "agent-ofrep-port",
];

/** What `npm start` runs once everything is built. */
async function demonstrate(
  args: readonly string[],
): Promise<{ readonly code: number | null; readonly output: string }> {
  const child = spawn(process.execPath, [...startArgs, ...args], {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (chunk: string) => (output += chunk));
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, output };
}

function listen(port: number): Promise<Server> {
  const server = createServer();
  return new Promise((resolve, reject) =>
    server.once("error", reject).listen(port, "127.0.0.1", () => resolve(server)),
  );
}

async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) ports.push(await freePort());
  return ports;
}

describe("npm start", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), "bunting-demonstration-"));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  const portArgs = (ports: readonly number[]): string[] =>
    portFlags.flatMap((flag, i) => [`--${flag}`, `${ports[i] ?? 0}`]);

  it("shows four providers answering and an edit arriving at each, and ends cleanly", async () => {
    const ports = await freePorts(portFlags.length);
    const { code, output } = await demonstrate(["--once", "--flags", folder, ...portArgs(ports)]);
    expect(code, output).to.equal(0);
    expect(output.match(/banner="Welcome, and happy holidays!" \(TARGETING_MATCH\)/g), output).to.have.length(
      4,
    );
    expect(output.match(/new-welcome=true after \d+\.\d ms/g), output).to.have.length(4);
    expect(output).to.contain(
      `curl -s -X POST http://127.0.0.1:${ports[5] ?? 0}/ofrep/v1/evaluate/flags/new-welcome`,
    );
  });

  it("refuses an option that does not exist, and lists those there are", async () => {
    const refused = await demonstrate(["--proxy-prt", "1"]);
    expect(refused.code).to.equal(1);
    expect(refused.output).to.contain("--proxy-prt (did you mean --proxy-port?); --help lists all flags");
    const { code, output } = await demonstrate(["--help"]);
    expect(code).to.equal(0);
    expect(output).to.contain("npm start -- [options]").and.to.contain("--agent-ofrep-port");
  });

  for (const way of ["its terminal is closed", "its output is read no more"] as const) {
    it(`leaves no service behind when ${way}`, async () => {
      const ports = await freePorts(portFlags.length);
      const args = [...startArgs, "--flags", folder, ...portArgs(ports)];
      const child = spawn(process.execPath, args, { cwd: root, stdio: ["ignore", "pipe", "ignore"] });
      const closed = new Promise((resolve) => child.once("exit", resolve));
      await new Promise<void>((resolve, reject) => {
        let output = "";
        child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
          output += chunk;
          if (chunk.includes("[proxy]")) resolve();
        });
        child.once("exit", (code) =>
          reject(new Error(`it has ended (exit ${code ?? "by signal"}): ${output}`)),
        );
      });
      if (way === "its terminal is closed") child.kill("SIGHUP");
      else child.stdout.destroy();
      await closed;
      await eventually(() => isFree(ports[0] ?? 0), "nothing listens any more");
    });
  }

  it("says which ports are taken, and how to choose others", async () => {
    const servers = [await listen(0), await listen(0)];
    const [one = 0, two = 0] = servers.map((server) => (server.address() as AddressInfo).port);
    const free = await freePorts(portFlags.length - 1);
    const [single, both] = await Promise.all(
      [
        [one, ...free],
        [one, two, ...free.slice(1)],
      ].map((ports) => demonstrate(portArgs(ports))),
    );
    for (const server of servers) server.close();
    expect([single?.code, both?.code]).to.deep.equal([1, 1]);
    const [first = "", second = ""] = portFlags;
    expect(single?.output).to.contain(`Port ${one} is taken. Choose another: npm start -- --${first} `);
    expect(both?.output).to.match(
      new RegExp(
        `Ports ${one}, ${two} are taken\\. Choose others: npm start -- --${first} \\d+ --${second} \\d+\\n`,
      ),
    );
  });
});
