import { request } from "node:http";
import { networkInterfaces } from "node:os";
import { manifest } from "@bunting/test/support/manifests.js";
import { startProxy, type ProxyProcess } from "@bunting/test/support/proxy-process.js";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import { expect } from "chai";

const outside = Object.values(networkInterfaces())
  .flat()
  .find((each) => each?.family === "IPv4" && !each.internal)?.address;

/** The sidecar of a service mesh forwards what comes from other pods over loopback. */
describe("/status behind a service mesh", () => {
  let directory: TempDirectory;
  let proxy: ProxyProcess;
  before(async () => {
    directory = new TempDirectory();
    directory.replace("flags.yaml", manifest("flags", 1));
    proxy = await startProxy(directory.path, [
      "--host",
      "0.0.0.0",
      "--drain-delay",
      "0",
      "--drain-window",
      "0",
    ]);
  });
  after(async () => {
    await proxy.process.stop();
    directory.remove();
  });

  interface Call {
    readonly from?: string;
    readonly to?: string;
    readonly headers?: Readonly<Record<string, string>>;
  }

  function statusOf({
    from = "127.0.0.1",
    to = "127.0.0.1",
    headers = {},
  }: Call): Promise<number | undefined> {
    const { port } = new URL(proxy.management);
    return new Promise((resolve, reject) => {
      request({ host: to, port, path: "/status", localAddress: from, headers, agent: false }, (response) => {
        response.resume().once("end", () => resolve(response.statusCode));
      })
        .once("error", reject)
        .end();
    });
  }

  it("is shown to kubectl port-forward", async () => {
    expect(await statusOf({})).to.equal(200);
    expect(await statusOf({ headers: { host: "localhost:9000" } })).to.equal(200);
  });

  it("is not shown to what Istio passes through from 127.0.0.6", async () => {
    expect(await statusOf({ from: "127.0.0.6" })).to.equal(403);
  });

  it("is not shown to what comes from loopback to the pod's own address", async function () {
    if (outside === undefined) this.skip();
    expect(await statusOf({ to: outside })).to.equal(403);
  });

  for (const name of [
    "x-forwarded-proto",
    "x-envoy-attempt-count",
    "x-request-id",
    "forwarded",
    "l5d-client-id",
  ]) {
    it(`is not shown to what a proxy has added ${name} to`, async () => {
      expect(await statusOf({ headers: { [name]: "1" } })).to.equal(403);
    });
  }

  it("is not shown under a name that is not localhost, as behind a mesh or in a browser that was misled", async () => {
    for (const host of [
      "flagd-proxy-svc.ofo:8016",
      "10.1.2.3:8016",
      "evil.example",
      "localhost.evil.example",
    ]) {
      expect(await statusOf({ headers: { host } }), host).to.equal(403);
    }
  });
});
