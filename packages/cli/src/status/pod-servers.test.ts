import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect } from "chai";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import type { Io } from "../terminal/io.js";
import { podServers, type PodServer } from "./pod-servers.js";

describe("podServers", () => {
  const directory = new TempDirectory();
  let server: Server;
  let asked: (string | undefined)[];
  let answer: (response: ServerResponse) => void;
  before(async () => {
    server = createServer(({ url }, response) => {
      asked.push(url);
      answer(response);
    });
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
  beforeEach(() => (asked = []));
  after(() => {
    server.closeAllConnections();
    server.close();
    directory.remove();
  });

  function servers(): Promise<readonly PodServer[]> {
    const io: Pick<Io, "env" | "signal"> = { env: {}, signal: new AbortController().signal };
    const cluster = { kubeconfig: directory.file("kubeconfig"), kubeContext: "" };
    const connection = { tls: false, caFile: "", tlsServerName: "", tokenFile: "" };
    return podServers(
      { namespace: "flags", selector: "app=proxy", podPort: 8016, ...cluster, ...connection },
      io as Io,
    );
  }

  function list(...pods: readonly object[]): (response: ServerResponse) => void {
    const items = pods.map((pod) => ({ apiVersion: "v1", kind: "Pod", ...pod }));
    const body = { apiVersion: "v1", kind: "PodList", metadata: { resourceVersion: "1" }, items };
    return (response) => {
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
    };
  }

  it("are the running Pods with the labels, in order", async () => {
    const running = { phase: "Running" };
    answer = list(
      { metadata: { name: "b" }, status: running },
      { metadata: { name: "a" }, status: running },
      { metadata: { name: "waits" }, status: { phase: "Pending" } },
      { metadata: { name: "ends", deletionTimestamp: "2026-11-22T12:00:00Z" }, status: running },
    );
    const found = await servers();
    expect(found.map(({ name }) => name)).to.deep.equal(["flags/a", "flags/b"]);
    expect(asked[0]).to.match(/^\/api\/v1\/namespaces\/flags\/pods\?.*labelSelector=app(=|%3D)proxy/);
  });

  it("are missed with what to name instead", async () => {
    answer = list();
    const error: unknown = await servers().catch((thrown: unknown) => thrown);
    expect(error).to.have.property("code", "PROXY_UNKNOWN");
    expect(error).to.have.property("message").that.contains("name others with --selector");
  });

  it("say which rights the command needs where the API server refuses", async () => {
    answer = (response) => {
      const status = { kind: "Status", status: "Failure", reason: "Forbidden", code: 403, message: "no" };
      response.writeHead(403, { "content-type": "application/json" }).end(JSON.stringify(status));
    };
    const error: unknown = await servers().catch((thrown: unknown) => thrown);
    expect(error).to.have.property("code", "SERVER_REFUSED");
    expect(error)
      .to.have.property("message")
      .that.contains("get and create on pods/portforward, in the namespace flags");
  });
});
