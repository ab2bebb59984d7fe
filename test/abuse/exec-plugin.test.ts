import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { eventually } from "@bunting/test/support/event-queue.js";
import { binaries, ServiceProcess } from "@bunting/test/support/service-process.js";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import { expect } from "chai";

/** What a plugin that hangs does to the requests after it is pinned beside it, with a clock that is moved by hand. */
describe("a kubeconfig", () => {
  let directory: TempDirectory;
  beforeEach(() => (directory = new TempDirectory()));
  afterEach(() => directory.remove());

  function startProxy(user: object, server = "https://127.0.0.1:1"): ServiceProcess {
    directory.replace(
      "config",
      JSON.stringify({
        clusters: [{ name: "c", cluster: { server } }],
        users: [{ name: "u", user }],
        contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
        "current-context": "x",
      }),
    );
    const ports = ["--port", "0", "--management-port", "0", "--drain-delay", "0", "--drain-window", "0"];
    const cluster = ["--source", "kubernetes", "--kubeconfig", directory.file("config")];
    return new ServiceProcess(binaries.proxy, {
      args: ["start", ...ports, ...cluster, "--watch-scope=cluster"],
    });
  }

  it("with a plugin that hangs does not keep the proxy from ending, and the plugin ends with it", async () => {
    const script = `cd '${directory.path}'; echo $$ > new; mv new pid; sleep 1000`;
    const proxy = startProxy({ exec: { command: "/bin/sh", args: ["-c", script] } });
    await eventually(() => existsSync(directory.file("pid")), "the plugin hangs");
    const pid = Number(readFileSync(directory.file("pid"), "utf8"));
    try {
      const ended = proxy.stop();
      await eventually(() => proxy.child.exitCode !== null, "the proxy ends", 10_000);
      expect(await ended, "exit code").to.equal(0);
    } finally {
      await proxy.stop("SIGKILL");
    }
    expect(() => process.kill(pid, 0)).to.throw("ESRCH");
  });

  it("with groups to impersonate is refused, rather than used with other rights", async () => {
    const proxy = startProxy({ token: "t", as: "joe", "as-groups": ["viewers"] });
    const refusal = "impersonates with as-groups, which is not supported";
    await eventually(() => proxy.output.includes(refusal), refusal);
    await proxy.stop("SIGKILL");
  });

  it("leads to requests that name the program and its version", async () => {
    const agents = new Set<string | undefined>();
    const server = createServer((request, response) => {
      agents.add(request.headers["user-agent"]);
      response.writeHead(503).end();
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const proxy = startProxy({ token: "t" }, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    try {
      await eventually(() => agents.size > 0, "a request");
      expect([...agents].join()).to.match(
        /^bunting-proxy\/\d+\.\d+\.\d+ \(linux\/[a-z0-9]+\) node\/\d+\.\d+\.\d+$/,
      );
    } finally {
      await proxy.stop("SIGKILL");
      server.close();
    }
  });
});
