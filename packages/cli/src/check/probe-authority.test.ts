import { once } from "node:events";
import { connect, createServer as createPlainServer, type AddressInfo } from "node:net";
import { createServer, type Server } from "node:tls";
import { Authority } from "@bunting/test/support/certificates.js";
import { expect } from "chai";
import { verifyError } from "./probe-authority.js";

const serverName = "hook.system.svc";

describe("the certificate that a webhook's Pod serves", () => {
  let server: Server;
  let authority: Authority;
  let stop: AbortController;
  beforeEach(() => (stop = new AbortController()));
  before(async () => {
    authority = await Authority.create();
    server = createServer(await authority.issue({ domains: [serverName] }));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
  });
  after(() => server.close());

  function refusal(bundle: string, name = serverName): Promise<string | undefined> {
    const { port } = server.address() as AddressInfo;
    return verifyError(connect(port, "127.0.0.1"), { bundle, serverName: name }, stop.signal);
  }

  it("holds by a bundle with its authority, also beside others", async () => {
    const other = await Authority.create();
    expect(await refusal(authority.cert)).to.equal(undefined);
    expect(await refusal(other.cert + authority.cert)).to.equal(undefined);
  });

  it("is refused by another authority, for another Service, and by a bundle that is none", async () => {
    const other = await Authority.create();
    expect(await refusal(other.cert)).to.match(/UNABLE_TO|SELF_SIGNED/);
    expect(await refusal(authority.cert, "hook.elsewhere.svc")).to.match(/altnames|ALTNAME/);
    expect(await refusal("none")).to.be.a("string");
  });

  it("is given up of a Pod that takes the connection and says nothing", async () => {
    const silent = createPlainServer();
    silent.listen(0, "127.0.0.1");
    await once(silent, "listening");
    const connection = connect((silent.address() as AddressInfo).port, "127.0.0.1");
    const taken = once(silent, "connection");
    const asked = { bundle: authority.cert, serverName };
    const answer = verifyError(connection, asked, stop.signal).catch((error: unknown) => error);
    await taken;
    stop.abort();
    expect(await answer).to.have.property("code", "ECONNRESET");
    silent.close();
  });
});
