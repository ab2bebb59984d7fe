import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import { expect } from "chai";
import { runCommand } from "../run-command.fixture.js";

describe("bunting status --watch", () => {
  const directory = new TempDirectory();
  let server: Server;
  let answer: (path: string, response: ServerResponse) => void;
  before(async () => {
    server = createServer(({ url = "" }, response) => answer(url, response));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const config = {
      "current-context": "c",
      contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
      clusters: [{ name: "c", cluster: { server: url } }],
      users: [{ name: "u", user: {} }],
    };
    directory.replace("kubeconfig", JSON.stringify(config));
  });
  after(() => {
    server.closeAllConnections();
    server.close();
    directory.remove();
  });

  it("asks the Pods that have taken the place of those that it began with", async () => {
    const stop = new AbortController();
    let pod = "before";
    const forwarded: string[] = [];
    answer = (path, response) => {
      const name = /\/pods\/([^/]+)\/portforward/.exec(path)?.[1];
      if (name === undefined) {
        const items = [{ metadata: { name: pod }, status: { phase: "Running" } }];
        const list = { apiVersion: "v1", kind: "PodList", metadata: { resourceVersion: "1" }, items };
        response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(list));
        return;
      }
      forwarded.push(name);
      response.writeHead(404).end();
      pod = "after";
      // The third question is about the Pod of the second list at the latest.
      if (forwarded.length === 3) stop.abort();
    };
    const kubeconfig = directory.file("kubeconfig");
    const words = ["status", "--watch", "--interval", "100ms", "--namespace", "flags"];
    const { code } = await runCommand([...words, "--kubeconfig", kubeconfig], { signal: stop.signal });
    expect(code).to.equal(0);
    expect(forwarded[0]).to.equal("before");
    expect(forwarded.at(-1)).to.equal("after");
  });
});
