import { once } from "node:events";
import type { Readable } from "node:stream";
import { expect } from "chai";
import { FaultyApiServer } from "@bunting/test/support/faulty-api-server/index.js";
import type { ClusterConfig } from "../config/cluster-config.js";
import { fixedCredentials } from "../config/credentials.js";
import { RestClient } from "../rest/rest-client.js";
import { Http2Transport } from "./http2-transport.js";

describe("a watch over HTTP/2", () => {
  let api: FaultyApiServer;
  let transport: Http2Transport;
  let body: Readable;
  beforeEach(async () => {
    api = await FaultyApiServer.start();
    const config: ClusterConfig = {
      server: new URL(api.url),
      tls: { read: () => Promise.resolve(material) },
      credentials: fixedCredentials(),
    };
    const material = { ca: api.ca };
    transport = new Http2Transport(config);
    const type = { group: "core.openfeature.dev", version: "v1beta1", plural: "featureflags" };
    api.put("default", "a", {});
    body = await new RestClient(transport).watch({ type }, {}, new AbortController().signal);
    await once(body, "data");
  });
  afterEach(async () => {
    await api.close();
    await transport.close();
  });

  async function howItEnds(): Promise<unknown> {
    return new Promise((resolve) => {
      body
        .once("error", resolve)
        .once("end", () => resolve("ended"))
        .resume();
    });
  }

  it("that the server ends has ended", async () => {
    for (const watch of api.watches()) watch.end();
    expect(await howItEnds()).to.equal("ended");
  });

  it("whose connection broke has not ended, also after a GOAWAY", async () => {
    api.goAway();
    // The watch continues on the session that is closing.
    api.put("default", "b", {});
    await once(body, "data");
    const end = howItEnds();
    api.cut();
    expect(await end).to.have.property("code", "CONNECTION_LOST");
  });
});
