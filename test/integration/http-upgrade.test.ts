import { execFile, execFileSync } from "node:child_process";
import { promisify } from "node:util";
import { expect } from "chai";
import { isReady, startAgent } from "../support/agent-process.js";
import { eventually } from "../support/event-queue.js";
import { startProxy } from "../support/proxy-process.js";
import { TempDirectory } from "../support/temp-directory.js";

/** True if there is a curl that can ask for HTTP/2. */
function hasCurl(): boolean {
  try {
    return /^Features:.* HTTP2\b/m.test(execFileSync("curl", ["--version"], { encoding: "utf8" }));
  } catch {
    return false;
  }
}

/** Asks twice in one run of curl, which asks for the upgrade in its first request: for each, its version, its status, and how often it connected. */
async function askTwice(url: string, json?: string): Promise<readonly string[]> {
  const format = "%{http_version} %{http_code} %{num_connects}\\n";
  const body = json === undefined ? [] : ["--header", "content-type: application/json", "--data", json];
  const args = ["--silent", "--show-error", "--http2", "--write-out", format, ...body];
  const { stdout } = await promisify(execFile)("curl", [
    ...args,
    "-o",
    "/dev/null",
    "-o",
    "/dev/null",
    url,
    url,
  ]);
  return stdout.trimEnd().split("\n");
}

describe("curl --http2 on a plaintext port", () => {
  let directory: TempDirectory;

  before(function () {
    if (!hasCurl()) this.skip();
  });
  beforeEach(() => (directory = new TempDirectory()));
  afterEach(() => directory.remove());

  const overHttp1 = ["1.1 200 1", "1.1 200 0"];

  it("is answered by an agent over HTTP/1.1, and goes on using the connection", async () => {
    directory.replace(
      "flags.json",
      '{"flags":{"a":{"state":"ENABLED","variants":{"on":true},"defaultVariant":"on"}}}',
    );
    const agent = await startAgent(["--uri", `file:${directory.file("flags.json")}`]);
    try {
      await eventually(() => isReady(agent.management), "it has its flags");
      const url = `http://${agent.evaluation}/flagd.evaluation.v1.Service/ResolveBoolean`;
      expect(await askTwice(url, '{"flagKey":"a"}')).to.deep.equal(overHttp1);
      expect(await askTwice(`${agent.management}/healthz`)).to.deep.equal(overHttp1);
    } finally {
      await agent.process.stop();
    }
  });

  it("is answered by a proxy over HTTP/1.1, and goes on using the connection", async () => {
    const proxy = await startProxy(directory.path, ["--drain-delay", "0", "--drain-window", "0"]);
    try {
      expect(await askTwice(`${proxy.management}/healthz`)).to.deep.equal(overHttp1);
    } finally {
      await proxy.process.stop();
    }
  });
});
