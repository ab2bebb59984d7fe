import { spawn } from "node:child_process";
import { once } from "node:events";
import { statSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import path from "node:path";
import { expect } from "chai";
import { isReady, startAgent, type AgentProcess } from "../support/agent-process.js";
import { Authority } from "../support/certificates.js";
import { manifest } from "../support/manifests.js";
import { startProxy } from "../support/proxy-process.js";
import {
  agentImage,
  binaries,
  operatorImage,
  proxyImage,
  ServiceProcess,
} from "../support/service-process.js";
import { TempDirectory } from "../support/temp-directory.js";

const images = { agent: agentImage, proxy: proxyImage, operator: operatorImage };

interface Health {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs `health` as a probe in the service's container does. */
function health(
  service: keyof typeof images,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Health> {
  const { nodeFlags, environment } = images[service];
  const command = [...nodeFlags, binaries[service], "health", ...args];
  const child = spawn(process.execPath, command, { env: { ...environment, ...env } });
  let out = "";
  let err = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));
  return new Promise((resolve, reject) => {
    child.once("error", reject).once("close", (code) => resolve({ code, out, err }));
  });
}

function portOf(address: string): string {
  return address.slice(address.lastIndexOf(":") + 1);
}

/** deploy/docker/README.md shows the command for each image. */
describe("the command health", function () {
  this.timeout(60_000);
  const directory = new TempDirectory();
  after(() => directory.remove());

  describe("of the agent", () => {
    let agent: AgentProcess;
    let port: string;
    before(async () => {
      directory.replace("flags.json", JSON.stringify({ flags: {} }));
      agent = await startAgent([`--uri=file:${directory.file("flags.json")}`]);
      port = portOf(agent.management);
      await isReady(agent.management);
    });
    after(() => agent.process.stop());

    it("ends with 0 if it is ready, by the same flag, variable or config file as it was started", async () => {
      directory.replace("config.yaml", `management-port: ${port}\nhost: 127.0.0.1\n`);
      for (const run of [
        health("agent", ["--management-port", port, "--debug", "--uri=file:/flags.json"]),
        health("agent", [`-m${port}`], { FLAGD_PORT: "8013" }),
        health("agent", [], { FLAGD_MANAGEMENT_PORT: port }),
        health("agent", ["--config", directory.file("config.yaml")]),
        health("agent", ["--live", "--management-port", port]),
      ])
        expect(await run).to.deep.include({ code: 0, err: "" });
      expect((await health("agent", ["-m", port])).out).to.match(/^bunting-agent: ready: /);
    });

    it("ends with 1 and the agent's reason if it is not ready, and with 0 if only its life was asked for", async () => {
      const waiting = await startAgent(["--uri=grpc://127.0.0.1:9/shop/demo"]);
      try {
        const args = ["--management-port", portOf(waiting.management)];
        const { code, out, err } = await health("agent", args);
        expect({ code, out }).to.deep.equal({ code: 1, out: "" });
        expect(err).to.match(/^bunting-agent: not ready: waiting for [^]+\n$/);
        expect(await health("agent", [...args, "--live"])).to.deep.include({ code: 0, err: "" });
      } finally {
        await waiting.process.stop();
      }
    });

    it("ends with 1 and a sentence if nothing answers, or not in time", async () => {
      const silent = createServer((socket) => socket.resume()).listen(0, "127.0.0.1");
      await new Promise((resolve) => silent.once("listening", resolve));
      const silentPort = String((silent.address() as AddressInfo).port);
      const late = await health("agent", ["-m", silentPort]);
      expect(late).to.deep.equal({
        code: 1,
        out: "",
        err: `bunting-agent: localhost:${silentPort} has not answered within 2 s\n`,
      });
      await new Promise((resolve) => silent.close(resolve));
      const { code, err } = await health("agent", ["-m", silentPort]);
      expect(code).to.equal(1);
      expect(err).to.equal(
        `bunting-agent: nothing answers at localhost:${silentPort} (ECONNREFUSED): does it run, and with this --management-port?\n`,
      );
    });

    it("waits as long for a process that is stuck, and accepts no connections any more", async () => {
      const stop = `() => { console.log(server.address().port); process.kill(process.pid, "SIGSTOP"); }`;
      const listen = `const server = net.createServer().listen({ port: 0, host: "127.0.0.1", backlog: 1 }, ${stop})`;
      const stuck = spawn(process.execPath, ["-e", listen], { stdio: ["ignore", "pipe", "inherit"] });
      const waiting: Socket[] = [];
      try {
        const stuckPort = String(((await once(stuck.stdout, "data")) as [Buffer])[0]).trim();
        // So many wait to be accepted.
        for (let index = 0; index < 2; index++) {
          const socket = connect(Number(stuckPort), "127.0.0.1");
          waiting.push(socket);
          await once(socket, "connect");
        }
        expect((await health("agent", ["-m", stuckPort])).err).to.equal(
          `bunting-agent: localhost:${stuckPort} has not answered within 2 s\n`,
        );
      } finally {
        for (const socket of waiting) socket.destroy();
        stuck.kill("SIGKILL");
      }
    });

    it("reads no answer without end, and shows nothing of it that acts on a terminal", async () => {
      const evil = "\u001b[2J\u001b]0;owned\u0007\r\u009b8m\u202ewell\u2028";
      const hostile = createHttpServer((_, response) => {
        response.writeHead(503);
        const more = (): void => {
          while (!response.destroyed) if (!response.write(evil.repeat(10_000))) break;
        };
        response.on("drain", more);
        more();
      }).listen(0, "127.0.0.1");
      await new Promise((resolve) => hostile.once("listening", resolve));
      const hostilePort = String((hostile.address() as AddressInfo).port);
      for (const service of ["agent", "proxy"] as const) {
        const { code, out, err } = await health(service, ["-m", hostilePort]);
        expect({ code, out }, err.slice(0, 200)).to.deep.equal({ code: 1, out: "" });
        expect(err).to.match(/^bunting-(?:agent|proxy): not ready: \?\[2J\?\]0;owned[ -~]{1,4100}\n$/);
      }
      await new Promise((resolve) => hostile.close(resolve));
    });

    it("ends with 2 and a sentence for what it can't ask", async () => {
      const wrong: readonly [Promise<Health>, string][] = [
        [health("agent", ["--managment-port", port]), "--managment-port (did you mean --management-port?)"],
        [health("agent", ["live"]), '"live" does not belong to a flag'],
        [health("agent", ["-m", "0"]), "with --management-port 0 no port is known to ask at"],
        [health("agent", ["-m", "many"]), "--management-port"],
        [health("agent", [], { BUNTING_MANAGMENT_PORT: port }), "BUNTING_MANAGMENT_PORT"],
        [health("agent", ["--config", directory.file("none.yaml")]), "none.yaml"],
      ];
      for (const [run, sentence] of wrong) {
        const { code, out, err } = await run;
        expect({ code, out }, err).to.deep.equal({ code: 2, out: "" });
        expect(err)
          .to.match(/^bunting-agent: .*\n$/)
          .and.include(sentence);
      }
    });

    it("is a program of its own of at most 64 KB, and says how it is used", async () => {
      for (const service of ["agent", "proxy", "operator"] as const) {
        const file = path.join(path.dirname(binaries[service]), `bunting-${service}.health.cjs`);
        expect(statSync(file).size).to.be.below(65_536);
        const { code, out } = await health(service, ["--help"]);
        expect(code).to.equal(0);
        expect(out)
          .to.include(`bunting-${service} health [--live]`)
          .and.include("0 yes, 1 no, 2 wrong usage");
      }
    });
  });

  it("of the proxy asks by TLS where its management port speaks nothing else", async () => {
    const pair = await (await Authority.create()).issue();
    directory.replace("tls.crt", pair.cert);
    directory.replace("tls.key", pair.key);
    directory.replace("demo.yaml", manifest("demo", 1, "shop"));
    const tls = [
      "--management-tls=on",
      `--tls-cert-path=${directory.file("tls.crt")}`,
      `--tls-key-path=${directory.file("tls.key")}`,
    ];
    const proxy = await startProxy(directory.path, tls);
    try {
      const port = portOf(proxy.management);
      const asked = await health("proxy", [...tls, "--management-port", port]);
      expect(asked).to.deep.include({ code: 0, err: "" });
      expect(asked.out).to.match(/^bunting-proxy: ready: /);
      expect((await health("proxy", ["--management-port", port])).code).to.equal(1);
    } finally {
      await proxy.process.stop();
    }
  });

  it("of the operator asks at the address of its probes", async () => {
    const kubeconfig = {
      clusters: [{ name: "away", cluster: { server: "https://127.0.0.1:9" } }],
      contexts: [{ name: "away", context: { cluster: "away", user: "away" } }],
      users: [{ name: "away", user: { token: "t" } }],
      "current-context": "away",
    };
    directory.replace("kubeconfig", JSON.stringify(kubeconfig));
    const args = [
      `--kubeconfig=${directory.file("kubeconfig")}`,
      "--health-probe-bind-address=127.0.0.1:0",
      "--metrics-bind-address=0",
      "--webhook-port=0",
    ];
    const operator = new ServiceProcess(binaries.operator, {
      args: ["start", ...args],
      image: operatorImage,
    });
    try {
      const { port } = await operator.nextLog("listening");
      const at = `--health-probe-bind-address=127.0.0.1:${String(port)}`;
      expect(await health("operator", [at, "--live"])).to.deep.include({ code: 0, err: "" });
      expect((await health("operator", ["--health-probe-bind-address=0"])).code).to.equal(2);
    } finally {
      await operator.stop();
    }
  });
});
