import { once } from "node:events";
import { connect } from "node:http2";
import { createConnection } from "node:net";
import { syncV1 } from "@bunting/protocol";
import { expect } from "chai";
import { connectionOpening } from "../../bench/load/http2-frames.js";
import { FaultyApiServer } from "../support/faulty-api-server/index.js";
import { portOf, startProxyInPod, type ProxyProcess } from "../support/proxy-process.js";
import { TempDirectory } from "../support/temp-directory.js";
import { prefixed } from "./support/hostile-peer.js";

const unauthenticated = "16";
/** The address of a Pod, which the API server would find. */
const victim = "10.9.0.9";
const claims: readonly Readonly<Record<string, string>>[] = [
  { "x-forwarded-for": victim },
  { forwarded: `for=${victim}` },
  { "x-real-ip": victim },
  { "true-client-ip": victim },
  { "x-envoy-external-address": victim },
  { "x-forwarded-client-cert": "URI=spiffe://cluster.local/ns/team-a/sa/web" },
  { "x-remote-user": "system:serviceaccount:team-a:web" },
];
const proxyProtocol = {
  "version 1": Buffer.from(`PROXY TCP4 ${victim} 10.9.0.1 1234 8015\r\n`),
  "version 2": Buffer.from("0d0a0d0a000d0a515549540a2111000c0a0900090a09000104d21f4f", "hex"),
};

describe("a proxy with --auth=pod-ip, and callers that say which address they have", () => {
  const account = new TempDirectory();
  let api: FaultyApiServer;
  let proxy: ProxyProcess;

  before(async () => {
    api = await FaultyApiServer.start();
    api.put("team-a", "checkout", { flagSpec: { flags: { f: { state: "ENABLED", variants: { a: 1 } } } } });
    account.replace("token", "any");
    account.replace("ca.crt", api.ca);
    const environment = { KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: String(api.port) };
    proxy = await startProxyInPod({ directory: account.path, environment }, ["--auth=pod-ip"]);
  });

  after(async () => {
    expect(await proxy.process.stop(), proxy.process.output).to.equal(0);
    account.remove();
    await api.close();
  });

  const lookups = (): string[] => api.requests.map(({ uri }) => uri).filter((uri) => uri.includes("/pods"));

  it("goes by the address of the connection, which it does not ask about on loopback, whatever headers say", async () => {
    const session = connect(`http://127.0.0.1:${portOf(proxy)}`);
    const message = syncV1.FetchAllFlagsRequest.encode({
      providerId: "",
      selector: "team-a/checkout",
    }).finish();
    for (const headers of claims) {
      const stream = session.request({
        ":method": "POST",
        ":path": "/flagd.sync.v1.FlagSyncService/FetchAllFlags",
        "content-type": "application/grpc",
        te: "trailers",
        ...headers,
      });
      stream.resume().end(prefixed(message));
      const [trailers] = (await once(stream, "trailers")) as [Readonly<Record<string, unknown>>];
      expect(trailers["grpc-status"], JSON.stringify(headers)).to.equal(unauthenticated);
    }
    session.destroy();
    expect(lookups()).to.deep.equal([]);
  });

  for (const [version, head] of Object.entries(proxyProtocol))
    it(`closes a connection that begins with the PROXY protocol, ${version}`, async () => {
      const socket = createConnection(portOf(proxy), "127.0.0.1");
      socket.on("error", () => undefined).resume();
      socket.write(Buffer.concat([head, connectionOpening(65_535)]));
      if (!socket.closed) await once(socket, "close");
      expect(lookups()).to.deep.equal([]);
    });
});
