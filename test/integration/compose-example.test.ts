import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { cpSync, existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import { expect } from "chai";
import { parse } from "yaml";
import { EventQueue, eventually } from "../support/event-queue.js";
import { repository } from "../support/markdown-pages.js";
import { agentImage, binaries, proxyImage, ServiceProcess } from "../support/service-process.js";
import { TempDirectory } from "../support/temp-directory.js";

interface ComposeService {
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly command: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
}

const folder = path.join(repository, "examples/compose");
const { services } = parse(readFileSync(path.join(folder, "compose.yaml"), "utf8")) as {
  readonly services: Readonly<Record<"proxy" | "agent" | "application", ComposeService>>;
};

/**
 * Each service has an address of its own on loopback, as it has in Docker's network, so that all listen on the ports that they have there.
 * The last bytes are taken from the process, because other runs of this test have addresses too.
 */
const addressOf = (service: string): string =>
  `127.${100 + Object.keys(services).indexOf(service)}.${(process.pid >> 8) & 0xff}.${process.pid & 0xff || 1}`;

/** Docker is not needed: the services run as processes, with their commands, environment, and the files that they mount. */
describe("examples/compose", () => {
  const directory = new TempDirectory();
  const running: { stop: (signal?: NodeJS.Signals) => unknown }[] = [];
  after(async () => {
    for (const one of running.reverse()) await one.stop();
    directory.remove();
  });

  /** What the container sees as a path or a host name, as this machine has it. */
  function here(service: string, word: string): string {
    const mounts = (services[service as "proxy"].volumes ?? []).map((volume) => volume.split(":"));
    const mounted = mounts.reduce((text, [from = "", to = ""]) => {
      const source = from === "../flags" ? directory.path : path.join(folder, from);
      return text.replace(to, source);
    }, word);
    return mounted.replace(/\b(proxy|agent):(?=\d)/, (_, name: string) => `${addressOf(name)}:`);
  }

  const argsOf = (service: "proxy" | "agent"): readonly string[] => [
    ...services[service].command.map((word) => here(service, word)),
    "--host",
    addressOf(service),
  ];

  function isHealthy(): boolean {
    const [kind, node, script, ...args] = services.agent.healthcheck?.test ?? [];
    expect([kind, node, script]).to.deep.equal(["CMD", "/nodejs/bin/node", "/app/start-agent.cjs"]);
    const asked = [binaries.agent, ...args, "--host", addressOf("agent")];
    return spawnSync(process.execPath, asked, { env: {} }).status === 0;
  }

  it("builds the images that there are", () => {
    const built = [services.proxy, services.agent].map(({ build }) =>
      path.join(folder, build?.context ?? "", build?.dockerfile ?? ""),
    );
    expect(built.map((file) => path.relative(repository, file))).to.deep.equal([
      "deploy/docker/proxy.Dockerfile",
      "deploy/docker/agent.Dockerfile",
    ]);
    expect(built.every((file) => existsSync(file))).to.equal(true);
  });

  it("brings an edit of a file in examples/flags to the application", async () => {
    cpSync(path.join(repository, "examples/flags"), directory.path, { recursive: true });
    const agent = new ServiceProcess(binaries.agent, { args: argsOf("agent"), image: agentImage });
    running.push(agent);
    await agent.nextLog("listening");
    expect(isHealthy(), "without flags").to.equal(false);
    running.push(new ServiceProcess(binaries.proxy, { args: argsOf("proxy"), image: proxyImage }));
    await eventually(isHealthy, "the agent is healthy");

    expect(services.application.depends_on).to.deep.equal({ agent: { condition: "service_healthy" } });
    const lines = new EventQueue<string>();
    const application = startApplication();
    running.push({ stop: () => application.kill() });
    if (application.stdout !== null)
      createInterface(application.stdout).on("line", (line) => lines.push(line));
    expect(await lines.nextEvent("the first answer")).to.equal("new-welcome = false");
    const file = readFileSync(directory.file("storefront.yaml"), "utf8");
    directory.replace("storefront.yaml", file.replace('defaultVariant: "off"', 'defaultVariant: "on"'));
    expect(await lines.nextEvent("the edit")).to.equal("new-welcome = true");
  });

  function startApplication(): ChildProcess {
    const { command, environment = {} } = services.application;
    const [node, ...args] = command;
    expect(node).to.equal("node");
    const variables = Object.entries(environment).map(([name, value]) => [name, here("application", value)]);
    return spawn(
      process.execPath,
      args.map((word) => here("application", word)),
      {
        env: Object.fromEntries(variables) as Record<string, string>,
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
  }
});
